"""From a name in a cell to its source, by mouse and keyboard, in both themes; behind lessons in the search."""

import pytest
from browsing import serious

NAME = "a.to-source[href*='#book.products.theory.']"
CODE = ("book/library", "code.html")
FOUND = ".pagefind-ui__result-link"


def test_one_click_leads_from_a_name_to_its_source(visit):
    page = visit("book/products.html")
    page.locator(".all-code").click()
    name = page.locator(NAME).first
    place = name.get_attribute("title")
    name.press("Enter")
    page.wait_for_url(f"**/products/code.html#{place}")
    section = page.locator(f"[id='{place}']")
    assert section.bounding_box()["y"] < 100
    assert place.rpartition(".")[2] in section.locator("pre").first.inner_text()
    assert (page.errors, page.outside) == ([], [])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_heading_of_a_function_is_not_covered(visit, theme):
    page = visit("book/library/theory.html#lib.theory.monomial.flow", color_scheme=theme)
    colour = page.locator(":target > h3").evaluate("one => getComputedStyle(one).backgroundColor")
    assert colour == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_code_and_contents(visit, theme):
    page = visit("book/library/kernels.html", color_scheme=theme)
    assert page.locator(".highlight a.to-source").count() > 10
    assert serious(page) == []


def test_the_library_is_one_folded_entry_beside_a_lesson(visit):
    page = visit("book/products.html")
    entries = page.locator(".bd-sidebar-primary a[href*='library']")
    assert [entry.is_visible() for entry in entries.all()].count(True) == 1


@pytest.mark.parametrize(
    "asked, first",
    [("conserved quantity", False), ("kernel distance", False), ("weights_at", True)],
)
def test_lessons_come_first_and_names_are_found(visit, asked, first):
    page = visit(f"search.html?q={asked.replace(' ', '+')}")
    page.locator(FOUND).first.wait_for()
    page.wait_for_timeout(500)
    links = page.locator(FOUND).evaluate_all("links => links.map(link => link.pathname)")
    assert any(part in links[0] for part in CODE) == first, links[:5]
