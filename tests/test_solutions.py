"""The checks of labs and problem sets, tested like code: solutions written differently
pass, plausible mistakes fail, and a check that fails says what it wanted.

`tests/NAME/solutions.yml` names the blanks of a chapter's lab and of its problem set by what they
define. A solution is code for the blank, or a pair: what to replace in the model solution, and by
what. Names of a problem's numbers stand for them in solutions, too.
"""

import re
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path

import jupytext
import matplotlib
import numpy as np
import pytest
import yaml

from lib.site import problems
from lib.site.book import Book

pytestmark = pytest.mark.slow
BOOK = Book(Path(__file__).parents[1])
FIRST_NAME = re.compile(r"(?:def )?(\w+)")
LEAST = 3  # of each kind


@dataclass(frozen=True)
class Blank:
    """A blank: its cell, where it stands there, what it defines, and the model solution."""

    cell: int
    start: int
    end: int
    indent: str
    name: str
    model: str


def blanks_of(cells):
    """Return all blanks of a notebook's code, in their order."""
    found = []
    for cell, source in enumerate(cells):
        for match in problems.SOLUTION.finditer(source):
            indent = match[1]
            model = "\n".join(match[0].split("\n")[1:-1]) + "\n"
            functions = re.findall(r"^def (\w+)", source[: match.start()], re.MULTILINE)
            name = functions[-1] if indent else FIRST_NAME.match(model)[1]
            span = match.span()
            found.append(Blank(cell, *span, indent, name, textwrap.dedent(model)))
    return found


def filled(source, blank, solution):
    """Return a cell with another solution in its blank."""
    if isinstance(solution, list):
        old, new = solution
        assert blank.model.count(old) == 1, f"want {old!r} once in the model solution"
        solution = blank.model.replace(old, new)
    written = textwrap.indent(solution.rstrip("\n"), blank.indent)
    return source[: blank.start] + written + source[blank.end :]


def check_of(cells, blank):
    """Return the number of the first cell, from the blank's on, that asserts after the blank."""
    if "assert " in cells[blank.cell][blank.end :]:
        return blank.cell
    return next(i for i in range(blank.cell + 1, len(cells)) if "assert " in cells[i])


def verdict(sources, namespace):
    """Run cells; return None if they pass, or the name of the error and what it says."""
    try:
        for source in sources:
            exec(compile(source, "<cell>", "exec"), namespace)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def complaint(kind, said):
    """Return what is wrong with the answer of a check to a solution, or None."""
    if kind == "right":
        return said and f"is refused: {said}"
    if said is None:
        return "passes"
    if kind == "wrong" and not re.match(r"AssertionError: \S|ValueError: .*want ", said):
        return f"is not told what is wrong: {said}"
    return None


def judge(cells, blank, solutions, namespace):
    """Return what is wrong with the checks of a blank, given all that comes before it."""
    before = dict(namespace)
    after = cells[blank.cell + 1 : check_of(cells, blank) + 1]
    found = []
    for kind in solutions:
        for draws, (title, solution) in enumerate(solutions[kind].items()):
            if "rng" in namespace:  # a student draws as often as he likes
                namespace["rng"].normal(size=draws)
            said = verdict([filled(cells[blank.cell], blank, solution), *after], namespace)
            if complaint(kind, said):
                found.append(f"{blank.name}: {kind} solution “{title}” {complaint(kind, said)}")
            namespace.clear()
            namespace.update(before)
    return found


def read(chapter, material, key=None):
    """Return the code cells of a lab or a problem set, and the solutions, with a key's numbers."""
    text = BOOK.text(f"{chapter}/{material}")
    path = BOOK.root / "tests" / chapter / "solutions.yml"
    solutions = path.read_text(encoding="utf-8")
    for numbers in problems.NUMBERS.finditer(text):
        solutions = problems.numbered(numbers[0] + solutions, key)[0]
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    text = "".join(problems.numbered(section, key)[0] for section in sections)
    # A table of medians that no check reads: one network is enough.
    text = text.replace("(draw(), draw())) for _ in range(20)]", "(draw(), draw()))]")
    written = jupytext.reads(text, fmt="md:myst")
    cells = [cell.source for cell in written.cells if cell.cell_type == "code"]
    return cells, yaml.safe_load(solutions)[material]


def complaints(cells, blanks, solutions):
    """Return what is wrong with the checks of all blanks that have solutions; run all cells."""
    matplotlib.use("agg")
    namespace = {"__name__": "__main__"}
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(len(cells)):
            for blank in blanks:
                if blank.cell == number and blank.name in solutions:
                    found += judge(cells, blank, solutions[blank.name], namespace)
            exec(compile(cells[number], "<cell>", "exec"), namespace)
    return found


@pytest.mark.parametrize("material", ["lab", "problems"])
@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_checks_tell_solutions_from_mistakes(chapter, material, monkeypatch):
    monkeypatch.chdir(BOOK.root)
    cells, solutions = read(chapter, material)
    blanks = blanks_of(cells)
    assert sorted(blank.name for blank in blanks) == sorted(solutions)
    for name, one in solutions.items():
        assert len(one["right"]) >= LEAST <= len(one["wrong"]), name
    found = complaints(cells, blanks, solutions)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("key", [0, 1, 2])
@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_a_key_has_solutions_and_mistakes_of_its_own(chapter, key, monkeypatch):
    monkeypatch.chdir(BOOK.root)
    own_cells, own = read(chapter, "problems")
    cells, solutions = read(chapter, "problems", key)
    blanks = blanks_of(cells)
    following = blanks_of(read(chapter, "problems", key + 1)[0])
    changed = {}
    for blank, book, other in zip(blanks, blanks_of(own_cells), following, strict=True):
        if blank.model == book.model:
            continue
        right, wrong = (solutions[blank.name][kind] for kind in ("right", "wrong"))
        changed[blank.name] = {
            "right": {
                title: code
                for title, code in right.items()
                if code != own[blank.name]["right"][title]
            }
            | {"the model": blank.model},
            "wrong": wrong,
            "foreign": {"the book's": book.model, "of the next key": other.model},
        }
    assert changed
    found = complaints(cells, blanks, changed)
    assert not found, "\n".join(found)
