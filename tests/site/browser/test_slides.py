"""Decks as a lecturer and a student meet them: by keyboard, on a
phone, in the dark, on paper; and the way to them.
"""

from io import BytesIO

import pytest
from browsing import BOOK, LAPTOP, PHONE, serious
from PIL import Image

DECKS = list(BOOK.beside("slides"))
PRESENT = "section.present"
OVER = """() => [...document.querySelectorAll("section")].map((slide, number) => {
    Reveal.slide(number, 0, 99);
    const frame = slide.getBoundingClientRect();
    const inside = [...slide.children, ...slide.querySelectorAll("figure img, .moving > svg")];
    const below = inside.map(part => part.getBoundingClientRect().bottom - frame.bottom);
    const wide = [slide, ...slide.querySelectorAll(".formula")].map(part => part.scrollWidth - part.clientWidth);
    const pictures = [...slide.querySelectorAll("figure img, .moving > svg")].filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().height);
    const share = Math.min(1, ...pictures.map(height => height / frame.height));
    return [slide.innerText.split("\\n")[0], Math.max(slide.scrollHeight - slide.clientHeight, ...wide, ...below), share];
})"""


@pytest.fixture(scope="module", params=DECKS)
def name(request):
    return request.param


def deck(visit, name, viewport=LAPTOP, **options):
    page = visit(f"slides/{name}.html", viewport, **options)
    if viewport == LAPTOP and options.get("java_script_enabled", True):
        page.wait_for_function("window.Reveal && Reveal.isReady()")
    return page


def test_a_deck_loads_without_errors_and_asks_nobody_else(visit, name):
    page = deck(visit, name)
    shown = "[...document.querySelectorAll('img:not(.only-dark)')]"
    page.evaluate(f"Promise.all({shown}.map(image => image.decode()))")
    assert not [request.url for request in page.finished if request.url.endswith(".dark.png")]
    assert (page.errors, page.outside) == ([], [])
    assert page.locator("main section").count() >= 18
    assert page.locator("img:not([alt]), .moving > svg:not([aria-label])").count() == 0


def test_every_slide_fits_and_its_picture_is_large(visit, name):
    for heading, over, picture in deck(visit, name).evaluate(OVER):
        assert over < 2, heading
        assert picture > 0.4, heading


def test_keys_turn_the_slides_and_the_address_follows(visit, name):
    page = deck(visit, name)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("Reveal.getState().indexh === 1")
    page.wait_for_url("**/*#/1")
    page.reload()
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    assert page.evaluate("Reveal.getState().indexh") == 1
    slider = page.locator(f"{PRESENT} .moving input").first
    if slider.count():  # the keys move it then, and not the slides
        slider.focus()
        before = slider.input_value()
        page.keyboard.press("ArrowRight" if before == slider.get_attribute("min") else "ArrowLeft")
        assert slider.input_value() != before and page.evaluate("Reveal.getState().indexh") == 1


def test_the_overview_shows_slides_and_sliders_free_keys(visit):
    page = deck(visit, "single_neuron")
    page.keyboard.press("Escape")
    page.wait_for_function("Reveal.isOverview()")
    assert page.locator("main section h2").nth(2).is_visible()
    page.keyboard.press("Escape")
    number = page.locator("main section").evaluate_all(
        "all => all.findIndex(slide => slide.querySelector('.moving input'))"
    )
    page.evaluate(f"Reveal.slide({number}, 0, 99)")
    page.locator(f"{PRESENT} .moving input").first.click()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"Reveal.getState().indexh === {number + 1}")


def test_on_a_phone_a_deck_is_a_page(visit, name):
    page = deck(visit, name, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.locator("section:visible").count() == page.locator("section").count()
    sizes = page.evaluate(
        "[...document.querySelectorAll('figcaption, .claim p')].map(part => "
        "parseFloat(getComputedStyle(part).fontSize))"
    )
    assert min(sizes) >= 15


def test_zoom_turns_a_slide_into_its_place_in_the_page(visit):
    page = deck(visit, DECKS[0])
    page.evaluate("Reveal.slide(3)")
    page.wait_for_url("**/*#/3")
    page.set_viewport_size({"width": 320, "height": 200})  # 400 %
    page.wait_for_function("!document.documentElement.dataset.deck && scrollY > 0")
    heading = page.locator("main section").nth(3).locator("h2").bounding_box()
    assert 0 <= heading["y"] < 200 and heading["height"] > 20
    page.set_viewport_size(LAPTOP)
    page.wait_for_function("window.Reveal?.isReady() && Reveal.getState().indexh === 3")


@pytest.mark.parametrize(
    "theme, viewport", [("light", LAPTOP), ("dark", PHONE)], ids=["light laptop", "dark phone"]
)
def test_axe_finds_nothing_serious_in_a_deck(visit, name, theme, viewport):
    page = deck(visit, name, viewport, color_scheme=theme)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate("document.querySelectorAll('math').forEach(formula => formula.remove())")
    for number in range(page.locator("section").count() if viewport == LAPTOP else 1):
        if viewport == LAPTOP:
            page.evaluate(f"Reveal.slide({number}, 0, 99)")
        if number % 5 == 0 or number < 3:  # most are alike
            assert serious(page) == [], number


def test_the_arrows_stay_in_forced_colours(visit):
    arrow = deck(visit, DECKS[0], forced_colors="active").locator(".navigate-right")
    with Image.open(BytesIO(arrow.screenshot())) as picture:
        assert len(picture.convert("RGB").getcolors()) > 2


def test_without_javascript_a_deck_is_a_page(visit):
    page = deck(visit, DECKS[0], java_script_enabled=False)
    assert page.locator("section:visible").count() == page.locator("section").count()
