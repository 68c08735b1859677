"""Build the site from the executed notebooks, with Jupyter Book."""

import os
import re
import subprocess
import sys
from pathlib import Path

from lib import files
from lib.runs.freshness import refuse_outdated
from lib.site import ledger, numbers, pages
from lib.site.kernel import HOME, refuse_another_library
from lib.site.toc import chapters, notebooks


def build(root: Path, output: Path | None = None) -> None:
    """Build the site from the executed notebooks, every warning an error, into `output`/_build/html (default: the root).

    Only what has changed is built, unless the build before did not succeed: it may have left half a page, or a warning that would
    not come again.

    Raises
    ------
    ValueError
        If a chapter has not been executed yet, a stored result is outdated, a notebook or the table of a page is
        not whole, a decimal of the text is not what the notebooks have, the output is not a folder, or if Jupyter
        Book reports a warning or an error.
    """
    lacking = [Path(name).name for name in notebooks(root) if not (root / "book" / f"{name}.ipynb").is_file()]
    if missing := list(dict.fromkeys(lacking)):
        raise ValueError(f"not executed yet: {', '.join(missing)}; run `python -m lib run {' '.join(missing)}` first")
    refuse_another_library(root)
    refuse_outdated(root / "book" / "results")
    pages.substitutions(root, ledger.report(root))  # what a page lacks is said here, in a line
    numbers.check(root)
    place = (output or root) / "_build"
    files.prepare(place)
    mark, log = place / "building", place / "warnings.txt"  # the mark stays until a build succeeds
    jupyter_book = "from jupyter_book.cli.main import main; main()"  # the script of this name keeps where it was set up
    command = [sys.executable, "-c", jupyter_book, "build", "-W", "-n", "--keep-going", str(root)]
    command += ["--path-output", str(place.parent), *(["--all"] if mark.exists() else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH")]))}
    mark.touch()
    done = subprocess.run(command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True, errors="replace")
    files.write(log, done.stderr)
    if done.returncode:
        raise ValueError(f"{_reason(root, done.stderr)}; the full log is in {log}")
    mark.unlink()


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
