"""Problem sets: notebooks for students, without solutions, and for teachers.

They come from the problems of a chapter and from `book/NAME/problems.md`, whose section `## LABEL`
solves the exercise LABEL: its words are the model answer, the list below `**Rubric.**` says what
earns points, a code cell tagged `answer` computes, and one tagged `check` asserts that it is
right. Points that are `(checked)` belong to the check, the others to the words. Students get
neither the words nor the rubric, nor what stands between `### BEGIN SOLUTION` and
`### END SOLUTION`.

The cells carry the metadata of nbgrader (https://nbgrader.readthedocs.io), which Jupyter ignores
where it is not installed: a set can be handed out as it is, and collected and graded on any
JupyterHub. The teachers' notebook is what nbgrader calls the source version, the students' one
the release version.
"""

import re
from typing import NamedTuple

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib.site import myst
from lib.site.book import Book
from lib.site.myst import References
from lib.site.shown import part

SECTION = re.compile(r"^## (\S+)\n", re.MULTILINE)
EQUATION = re.compile(r"\{eq\}`([^`]+)`")
RUBRIC = re.compile(r"\*\*Rubric\.\*\*\n\n((?:- .+\n?)+)")
POINTS = re.compile(r"- (\d+) points?( \(checked\))?: ")
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError()"
INTRODUCTION = """\
# Problems: {title}

From the chapter *{title}* of the book "Executable Learning Dynamics". Run it in the book's
environment (the README says how), or after `pip install --editable .` in a clone. Each problem asks
for an answer in words and one in code; a check cell says whether the numbers are right. {points}
points in all.

Numbers with a dot, like equation (2.1) or Fig. 2.1, are those of the book; "Eq. 1" or "Proposition
1" belongs to the document that the chapter replicates."""


class Problem(NamedTuple):
    """A problem and its solution; `words` are points for the
    answer in words, `checked` of the check.
    """

    label: str
    question: str
    rubric: str
    words: int
    checked: int
    model: str
    answer: str
    check: str


def sets(book: Book) -> list[str]:
    """Name the chapters with a problem set: solutions that have answers to be checked."""
    return [name for name, text in book.beside("problems").items() if "[check]" in text]


def read(references: References, chapter: str) -> tuple[str, list[Problem]]:
    """Return the code that all problems of a chapter need, and the problems.

    Raises
    ------
    ValueError
        If a problem lacks a part: an exercise in the chapter, a model answer, a rubric, a cell
        `answer` or a cell `check`.
    """
    text = references.book.text(f"{chapter}/problems")
    setup = []
    gathered: dict[str, list[tuple[str, str]]] = {}
    for cell in jupytext.reads(text).cells:
        if cell.cell_type == "markdown":
            _, *parts = SECTION.split(cell.source + "\n")
            for label, words in zip(parts[::2], parts[1::2], strict=True):
                gathered[label] = [("words", words.strip())]
        elif not gathered:
            setup.append(cell.source)
        else:
            for tag in cell.metadata.get("tags", []):
                gathered[label].append((tag, cell.source))
    problems = [_problem(references, chapter, *one) for one in gathered.items()]
    return "\n\n".join(setup), problems


def _problem(
    references: References, chapter: str, label: str, found: list[tuple[str, str]]
) -> Problem:
    place = f"book/{chapter}/problems.md, {label}"
    if [kind for kind, _ in found] != ["words", "answer", "check"]:
        raise ValueError(f"{place}: want words, then one cell tagged answer and one tagged check")
    words, answer, check = (text for _, text in found)
    rubric = RUBRIC.search(words + "\n")
    lines = rubric[1].strip().split("\n") if rubric else [""]
    points = list(filter(None, map(POINTS.match, lines)))
    if len(points) < len(lines) or not SOLUTION.search(answer):
        raise ValueError(
            f"{place}: want **Rubric.** with lines `- 3 points: …`, and ### BEGIN SOLUTION in "
            "the answer"
        )
    worth = {True: 0, False: 0}
    for one in points:
        worth[bool(one[2])] += int(one[1])
    model = references.write(RUBRIC.sub("", words + "\n"))
    asked = question(references, chapter, label)
    rows = "\n".join(lines)
    return Problem(label, asked, rows, worth[False], worth[True], model, answer, check)


def question(references: References, chapter: str, label: str) -> str:
    """Return a problem's title and text, then the equations that it refers to.

    Raises
    ------
    ValueError
        If the chapter has no such problem.
    """
    for exercise in myst.exercises(references.book, chapter):
        if exercise.options["label"] == label and "problem" in exercise.options.get("class", ""):
            asked = f"## {exercise.argument}\n\n{references.write(exercise.body)}"
            for name in dict.fromkeys(EQUATION.findall(exercise.body)):
                found = part(references.known, name)
                asked += f"\n\nEquation {found.number} of the book:\n\n$$\n{found.tex}\n$$"
            return asked
    raise ValueError(f"book/{chapter}.md has no problem {label}")


def notebook(references: References, chapter: str, solved: bool) -> NotebookNode:
    """Return a chapter's problem set, with its solutions or without."""
    setup, problems = read(references, chapter)
    points = sum(problem.words + problem.checked for problem in problems)
    about = INTRODUCTION.format(title=references.book.title(chapter), points=points)
    cells = [
        _cell(new_markdown_cell(about), f"{chapter}-about"),
        _cell(new_code_cell(setup), f"{chapter}-setup"),
    ]
    for one in problems:
        worth = (
            f"**{one.words + one.checked} points**: {one.words} for the words, "
            f"{one.checked} for the check."
        )
        answer = one.answer if solved else SOLUTION.sub(STUB, one.answer)
        words = f"{one.model}\n\n**Rubric**\n\n{one.rubric}" if solved else "YOUR ANSWER HERE"
        cells += [
            _cell(new_markdown_cell(f"{one.question}\n\n{worth}"), f"{one.label}-question"),
            _cell(new_markdown_cell(words), f"{one.label}-words", solution=True, points=one.words),
            _cell(new_code_cell(answer), f"{one.label}-answer", solution=True),
            _cell(new_code_cell(one.check), f"{one.label}-check", points=one.checked),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _cell(
    cell: NotebookNode, name: str, solution: bool = False, points: int | None = None
) -> NotebookNode:
    """Give a cell a name that stays, and what nbgrader wants to know of it."""
    cell.id = name
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points is not None,
        "solution": solution,
        "locked": not solution,
        "task": False,
    }
    if points is not None:
        cell.metadata["nbgrader"]["points"] = points
    return cell
