"""The ledger: the claims of all executed chapters."""

import json
from functools import cache
from pathlib import Path

import yaml

from lib import claims, files
from lib.site.book import Book

AFTER_LOOKING = Path("book") / "after_looking.yml"


@cache
def records(book: Book) -> list[dict]:
    """Collect the claims of all executed notebooks, each with its chapter and its profile.

    Raises
    ------
    ValueError
        If a notebook is not whole, or if the numbers of a claim contradict its verdict.
    """
    found = []
    for name in book.notebooks:
        notebook = book.notebook(name)
        path = book.path(name)
        chapter = book.chapter_of(name)
        profile = notebook["metadata"].get("run", {}).get("profile")
        for record in claims.collect(notebook):
            try:
                claims.judged(record)
            except ValueError as problem:
                remedy = f"run `python -m lib run {chapter}`"
                raise ValueError(f"{path}: {problem}: {remedy}") from problem
            found.append(record | {"chapter": chapter, "profile": profile})
    return found


def write(book: Book) -> None:
    """Write the ledger to `_build/claims.json`."""
    written = json.dumps(records(book), indent=1, ensure_ascii=False)
    files.write(book.root / "_build" / "claims.json", written + "\n")


def label(claim: str) -> str:
    """Return the label of a claim, by its name CHAPTER/NAME."""
    return claim.replace("/", "-")


def numbers(record: dict) -> dict[str, float]:
    """Return what a claim has measured, and what the printed statement leads to, if anything."""
    names = [name for name in ("measured", "printed") if record[name] is not None]
    return {name: float(record[name]) for name in names}


@cache
def after_looking(book: Book) -> set[str]:
    """Return the claims whose bound was set or changed after looking at the numbers."""
    path = book.root / AFTER_LOOKING
    if not path.is_file():
        return set()
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {f"{chapter}/{name}" for chapter, lists in found.items() for name in lists["changed"]}
