"""The ledger: the claims of all executed chapters."""

import json
from functools import cache
from pathlib import Path

from lib import claims, files
from lib.site import lists
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


def link(words: str, claim: str) -> str:
    """Write a link to a claim, in MyST."""
    return f"{{ref}}`{words} <{label(claim)}>`"


def coloured(verdict: str, words: str) -> str:
    """Give words, in MyST, the colour of a verdict."""
    return f"[{words}]{{.{verdict.replace(' ', '-')}}}"


def numbers(record: dict) -> dict[str, float]:
    """Return what a claim has measured, and what the printed statement leads to, if anything."""
    names = [name for name in ("measured", "printed") if record[name] is not None]
    return {name: float(record[name]) for name in names}


@cache
def after_looking(book: Book) -> set[str]:
    """Return the claims whose bound was set or changed after looking at the numbers."""
    found = lists.read(book.root, "after_looking")
    return {f"{chapter}/{name}" for chapter, known in found.items() for name in known["changed"]}
