"""Decks and chapters on paper."""

import os
from io import BytesIO

import pytest
from browsing import ROOT
from handed_out import markup
from pypdf import PdfReader

from lib.site import pdf, slides


def printed(write, *arguments):
    """Print, where there is a Chromium."""
    try:
        return write(*arguments)
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"printing needs Chromium: {problem}")


def sheets(path):
    return [page.extract_text() for page in PdfReader(BytesIO(path.read_bytes())).pages]


def test_slides_are_printed_one_to_a_page(site, tmp_path):
    written = printed(pdf.slides, site, tmp_path)
    assert [path.stem for path in written] == sorted(slides.decks(ROOT))
    for path in written:
        pages = sheets(path)
        deck = (site / "slides" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert len(pages) == deck.count("<section")
        assert "What to take away" in pages[-1]
        assert not markup("\n".join(pages), typeset=True)


def test_a_printed_chapter_has_no_markup(site, tmp_path):
    (tmp_path / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/products.ipynb\n")
    printed(pdf.write, tmp_path, site, tmp_path / "book.pdf")
    text = "\n".join(sheets(tmp_path / "book.pdf"))
    assert "Exercise 1.4" in text and not markup(text, typeset=True)
