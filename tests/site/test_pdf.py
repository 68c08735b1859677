"""The book as a PDF: three small pages that link to each other, printed and joined."""

import os
import sys
from io import BytesIO

import pytest
from playwright.sync_api import Error
from pypdf import PdfReader

from lib.site import pdf

PAGE = """<!doctype html><html><body><main><article><h1>{title}<a class="headerlink" href="#top">#</a></h1>{body}</article>
</main></body></html>"""
TALL = '<div style="height: 1500px"></div>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("pdf")
    (root / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/one.ipynb\n  - file: book/two\n")
    (root / "book").mkdir()
    pages = {
        "index": ("Front", '<a href="one.html#deep">deep in one</a> <a href="https://example.org/">away</a>'),
        "one": ("Chapter &amp; one", f'{TALL}<h2 id="deep">Deep</h2><a href="#own">own</a>{TALL}<p id="own">Own</p>'),
        "two": ("Two", '<details><summary>more</summary><p>unfolded</p></details><a href="one.html">one</a>'),
    }
    for name, (title, body) in pages.items():
        (root / "book" / f"{name}.html").write_text(PAGE.format(title=title, body=body))
    return root


@pytest.fixture(scope="module")
def printed(site):
    try:
        with pdf.chromium():
            pass
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"printing needs Chromium: {problem}")
    count = pdf.write(site, site, site / "book.pdf")
    document = PdfReader(BytesIO((site / "book.pdf").read_bytes()))
    assert len(document.pages) == count
    return document


def words(page):
    return page.extract_text()


def test_pages_come_in_the_order_of_the_contents_with_an_outline(printed):
    starts = {entry.title: printed.get_destination_page_number(entry) for entry in printed.outline}
    assert list(starts) == ["Front", "Chapter & one", "Two"]
    assert list(starts.values()) == sorted(starts.values())
    for title, start in starts.items():
        assert title in words(printed.pages[start])
    assert printed.metadata.title == "Front"


def links(document):
    """Say for each link on which page it lies and on which it ends, or its address."""
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(document.pages)}
    found = []
    for number, page in enumerate(document.pages):
        for annotation in (note.get_object() for note in page.get("/Annots") or []):
            goal = annotation["/Dest"] if "/Dest" in annotation else annotation["/A"]["/URI"]
            if place := document.named_destinations.get(goal):
                goal = numbers[place.page.idnum]
            found.append((number, goal))
    return found


def test_links_stay_within_a_page_and_to_the_web_and_no_folder_is_named(printed):
    (own,) = [number for number, page in enumerate(printed.pages) if "Own" in words(page)]
    (deep,) = [number for number, page in enumerate(printed.pages) if "Deep" in words(page)]
    assert {(0, "https://example.org/"), (deep, own)} <= set(links(printed))
    assert not [goal for _, goal in links(printed) if str(goal).startswith("file:")]
    assert "deep in one" in words(printed.pages[0])


def test_what_is_folded_is_printed(printed):
    assert "unfolded" in words(printed.pages[-1])


def test_a_site_that_has_not_been_built_is_refused(site, tmp_path):
    with pytest.raises(ValueError, match="lacks 3 of 3 pages"):
        pdf.write(site, tmp_path, tmp_path / "book.pdf")


def test_an_output_that_is_no_file_is_refused_before_any_work(site, tmp_path):
    with pytest.raises(ValueError, match="is a folder: want a file"):
        pdf.write(site, site, tmp_path)
    with pytest.raises(ValueError, match=r"_toc\.yml is not a folder that files can be written to: File exists"):
        pdf.write(site, site, site / "_toc.yml" / "book.pdf")


def test_a_browser_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(pdf.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere: install one"), pdf.chromium():
        pass


def test_the_browser_of_the_environment_comes_first(monkeypatch):
    monkeypatch.setenv(pdf.VARIABLE, sys.executable)  # is there, but no browser
    with pytest.raises(Error), pdf.chromium():
        pass
