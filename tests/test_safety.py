"""Nothing that is read is run: no pickles, no code in strings, no
shell, no archive unpacked by the names it holds.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from lib.site import execute
from lib.site.book import Book

ROOT = Path(__file__).parents[1]
# of ruff, which knows no loader of arrays and tensors
RULES = "S102,S202,S301,S302,S307,S403,S506,S602,S605"
LOADERS = r"allow_pickle=True|torch\.load\(|\b(?:cloudpickle|dill|joblib)\b"


def test_neither_our_code_nor_a_notebook_runs_what_it_reads(tmp_path):
    book = Book(ROOT)
    for name in book.notebooks:
        cells = [
            cell.source for cell in execute.draft(book, name).cells if cell.cell_type == "code"
        ]
        (tmp_path / f"{name.replace('/', '_')}.py").write_text("\n".join(cells), encoding="utf-8")
    folders = [ROOT / "book", ROOT / "lib", ROOT / "tests" / "tools", tmp_path]
    options = [
        "--isolated",
        "--no-cache",
        "--preview",
        "--select",
        RULES,
        "--output-format",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *options, *folders], capture_output=True, text=True
    )
    found = [(Path(one["filename"]).name, one["code"]) for one in json.loads(done.stdout)]
    # expressions in our own docstrings, and formulas of ours that were changed
    assert sorted(found) == [("mutants.py", "S102"), ("settings.py", "S307")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert not [path for path in files if re.search(LOADERS, path.read_text(encoding="utf-8"))]
