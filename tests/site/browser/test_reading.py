"""A chapter as it is read: code, figures to predict, solutions, and formulas on a phone."""

import pytest
from browsing import BOOK, PHONE

# whether each part between a question and the next one or a heading is seen
BETWEEN = """question => {
  const seen = [];
  let next = question.nextElementSibling;
  while (next && !next.matches("section") && !next.matches("p:has(.predict)")) {
    if (!next.matches("button")) seen.push(next.checkVisibility());
    next = next.nextElementSibling;
  }
  return seen;
}"""


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
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 5
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    assert heading.bounding_box()["y"] == pytest.approx(place, abs=2)
    page.goto(page.url.replace(first, second))
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    button.click()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 5
    page.reload()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 5
    page.goto(page.url.replace(second, "cite"))
    assert button.count() == 0  # no code, no button


@pytest.mark.parametrize("name", BOOK.chapters)
def test_an_answer_waits_until_the_reader_asks(visit, name):
    page = visit(f"book/{name}.html")
    asked = page.locator("section > p:has(.predict)")
    buttons = page.get_by_role("button", name="Show the answer")
    assert 0 < buttons.count() == asked.count()
    for number in range(asked.count()):  # all that stands between a question and a heading waits
        between = asked.nth(number).evaluate(BETWEEN)
        assert between and not any(between)
    page.emulate_media(media="print")
    assert all(asked.first.evaluate(BETWEEN)) and not buttons.first.is_visible()
    page.emulate_media(media="screen")
    buttons.first.press("Enter")
    assert all(asked.first.evaluate(BETWEEN))
    assert asked.first.evaluate(
        "question => question.nextElementSibling === document.activeElement"
    )
    hidden = page.locator(".undecided figure[id]")
    if hidden.count():
        name = hidden.first.get_attribute("id")
        page.evaluate("name => location.hash = name", name)
        page.locator(f"figure[id='{name}']").wait_for()
        page.reload()
    if buttons.count():
        page.get_by_role("button", name="Show all answers").click()
    assert not buttons.count() and not page.locator(".undecided").count()


def test_without_scripts_every_answer_is_there(visit):
    page = visit(f"book/{BOOK.chapters[0]}.html", java_script_enabled=False)
    asked = page.locator("section > p:has(.predict)")
    assert asked.first.locator("~ :not(button)").first.is_visible()


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
