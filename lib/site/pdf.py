"""The book as one PDF: headless Chromium prints each page of the
built site, and they are joined, with an outline.

Links within a page and to the web work in the file; links to other pages of the book become text.
"""

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfWriter

from lib import files
from lib.site.book import Book
from lib.site.sources import package

VARIABLE = "CHROMIUM"  # environment variable with the path of a Chromium or Chrome
NAMES = ("chromium", "chromium-browser", "google-chrome")
PAPER: dict[str, Any] = {
    "format": "A4",
    "scale": 0.8,
    "margin": {"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
}
READY = """async () => {
    await document.fonts.ready;
    const hidden = document.querySelectorAll("details:not(.hide), details.further");
    for (const part of hidden) part.open = true;
    for (const image of document.images) image.loading = "eager";
    for (const mark of document.querySelectorAll(".headerlink")) mark.remove();
    for (const link of document.querySelectorAll("a[href]:not([href^='http']):not([href^='#'])"))
        link.replaceWith(...link.childNodes);
}"""

PICTURES = (
    "Promise.all([document.fonts.ready, ...[...document.images].map(image => image.decode())])"
)


@contextmanager
def chromium() -> Generator[Browser]:
    """Start a headless Chromium: that of the environment
    variable, one on the path, or playwright's own.

    Raises
    ------
    ValueError
        If there is none.
    """
    with sync_playwright() as playwright:
        found = (
            os.environ.get(VARIABLE),
            *map(shutil.which, NAMES),
            playwright.chromium.executable_path,
        )
        path = next(filter(None, found))
        if not Path(path).is_file():
            raise ValueError(
                f"no Chromium at {path}: install one (apt-get install chromium, or python -m "
                "playwright install chromium)"
                f" or name it in the environment variable {VARIABLE}"
            )
        arguments = ["--disable-gpu", "--disable-background-networking"]
        arguments.append("--disable-dev-shm-usage")  # it may be small, or closed
        with playwright.chromium.launch(executable_path=path, args=arguments) as browser:
            yield browser


def write(book: Book, site: Path, output: Path) -> int:
    """Print the site built in `site` into one file, in the order of `_toc.yml`, without its pages
    of code; return its number of pages.

    Raises
    ------
    ValueError
        If a page has not been built, the output is not a file, or there is no Chromium.
    """
    pages = [name for name in book.pages if not package(name)]
    sources = [(site / f"{name}.html").resolve() for name in pages]
    missing = [file for file in sources if not file.is_file()]
    if missing:
        raise ValueError(
            f"{site} lacks {len(missing)} of {len(sources)} pages: run `python -m lib build` first"
        )
    if output.is_dir():
        raise ValueError(f"{output} is a folder: want a file")
    files.prepare(output.parent)
    writer = PdfWriter()
    headings = []
    with chromium() as browser:
        page = browser.new_page(color_scheme="light")
        page.route(re.compile("^https?:"), lambda route: route.abort())
        for file in sources:
            page.goto(file.as_uri())
            page.evaluate(READY)
            headings.append(page.locator("h1").first.inner_text())
            document = BytesIO(page.pdf(tagged=True, print_background=True, **PAPER))
            writer.append(document, outline_item=headings[-1], import_outline=False)
    writer.add_metadata({"/Title": headings[0]})
    writer.compress_identical_objects()
    whole = BytesIO()
    writer.write(whole)
    files.write(output, whole.getvalue())
    return len(writer.pages)


def slides(site: Path, folder: Path) -> list[Path]:
    """Print each deck of a built site into a file of its own in a
    folder, a page for each slide; return the files.

    Raises
    ------
    ValueError
        If the site has no deck, or there is no Chromium.
    """
    decks = sorted((site / "slides").glob("[!.]*.html"))
    if not decks:
        raise ValueError(f"{site} has no slides: run `python -m lib build` first")
    files.prepare(folder)
    written = []
    with chromium() as browser:
        page = browser.new_page(color_scheme="light")
        for deck in decks:
            page.goto(f"{deck.resolve().as_uri()}?print")
            page.evaluate(PICTURES)
            document = page.pdf(tagged=True, print_background=True, prefer_css_page_size=True)
            written.append(folder / f"{deck.stem}.pdf")
            files.write(written[-1], document)
    return written
