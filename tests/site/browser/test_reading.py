"""A chapter as it is read: code, figures to predict, solutions, and formulas on a phone."""

import re

import pytest
from browsing import BOOK, PHONE


def test_all_code_of_a_page_opens_at_once(visit):
    first, second = BOOK.chapters[:2]
    page = visit(f"book/{first}.html")
    button, folded = (
        page.get_by_role("button", name="Show all code"),
        page.locator("details.hide:not([open])"),
    )
    heading = page.locator("h2").nth(3)
    heading.evaluate("heading => heading.scrollIntoView({behavior: 'instant', block: 'start'})")
    place = heading.bounding_box()["y"]
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    assert heading.bounding_box()["y"] == pytest.approx(place, abs=2)
    page.goto(page.url.replace(first, second))
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    button.click()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    page.reload()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    page.goto(page.url.replace(second, "cite"))
    assert button.count() == 0  # no code, no button


@pytest.mark.parametrize("name", BOOK.chapters)
def test_a_figure_to_predict_waits_until_the_reader_asks(visit, name):
    page = visit(f"book/{name}.html")
    waiting = page.locator("figure.undecided")
    asked = (
        page.locator(".bd-article p").filter(has_text=re.compile("before you look", re.I)).count()
    )
    assert 0 < waiting.count() <= asked
    figure = page.locator(f"figure[id='{waiting.first.get_attribute('id')}']")
    picture, height = figure.locator(":is(img, svg)").first, figure.bounding_box()["height"]
    assert not picture.is_visible() and not figure.locator("figcaption").is_visible()
    page.emulate_media(media="print")
    assert (
        picture.is_visible()
        and not figure.get_by_role("button", name="Show the figure").is_visible()
    )
    page.emulate_media(media="screen")
    figure.get_by_role("button", name="Show the figure").press("Enter")
    assert picture.is_visible() and figure.bounding_box()["height"] == pytest.approx(height, abs=3)
    if waiting.count():
        target = waiting.first.get_attribute("id")
        page.evaluate("target => location.hash = target", target)
        page.locator(f"figure[id='{target}']:not(.undecided)").wait_for()


@pytest.mark.parametrize("name", BOOK.chapters)
def test_folded_solutions_open(visit, name):
    page = visit(f"book/{name}.html")
    solutions = page.locator(".solution.dropdown").all()
    assert len(solutions) >= 2
    for solution in solutions:
        inside, button = solution.locator("section").first, solution.locator("button.toggle-button")
        assert not inside.is_visible()
        button.press("Enter")
        inside.wait_for(state="visible")
        assert button.get_attribute("aria-expanded") == "true"


WIDE = """formulas => formulas.filter(box => box.clientWidth).map(box => [
    box.scrollWidth > box.clientWidth + 1,
    getComputedStyle(box).backgroundImage.includes("gradient"),
])"""


@pytest.mark.parametrize("name", ["single_neuron", "linear_networks"])
def test_on_a_phone_a_cut_formula_scrolls_and_says_so(visit, name):
    page = visit(f"book/{name}.html", PHONE)
    for button in page.locator(".solution.dropdown button.toggle-button").all():
        button.press("Enter")
    page.wait_for_function(
        "[...document.querySelectorAll('.solution section')].every(part => part.clientHeight)"
    )
    shown = page.locator(".math .formula").evaluate_all(WIDE)
    assert sum(scrolls for scrolls, _ in shown) > 1
    assert all(shade for scrolls, shade in shown if scrolls)
    cut = """formulas => formulas.filter(formula => formula.clientHeight && formula.getBoundingClientRect().right > innerWidth
        && !formula.closest(".formula, .scrolling"))"""
    page.wait_for_function(f"({cut})([...document.querySelectorAll('.math math')]).length === 0")
