"""Figures that move: by keyboard and by their play buttons."""

import matplotlib.pyplot as plt
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from browsing import LAPTOP, PHONE, ROOT, serious

from lib.figures import sliders
from lib.site import toc


def with_moving_figures():
    """Name the pages that hold a figure with a slider."""
    front = "book/index" if "{moving-figure}" in (ROOT / "book" / "index.md").read_text(encoding="utf-8") else None
    chapters = [
        f"book/{name}"
        for name in toc.chapters(ROOT)
        if "sliders.figure(" in (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
    ]
    return [name for name in (front, *chapters) if name]


@pytest.mark.parametrize("theme, viewport", [("light", LAPTOP), ("dark", PHONE)], ids=["laptop", "phone"])
@pytest.mark.parametrize("name", with_moving_figures())
def test_sliders_move_their_pictures_by_keyboard(visit, name, theme, viewport):
    page = visit(f"{name}.html", viewport, color_scheme=theme)
    while (hidden := page.get_by_role("button", name="Show the figure")).count():
        hidden.first.click()
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


@pytest.fixture(params=[("light", LAPTOP), ("dark", PHONE)], ids=["light-laptop", "dark-phone"])
def plane(request, visit):
    """A page with a figure of two sliders, whose dot follows both."""
    fig, axes = plt.subplots()
    (dot,) = axes.plot([0], [0], "o")
    axes.set(xlim=(-1, 3), ylim=(-1, 3))
    made = sliders.plane(
        fig, lambda *place: dot.set_data(*([one] for one in place)), [0, 1, 2], [0, 1], labels=("δ", "scale"), alt="a dot"
    )
    theme, viewport = request.param
    page = visit(f"{with_moving_figures()[-1]}.html", viewport, color_scheme=theme)

    def beside(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('<div class="moving">', f'{made.html}<div class="moving">', 1))

    page.route(page.url, beside)
    page.reload()
    return page


DOT = "(use => [use.x.baseVal.value, use.y.baseVal.value])(document.querySelector('.moving use[data-part]'))"


def test_two_sliders_play_each_in_its_own_direction(plane):
    start = plane.evaluate(DOT)
    figure = plane.locator("div.moving").first
    figure.get_by_label("Play δ").click()
    plane.wait_for_function("document.querySelector('.moving-slider input').value === '2'")
    right = plane.evaluate(DOT)
    assert right[0] > start[0] and right[1] == start[1]
    figure.get_by_label("Play scale").click()
    plane.wait_for_function("document.querySelectorAll('.moving-slider input')[1].value === '1'")
    up = plane.evaluate(DOT)
    assert up[0] == right[0] and up[1] < right[1]
    assert [slider.get_attribute("aria-valuetext") for slider in figure.locator("input").all()] == ["2", "1"]


def test_two_sliders_are_moved_by_keyboard_and_fit(plane):
    start, figure = plane.evaluate(DOT), plane.locator("div.moving").first
    first, second = figure.locator("input").all()
    first.focus()
    plane.keyboard.press("ArrowRight")
    for key in ("Tab", "Tab", "ArrowRight"):  # over the second's play button
        plane.keyboard.press(key)
    assert second.evaluate("slider => slider === document.activeElement")
    place = plane.evaluate(DOT)
    assert place[0] > start[0] and place[1] < start[1]
    assert [slider.get_attribute("aria-valuetext") for slider in (first, second)] == ["1", "1"]
    for slider in (first, second):
        row = slider.bounding_box()
        assert row["width"] > 150 and row["x"] + row["width"] < plane.viewport_size["width"]
    plane.evaluate(AXE_SCRIPT)
    assert serious(plane.evaluate("axe.run('.moving', {resultTypes: ['violations'], preload: false})")) == []
