"""Files that are there whole or not at all."""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar
from uuid import uuid4

Content = TypeVar("Content")


def write(path: Path, content: str | bytes) -> None:
    """Replace a file at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def prepare(folder: Path) -> None:
    """Make a folder and see that files can be written to it,
    before there is something to be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as problem:
        raise ValueError(
            f"{folder} is not a folder that files can be written to: {problem.strerror}"
        ) from None
    except OSError as problem:
        problem.filename = str(folder)
        raise


def kept(path: Path, decode: Callable[[bytes], Content]) -> Content | None:
    """Return what a file holds, or None where there is none; one that
    cannot be decoded is removed, with a line on stderr.
    """
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
