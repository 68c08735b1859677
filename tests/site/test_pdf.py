"""The book as a PDF: three small pages that link to each other, printed and joined."""

import os
from io import BytesIO

import pytest
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


def test_pages_come_unfolded_in_the_order_of_the_contents_with_an_outline(printed):
    starts = {entry.title: printed.get_destination_page_number(entry) for entry in printed.outline}
    assert list(starts) == ["Front", "Chapter & one", "Two"]
    assert list(starts.values()) == sorted(starts.values())
    for title, start in starts.items():
        assert title in printed.pages[start].extract_text()
    assert printed.metadata.title == "Front"
    assert "unfolded" in printed.pages[-1].extract_text()


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
    (own,) = [number for number, page in enumerate(printed.pages) if "Own" in page.extract_text()]
    (deep,) = [number for number, page in enumerate(printed.pages) if "Deep" in page.extract_text()]
    assert {(0, "https://example.org/"), (deep, own)} <= set(links(printed))
    assert not [goal for _, goal in links(printed) if str(goal).startswith("file:")]
    assert "deep in one" in printed.pages[0].extract_text()


def test_an_output_that_is_no_file_is_refused_before_any_work(site, tmp_path):
    with pytest.raises(ValueError, match="is a folder: want a file"):
        pdf.write(site, site, tmp_path)


def test_the_browser_that_the_environment_names_comes_first_and_is_missed_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv(pdf.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere: install one"), pdf.chromium():
        pass
