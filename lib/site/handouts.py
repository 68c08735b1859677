"""What is handed out: labs, problem sets, answers to quizzes, and the chapters for Jupyter.

A lab, `book/NAME/lab.md`, has a training loop to complete, and what to measure with it. Students
get neither the cells of text tagged `answer` nor the code between `### BEGIN SOLUTION` and
`### END SOLUTION`. The answers to the quizzes of the teaching plans, `book/NAME/quiz.md`, are for
lecturers only.
"""

import json
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from lib import files
from lib.site import citing, problems
from lib.site.book import Book
from lib.site.myst import References

# What a student is told who has the notebook alone.
ORIGIN = """

From the chapter *{title}* of the book "Executable Learning Dynamics", whose functions (`lib` and
`book`) the cells import. In a clone of the book `make lab NAME={name}` opens JupyterLab with
everything installed; elsewhere run `pip install --editable .` in a clone first. What a figure shows
is printed beside it.

{notice}"""


def lab(book: Book, name: str, solved: bool) -> NotebookNode:
    """Return a lab with its solutions or with blanks, and with a word on where it comes from."""
    written = jupytext.reads(book.text(f"{name}/lab"))
    written.cells[0].source += ORIGIN.format(
        title=book.title(name), name=name, notice=citing.notice(book)
    )
    for number, cell in enumerate(written.cells):
        cell.id = f"{name}-{number}"
        if solved:
            continue
        if cell.cell_type == "code":
            cell.source = problems.SOLUTION.sub(problems.STUB, cell.source)
        elif "answer" in cell.metadata.get("tags", []):
            cell.source = "YOUR ANSWER HERE"
    written.metadata = {"kernelspec": written.metadata["kernelspec"]}
    return written


def write(references: References, folder: Path, solved: bool, key: int | None = None) -> list[Path]:
    """Write labs and problem sets into a folder; with solutions, also the answers to quizzes.

    A key changes the numbers of the problem sets.
    """
    book = references.book
    written = {}
    for name in book.beside("lab"):
        written[f"labs/{name}.ipynb"] = nbformat.writes(lab(book, name, solved))
    for name in problems.sets(book):
        notebook = problems.notebook(references, name, solved, key)
        written[f"problems/{name}.ipynb"] = nbformat.writes(notebook)
    for name, answers in book.beside("quiz").items():
        if solved:
            written[f"quiz/{name}.md"] = references.write(answers)
    for name, text in written.items():
        files.write(folder / name, text + "\n")
    return [folder / name for name in written]


def write_chapters(references: References, site: Path) -> None:
    """Write the executed notebooks into the site, in words that Jupyter shows."""
    for name in references.book.notebooks:
        written = references.notebook(references.book.notebook(name))
        cell = {"cell_type": "markdown", "id": "notice", "metadata": {}}
        written["cells"].append(cell | {"source": citing.notice(references.book)})
        path = site / "_sources" / "book" / f"{name}.ipynb"
        files.write(path, json.dumps(written, indent=1) + "\n")
