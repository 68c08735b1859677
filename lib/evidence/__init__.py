"""Pages written from what commands measured and kept in `book/evidence/`: speed, margins, mutants, faults.

Each module has `page(root)`, which reads its table and writes its page.
"""

import json
from pathlib import Path

from lib.checks import kind


def read(root: Path, name: str, command: str) -> dict:
    """Read a table of `book/evidence/`, or raise ValueError with the command that makes it."""
    kind("root", root, Path)
    path = root / "book" / "evidence" / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `{command}`") from problem
