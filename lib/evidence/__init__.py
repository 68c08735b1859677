"""Pages written from what commands measured and kept in `book/evidence/`: speed, margins, mutants, faults.

Each module has `page(root)`, which reads its table and writes its page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reading(path: Path, command: str) -> Iterator[None]:
    """Read a table within this context: raises ValueError with the command that makes it, if it is missing or not whole."""
    try:
        yield
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `{command}`") from problem
