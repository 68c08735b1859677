"""Read the tables that commands keep in `book/quality/`."""

import json
from pathlib import Path


def place(root: Path, name: str) -> Path:
    """Return where a table is kept."""
    return root / "book" / "quality" / f"{name}.json"


def read(root: Path, name: str) -> dict:
    """Read a table."""
    return json.loads(place(root, name).read_text(encoding="utf-8"))
