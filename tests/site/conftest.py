"""The site of the book, built from the committed notebooks, and that of a small book.

Each is built once for all workers.
"""

import fcntl
import os
from pathlib import Path

import pytest
import small_site as small
import translated

from lib.site import build
from lib.site.book import Book

ROOT = Path(__file__).parents[2]


def once(tmp_path_factory, name, make):
    """Return a folder that the first worker makes."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent  # the workers share a folder
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, or of one that stands where BOOK_SITE says."""
    if standing := os.environ.get("BOOK_SITE"):
        return Path(standing)
    folder = once(tmp_path_factory, "site", lambda folder: build.build(Book(ROOT), folder))
    return folder / "_build" / "html"


@pytest.fixture(scope="session")
def small_site(tmp_path_factory):
    """The root of a small book with code and evidence, built in place."""
    return once(tmp_path_factory, "small", lambda folder: build.build(small.write(folder)))


@pytest.fixture(scope="session")
def translated_book(tmp_path_factory):
    """The root of a book of two chapters, built in a language that nobody speaks."""

    def make(folder):
        book = translated.write(folder)
        translated.translate(folder)
        build.build(book)

    return once(tmp_path_factory, "translated", make)
