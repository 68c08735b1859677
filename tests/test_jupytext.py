"""What a reader does in Jupyter or with jupytext takes no line from a chapter's source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest

from lib.site.book import Book

ROOT = Path(__file__).parents[1]
BOOK = Book(ROOT)


@pytest.mark.parametrize("newer", ["products.ipynb", "products.md"])
def test_synchronizing_writes_neither_source_nor_executed_notebook(tmp_path, newer):
    """As a pair they were: the executed notebook took up to 178 lines from a source."""
    files = {
        name: (ROOT / "book" / name).read_bytes() for name in ("products.ipynb", "products.md")
    }
    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1, 2 if name == newer else 1))
    subprocess.run([sys.executable, "-m", "jupytext", "--sync", newer], cwd=tmp_path, check=True)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("products*")} == files


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_a_source_saved_as_a_notebook_keeps_every_cell(name):
    source = jupytext.reads(BOOK.text(name), fmt="md:myst")
    saved = jupytext.writes(source, fmt="md:myst")
    again = jupytext.reads(saved, fmt="md:myst")
    opened, kept = (
        [(cell.cell_type, cell.source, cell.metadata) for cell in one.cells]
        for one in (source, again)
    )
    assert kept == opened
