"""Decks on paper."""

import os
from io import BytesIO

import pytest
from browsing import ROOT
from pypdf import PdfReader

from lib.book import pdf, slides


def test_slides_are_printed_one_to_a_page(site, tmp_path):
    try:
        written = pdf.slides(site, tmp_path)
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"printing needs Chromium: {problem}")
    assert [path.stem for path in written] == sorted(slides.decks(ROOT))
    for path in written:
        document = PdfReader(BytesIO(path.read_bytes()))
        deck = (site / "slides" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert len(document.pages) == deck.count("<section")
        assert "What to take away" in document.pages[-1].extract_text()
