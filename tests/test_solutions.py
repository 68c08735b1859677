"""The checks of labs and problem sets, tested like code: solutions written differently
pass, plausible mistakes fail, and a check that fails says what it wanted.

`tests/NAME/solutions.yml` names the blanks of a chapter's lab and of its problem set by what they
define. A solution is code for the blank, or a pair: what to replace in the model solution, and by
what.
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
    if not re.match(r"AssertionError: \S|ValueError: .*want ", said):
        return f"is not told what is wrong: {said}"
    return None


def judge(cells, blank, solutions, namespace):
    """Return what is wrong with the checks of a blank, given all that comes before it."""
    before = dict(namespace)
    after = cells[blank.cell + 1 : check_of(cells, blank) + 1]
    found = []
    for kind in ("right", "wrong"):
        if len(solutions[kind]) < LEAST:
            found.append(f"{blank.name}: want {LEAST} {kind} solutions")
        for draws, (title, solution) in enumerate(solutions[kind].items()):
            if "rng" in namespace:  # a student draws as often as he likes
                namespace["rng"].normal(size=draws)
            said = verdict([filled(cells[blank.cell], blank, solution), *after], namespace)
            if complaint(kind, said):
                found.append(f"{blank.name}: {kind} solution “{title}” {complaint(kind, said)}")
            namespace.clear()
            namespace.update(before)
    return found


@pytest.mark.parametrize("material", ["lab", "problems"])
@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_checks_tell_solutions_from_mistakes(chapter, material, monkeypatch):
    monkeypatch.chdir(BOOK.root)
    matplotlib.use("agg")
    written = jupytext.reads(BOOK.text(f"{chapter}/{material}"), fmt="md:myst")
    cells = [cell.source for cell in written.cells if cell.cell_type == "code"]
    path = BOOK.root / "tests" / chapter / "solutions.yml"
    solutions = yaml.safe_load(path.read_text(encoding="utf-8"))[material]
    blanks = blanks_of(cells)
    assert sorted(blank.name for blank in blanks) == sorted(solutions)
    namespace = {"__name__": "__main__"}
    complaints = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(blanks[-1].cell + 1):
            for blank in blanks:
                if blank.cell == number:
                    complaints += judge(cells, blank, solutions[blank.name], namespace)
            exec(compile(cells[number], "<cell>", "exec"), namespace)
    assert not complaints, "\n".join(complaints)
