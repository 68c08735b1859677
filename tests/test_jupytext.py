"""What a reader does in Jupyter or with jupytext takes no line from a chapter's source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("newer", ["products.ipynb", "products.md"])
def test_synchronizing_writes_neither_source_nor_executed_notebook(tmp_path, newer):
    """Once they were a pair, and the executed notebook took 178 lines from the newest source."""
    files = {
        name: (ROOT / "book" / name).read_bytes() for name in ("products.ipynb", "products.md")
    }
    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1, 2 if name == newer else 1))
    subprocess.run([sys.executable, "-m", "jupytext", "--sync", newer], cwd=tmp_path, check=True)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("products*")} == files
