"""Problem sets: notebooks for students, without solutions, and for teachers.

They come from the problems of a chapter and from `book/problems/NAME.md`, whose section `## LABEL` solves the exercise LABEL:
its words are the model answer, the list below `**Rubric.**` says what earns points, a code cell tagged `answer` computes, and
one tagged `check` asserts that it is right. Points that are `(checked)` belong to the check, the others to the words. Students
get neither the words nor the rubric, nor what stands between `### BEGIN SOLUTION` and `### END SOLUTION`.

The cells carry the metadata of nbgrader (https://nbgrader.readthedocs.io), which Jupyter ignores where it is not installed: a
set can be handed out as it is, and collected and graded on any JupyterHub. The teachers' notebook is what nbgrader calls the
source version, the students' one the release version.
"""

import re
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lib import files
from lib.site import myst
from lib.site.myst import References
from lib.site.toc import beside, title

SECTION = re.compile(r"^## (\S+)\n", re.MULTILINE)
RUBRIC = re.compile(r"\*\*Rubric\.\*\*\n\n((?:- .+\n?)+)")
POINTS = re.compile(r"^- (\d+) points?( \(checked\))?: ", re.MULTILINE)
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError()"
INTRODUCTION = """\
# Problems: {title}

From the chapter *{title}* of the book "Executable Learning Dynamics". Run it in the book's environment (the README says how), or
after `pip install --editable .` in a clone. Each problem asks for an answer in words and one in code; a check cell says
whether the numbers are right. {points} points in all.

Numbers with a dot, like equation (2.1) or Fig. 2.1, are those of the book; "Eq. 1" or "Proposition 1" belongs to the document
that the chapter replicates."""


class Problem(NamedTuple):
    """A problem with its solution; `words` are points for the answer in words, `checked` those of the check."""

    label: str
    question: str
    rubric: str
    words: int
    checked: int
    model: str
    answer: str
    check: str


def sets(root: Path) -> list[str]:
    """Name the chapters with a problem set: a file of solutions that has answers to be checked."""
    return [name for name, path in beside(root, "problems").items() if "[check]" in path.read_text(encoding="utf-8")]


def read(references: References, chapter: str) -> tuple[str, list[Problem]]:
    """Return the code that all problems of a chapter need, and the problems.

    Raises
    ------
    ValueError
        If a problem lacks a part: an exercise in the chapter, a model answer, a rubric, a cell `answer` or a cell `check`.
    """
    path = references.root / "book" / "problems" / f"{chapter}.md"
    setup, gathered = [], {}
    for cell in jupytext.read(path).cells:
        if cell.cell_type == "markdown":
            for label, text in zip(*[iter(SECTION.split(cell.source + "\n")[1:])] * 2, strict=True):
                gathered[label] = [("words", text.strip())]
        elif not gathered:
            setup.append(cell.source)
        else:
            tags = cell.metadata.get("tags", [])
            gathered[list(gathered)[-1]] += [(tag, cell.source) for tag in tags if tag in ("answer", "check")]
    return "\n\n".join(setup), [_problem(references, chapter, label, found) for label, found in gathered.items()]


def _problem(references: References, chapter: str, label: str, found: list[tuple[str, str]]) -> Problem:
    place = f"book/problems/{chapter}.md, {label}"
    if sorted(kind for kind, _ in found) != ["answer", "check", "words"]:
        raise ValueError(f"{place}: want words, then one cell tagged answer and one tagged check")
    texts = dict(found)
    rubric = RUBRIC.search(texts["words"] + "\n")
    points = POINTS.findall(rubric[1]) if rubric else []
    if not rubric or len(points) != rubric[1].count("\n- ") + 1 or not SOLUTION.search(texts["answer"]):
        raise ValueError(f"{place}: want **Rubric.** with lines `- 3 points: …`, and ### BEGIN SOLUTION in the answer")
    checked = sum(int(number) for number, of_check in points if of_check)
    words = sum(int(number) for number, of_check in points if not of_check)
    asked = question(references, chapter, label)
    model = references.write(RUBRIC.sub("", texts["words"] + "\n"))
    return Problem(label, asked, rubric[1].strip(), words, checked, model, texts["answer"], texts["check"])


def question(references: References, chapter: str, label: str) -> str:
    """Return a problem's title and text, then the equations that it refers to; a ValueError if the chapter has none such."""
    for exercise in myst.directives(references.root, chapter, "exercise"):
        if exercise.options.get("label") == label and "problem" in exercise.options.get("class", ""):
            quoted = "".join(
                f"\n\nEquation {references.said[name]} of the book:\n\n$$\n{formula}\n$$"
                for name, formula in references.equations.items()
                if f"{{eq}}`{name}`" in exercise.body
            )
            return f"## {exercise.argument}\n\n{references.write(exercise.body)}{quoted}"
    raise ValueError(f"book/{chapter}.md has no problem {label}")


def notebook(references: References, chapter: str, solved: bool) -> NotebookNode:
    """Return a chapter's problem set, with its solutions or without."""
    setup, problems = read(references, chapter)
    points = sum(problem.words + problem.checked for problem in problems)
    words = INTRODUCTION.format(title=title(references.root, chapter), points=points)
    cells = [_cell(new_markdown_cell(words), f"{chapter}-about"), _cell(new_code_cell(setup), f"{chapter}-setup")]
    for problem in problems:
        name, question = problem.label, problem.question
        worth = f"**{problem.words + problem.checked} points**: {problem.words} for the words, {problem.checked} for the check."
        answer = problem.answer if solved else SOLUTION.sub(STUB, problem.answer)
        words = new_markdown_cell(f"{problem.model}\n\n**Rubric**\n\n{problem.rubric}" if solved else "YOUR ANSWER HERE")
        cells.append(_cell(new_markdown_cell(f"{question}\n\n{worth}"), f"{name}-question"))
        cells.append(_cell(words, f"{name}-words", solution=True, points=problem.words))
        cells.append(_cell(new_code_cell(answer), f"{name}-answer", solution=True))
        cells.append(_cell(new_code_cell(problem.check), f"{name}-check", points=problem.checked))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    written = new_notebook(cells=cells, metadata=kernel)
    nbformat.validate(written)
    return written


def _cell(cell: NotebookNode, name: str, solution: bool = False, points: int | None = None) -> NotebookNode:
    """Give a cell a name that stays, and what nbgrader wants to know of it."""
    cell.id = name
    facts = {"schema_version": 3, "grade_id": name, "grade": points is not None, "solution": solution, "locked": not solution}
    cell.metadata["nbgrader"] = facts | {"task": False} | ({"points": points} if points is not None else {})
    return cell


def write(root: Path, folder: Path, solved: bool) -> list[Path]:
    """Write the problem sets of all chapters that have one into a folder; return the files."""
    references, written = References(root), []
    for chapter in sets(root):
        written.append(folder / f"{chapter}.ipynb")
        files.write(written[-1], nbformat.writes(notebook(references, chapter, solved)) + "\n")
    return written
