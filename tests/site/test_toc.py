"""The table of contents of a small book."""

import pytest

from lib.site import toc

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
      - file: book/evidence/d.ipynb
  - caption: Second
    chapters:
      - url: https://example.org/x.ipynb
      - file: book/notes
"""


def test_pages_and_chapters_come_in_the_order_of_the_file(tmp_path):
    (tmp_path / "_toc.yml").write_text(PARTS)
    assert toc.pages(tmp_path) == ["book/index", "book/b", "book/d", "book/a", "book/evidence/d", "book/notes"]
    assert toc.chapters(tmp_path) == ["b", "d", "a"]
    assert toc.notebooks(tmp_path) == ["b", "d", "evidence/d", "a"]
    assert toc.notebooks(tmp_path, ["d"]) == ["d", "evidence/d"]


@pytest.mark.parametrize("text", [None, "", "root: book/index\nchapters:\n  - file: book/notes\n"])
def test_a_folder_without_chapters_is_no_book(tmp_path, text):
    if text is not None:
        (tmp_path / "_toc.yml").write_text(text)
    with pytest.raises(ValueError, match=r"_toc\.yml"):
        toc.chapters(tmp_path)


def test_an_empty_table_of_contents_names_no_page(tmp_path):
    (tmp_path / "_toc.yml").write_text("")
    with pytest.raises(ValueError, match="names no page"):
        toc.pages(tmp_path)


def test_a_title_is_the_first_heading_and_else_the_name(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "one.md").write_text("---\nkey: value\n---\n\n# The title\n\n## A section\n")
    (tmp_path / "book" / "two.md").write_text("no heading\n")
    assert (toc.title(tmp_path, "one"), toc.title(tmp_path, "two")) == ("The title", "two")
