"""Build the site from the executed notebooks, with Jupyter Book."""

import fcntl
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lib import files
from lib.book import ledger, pages
from lib.book.toc import notebooks


def build(root: Path, output: Path | None = None) -> None:
    """Build the site from the executed notebooks, every warning an error, into `output`/_build/html (default: the root).

    Only what has changed is built, unless the build before did not succeed (it may have left half a page, or a warning that would
    not come again) or is dated in the future (then changes do not show).

    Raises
    ------
    ValueError
        If a chapter has not been executed yet, if its notebook or the table of a page is not whole, if the output is no folder,
        or if another build is at work there.
    subprocess.CalledProcessError
        If Jupyter Book reports a warning or an error.
    """
    lacking = [Path(name).name for name in notebooks(root) if not (root / "book" / f"{name}.ipynb").is_file()]
    if missing := list(dict.fromkeys(lacking)):
        raise ValueError(f"not executed yet: {', '.join(missing)}; run `python -m lib run {' '.join(missing)}` first")
    pages.substitutions(root, ledger.report(root))  # what a page lacks is said here, in a line
    place = (output or root) / "_build"
    files.prepare(place)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "-W", "-n", "--keep-going", str(root)]
    command += ["--path-output", str(place.parent)]
    with _building(place) as (lock, anew):
        if anew:
            command.append("--all")
        subprocess.run(command, check=True, pass_fds=[lock], preexec_fn=_leave_interrupts_to_us)


def _leave_interrupts_to_us() -> None:
    """Let Ctrl-C pass by the build, which would say more than a line: `subprocess.run` ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _building(folder: Path) -> Iterator[tuple[int, bool]]:
    """Keep the file `building` in the folder, locked, until the build succeeds; tell its descriptor and whether to build anew.

    The lock is the build's, too, so that it holds as long as either process lives.
    """
    mark, memory = folder / "building", folder / ".doctrees" / "environment.pickle"
    unfinished = mark.exists()
    with mark.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another build is at work in {folder}: wait until it has finished") from None
        future = memory.exists() and memory.stat().st_mtime > time.time()
        if unfinished or future:
            reason = "did not succeed" if unfinished else "is dated in the future"
            print(f"the last build in {folder} {reason}: every page is built anew", file=sys.stderr)
        yield lock.fileno(), unfinished or future
        mark.unlink()
