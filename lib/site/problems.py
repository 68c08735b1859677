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

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib.site import citing, myst
from lib.site.book import Book
from lib.site.myst import References
from lib.site.shown import part

SECTION = re.compile(r"^## (\S+)\n", re.MULTILINE)
EQUATION = re.compile(r"\{eq\}`([^`]+)`")
POINTS = re.compile(r"- (\d+) points?( \(checked\))?: ")
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError()"
INTRODUCTION = """\
# Problems: {title}

From the chapter *{title}* of the book "Executable Learning Dynamics". In a clone of the book
`make lab NAME={name}` opens JupyterLab with everything installed; elsewhere run `pip install
--editable .` in a clone first. Each problem asks for an answer in words and one in code; a check
cell says whether the numbers are right. {points} points in all.

Numbers with a dot, like equation (2.1) or Fig. 2.1, are those of the book; "Eq. 1" or "Proposition
1" belongs to the document that the chapter replicates.

{notice}"""


def sets(book: Book) -> list[str]:
    """Name the chapters with a problem set: solutions that have answers to be checked."""
    return [name for name, text in book.beside("problems").items() if "[check]" in text]


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
    """Return a chapter's problem set, with its solutions or without.

    Raises
    ------
    ValueError
        If a problem lacks a part: an exercise in the chapter, a model answer, a rubric, a cell
        `answer` or a cell `check`.
    """
    book = references.book
    opening, *sections = SECTION.split(book.text(f"{chapter}/problems"))
    head = jupytext.reads(opening, fmt="md:myst")
    setup = "\n\n".join(cell.source for cell in head.cells if cell.cell_type == "code")
    cells = [_cell(new_code_cell(setup), f"{chapter}-setup")]
    for label, section in zip(sections[::2], sections[1::2], strict=True):
        cells += _problem(references, chapter, label, section, solved)
    points = sum(cell.metadata["nbgrader"].get("points", 0) for cell in cells)
    about = INTRODUCTION.format(
        title=book.title(chapter), name=chapter, points=points, notice=citing.notice(book)
    )
    cells.insert(0, _cell(new_markdown_cell(about), f"{chapter}-about"))
    return new_notebook(cells=cells, metadata={"kernelspec": head.metadata["kernelspec"]})


def _problem(
    references: References, chapter: str, label: str, section: str, solved: bool
) -> list[NotebookNode]:
    """Return the cells of a problem: the question, the answer in words and in code, the check."""
    place = f"book/{chapter}/problems.md, {label}"
    found = jupytext.reads(section, fmt="md:myst").cells
    if [cell.metadata.get("tags", []) for cell in found] != [[], ["answer"], ["check"]]:
        raise ValueError(f"{place}: want words, then one cell tagged answer and one tagged check")
    words, answer, check = (cell.source for cell in found)
    model, _, rubric = words.partition("**Rubric.**\n\n")
    points = {True: 0, False: 0}
    for line in rubric.split("\n"):
        one = POINTS.match(line)
        if not one or not SOLUTION.search(answer):
            raise ValueError(
                f"{place}: want **Rubric.** with lines `- 3 points: …`, and ### BEGIN SOLUTION in "
                "the answer"
            )
        points[bool(one[2])] += int(one[1])
    asked = question(references, chapter, label)
    worth = (
        f"**{sum(points.values())} points**: {points[False]} for the words, "
        f"{points[True]} for the check."
    )
    told = f"{references.write(model)}\n\n**Rubric**\n\n{rubric}"
    if not solved:
        told = "YOUR ANSWER HERE"
        answer = SOLUTION.sub(STUB, answer)
    return [
        _cell(new_markdown_cell(f"{asked}\n\n{worth}"), f"{label}-question"),
        _cell(new_markdown_cell(told), f"{label}-words", solution=True, points=points[False]),
        _cell(new_code_cell(answer), f"{label}-answer", solution=True),
        _cell(new_code_cell(check), f"{label}-check", points=points[True]),
    ]


def _cell(
    cell: NotebookNode, name: str, solution: bool = False, points: int | None = None
) -> NotebookNode:
    """Give a cell a name that stays, and what nbgrader wants to know of it."""
    graded = points is not None
    cell.id = name
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": graded,
        "solution": solution,
        "locked": not solution,
        "task": False,
    }
    if graded:
        cell.metadata["nbgrader"]["points"] = points
    return cell
