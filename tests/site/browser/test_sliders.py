"""Figures that move: by keyboard and by their play buttons."""

import pytest
from browsing import BOOK, LAPTOP, PHONE, show_answers


def with_moving_figures():
    """Name the pages that hold a figure with a slider."""
    chapters = [name for name in BOOK.chapters if "sliders.figure(" in BOOK.text(name)]
    return ["book/index", *(f"book/{name}" for name in chapters)]


@pytest.mark.parametrize(
    "theme, viewport", [("light", LAPTOP), ("dark", PHONE)], ids=["laptop", "phone"]
)
@pytest.mark.parametrize("name", with_moving_figures())
def test_sliders_move_their_pictures_by_keyboard(visit, name, theme, viewport):
    page = visit(f"{name}.html", viewport, color_scheme=theme)
    show_answers(page)
    figures = page.locator("div.moving").all()
    assert figures
    for figure in figures:
        slider, picture = figure.locator("input[type=range]"), figure.locator("> svg")
        assert figure.locator("label").inner_text().strip()
        assert picture.get_attribute("aria-label")
        slider.focus()
        page.keyboard.press("Home")
        before = picture.inner_html()
        spoken = slider.get_attribute("aria-valuetext")
        shown = figure.locator("output").inner_text()
        assert shown and spoken.startswith(f"{shown}: ")
        page.keyboard.press("ArrowRight")
        first = picture.inner_html()
        page.keyboard.press("End")
        assert before != first != picture.inner_html()
        said = slider.get_attribute("aria-valuetext")
        assert said.startswith(f"{figure.locator('output').inner_text()}: ") and said != spoken


def test_a_moving_figure_plays_to_its_end_and_pauses(visit):
    page = visit(f"{with_moving_figures()[-1]}.html")
    figure = page.locator("div.moving").first
    slider, button, picture = (
        figure.locator("input"),
        figure.get_by_role("button"),
        figure.locator("> svg"),
    )
    label, last = figure.locator("label").inner_text(), slider.get_attribute("max")
    slider.press("End")
    slider.press("ArrowLeft")
    before = picture.inner_html()
    button.press("Enter")
    assert button.get_attribute("aria-label") == f"Pause {label}"
    page.wait_for_function(
        "([slider, last]) => slider.value === last", arg=[slider.element_handle(), last]
    )
    assert button.get_attribute("aria-label") == f"Play {label}"
    assert picture.inner_html() != before
    button.press("Enter")  # at the end it starts anew
    assert int(slider.input_value()) < int(last) / 2
    page.wait_for_function("slider => slider.value > 0", arg=slider.element_handle())
    slider.press("Home")  # the reader takes over
    page.wait_for_timeout(600)
    assert (slider.input_value(), button.get_attribute("aria-label")) == ("0", f"Play {label}")


def test_where_less_motion_is_wanted_nothing_plays(visit):
    page = visit(f"{with_moving_figures()[-1]}.html", reduced_motion="reduce")
    assert page.locator("div.moving input").first.is_visible()
    assert not page.locator(".moving-play").first.is_visible()
