"""Lab notebooks from `book/labs/NAME.md`: a training loop to complete, and what to measure with it.

Students get neither the cells of text tagged `answer` nor the code between `### BEGIN SOLUTION` and `### END SOLUTION`.
"""

from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from lib import files
from lib.site.problems import SOLUTION, STUB
from lib.site.toc import beside


def labs(root: Path) -> dict[str, Path]:
    """Return the sources of the labs, by chapter."""
    return beside(root, "labs")


def notebook(source: Path, solved: bool) -> NotebookNode:
    """Return a lab with its solutions or with blanks."""
    written = jupytext.read(source)
    for number, cell in enumerate(written.cells):
        cell.id = f"{source.stem}-{number}"
        if not solved and cell.cell_type == "code":
            cell.source = SOLUTION.sub(STUB, cell.source)
        elif not solved and "answer" in cell.metadata.get("tags", []):
            cell.source = "YOUR ANSWER HERE"
    written.metadata = {"kernelspec": written.metadata["kernelspec"]}
    nbformat.validate(written)
    return written


def write(root: Path, folder: Path, solved: bool) -> list[Path]:
    """Write all labs into a folder; return the files."""
    written = {folder / f"{name}.ipynb": source for name, source in labs(root).items()}
    for path, source in written.items():
        files.write(path, nbformat.writes(notebook(source, solved)) + "\n")
    return [*written]
