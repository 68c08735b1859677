"""Names of claims that were released lead to a claim for ever."""

from pathlib import Path

import pytest

from lib.__main__ import main
from lib.site import citing, ledger, names
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
CLAIMS = [{"id": "one/kept"}, {"id": "one/new"}]


@pytest.fixture
def book(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    monkeypatch.setattr(ledger, "records", lambda book: CLAIMS)
    return Book(tmp_path)


def write(book, *lines):
    (book.root / names.NAMES).write_text("\n".join(lines) + "\n")


def test_the_books_names_are_whole():
    book = Book(ROOT)
    claims = {record["id"] for record in ledger.records(book)}
    known = names.frozen(book)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(known.values()) <= claims
    assert all(old in changelog for old, new in known.items() if old != new)
    assert not citing.read(book).date or claims <= set(known), "python -m lib report --freeze"


def test_a_name_may_go_if_it_leads_to_a_claim(book):
    write(book, "one/kept", "one/old one/new", "one/new")
    assert names.former(book, "one/new") == ["one/old"]
    assert names.former(book, "one/kept") == []


def test_report_freezes_names_and_keeps_those_that_are_gone(book, monkeypatch):
    write(book, "one/old one/new")
    (book.root / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/one.ipynb\n")
    monkeypatch.chdir(book.root)
    assert main(["report", "--freeze"]) == 0
    assert (book.root / names.NAMES).read_text() == "one/old one/new\none/kept\none/new\n"
