"""Build the site from the executed notebooks, with Jupyter Book."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lib import files
from lib.runs.freshness import refuse_outdated
from lib.site import jupyter_kernel, ledger, numbers, pages
from lib.site.book import Book

JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"  # its script keeps an old place
COLOUR = re.compile(r"\x1b\[[\d;]*m")
WARNING = re.compile(r"^\s*(?:(/.*?)(?::\d+)?: )?(?:WARNING|ERROR): (.+?)\s*$", re.MULTILINE)
EXCEPTION = re.compile(r"^[\w.]+(?:Error|Exception)\b.*", re.MULTILINE)


def build(book: Book, output: Path | None = None) -> None:
    """Build the site, every warning an error, into `output`/_build/html (default: the root).

    Only what has changed is built, unless the build before did not succeed: it may have left half
    a page, or a warning that would not come again.

    Raises
    ------
    ValueError
        If a chapter has not been executed yet, a stored result is outdated, a notebook or the
        table of a page is not whole, a decimal of the text is not what the notebooks have, the
        output is not a folder, or if Jupyter Book reports a warning or an error.
    """
    lacking = [book.chapter_of(name) for name in book.notebooks if not book.path(name).is_file()]
    if missing := ", ".join(dict.fromkeys(lacking)):
        command = f"python -m lib run {missing.replace(',', '')}"
        raise ValueError(f"not executed yet: {missing}; run `{command}` first")
    jupyter_kernel.refuse_another_library(book.root)
    place = (output or book.root) / "_build"
    if strange := set("[]*?") & set(f"{book.root.resolve()}{place.resolve()}"):
        raise ValueError(
            f"{book.root.resolve()} is built in {place.resolve()}: Sphinx takes {min(strange)} in "
            "a path for a pattern; give the folder another name"
        )
    evidence = {f"{name}/evidence" for name in book.beside("evidence")}
    if unlisted := sorted(evidence - set(book.notebooks)):
        raise ValueError(f"book/{unlisted[0]}.md is not in _toc.yml: add it below the others")
    refuse_outdated(book.folder)
    ledger.write(book)
    filled = pages.substitutions(book)  # what a page lacks is said here, in a line
    numbers.check(book)
    files.prepare(place)
    handed = place / "substitutions.json"
    files.write(handed, json.dumps(filled))
    log = place / "warnings.txt"
    mark = place / "building"  # stays until a build succeeds
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", "-W", "-n", "--keep-going"]
    command += [str(book.root), "--path-output", str(place.parent)]
    if mark.exists():
        command.append("--all")
    mark.touch()
    done = subprocess.run(
        command,
        cwd=book.root,
        env=os.environ | {"PYTHONPATH": jupyter_kernel.library(), pages.FILE: str(handed)},
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    files.write(log, done.stderr)
    if done.returncode:
        raise ValueError(f"{_reason(book, done.stderr)}; the full log is in {log}")
    mark.unlink()


def _reason(book: Book, said: str) -> str:
    """Say in a line what is wrong with which pages: the first warning, or the first exception."""
    text = COLOUR.sub("", said)
    found = WARNING.findall(text)
    if not found:
        exception = EXCEPTION.search(text)
        said = exception[0].strip() if exception else "Jupyter Book failed"
        return said.removeprefix("ValueError: ")  # which is a sentence for the reader
    paths = [os.path.relpath(path, book.root) for path, _ in found if path]
    sources = dict.fromkeys(path.replace(".ipynb", ".md") for path in paths)
    names = dict.fromkeys(book.chapter_of(source.removesuffix(".md")) for source in sources)
    names.pop("", None)
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    todo = f", then `python -m lib run {' '.join(names)}`" if names else ""
    return f"{found[0][1]}{more}: fix {', '.join(sources) or 'that'}{todo}"
