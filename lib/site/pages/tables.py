"""Read the tables that commands keep in `book/quality/`."""

import json
from pathlib import Path


def place(root: Path, name: str) -> Path:
    """Return where a table is kept."""
    return root / "book" / "quality" / f"{name}.json"


def read(root: Path, name: str, command: str) -> dict:
    """Read a table, or raise ValueError with the command that makes it."""
    path = place(root, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `{command}`") from problem
