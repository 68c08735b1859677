"""Problem sets: notebooks for students, without solutions, and for teachers.

They come from the problems of a chapter and from `book/NAME/problems.md`, whose section `## LABEL`
solves the exercise LABEL: its words are the model answer, the list below `**Rubric.**` says what
earns points, a code cell tagged `answer` computes, and one tagged `check` asserts that it is
right. Points that are `(checked)` belong to the check, the others to the words. Students get
neither the words nor the rubric, nor what stands between `### BEGIN SOLUTION` and
`### END SOLUTION`.

A code cell tagged `numbers`, before the answer, gives names to numbers of the exercise and lists
other versions of them:

    # In your set: the weights start at 1 and SECOND.
    SECOND = 1e-2
    LAST = 1e-4
    # or 2e-2; 4e-4
    # or 5e-3; 2.5e-5

In the answer and the check a name stands for its number, which takes its place: that of the
exercise, or, with a key, that of the version that the key selects. No name is left, so an answer
cannot change what a check compares it with. With a key, the sentence is put below the question.

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
NUMBERS = re.compile(r"```\{code-cell\} \w+\n:tags: \[numbers\]\n\n(.*?)\n```\n\n", re.DOTALL)
NAMES = re.compile(r"# (In your set: .+)\n((?:[A-Z]\w* = .+\n)+)((?:# or .+\n)+)")
OTHERS = """\
> The words and the rubric are about the numbers of the book. This set has others, those of key
> {key}, and so has the code below. {told}

"""
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


def numbered(section: str, key: int | None = None) -> tuple[str, str]:
    """Put numbers in the place of their names: those of the exercise, or of a key's version.

    Returns
    -------
    the section without the cell that lists its numbers, and what a student is told of them:
    nothing without a key, or where there is no such cell

    Raises
    ------
    ValueError
        If the cell cannot be read.
    """
    cell = NUMBERS.search(section)
    if not cell:
        return section, ""
    read = NAMES.fullmatch(cell[1] + "\n")
    if not read:
        raise ValueError("want `# In your set: …`, then lines `NAME = value`, then `# or value; …`")
    told, assigned, others = read.groups()
    names, own = zip(*(line.split(" = ", 1) for line in assigned.splitlines()), strict=True)
    versions = [line.removeprefix("# or ").split("; ") for line in others.splitlines()]
    if {len(version) for version in versions} != {len(names)}:
        raise ValueError(f"want {len(names)} values in each line `# or value; …`")
    chosen = own if key is None else versions[key % len(versions)]
    values = dict(zip(names, chosen, strict=True))
    name = re.compile(rf"\b({'|'.join(names)})\b")
    told, rest = (
        name.sub(lambda found: values[found[0]], text)
        for text in (told, section.replace(cell[0], ""))
    )
    return rest, "" if key is None else told


def notebook(
    references: References, chapter: str, solved: bool, key: int | None = None
) -> NotebookNode:
    """Return a chapter's problem set, with its solutions or without.

    A key changes the numbers of the problems that have other versions.

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
        cells += _problem(references, chapter, label, section, solved, key)
    points = sum(cell.metadata["nbgrader"].get("points", 0) for cell in cells)
    about = INTRODUCTION.format(
        title=book.title(chapter), name=chapter, points=points, notice=citing.notice(book)
    )
    cells.insert(0, _cell(new_markdown_cell(about), f"{chapter}-about"))
    return new_notebook(cells=cells, metadata={"kernelspec": head.metadata["kernelspec"]})


def _problem(
    references: References,
    chapter: str,
    label: str,
    section: str,
    solved: bool,
    key: int | None,
) -> list[NotebookNode]:
    """Return the cells of a problem: the question, the answer in words and in code, the check."""
    place = f"book/{chapter}/problems.md, {label}"
    try:
        section, other = numbered(section, key)
    except ValueError as problem:
        raise ValueError(f"{place}: {problem}") from None
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
    if other:
        asked += f"\n\n**{other.replace(': ', ':** ', 1)}"
        told = OTHERS.format(key=key, told=other) + told
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
