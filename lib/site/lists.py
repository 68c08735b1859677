"""The lists that are kept by hand beside the pages, `book/NAME.yml`."""

from pathlib import Path
from typing import Any

import yaml


def read(root: Path, name: str) -> Any:
    """Read the list `book/NAME.yml`; it is empty where there is none."""
    path = root / "book" / f"{name}.yml"
    return yaml.safe_load(path.read_bytes()) if path.is_file() else {}
