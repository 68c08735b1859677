"""The texts of licences in the built site: ours, and those of others whose files are in it."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from lib import files
from lib.site.book import Book

ROW = re.compile(r"^\| ([\w.-]+)", re.MULTILINE)  # of `THIRD-PARTY.md`, to the end of the name


def write(book: Book, site: Path) -> None:
    """Write `LICENSES/` into the site, with what `THIRD-PARTY.md` says and each package's text."""
    folder = site / "LICENSES"
    for path in (book.root / "LICENSES").iterdir():
        files.write(folder / path.name, path.read_bytes())
    others = (book.root / "THIRD-PARTY.md").read_text(encoding="utf-8")
    files.write(folder / "THIRD-PARTY.txt", others)
    for name in ROW.findall(others):
        if text := _text(name):
            files.write(folder / f"{name}.txt", text)


def _text(package: str) -> str:
    """Return the licences that an installed package brings; nothing for what is no package."""
    try:
        found = distribution(package).files or []
    except PackageNotFoundError:  # vendored: the licence lies beside it
        return ""
    return "\n".join(file.read_text() for file in found if "LICENSE" in file.name.upper())
