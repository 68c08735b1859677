"""The decimals of the text, and where each comes from.

`book/quality/numbers/CHAPTER.yml` has a line for every decimal that is typed into the chapter's pages, in their order:

    - 0.63: claim two_point/eq6-encoder     a number of this claim: measured, as printed, of a rival, a bound, its statement
    - 0.84: printed 0.838                   a cell of the lesson or of its evidence page prints this
    - 0.05: setting                         the code of the chapter, or of its stored runs, has this number
    - 1.15: formula log(10) / 2             follows from an equation of the text
    - 3.3: document Section 3.3             stands in the document that is replicated
    - 0.7: note measured once, by hand      anything else, with the reason

`check` holds the lines against the text and against the executed notebooks. A digit that changes no longer has its line, and
a result that changes no longer rounds to what is typed. `record` writes the lines: it looks for a decimal in what its
paragraph links to, in its section, on its page and in its chapter; one that is nowhere is `unknown`, which fails.

Numbers of two digits are too many for a search alone: of those that it finds, a third would also be found with another digit.
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
from typing import NamedTuple

import yaml

from lib import files
from lib.site import toc

FOLDERS = ("", "evidence/", "slides/", "course/", "labs/", "problems/", "quiz/")
UNKNOWN = "unknown"
Row = tuple[str, str]  # a decimal as it is typed, and where it comes from

DECIMAL = re.compile(r"(?<![\d.])\d+(?:,\d{3})*\.\d+(?!\d|\.\d)")
PERCENT = re.compile(r"\s*\\?(?:%|per cent)")
POWER = re.compile(r"(?:\s*\\(?:times|cdot)\s*10\^\{?|e)(-?\d+)")
NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?(?![\w.]*\d)")

HEADER = re.compile(r"\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^(`{3,})(?:\{code-cell\}|\w).*?^\1$", re.DOTALL | re.MULTILINE)
SPOKEN = re.compile(r"^    (?:caption|alt): .*$", re.MULTILINE)  # what a code cell says of its figure
LINK = re.compile(r"\{[\w:]+\}`([^`<\n]*)<[^`\n]*`|\]\([^()\n]*\)|`[^`\n]*`")
TAG = re.compile(r"</?\w+(?: [\w-]+=\"[^\"]*\")*\s*/?>")
LABEL = re.compile(r"[\w]+(?:-[\w]+)+")

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class Decimal(NamedTuple):
    """A decimal in the text: its line, how it is typed, what it may stand for, and what stands around it."""

    line: int
    text: str
    scales: tuple[float, ...]
    section: str
    paragraph: str

    def fits(self, number: float, exact: bool = False) -> bool:
        """Say whether a number, without its sign and rounded to as many places unless it is exact, is this decimal."""
        digits = self.text.replace(",", "")
        half = 0.5 * 10.0 ** -len(digits.split(".")[1])
        error = min(abs(abs(number) / scale - float(digits)) for scale in self.scales)
        return error <= half * (1e-6 if exact else 1 + 1e-9)


class Known(NamedTuple):
    """A number of the notebooks, and where it is."""

    value: float
    source: str
    page: str
    section: str
    label: str
    exact: bool  # typed as it is, like a setting; a result may be rounded


def decimals(text: str) -> list[Decimal]:
    """Find the decimals in the source of a page, but not in code, in addresses and in drawings."""
    text = HEADER.sub(_blank, text)
    text = FENCE.sub(_spoken, text)
    paragraphs = text.split("\n")
    text = TAG.sub(_blank, LINK.sub(_words, text))
    found = []
    section = ""
    for line, words in enumerate(text.split("\n")):
        if words.startswith("## "):
            section = words
        for match in DECIMAL.finditer(words):
            scales = (1.0,)
            if PERCENT.match(words, match.end()):
                scales = (0.01, 1.0)  # printed as a share or as per cent
            elif power := POWER.match(words, match.end()):
                scales = (10.0 ** int(power[1]),)
            found.append(Decimal(line + 1, match[0], scales, section, paragraphs[line]))
    return found


def _blank(match: re.Match) -> str:
    """Keep the lines of a text, and nothing else."""
    return "\n" * match[0].count("\n")


def _spoken(match: re.Match) -> str:
    """Keep the caption and the alt text of a code cell, each in its line."""
    lines = match[0].split("\n")
    return "\n".join(line if SPOKEN.match(line) else "" for line in lines)


def _words(match: re.Match) -> str:
    """Keep the words of a link."""
    return f" {match[1] or ''} "


def known(root: Path, chapter: str, notebooks: dict[str, dict]) -> list[Known]:
    """Collect the numbers of a chapter: those of claims, those that cells print, and those of the code."""
    found = []
    for page, notebook in notebooks.items():
        found += _executed(notebook, page)
    for page, text in _texts(root, [f"labs/{chapter}.md", f"problems/{chapter}.md"]).items():
        for fence in FENCE.finditer(text):
            found += _numbers(fence[0], "setting", page)
    for path in sorted(root.glob("lib/experiments/*.py")):
        found += _numbers(path.read_text(encoding="utf-8"), "setting", "")
    return found


def _executed(notebook: dict, page: str) -> Iterator[Known]:
    section = label = before = ""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for line in source.split("\n"):
                if line.startswith("## "):
                    section = line
                    label = before.strip("()=")
                before = line
            continue
        if "claims.table()" in source or "provenance.stamp(" in source:
            continue  # says again what the claims say, and where the notebook was run
        yield from _numbers(source, "setting", page, section)
        figure = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", label)
        for output in cell["outputs"]:
            if record := output.get("metadata", {}).get("claim"):
                yield from _claim(record, page, section)
                continue
            data = output.get("data", {})
            text = output.get("text") or data.get("text/markdown") or data.get("text/plain", "")
            yield from _numbers("".join(text), "printed", page, section, figure)


def _claim(record: dict, page: str, section: str) -> Iterator[Known]:
    source = f"claim {record['id']}"
    place = (source, page, section, record["id"].replace("/", "-"))
    for value in (record["measured"], record["printed"], *record["rivals"].values()):
        if value is not None:
            yield Known(float(value), *place, exact=False)
    for value in (record["low"], record["high"], *NUMBER.findall(record["statement"])):
        yield Known(float(value), *place, exact=True)


def _numbers(text: str, kind: str, page: str, section: str = "", label: str = "") -> Iterator[Known]:
    for number in NUMBER.findall(text):
        exact = kind == "setting"
        source = kind if exact else f"{kind} {number}"
        yield Known(float(number.replace("_", "")), source, page, section, label, exact)


def evaluate(formula: str) -> float:
    """Compute a formula of numbers and of functions of `math`.

    >>> round(evaluate("log(10) / 2"), 2)
    1.15
    """
    return _value(ast.parse(formula, mode="eval").body)


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return getattr(math, name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right):
            return OPERATORS[type(sign)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return getattr(math, name)(_value(argument))
    raise ValueError(f"{ast.unparse(node)} is no formula of numbers: use + - * / ** and functions of math")


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
    """Say where a decimal comes from, most likely: from what its paragraph links to, its section, its page, its chapter."""
    linked = set(LABEL.findall(decimal.paragraph))

    def distance(one: Known) -> tuple[bool, ...]:
        there = one.page == page.removesuffix(".md")
        near = there and one.section == decimal.section
        return one.label not in linked, not near, not decimal.fits(one.value, exact=True), not there

    found = [one for one in pool if decimal.fits(one.value, one.exact)]
    return min(found, key=distance).source if found else UNKNOWN


def pairs(typed: list[Decimal], rows: list[Row]) -> Iterator[tuple[Decimal | None, Row | None]]:
    """Pair the decimals of a page with its lines, in order."""
    matcher = SequenceMatcher(None, [one.text for one in typed], [row[0] for row in rows], autojunk=False)
    for _, start, stop, first, last in matcher.get_opcodes():
        yield from zip_longest(typed[start:stop], rows[first:last])


def compare(page: str, text: str, rows: list[Row], pool: list[Known]) -> Iterator[str]:
    """Say what is wrong with the decimals of a page, each in a line."""
    for decimal, row in pairs(decimals(text), rows):
        if decimal is None:
            yield f"book/{page}: {row[0]} ({row[1]}) is no longer in the text"
            continue
        if row is None:
            said = "has no line"
        elif row[0] != decimal.text:
            said = f"stands where {row[0]} ({row[1]}) was"
        elif holds(decimal, row[1], pool):
            continue
        else:
            said = f"does not come from: {row[1]}"
        yield f"book/{page}:{decimal.line}: {decimal.text} {said}; {_nearest(decimal, pool)}"


def _nearest(decimal: Decimal, pool: list[Known]) -> str:
    digits = float(decimal.text.replace(",", "")) * decimal.scales[0]
    results = [one for one in pool if one.source != "setting"]
    if not results:
        return "the notebooks have no number"
    one = min(results, key=lambda one: abs(abs(one.value) - digits))
    return f"the nearest number of the notebooks is {one.value:.4g} ({one.source})"


class Chapter(NamedTuple):
    """A chapter: where its lines are, the texts and the lines of its pages, and its numbers."""

    path: Path
    texts: dict[str, str]
    lines: dict[str, list[Row]]
    pool: list[Known]


def chapters(root: Path) -> Iterator[Chapter]:
    """Yield the chapters, then the front matter, whose numbers may come from all of them.

    A notebook that was run with another profile or seed is not the one that the text describes: its chapter is left out.
    """
    everything = []
    described = True
    for name in toc.chapters(root):
        paths = {page: root / "book" / f"{page}.ipynb" for page in toc.notebooks(root, [name])}
        notebooks = {page: json.loads(path.read_text(encoding="utf-8")) for page, path in paths.items() if path.is_file()}
        runs = [notebook["metadata"].get("run", {}) for notebook in notebooks.values()]
        if any(run.get("profile") != "quick" or run.get("seed") != 0 for run in runs):
            described = False
            continue
        pool = known(root, name, notebooks)
        everything += pool
        yield _chapter(root, name, [f"{folder}{name}.md" for folder in FOLDERS], pool)
    if described:
        folders = tuple(f"book/{folder}" for folder in FOLDERS if folder)
        names = {f"book/{name}" for name in toc.chapters(root)}
        front = [page for page in toc.pages(root) if page not in names and not page.startswith(folders)]
        yield _chapter(root, "front", [f"{page.removeprefix('book/')}.md" for page in front] + ["findings.yml"], everything)


def _chapter(root: Path, name: str, pages: list[str], pool: list[Known]) -> Chapter:
    path = root / "book" / "quality" / "numbers" / f"{name}.yml"
    lines = {}
    if path.is_file():
        for page, rows in yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader).items():
            lines[page] = [next(iter(row.items())) for row in rows]
    return Chapter(path, _texts(root, pages), lines, pool)


def _texts(root: Path, pages: list[str]) -> dict[str, str]:
    paths = {page: root / "book" / page for page in pages}
    return {page: path.read_text(encoding="utf-8") for page, path in paths.items() if path.is_file()}


def check(root: Path) -> int:
    """Hold every decimal of the text against its line and against the executed notebooks; return how many there are.

    Raises
    ------
    ValueError
        Naming each decimal that is wrong, with its file and line and the nearest number of the notebooks.
    """
    count = 0
    problems = []
    for chapter in chapters(root):
        for page, text in chapter.texts.items():
            count += len(decimals(text))
            problems += compare(page, text, chapter.lines.get(page, []), chapter.pool)
    if problems:
        problems.append("mend the text, or run `python -m lib report --numbers` and read what it writes")
        raise ValueError("\n".join(problems))
    return count


def record(root: Path) -> list[str]:
    """Write the lines of decimals that have none, or none that holds; return where each is and where it may come from."""
    news = []
    for chapter in chapters(root):
        written = []
        for page, text in chapter.texts.items():
            typed = decimals(text)
            written += [f"{page}:"] * bool(typed)
            for decimal, row in pairs(typed, chapter.lines.get(page, [])):
                if decimal is None:
                    continue
                if row and row[0] == decimal.text and holds(decimal, row[1], chapter.pool):
                    source = row[1]
                else:
                    source = search(decimal, page, chapter.pool)
                    news.append(f"book/{page}:{decimal.line}: {decimal.text}: {source}")
                written.append(f"- {decimal.text}: {source}")
        if written:
            files.write(chapter.path, "\n".join(written) + "\n")
    return news
