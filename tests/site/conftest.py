"""The site of the book, built from the committed notebooks, once for all workers."""

import fcntl
import os
from pathlib import Path

import pytest

from lib.site import build
from lib.site.book import Book

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, or of one that stands where BOOK_SITE says."""
    if standing := os.environ.get("BOOK_SITE"):
        return Path(standing)
    folder = tmp_path_factory.getbasetemp()
    folder = (
        folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    )  # the workers share a folder
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "site.built").exists():
            build.build(Book(ROOT), folder)
            (folder / "site.built").touch()
    return folder / "_build" / "html"
