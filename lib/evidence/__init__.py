"""Pages written from what commands measured and kept in `book/evidence/`: speed, margins, extremes, mutants, faults.

Each module has `page(root)`, which reads its table and writes its page.
"""

import json
from pathlib import Path

from lib.checks import kind, text


def place(root: Path, name: str) -> Path:
    """Return where a table is kept."""
    kind("root", root, Path)
    text(name=name)
    return root / "book" / "evidence" / f"{name}.json"


def read(root: Path, name: str, command: str) -> dict:
    """Read a table, or raise ValueError with the command that makes it."""
    path = place(root, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `{command}`") from problem
