"""The scripts in another language: what they say, and that they find what they work with."""

import pytest
from translated import pseudo


@pytest.fixture(scope="module")
def site(translated_book):
    return translated_book / "_build" / "html"


def test_scripts_work_and_speak_the_language(visit):
    page = visit("book/products.html")
    asked = page.locator("p:has(.predict)")
    assert page.locator(".answer").count() == asked.count() > 3
    assert page.locator(".undecided").first.is_hidden()
    page.locator(".all-answers").click()
    assert not page.locator(".undecided").count()
    play = page.locator(".moving-play").first
    assert play.get_attribute("aria-label").startswith("⟦Plàý")
    assert page.locator(".enlarge").first.inner_text() == pseudo("Enlarge")
    assert page.locator("dialog.zoomed").get_attribute("aria-label").startswith("⟦")
    page.locator("a[href='#products-growth-power']").first.hover()
    page.locator("#preview:visible .claim-statement").wait_for()
    assert page.locator("#preview").inner_text().startswith(pseudo("Reproduced"))
    assert not page.errors


def test_the_ledger_is_filtered_by_verdict(visit):
    page = visit("book/what_replicates.html")
    said = page.locator(".ledger-filter output")
    assert said.inner_text().endswith(" çlàïmš⟧")
    page.locator("select[name=verdict]").select_option("slip")
    rows = page.locator(".all-claims tbody tr")
    assert rows.count() == 2 == page.locator(".all-claims td:last-child .slip").count()
    page.locator("select[name=verdict]").select_option("errata")
    assert rows.count() == 3
    assert not page.errors


def test_the_search_finds_words_of_the_language(visit):
    page = visit("search.html?q=prödüçt")
    page.locator(".pagefind-ui__result").first.wait_for()
    box = page.locator("#search input")
    assert box.get_attribute("aria-label") == pseudo("Search the book")
    assert page.locator(".pagefind-ui__result").count() > 2
    assert not page.errors
