"""Pictures: at their full size, and in the dark."""

from browsing import PHONE, ROOT

from lib.book import toc


def test_a_picture_opens_at_its_full_size_by_touch_and_by_keyboard(visit):
    page = visit(f"book/{toc.chapters(ROOT)[0]}.html", PHONE, has_touch=True)
    link, box = page.locator("a.zoom").first, page.locator("dialog.zoomed")
    assert not box.is_visible()
    for act in (link.tap, lambda: link.press("Enter")):
        act()
        picture = box.locator("img")
        assert picture.evaluate("image => image.decode().then(() => image.clientWidth === image.naturalWidth)")
        assert picture.get_attribute("alt") == link.locator("img").get_attribute("alt")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        before = box.locator("div").evaluate("inside => inside.scrollLeft")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("before => document.querySelector('.zoomed div').scrollLeft > before", arg=before)
        page.keyboard.press("Escape")
        box.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.classList.contains('zoom')")
    link.tap()
    box.get_by_label("Close").tap()
    box.wait_for(state="hidden")


def test_drawings_follow_the_dark_theme_and_maps_keep_their_colours(visit):
    page = visit("book/piecewise_linear.html", color_scheme="dark")
    treated = "images => images.map(image => getComputedStyle(image).filter)"
    drawn = page.locator("a.zoom img.drawn").evaluate_all(treated)
    kept = page.locator("a.zoom img:not(.drawn)").evaluate_all(treated)
    assert drawn and all(words.startswith("invert(1) hue-rotate(180deg)") for words in drawn)
    assert kept and all(words.startswith("brightness(") for words in kept)
    page.emulate_media(color_scheme="light")
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert set(page.locator("a.zoom img").evaluate_all(treated)) == {"none"}
