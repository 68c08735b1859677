"""The front page in one screen, its way into the chapters, and citations that are copied."""

import pytest
from browsing import BOOK, LAPTOP, PHONE

from lib.site import citing


def bottom(locator):
    box = locator.bounding_box()
    return box["y"] + box["height"]


def test_the_front_page_fits_a_screen(visit):
    page = visit("book/index.html")
    for part in ("article h1", ".moving input", ".doors .sd-card"):
        assert bottom(page.locator(part).first) < LAPTOP["height"], part
    assert page.locator(".findings li").count() in (3, 4, 5)


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_cards_show_the_chapters_and_lead_there(visit, viewport):
    page = visit("book/index.html", viewport)
    cards = page.locator(".chapter-cards a")
    names = BOOK.chapters
    assert cards.evaluate_all("all => all.map(one => one.getAttribute('href'))") == [
        f"{name}.html" for name in names
    ]
    page.locator(".chapter-cards .sd-card").last.click()
    page.wait_for_url(f"**/{names[-1]}.html")


def test_the_entry_of_a_chapter_is_copied(visit):
    page = visit(f"book/{BOOK.chapters[0]}.html", permissions=["clipboard-read", "clipboard-write"])
    fold = page.locator(".citing details.cite")
    fold.locator("summary").press("Enter")
    fold.locator("pre").hover()
    fold.locator("button.copybtn").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.startsWith('@misc{'))")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"Version {citing.read(BOOK).version}" in copied and copied.endswith("}")
