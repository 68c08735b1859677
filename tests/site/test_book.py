"""The table of contents of a small book."""

import pytest

from lib.site.book import Book

PARTS = """\
root: book/index
parts:
  - caption: First
    chapters:
      - file: book/b.ipynb
        sections:
          - file: book/d.ipynb
      - file: book/a.ipynb
  - caption: Evidence
    chapters:
      - file: book/d/evidence.ipynb
      - url: https://example.org/x.ipynb
      - file: book/notes
"""


def test_pages_and_chapters_come_in_the_order_of_the_file(tmp_path):
    (tmp_path / "_toc.yml").write_text(PARTS)
    book = Book(tmp_path)
    assert book.pages == [
        "book/index",
        "book/b",
        "book/d",
        "book/a",
        "book/d/evidence",
        "book/notes",
    ]
    assert book.chapters == ["b", "d", "a"]
    assert book.notebooks == ["b", "d", "d/evidence", "a"]
    assert book.notebooks_of("d") == ["d", "d/evidence"]
    assert list(map(book.chapter_of, ["d", "d/evidence", "book/d/plan"])) == ["d", "d", "d"]
    assert list(map(book.chapter_of, ["book/notes", "book/index"])) == ["", ""]


@pytest.mark.parametrize("text", ["", "root: book/index\nchapters:\n  - file: book/notes\n"])
def test_a_table_of_contents_without_pages_or_chapters_is_named(tmp_path, text):
    (tmp_path / "_toc.yml").write_text(text)
    with pytest.raises(ValueError, match=r"_toc\.yml names no (page|chapter)"):
        _ = Book(tmp_path).chapters
