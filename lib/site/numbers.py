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
from what a paragraph links to, its section, its page and its chapter; a decimal that is nowhere is
`unknown`, which `check` refuses.
"""

import ast
import json
import math
import operator
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lib import files
from lib.site import toc
from lib.site.decimals import Decimal, decimals
from lib.site.known import Known, known

FOLDERS = ("", "evidence/", "slides/", "course/", "labs/", "problems/", "quiz/")
LABEL = re.compile(r"\w+(?:-\w+)+")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
Line = tuple[str, str]  # a decimal as it is typed, and where it comes from


class Chapter(NamedTuple):
    """A chapter: the file of its lines, the texts and the lines of its pages, and its numbers."""

    path: Path
    texts: dict[str, str]
    lines: dict[str, list[Line]]
    pool: list[Known]


def check(root: Path) -> int:
    """Hold the decimals of the text against their lines and the notebooks; return their number.

    Raises
    ------
    ValueError
        Naming each wrong decimal, its file and line, and the nearest number of the notebooks.
    """
    count = 0
    problems = []
    for chapter in chapters(root):
        for page, text in chapter.texts.items():
            count += len(decimals(text))
            problems += compare(chapter, page, text)
    if problems:
        problems.append("mend the text, or judge what `python -m lib report --numbers` proposes")
        raise ValueError("\n".join(problems))
    return count


def compared(root: Path) -> int:
    """Return how many decimals are compared with a number; the others have a reason in words."""
    sources = [source for chapter in chapters(root) for lines in chapter.lines.values() for _, source in lines]
    return sum(not source.startswith(("document", "note")) for source in sources)


def record(root: Path) -> list[str]:
    """Write lines for the decimals that have none, or none that holds; return what is new."""
    news = []
    for chapter in chapters(root):
        written = []
        for page, text in chapter.texts.items():
            typed = decimals(text)
            written += [f"{page}:"] * bool(typed)
            for decimal, line in pairs(typed, chapter.lines.get(page, [])):
                if decimal is None:
                    continue
                if line and line[0] == decimal.text and holds(decimal, line[1], chapter.pool):
                    source = line[1]
                else:
                    source = search(decimal, page, chapter.pool)
                    news.append(f"book/{page}:{decimal.line}: {decimal.text}: {source}")
                written.append(f"- {decimal.text}: {source}")
        if written:
            files.write(chapter.path, "\n".join(written) + "\n")
    return news


def compare(chapter: Chapter, page: str, text: str) -> Iterator[str]:
    """Say what is wrong with the decimals of a page, each in a line."""
    for decimal, line in pairs(decimals(text), chapter.lines.get(page, [])):
        if decimal is None:
            yield f"book/{page}: {line[0]} ({line[1]}) is no longer in the text"
            continue
        if line is None:
            said = f"has no line in {chapter.path.name}"
        elif line[0] != decimal.text:
            said = f"stands where {line[0]} ({line[1]}) was"
        elif holds(decimal, line[1], chapter.pool):
            continue
        else:
            said = f"does not come from: {line[1]}"
        place = f"book/{page}:{decimal.line}:{decimal.column}"
        yield f"{place}: {decimal.text} {said}; {_nearest(decimal, chapter.pool)}"


def pairs(typed: list[Decimal], lines: list[Line]) -> Iterator[tuple[Decimal | None, Line | None]]:
    """Pair the decimals of a page with its lines, in order."""
    texts = [decimal.text for decimal in typed]
    recorded = [line[0] for line in lines]
    matcher = SequenceMatcher(None, texts, recorded, autojunk=False)
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
    linked = set(LABEL.findall(decimal.paragraph))

    def distance(one: Known) -> tuple[bool, ...]:
        there = one.page == page.removesuffix(".md")
        near = there and one.section == decimal.section
        return one.label not in linked, not near, not decimal.fits(one.value, exact=True), not there

    found = [one for one in pool if decimal.fits(one.value, one.exact)]
    return min(found, key=distance).source if found else "unknown"


def evaluate(formula: str) -> float:
    """Compute a formula of numbers and of functions of `math`.

    >>> round(evaluate("log(10) / 2"), 2)
    1.15
    """
    return _value(ast.parse(formula, mode="eval").body)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if hasattr(math, name):
            return getattr(math, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_value(left), _value(right))
        case ast.Call(func=function, args=[argument]):
            return _value(function)(_value(argument))
    raise ValueError(f"formula {ast.unparse(node)}: want numbers, + - * / ** and functions of math")


def _nearest(decimal: Decimal, pool: list[Known]) -> str:
    results = [one for one in pool if one.source != "setting"]
    if not results:
        return "the notebooks have no number"
    one = min(results, key=lambda one: abs(abs(one.value) - decimal.value() * decimal.scales[0]))
    return f"the nearest number of the notebooks is {one.value:.4g} ({one.source})"


def chapters(root: Path) -> Iterator[Chapter]:
    """Yield the chapters, then the front matter, whose numbers may come from all of them.

    The text describes the book's own run: a chapter with another profile or seed is left out.
    """
    everything = []
    described = True
    for name in toc.chapters(root):
        notebooks = _notebooks(root, name)
        runs = [notebook["metadata"].get("run", {}) for notebook in notebooks.values()]
        if any(run.get("profile") != "quick" or run.get("seed") != 0 for run in runs):
            described = False
            continue
        pool = known(root, name, notebooks)
        everything += pool
        yield _chapter(root, name, [f"{folder}{name}.md" for folder in FOLDERS], pool)
    if described:
        yield _chapter(root, "front", _front(root), everything)


def _front(root: Path) -> list[str]:
    """Name the pages that are no chapter's."""
    lessons = toc.chapters(root)
    pages = [page.removeprefix("book/") for page in toc.pages(root)]
    folders = tuple(filter(None, FOLDERS))
    front = [page for page in pages if page not in lessons and not page.startswith(folders)]
    return [*(f"{page}.md" for page in front), "findings.yml"]


def _notebooks(root: Path, chapter: str) -> dict[str, dict]:
    found = {}
    for page in toc.notebooks(root, [chapter]):
        path = root / "book" / f"{page}.ipynb"
        if path.is_file():
            found[page] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _chapter(root: Path, name: str, pages: list[str], pool: list[Known]) -> Chapter:
    path = root / "book" / "quality" / "numbers" / f"{name}.yml"
    written = path.read_text(encoding="utf-8") if path.is_file() else "{}"
    try:
        table = yaml.load(written, yaml.BaseLoader)
        lines = {page: [next(iter(row.items())) for row in rows] for page, rows in table.items()}
    except (yaml.YAMLError, AttributeError, TypeError) as problem:
        remedy = "write `- 0.63: setting` below `one.md:`"
        raise ValueError(f"{path} is no list of decimals by page: {remedy}") from problem
    texts = {}
    for page in pages:
        source = root / "book" / page
        if source.is_file():
            texts[page] = source.read_text(encoding="utf-8")
    return Chapter(path, texts, lines, pool)
