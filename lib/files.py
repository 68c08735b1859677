"""Files that are there whole or not at all, and places where nothing can work."""

import errno
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar
from uuid import uuid4

Content = TypeVar("Content")

# A disk that is full, a folder that may not be written to, one that is a file, or the reverse, a
# name that is too long, too many open files: no traceback, since it is not our fault.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
DISK += (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO)
DISK += (errno.ESTALE, errno.EMFILE, errno.ENFILE)

OURS = ("lib", "book", "tests")  # packages beside the book


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


def lead_nowhere() -> None:
    """Point the standard streams that the caller has closed at the null device; otherwise the next
    file to be opened would take their numbers and receive what processes print.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the least number is taken
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def refuse_place() -> None:
    """Raise a ValueError where nothing can work: in a folder that is gone, and beside a file or
    package that hides a module from what is started here.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not epoch.isdecimal():  # NumPy and Sphinx read it
        raise ValueError(
            f"SOURCE_DATE_EPOCH is {epoch!r}: set it to a number of seconds since 1970, or unset it"
        )
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise ValueError("the folder in which this was started no longer exists") from None
    others = [place for place in sys.path if os.path.realpath(place) != str(here)]
    packages = {path.parent for path in here.glob("*/__init__.py")} - {here / our for our in OURS}
    files = set(here.glob("[!.]*.py")) - {here / "conftest.py"}  # that is pytest's
    for path in sorted(files | packages):
        if path.stem in sys.stdlib_module_names or PathFinder.find_spec(path.stem, others):
            raise ValueError(f"{path} hides the module {path.stem}: give it another name")
    if sys.path[-1] == str(here):
        sys.path.insert(0, sys.path.pop())


def choose_temporary() -> None:
    """Give all that we start the temporary folder that Python has found; few look for another."""
    try:
        os.environ["TMPDIR"] = tempfile.gettempdir()
    except FileNotFoundError as problem:
        raise ValueError(
            f"{problem.strerror}: make room there, or set TMPDIR to a folder that can be written to"
        ) from None


def closed(said: str) -> str:
    """Name the places of our tools that cannot be written to, if what was said is about a disk."""
    if "no locator available" in said:
        return "; numba keeps what it compiles in the folder that NUMBA_CACHE_DIR names: set it"
    if os.strerror(errno.EMFILE) in said:
        return "; allow more: ulimit -n 1024"
    if not any(os.strerror(number) in said for number in DISK):
        return ""
    places = {
        tempfile.gettempdir(): "set TMPDIR to another folder",
        "/dev/shm": "processes share memory there: let it be written to",
        os.getcwd(): "make room there, or use a copy of your own",
        os.path.expanduser("~"): "set HOME to another folder",
    }
    if sys.platform == "darwin":
        del places["/dev/shm"]  # it has none
    found = []
    for place, remedy in places.items():
        try:
            with TemporaryFile(dir=place) as file:
                file.write(bytes(2**20))
        except OSError as problem:
            found.append(f"; {place}: {problem.strerror}: {remedy}")
    return "".join(found)
