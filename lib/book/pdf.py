"""The book as one PDF: headless Chromium prints each page of the built site, and they are joined, with an outline.

Links between pages become links inside the file. Chromium marks only places that the same page links to, so that every place that
another page links to is linked to once more, out of sight, before printing.
"""

import html
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NullObject

from lib import files
from lib.book import toc

VARIABLE = "CHROMIUM"  # environment variable with the path of a Chromium or Chrome
NAMES = ("chromium", "chromium-browser", "google-chrome")
HREF = re.compile(r'href="([^"]*\.html)?#([^"]+)"')
PAPER = {"format": "A4", "scale": 0.8, "margin": {"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}}
READY = """async anchors => {
    await document.fonts.ready;
    for (const part of document.querySelectorAll("details:not(.hide), details.further")) part.open = true;
    for (const image of document.images) image.loading = "eager";
    for (const link of document.querySelectorAll("a.zoom")) link.replaceWith(...link.childNodes);
    const links = document.createElement("div");
    links.style = "height: 0; overflow: hidden";
    for (const anchor of anchors) if (document.getElementById(anchor)) {
        const link = document.createElement("a");
        link.href = "#" + anchor; link.textContent = "."; links.append(link);
    }
    document.querySelector("article").append(links);
}"""

PICTURES = "Promise.all([document.fonts.ready, ...[...document.images].map(image => image.decode())])"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium: that of the environment variable, one on the path, or playwright's own.

    Raises
    ------
    ValueError
        If there is none.
    """
    with sync_playwright() as playwright:
        found = (os.environ.get(VARIABLE), *map(shutil.which, NAMES), playwright.chromium.executable_path)
        path = next(filter(None, found))
        if not Path(path).is_file():
            raise ValueError(
                f"no Chromium at {path}: install one (apt-get install chromium, or python -m playwright install chromium)"
                f" or name it in the environment variable {VARIABLE}"
            )
        browser = playwright.chromium.launch(executable_path=path, args=["--disable-gpu", "--disable-background-networking"])
        try:
            yield browser
        except KeyboardInterrupt:  # it has ended the browser, too: nobody asks any more for what it was doing
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            raise
        finally:
            browser.close()


def write(root: Path, site: Path, output: Path) -> int:
    """Print the site built in `site` into one file, in the order of `_toc.yml`; return its number of pages.

    Raises
    ------
    ValueError
        If a page has not been built, the output is no file, or there is no Chromium.
    """
    names = toc.pages(root)
    sources = {name: (site / f"{name}.html").resolve() for name in names}
    missing = [name for name, file in sources.items() if not file.is_file()]
    if missing:
        raise ValueError(f"{site} lacks {len(missing)} of {len(names)} pages: run `python -m lib build` first")
    if output.is_dir():
        raise ValueError(f"{output} is a folder: want a file")
    files.prepare(output.parent)
    anchors = _linked(sources)
    with chromium() as browser:
        page = browser.new_context(color_scheme="light").new_page()
        page.route(re.compile("^https?:"), lambda route: route.abort())
        documents = {file: PdfReader(BytesIO(_print(page, file, sorted(anchors[file])))) for file in sources.values()}

    headings = {file: _heading(file) for file in documents}
    writer, first = PdfWriter(), {}
    for file, document in documents.items():
        first[file] = len(writer.pages)
        for sheet in document.pages:
            writer.add_page(sheet)
        writer.add_outline_item(title=headings[file], page_number=first[file])
    _mend_links(writer, documents, first)
    writer.add_metadata({"/Title": headings[sources[names[0]]]})
    writer.compress_identical_objects()
    whole = BytesIO()
    writer.write(whole)
    files.write(output, whole.getvalue())
    return len(writer.pages)


def slides(site: Path, folder: Path) -> list[Path]:
    """Print each deck of a built site into a file of its own in a folder, a page for each slide; return the files.

    Raises
    ------
    ValueError
        If the site has no deck, or there is no Chromium.
    """
    decks = sorted((site / "slides").glob("*.html"))
    if not decks:
        raise ValueError(f"{site} has no slides: run `python -m lib build` first")
    files.prepare(folder)
    written = [folder / f"{deck.stem}.pdf" for deck in decks]
    with chromium() as browser:
        page = browser.new_context(color_scheme="light").new_page()
        for deck, path in zip(decks, written, strict=True):
            page.goto(f"{deck.resolve().as_uri()}?print")
            page.evaluate(PICTURES)
            files.write(path, page.pdf(tagged=True, print_background=True, prefer_css_page_size=True))
    return written


def _linked(sources: dict[str, Path]) -> dict[Path, set[str]]:
    """Collect for each page the places that any page links to."""
    anchors: dict[Path, set[str]] = {file: set() for file in sources.values()}
    for file in sources.values():
        for target, anchor in HREF.findall(file.read_text(encoding="utf-8")):
            page = (file.parent / target).resolve() if target else file
            if page in anchors:
                anchors[page].add(unquote(anchor))
    return anchors


def _print(page: Page, file: Path, anchors: list[str]) -> bytes:
    page.goto(file.as_uri())
    page.evaluate(READY, anchors)
    return page.pdf(tagged=True, print_background=True, **PAPER)


def _heading(file: Path) -> str:
    found = re.search(r'<h1>(.*)<a class="headerlink"', file.read_text(encoding="utf-8"))
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).strip() if found else file.stem


def _mend_links(writer: PdfWriter, documents: dict[Path, PdfReader], first: dict[Path, int]) -> None:
    """Point every link between pages at its place in the joined file."""
    places = {
        file: {name.lstrip("/"): place for name, place in document.named_destinations.items()}
        for file, document in documents.items()
    }
    starts = sorted(first.items(), key=lambda item: item[1])
    for number, sheet in enumerate(writer.pages):
        here = next(file for file, start in reversed(starts) if start <= number)
        for reference in sheet.get("/Annots") or []:
            link = reference.get_object()
            target = _target(link, here)
            if target is None or target[0] not in first:
                continue
            file, anchor = target
            place = places[file].get(anchor)
            offset = 0 if place is None else documents[file].get_destination_page_number(place)
            goal = writer.pages[first[file] + offset]
            where = [
                NameObject("/XYZ"),
                NullObject(),
                place.top if place is not None and place.top else NullObject(),
                NullObject(),
            ]
            link.pop("/A", None)
            link[NameObject("/Dest")] = ArrayObject([goal.indirect_reference, *where])


def _target(link: DictionaryObject, here: Path) -> tuple[Path, str] | None:
    """Return the file and the place that a link leads to, None if it leads out of the book."""
    if "/Dest" in link:
        return here, str(link["/Dest"]).lstrip("/")
    address, anchor = urldefrag(str(link.get("/A", {}).get("/URI", "")))
    if not address.startswith("file:"):
        return None
    return Path(unquote(address.removeprefix("file://"))), unquote(anchor)
