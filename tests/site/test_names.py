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
    (tmp_path / "CHANGELOG.md").write_text("- one/old is now one/new, which holds for all depths.\n")
    monkeypatch.setattr(ledger, "records", lambda book: CLAIMS)
    return Book(tmp_path)


def write(book, *lines):
    (book.root / names.NAMES).write_text("\n".join(lines) + "\n")


def test_the_books_names_are_whole():
    book = Book(ROOT)
    names.refuse_broken(book, released=bool(citing.read(book).date))


def test_a_name_may_go_if_it_leads_to_a_claim(book):
    write(book, "one/kept", "one/old one/new", "one/new")
    names.refuse_broken(book, released=True)
    assert names.former(book, "one/new") == ["one/old"]
    assert names.former(book, "one/kept") == []


@pytest.mark.parametrize(
    "lines, said",
    [
        (["one/gone"], "one/gone leads to one/gone, which is no claim: write a claim's name behind it"),
        (["one/old one/gone"], "one/old leads to one/gone, which is no claim"),
        (["one/lost one/new"], "one/lost is gone, and CHANGELOG.md does not say why: add an entry"),
        (["one/kept"], "lacks one/new: list the names with `python -m lib report --freeze`"),
    ],
)
def test_a_release_with_broken_names_is_refused(book, lines, said):
    write(book, *lines)
    with pytest.raises(ValueError, match=said):
        names.refuse_broken(book, released=True)


def test_before_a_release_no_name_is_frozen(book):
    names.refuse_broken(book, released=False)


def test_report_freezes_names_and_keeps_those_that_are_gone(book, monkeypatch):
    write(book, "one/old one/new")
    (book.root / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/one.ipynb\n")
    monkeypatch.chdir(book.root)
    assert main(["report", "--freeze"]) == 0
    assert (book.root / names.NAMES).read_text() == "one/old one/new\none/kept\none/new\n"
