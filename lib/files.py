"""Files that are there whole or not at all: what a writer that was killed has left is removed in time."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from lib.checks import kind, text

ABANDONED = 3600.0  # seconds after which a half-written file has no writer any more


def remove_abandoned(folder: Path, pattern: str) -> None:
    """Remove files and folders that match the pattern and have not been written to for an hour."""
    kind("folder", folder, Path)
    text(pattern=pattern)
    for path in folder.glob(pattern):
        with suppress(FileNotFoundError):  # its writer has just finished
            if time.time() - path.stat().st_mtime > ABANDONED:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
