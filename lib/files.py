"""Files that are there whole or not at all: what a writer that was killed has left is removed in time."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar
from uuid import uuid4

Content = TypeVar("Content")

ABANDONED = 3600.0  # seconds after which a half-written file has no writer any more


def write(path: Path, content: str | bytes) -> None:
    """Replace a file at once or not at all, and remove what killed writers have left in its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _tidy(path.parent)
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def prepare(folder: Path) -> None:
    """Make a folder and see that files can be written to it, before there is something to be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as problem:
        raise ValueError(f"{folder} is not a folder that files can be written to: {problem.strerror}") from None
    except OSError as problem:
        problem.filename = str(folder)
        raise


def kept(path: Path, decode: Callable[[bytes], Content]) -> Content | None:
    """Return what a file holds, or None where there is none; one that cannot be decoded is removed, with a line on stderr."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return decode(data)
    except Exception as problem:  # a spoilt file may make its reader stumble in any way
        reason = str(problem).split("\n")[0] or type(problem).__name__
        print(f"{path} cannot be used ({reason}): computed anew", file=sys.stderr)
        path.unlink(missing_ok=True)
        return None


@cache
def _tidy(folder: Path) -> None:
    """Remove half-written files, once in the life of a process: the folder may hold many thousand files."""
    for path in folder.glob(".*.partial"):
        with suppress(FileNotFoundError):  # its writer has just finished
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
