"""Figures that move: by keyboard and by their play buttons."""

import matplotlib.pyplot as plt
import pytest
from browsing import ROOT

from lib import moving
from lib.book import toc


def with_moving_figures():
    """Name the pages that hold a figure with a slider."""
    front = "book/index" if "{moving-figure}" in (ROOT / "book" / "index.md").read_text(encoding="utf-8") else None
    chapters = [
        f"book/{name}"
        for name in toc.chapters(ROOT)
        if "moving.figure(" in (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
    ]
    return [name for name in (front, *chapters) if name]


@pytest.mark.parametrize("name", with_moving_figures())
def test_sliders_move_their_pictures_by_keyboard(visit, name):
    page = visit(f"{name}.html")
    figures = page.locator("div.moving").all()
    assert figures
    for figure in figures:
        slider, picture = figure.locator("input[type=range]"), figure.locator("> svg")
        assert figure.locator("label").inner_text().strip()
        assert picture.get_attribute("aria-label")
        before, spoken = picture.inner_html(), slider.get_attribute("aria-valuetext")
        assert spoken == figure.locator("output").inner_text() != ""
        slider.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        first = picture.inner_html()
        page.keyboard.press("End")
        assert len({before, first, picture.inner_html()}) == 3
        assert slider.get_attribute("aria-valuetext") == figure.locator("output").inner_text() != spoken


def test_a_moving_figure_plays_to_its_end_and_pauses(visit):
    page = visit(f"{with_moving_figures()[-1]}.html")
    figure = page.locator("div.moving").first
    slider, button, picture = figure.locator("input"), figure.get_by_role("button"), figure.locator("> svg")
    label = figure.locator("label").inner_text()
    last = slider.get_attribute("max")
    slider.press("End")
    for _ in range(3):
        slider.press("ArrowLeft")
    before = picture.inner_html()
    button.press("Enter")
    assert button.get_attribute("aria-label") == f"Pause {label}"
    page.wait_for_function("([slider, last]) => slider.value === last", arg=[slider.element_handle(), last])
    assert button.get_attribute("aria-label") == f"Play {label}"
    assert picture.inner_html() != before
    assert slider.get_attribute("aria-valuetext") == figure.locator("output").inner_text()
    button.press("Enter")  # at the end it starts anew
    assert int(slider.input_value()) < int(last) / 2
    page.wait_for_function("slider => slider.value > 0", arg=slider.element_handle())
    button.press("Space")
    rest = slider.input_value()
    page.wait_for_timeout(600)
    assert slider.input_value() == rest
    button.press("Enter")
    slider.press("Home")  # the reader takes over
    page.wait_for_timeout(600)
    assert (slider.input_value(), button.get_attribute("aria-label")) == ("0", f"Play {label}")


def test_where_less_motion_is_wanted_nothing_plays(visit):
    page = visit(f"{with_moving_figures()[-1]}.html", reduced_motion="reduce")
    assert page.locator("div.moving input").first.is_visible()
    assert not page.locator(".moving-play").first.is_visible()


def test_two_sliders_play_each_in_its_own_direction(visit):
    fig, axes = plt.subplots()
    (dot,) = axes.plot([0], [0], "o")
    axes.set(xlim=(-1, 3), ylim=(-1, 3))
    plane = moving.plane(
        fig, lambda *place: dot.set_data(*([one] for one in place)), [0, 1, 2], [0, 1], labels=("δ", "scale"), alt="a dot"
    )
    page = visit("book/index.html")
    styles = "".join(f'<link rel="stylesheet" href="_static/{name}.css">' for name in ("book", "reading"))
    body = f"<!doctype html><meta charset=utf-8>{styles}<script defer src=_static/play.js></script>{plane.html}"
    page.route("**/plane.html", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(page.url.replace("book/index.html", "plane.html"))
    dot = "(use => [use.x.baseVal.value, use.y.baseVal.value])(document.querySelector('use[data-part]'))"
    start = page.evaluate(dot)
    page.get_by_label("Play δ").click()
    page.wait_for_function("document.querySelector('.moving-slider input').value === '2'")
    right = page.evaluate(dot)
    assert right[0] > start[0] and right[1] == start[1]
    page.get_by_label("Play scale").click()
    page.wait_for_function("document.querySelectorAll('.moving-slider input')[1].value === '1'")
    up = page.evaluate(dot)
    assert up[0] == right[0] and up[1] < right[1]
    assert [slider.get_attribute("aria-valuetext") for slider in page.locator("input").all()] == ["2", "1"]
