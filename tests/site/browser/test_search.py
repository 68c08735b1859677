"""Search as a reader uses it: by words and numbers, by keyboard, on a phone, without JavaScript."""

import re

import pytest
from browsing import BOOK, PHONE, serious

FOUND = ".pagefind-ui__result-link"
# What one asks for, and a page or a place that must come among the first links.
ASKED = {
    "silent alignment": r"where.html#.*balanced",
    "grokking": r"practice.html#grokking",
    "hyperbolic entropy": r"linear_networks/evidence.html#linear_networks-mirror",
    "Theorem 6": r"linear_networks.html#when-is-a-network-lazy",
    "Eq. 7": r"two_point.html#",
    "Figure 1(b)": r"where.html#.*figure-1-b",
    "Eq. (2.4)": r"single_neuron.html#equation-eq-neuron-m-weights",
    "Fig. 2.5": r"single_neuron.html#fig-neuron-bias",
    "Fig. E1.6": r"products/evidence.html#fig-products-steps",
    "Eq. (E3.1)": r"linear_networks/evidence.html#equation-eq-linear-riccati",
    "exercise 3.2": r"linear_networks.html#linear-ex-sign",
    "NTK": r"notation.html#other-names",
}


@pytest.fixture(scope="module")
def results(chromium, address):
    """A page of results, on which one thing after another is looked for."""
    page = chromium.new_page()
    page.goto(f"{address}/search.html?q=balanced")
    page.locator(FOUND).first.wait_for()
    yield page
    page.close()


@pytest.mark.parametrize("asked", ASKED)
def test_words_and_numbers_lead_to_their_places(results, asked):
    field = results.locator("#search input")
    field.fill("")
    results.locator(FOUND).first.wait_for(state="detached")
    field.fill(asked)
    results.locator(FOUND).first.wait_for()
    results.wait_for_timeout(300)
    links = results.locator(FOUND).evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert any(re.search(ASKED[asked], link) for link in links[:20]), links


def test_search_is_used_by_keyboard_and_kept_in_the_address(visit):
    page = visit(f"book/{BOOK.chapters[0]}.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("kernel distance")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kernel+distance")
    page.locator(FOUND).first.wait_for()
    field = page.get_by_role("search").get_by_role("textbox")
    assert field.input_value() == "kernel distance"
    field.fill("Fig. 2.5")
    page.wait_for_url("**/search.html?q=Fig.+2.5")
    link = page.get_by_role("link", name=re.compile("Fig. 2.5 One"))  # with its dots
    link.press("Enter")
    page.wait_for_url("**/single_neuron.html#fig-neuron-bias")
    page.go_back()
    link.wait_for()
    assert field.input_value() == "Fig. 2.5"
    assert (page.errors, page.outside) == ([], [])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_fit_a_phone_and_axe_finds_nothing_serious(visit, theme):
    page = visit("search.html?q=conserved", PHONE, color_scheme=theme)
    page.locator(f"{FOUND} >> nth=5").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert serious(page) == []


def test_without_javascript_search_says_so(visit):
    page = visit("search.html?q=balanced", java_script_enabled=False)
    assert page.locator("noscript .admonition-title").inner_text() == "Search needs JavaScript"
    assert not page.locator("#search-hints").is_visible()
