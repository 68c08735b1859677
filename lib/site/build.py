"""Build the site from the executed notebooks, with Jupyter Book."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lib import files
from lib.site import ledger, pages
from lib.site.execute import pictured
from lib.site.kernel import HOME, refuse_another_library
from lib.site.toc import chapters, notebooks


def build(root: Path, output: Path | None = None) -> None:
    """Build the site from the executed notebooks, every warning an error, into `output`/_build/html (default: the root).

    Only what has changed is built, unless the build before did not succeed (it may have left half a page, or a warning that would
    not come again) or is dated in the future (then changes do not show).

    Raises
    ------
    ValueError
        If a chapter has not been executed yet, if its notebook or the table of a page is not whole or lacks a figure, if the
        output is not a folder, if another build is at work there, or if Jupyter Book reports a warning or an error.
    """
    lacking = [Path(name).name for name in notebooks(root) if not (root / "book" / f"{name}.ipynb").is_file()]
    if missing := list(dict.fromkeys(lacking)):
        raise ValueError(f"not executed yet: {', '.join(missing)}; run `python -m lib run {' '.join(missing)}` first")
    refuse_another_library(root)
    pages.substitutions(root, ledger.report(root))  # what a page lacks is said here, in a line
    for name in notebooks(root):
        cells = json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        if not all(map(pictured, cells)):
            raise ValueError(f"book/{name}.ipynb lacks a figure: run `python -m lib run {Path(name).name}` first")
    place = (output or root) / "_build"
    files.prepare(place)
    jupyter_book = "from jupyter_book.cli.main import main; main()"  # the script of this name keeps where it was set up
    command = [sys.executable, "-c", jupyter_book, "build", "-W", "-n", "--keep-going", str(root)]
    command += ["--path-output", str(place.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH")]))}
    with _building(place) as (lock, anew):
        if anew:
            command.append("--all")
        options = {"pass_fds": [lock], "preexec_fn": _leave_interrupts_to_us, "env": environment}
        done = subprocess.run(command, cwd=root, stderr=subprocess.PIPE, text=True, errors="replace", **options)
        log = place / "warnings.txt"
        files.write(log, done.stderr)
        if done.returncode:
            raise ValueError(f"{_reason(root, done.stderr)}; the full log is in {log}")


def _reason(root: Path, said: str) -> str:
    """Say in a line what is wrong with which pages: the first warning, or else the first exception."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", said).splitlines()
    found = [match for line in lines if (match := re.fullmatch(r"(?:(/.*?)(?::\d+)?: )?(?:WARNING|ERROR): (.+)", line.strip()))]
    if not found:
        return next((line for line in lines if re.match(r"[\w.]+(?:Error|Exception)\b", line)), "Jupyter Book failed").strip()
    sources = dict.fromkeys(os.path.relpath(match[1], root).replace(".ipynb", ".md") for match in found if match[1])
    names = [Path(source).stem for source in sources if Path(source).stem in chapters(root)]
    todo = f", then `python -m lib run {' '.join(names)}`" if names else ""
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    return f"{found[0][2]}{more}: fix {', '.join(sources) or 'that'}{todo}"


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
            raise ValueError(f"another build is running in {folder}: wait until it has finished") from None
        future = memory.exists() and memory.stat().st_mtime > time.time()
        if unfinished or future:
            reason = "did not succeed" if unfinished else "is dated in the future"
            print(f"the last build in {folder} {reason}: every page is rebuilt", file=sys.stderr)
        yield lock.fileno(), unfinished or future
        mark.unlink()
