"""Previews: what a link leads to, in a card; by pointer, keyboard and touch."""

import pytest
from browsing import LAPTOP, PHONE, serious

# Previews: what a link leads to, in a card. A link of each kind, on its own page and from another.
CARD = "#preview"
PREVIEWED = {
    "equation of another page": ("where", ".html#equation-"),
    "claim": ("products", "#products-"),
    "work": ("course", "references.html#id"),
    "symbol": ("notation", "#symbol-"),
}


def link_to(page, target):
    link = page.locator(f'.bd-article a[href*="{target}"]:not(.headerlink):visible').first
    link.evaluate("link => link.scrollIntoView({block: 'center'})")
    return link


def show(page, link):
    link.hover()
    page.wait_for_selector(f"{CARD}:visible")
    return page.locator(CARD)


@pytest.mark.parametrize("page_name, target", PREVIEWED.values(), ids=PREVIEWED)
def test_a_link_shows_what_it_leads_to(visit, page_name, target):
    page = visit(f"book/{page_name}.html")
    before = page.url
    link = link_to(page, target)
    card = show(page, link)
    assert card.get_attribute("role") == "tooltip"
    assert link.get_attribute("aria-description")
    assert card.inner_text().strip() or card.locator("math").count()
    assert card.locator(".math").count() == card.locator(".math:has(math)").count()
    assert (
        card.locator("merror, a[href], [tabindex], [id], button, input, details, pre").count() == 0
    )
    assert page.evaluate(
        "[...document.querySelectorAll('#preview img')].every(image => image.naturalWidth)"
    )
    box = card.bounding_box()
    assert 0 <= box["x"] <= LAPTOP["width"] - box["width"]
    assert 0 <= box["y"] <= LAPTOP["height"] - box["height"]
    assert serious(page, CARD) == []
    page.keyboard.press("Escape")
    assert not card.is_visible() and link.get_attribute("aria-description") is None
    assert (page.url, page.errors, page.outside) == (before, [], [])


def test_the_keyboard_shows_cards_and_is_not_held_in_them(visit):
    page = visit("book/products.html")
    link = link_to(page, "#products-")
    page.keyboard.press("Tab")  # the keyboard is what is used
    link.focus()
    page.locator(CARD).wait_for(state="visible")
    page.keyboard.press("Escape")
    assert not page.locator(CARD).is_visible()
    assert link.evaluate("link => link === document.activeElement")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('#preview')")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("hash => location.hash === hash", arg=link.get_attribute("href"))


def test_a_first_tap_shows_and_a_second_follows(visit):
    page = visit("book/course.html", PHONE, has_touch=True)
    link, card = link_to(page, "references.html#id"), page.locator(CARD)
    link.tap()
    card.wait_for(state="visible")
    assert "tap again" in card.inner_text() and page.url.endswith("course.html")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.touchscreen.tap(5, 100)
    assert not card.is_visible()
    link.tap()
    card.wait_for(state="visible")
    link.tap()
    page.wait_for_url("**/references.html#id*")
