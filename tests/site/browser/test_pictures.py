"""Pictures: at their full size, and in the dark."""

import pytest
from browsing import BOOK, PHONE, serious, show_answers


def test_a_picture_opens_at_its_full_size(visit):
    page = visit(f"book/{BOOK.chapters[0]}.html", PHONE, has_touch=True)
    show_answers(page)
    link, box = page.locator("figure a.zoom").first, page.locator("dialog.zoomed")
    assert not box.is_visible()
    for act in (link.tap, lambda: link.press("Enter")):
        act()
        picture = box.locator("img")
        assert picture.evaluate(
            "image => image.decode().then(() => Math.abs(2 * image.clientWidth - image.naturalWidth) <= 1)"
        )
        assert picture.get_attribute("alt") == link.locator("img").first.get_attribute("alt")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        before = box.locator("div").evaluate("inside => inside.scrollLeft")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "before => document.querySelector('.zoomed div').scrollLeft > before", arg=before
        )
        page.keyboard.press("Escape")
        box.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.classList.contains('zoom')")
    link.tap()
    box.get_by_label("Close").tap()
    box.wait_for(state="hidden")


def test_figures_follow_the_theme(visit):
    page = visit("book/piecewise_linear.html", color_scheme="dark")
    show_answers(page)
    shown = "images => images.filter(image => image.checkVisibility()).map(image => image.src)"
    dark = page.locator("a.zoom img").evaluate_all(shown)
    assert dark and all(source.endswith(".dark.png") for source in dark)
    page.emulate_media(color_scheme="light")
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    light = page.locator("a.zoom img").evaluate_all(shown)
    assert [source.replace(".png", ".dark.png") for source in light] == dark


# The scale at which each figure is drawn, the size of its smallest
# letters where they are text, and whether it opens.
SMALL = """figures => figures.map(figure => {
    const drawing = figure.querySelector("svg[aria-label]"), image = [...figure.querySelectorAll("img[width]")].find(one => one.checkVisibility());
    const letters = drawing && [...drawing.querySelectorAll("text")].map(text => parseFloat(getComputedStyle(text).fontSize));
    const scale = drawing ? drawing.getScreenCTM().a : image.clientWidth / image.getAttribute("width");
    const opener = figure.querySelector(drawing ? ".enlarge" : "a.zoom");
    return {name: figure.id, scale, letters: letters && scale * Math.min(...letters), opens: Boolean(opener?.offsetHeight)};
})"""
SMALLEST = 9  # pixels, of letters that can be read


@pytest.mark.parametrize("name", BOOK.chapters)
def test_on_a_phone_a_figure_with_small_letters_opens(visit, name):
    page = visit(f"book/{name}.html", PHONE)
    show_answers(page)
    found = page.locator("article figure").evaluate_all(SMALL)
    assert found
    for figure in found:
        assert figure["opens"] or (figure["letters"] or 0) >= SMALLEST or figure["scale"] == 1, (
            figure
        )


def test_a_moving_figure_opens_with_its_slider(visit):
    page = visit("book/products.html", PHONE, has_touch=True)
    figure, box = page.locator("figure div.moving").first, page.locator("dialog.zoomed")
    figure.get_by_role("button", name="Enlarge").tap()
    (opened,) = box.evaluate_all(SMALL)
    assert opened["letters"] >= SMALLEST
    slider, drawing = box.locator("input[type=range]"), box.locator("svg[aria-label]")
    shown = drawing.inner_html()
    slider.press("ArrowRight")
    assert drawing.inner_html() != shown
    row = slider.bounding_box()
    assert row["x"] >= 0 and row["x"] + row["width"] <= PHONE["width"]
    assert serious(page, "dialog") == []
    page.keyboard.press("Escape")
    box.wait_for(state="hidden")
    assert page.locator("figure div.moving").count()
    assert page.evaluate("document.activeElement.className") == "enlarge"
