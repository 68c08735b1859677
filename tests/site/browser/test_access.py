"""The site as those meet it who listen, use keys, or have a narrow window."""

import pytest
from browsing import BOOK, show_answers

DECKS = list(BOOK.beside("slides"))
NARROW = {"width": 320, "height": 640}
NAMES = "all => all.map(one => (one.getAttribute('aria-label') ?? one.innerText).trim())"


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_each_fold_and_arrow_says_what_it_opens(visit, name):
    page = visit(f"book/{name}.html")
    show_answers(page)
    page.locator(".visually-hidden").evaluate_all(
        "all => all.forEach(one => one.classList.remove('visually-hidden'))"
    )
    folds = page.locator("details:not(.further details) > summary").evaluate_all(NAMES)
    shown = [fold for fold in folds if fold]
    assert len(shown) > 5 and len(set(shown)) == len(shown)
    assert not any("Toggle" in fold for fold in shown)


def test_a_card_describes_its_formula_in_tex(visit):
    page = visit("book/products.html")
    link = page.locator("p a[href='#equation-eq-products-flow']").first
    link.focus()
    link.hover()
    page.wait_for_function(
        "link => link.hasAttribute('aria-description')", arg=link.element_handle()
    )
    assert "\\frac" in link.get_attribute("aria-description")


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_says_its_pictures_and_formulas(visit, name):
    page = visit(f"slides/{name}.html")
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    deck = page.locator("main")
    assert deck.get_attribute("role") is None
    status = page.locator("p[role=status]")
    said = []
    for number in range(1, page.locator("main section").count()):
        page.evaluate(f"Reveal.slide({number}, 0, 99)")
        words = page.locator("main section").nth(number).evaluate("slide => inWords(slide)")
        assert status.inner_text(timeout=2000) or words == ""
        said.append(status.text_content())
    alternatives = page.locator("main .moving > svg, main img").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label') ?? one.alt)"
    )
    assert alternatives and all(any(words in slide for slide in said) for words in alternatives)
    assert any("\\" in slide for slide in said)  # formulas in TeX
    page.evaluate("Reveal.slide(0)")
    page.get_by_role("link", name="all slides as one page").click()
    page.wait_for_url("**?print")
    assert page.locator("section:visible").count() == len(said) + 1


def test_a_slider_says_what_its_picture_shows(visit):
    page = visit("book/products.html")
    slider, picture = page.locator(".moving input").first, page.locator(".moving > svg").first
    label = picture.get_attribute("aria-label")
    slider.press("End")
    spoken = slider.get_attribute("aria-valuetext")
    assert "half of the target after" in spoken
    assert picture.get_attribute("aria-label") != label
    assert spoken.partition(": ")[2] in picture.get_attribute("aria-label")


def test_the_focus_stays_where_a_page_or_an_answer_ends(visit):
    page = visit("book/what_replicates.html?page=9")
    button = page.get_by_role("button", name="Next")
    while button.get_attribute("aria-disabled") == "false":
        button.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page = visit(f"book/{BOOK.chapters[0]}.html")
    page.locator(".all-answers").press("Enter")
    assert page.evaluate("document.activeElement !== document.body")


def test_the_number_of_results_is_said(visit):
    page = visit("search.html?q=conserved")
    page.wait_for_function(
        "/\\d+ results/.test(document.querySelector('.bd-search-container [role=status]')?.textContent)"
    )


@pytest.mark.parametrize("name", ["book/index", "book/where", "book/two_point", "book/course"])
def test_a_page_fits_a_narrow_window(visit, name):
    page = visit(f"{name}.html", NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_fits_a_narrow_window(visit, name):
    page = visit(f"slides/{name}.html", NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_items_are_filtered_and_links_lead_to_hidden_rows(visit):
    page = visit("book/where.html")
    said = page.locator(".ledger-filter output")
    count = page.locator("table.coverage tbody tr").count()
    assert said.inner_text() == f"{count} of {count}"
    page.get_by_label("Document").select_option(label="Kunin et al.")  # all its parts
    page.get_by_label("Filter", exact=True).fill("figure 5(a)")
    assert page.locator("table.coverage tbody tr:visible").count() == 1
    page.get_by_label("Document").select_option(label="van Rossem & Saxe")
    page.get_by_label("Scale").select_option("compared")
    page.get_by_label("Filter", exact=True).fill("figure 5")
    shown = page.locator("table.coverage tbody tr:visible")
    assert shown.count() == 1 and "Figure 5" in shown.first.inner_text()
    page.get_by_label("Verdict").select_option("not decided")
    assert shown.count() == 0 or "not decided" in shown.first.inner_text()
    page.locator(".where-index a").first.click()
    page.wait_for_function(
        "document.querySelector('.ledger-filter output').textContent.split(' ')[0] > 100"
    )
