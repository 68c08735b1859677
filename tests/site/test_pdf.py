"""Paper: three small pages that link to each other, printed
and joined, and the decks of the book.
"""

from io import BytesIO
from pathlib import Path

import browsing
import pytest
from handed_out import markup
from pypdf import PdfReader

from lib.site import pdf
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
PAGE = """<!doctype html><html><body><main><article><h1>{title}<a class="headerlink" href="#top">#</a></h1>{body}</article>
</main></body></html>"""
TALL = '<div style="height: 1500px"></div>'


@pytest.fixture(scope="module")
def printing():
    """Skip where there is no Chromium."""
    with browsing.chromium():
        pass


@pytest.fixture(scope="module")
def printed(printing, tmp_path_factory):
    root = tmp_path_factory.mktemp("pdf")
    (root / "_toc.yml").write_text(
        "root: book/index\nchapters:\n  - file: book/one.ipynb\n  - file: book/two\n"
        "  - file: book/one/code\n  - file: book/library/theory\n"  # printed nowhere
    )
    (root / "book").mkdir()
    pages = {
        "index": (
            "Front",
            '<a href="one.html#deep">deep in one</a> <a href="https://example.org/">away</a>',
        ),
        "one": (
            "Chapter &amp; one",
            f'{TALL}<h2 id="deep">Deep</h2><a href="#own">own</a>{TALL}<p id="own">Own</p>',
        ),
        "two": (
            "Two",
            '<details><summary>more</summary><p>unfolded</p></details><a href="one.html">one</a>',
        ),
    }
    for name, (title, body) in pages.items():
        (root / "book" / f"{name}.html").write_text(PAGE.format(title=title, body=body))
    with pytest.raises(ValueError, match="is a folder: want a file"):
        pdf.write(Book(root), root, root)
    count = pdf.write(Book(root), root, root / "book.pdf")
    document = PdfReader(BytesIO((root / "book.pdf").read_bytes()))
    assert len(document.pages) == count
    return document


def test_pages_come_unfolded_and_in_order(printed):
    starts = {entry.title: printed.get_destination_page_number(entry) for entry in printed.outline}
    assert list(starts) == ["Front", "Chapter & one", "Two"]
    assert list(starts.values()) == sorted(starts.values())
    for title, start in starts.items():
        assert title in printed.pages[start].extract_text()
    assert printed.metadata.title == "Front"
    assert "unfolded" in printed.pages[-1].extract_text()


def test_links_stay_and_no_folder_is_named(printed):
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(printed.pages)}
    found = []
    for number, page in enumerate(printed.pages):
        for annotation in (note.get_object() for note in page.get("/Annots") or []):
            goal = annotation["/Dest"] if "/Dest" in annotation else annotation["/A"]["/URI"]
            place = printed.named_destinations.get(goal)
            found.append((number, numbers[place.page.idnum] if place else goal))
    own, deep = (
        [number for number, page in enumerate(printed.pages) if words in page.extract_text()]
        for words in ("Own", "Deep")
    )
    assert {(0, "https://example.org/"), (*deep, *own)} <= set(found)
    assert not [goal for _, goal in found if str(goal).startswith("file:")]
    assert "deep in one" in printed.pages[0].extract_text()


def test_the_browser_of_the_environment_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv(pdf.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere: install one"), pdf.chromium():
        pass


@pytest.mark.slow
def test_slides_are_printed_one_to_a_page(printing, site, tmp_path):
    written = pdf.slides(site, tmp_path)
    assert [path.stem for path in written] == sorted(Book(ROOT).beside("slides"))
    for path in written:
        pages = [page.extract_text() for page in PdfReader(BytesIO(path.read_bytes())).pages]
        assert len(pages) == (site / "slides" / f"{path.stem}.html").read_text(
            encoding="utf-8"
        ).count("<section")
        assert "What to take away" in pages[-1]
        assert not markup("\n".join(pages), typeset=True)
