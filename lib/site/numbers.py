"""Where each decimal of the text comes from; percentages count as decimals.

`book/quality/numbers/CHAPTER.yml` has a line for every one that is typed into the chapter's pages,
in their order:

    - 0.63: claim two_point/eq6-encoder    measured or printed there, of a rival, a bound, a setting
    - 0.84: printed 0.838                  a cell of the lesson or of its evidence page prints this
    - 0.05: setting                        the code of the chapter or of the stored runs has this
    - 1.15: formula log(10) / 2            follows from an equation of the text
    - 3.3: document Section 3.3            stands in the document that is replicated
    - 0.7: note measured once, by hand     anything else, with the reason

`check` holds the lines against the text and the executed notebooks. A digit that changes no longer
has its line, and a result that changes no longer rounds to what is typed. A search alone would not
do: most wrong numbers of two digits are somewhere in a chapter. So `record` only proposes lines,
from what a paragraph links to, its page and its chapter; a decimal that is nowhere is `unknown`,
which `check` refuses.
"""

import math
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from lib import files
from lib.site.book import MATERIALS, Book
from lib.site.decimals import Decimal, decimals
from lib.site.known import Known, known

LABEL = re.compile(r"\w+(?:-\w+)+")
CONSTANTS = {"e": math.e, "pi": math.pi}
Line = tuple[str, str]  # a decimal as it is typed, and where it comes from


class Chapter(NamedTuple):
    """A chapter: the file of its lines, the texts and the lines of its pages, and its numbers."""

    path: Path
    texts: dict[str, str]
    lines: dict[str, list[Line]]
    pool: list[Known]


@cache
def check(book: Book) -> tuple[int, int]:
    """Hold the decimals of the text against their lines and the notebooks.

    Returns
    -------
    how many there are, and how many are compared with a number; the others have a reason in words

    Raises
    ------
    ValueError
        Naming each wrong decimal, its file and line, and the nearest number of the notebooks.
    """
    problems = []
    sources = []
    for chapter in chapters(book):
        for page, text in chapter.texts.items():
            problems += compare(chapter, page, text)
            sources += [source for _, source in chapter.lines.get(page, [])]
    if problems:
        problems.append("mend the text, or judge what `python -m lib report --numbers` proposes")
        raise ValueError("\n".join(problems))
    compared = [source for source in sources if not source.startswith(("document", "note"))]
    return len(sources), len(compared)


def record(book: Book) -> list[str]:
    """Write lines for the decimals that have none, or none that holds; return what is new."""
    news = []
    for chapter in chapters(book):
        written = []
        for page, text in chapter.texts.items():
            lines = []
            for decimal, line in pairs(decimals(text), chapter.lines.get(page, [])):
                if decimal and line and not _wrong(decimal, line, chapter):
                    lines.append(f"- {decimal.text}: {line[1]}")
                elif decimal:
                    source = search(decimal, page, chapter.pool)
                    lines.append(f"- {decimal.text}: {source}")
                    news.append(f"book/{page}:{decimal.line}: {decimal.text}: {source}")
            if lines:
                written += [f"{page}:", *lines]
        if written:
            files.write(chapter.path, "\n".join(written) + "\n")
    return news


def compare(chapter: Chapter, page: str, text: str) -> Iterator[str]:
    """Say what is wrong with the decimals of a page, each in a line."""
    for decimal, line in pairs(decimals(text), chapter.lines.get(page, [])):
        if decimal is None:
            yield f"book/{page}: {line[0]} ({line[1]}) is no longer in the text"
        elif said := _wrong(decimal, line, chapter):
            place = f"book/{page}:{decimal.line}"
            yield f"{place}: {decimal.text} {said}; {_nearest(decimal, chapter.pool)}"


def _wrong(decimal: Decimal, line: Line | None, chapter: Chapter) -> str:
    """Say what is wrong with a decimal and its line; nothing if it comes from there."""
    if line is None:
        return f"has no line in {chapter.path.name}"
    if line[0] != decimal.text:
        return f"stands where {line[0]} ({line[1]}) was"
    if not holds(decimal, line[1], chapter.pool):
        return f"does not come from: {line[1]}"
    return ""


def pairs(typed: list[Decimal], lines: list[Line]) -> Iterator[tuple[Any, Any]]:
    """Pair the decimals of a page with its lines, in order; None where one has no partner."""
    texts = [decimal.text for decimal in typed]
    matcher = SequenceMatcher(None, texts, [text for text, _ in lines], autojunk=False)
    for _, start, stop, first, last in matcher.get_opcodes():
        yield from zip_longest(typed[start:stop], lines[first:last])


def holds(decimal: Decimal, source: str, pool: list[Known]) -> bool:
    """Say whether a decimal comes from where its line says."""
    kind, _, rest = source.partition(" ")
    if kind == "formula":
        return decimal.fits(evaluate(rest))
    if kind in ("document", "note"):
        return bool(rest)
    if kind == "printed":  # another machine prints other last digits
        near = [one for one in pool if math.isclose(one.value, float(rest), rel_tol=1e-2)]
        return any(one.source.startswith(kind) and decimal.fits(one.value) for one in near)
    return any(one.source == source and decimal.fits(one.value, one.exact) for one in pool)


def search(decimal: Decimal, page: str, pool: list[Known]) -> str:
    """Say where a decimal comes from, most likely."""
    linked = [f"claim {label.replace('-', '/', 1)}" for label in LABEL.findall(decimal.paragraph)]

    def distance(one: Known) -> tuple[bool, ...]:
        exact = decimal.fits(one.value, exact=True)
        return one.source not in linked, one.page != page.removesuffix(".md"), not exact

    found = [one for one in pool if decimal.fits(one.value, one.exact)]
    return min(found, key=distance).source if found else "unknown"


def evaluate(formula: str) -> float:
    """Compute a formula of numbers, e, pi and functions.

    >>> round(evaluate("log(10) / 2"), 2)
    1.15
    """
    try:
        return float(pd.eval(formula, engine="python", local_dict=CONSTANTS, global_dict={}))
    except Exception as problem:  # of many kinds
        wanted = "want numbers, + - * / ** and functions"
        raise ValueError(f"formula {formula}: {wanted}") from problem


def _nearest(decimal: Decimal, pool: list[Known]) -> str:
    results = [one for one in pool if one.source != "setting"]
    if not results:
        return "the notebooks have no number"
    one = min(results, key=lambda one: abs(abs(one.value) - decimal.value() * decimal.scales[0]))
    return f"the nearest number of the notebooks is {one.value:.4g} ({one.source})"


def chapters(book: Book) -> Iterator[Chapter]:
    """Yield the chapters, then the front matter, whose numbers may come from all of them.

    The text describes the book's own run: a chapter with another profile or seed is left out.
    """
    everything = []
    described = True
    for name in book.chapters:
        notebooks = {page: book.notebook(page) for page in book.notebooks_of(name)}
        executed = {page: notebook for page, notebook in notebooks.items() if notebook["cells"]}
        runs = [notebook["metadata"].get("run", {}) for notebook in executed.values()]
        if any((run.get("profile"), run.get("seed")) != ("quick", 0) for run in runs):
            described = False
            continue
        pool = known(book, name, executed)
        everything += pool
        pages = [f"{name}.md", *(f"{name}/{material}.md" for material in MATERIALS)]
        yield _chapter(book, name, pages, pool)
    if described:
        names = [page.removeprefix("book/") for page in book.pages if not book.chapter_of(page)]
        pages = [f"{name}.md" for name in names]
        yield _chapter(book, "front", pages, everything)


def _chapter(book: Book, name: str, pages: list[str], pool: list[Known]) -> Chapter:
    path = book.folder / "quality" / "numbers" / f"{name}.yml"
    try:
        table = yaml.load(path.read_bytes() if path.is_file() else "{}", yaml.BaseLoader)
        lines = {page: [next(iter(row.items())) for row in rows] for page, rows in table.items()}
    except (yaml.YAMLError, AttributeError, TypeError) as problem:
        remedy = "write `- 0.63: setting` below `one.md:`"
        raise ValueError(f"{path} is no list of decimals by page: {remedy}") from problem
    there = [page for page in pages if (book.folder / page).is_file()]
    texts = {page: (book.folder / page).read_text(encoding="utf-8") for page in there}
    return Chapter(path, texts, lines, pool)
