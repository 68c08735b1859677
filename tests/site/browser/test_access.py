"""The site as those meet it who listen, use keys, or have a narrow window."""

import re

import pytest
from browsing import BOOK, LAPTOP, show_answers

DECKS = list(BOOK.beside("slides"))
NARROW = {"width": 320, "height": 640}
CODES = re.compile("[\ue000-\uf8ff]")  # of icons
FOCUSED = "document.activeElement.matches({!r})"
CUT = """all => all.filter(one => {
    const { overflowX } = getComputedStyle(one);
    return one.checkVisibility() && one.clientWidth > 20 && one.scrollWidth > one.clientWidth + 1
        && ["hidden", "clip"].includes(overflowX) && !one.closest("svg, math, .visually-hidden");
}).map(one => one.outerHTML.slice(0, 200))"""
SEEN = """one => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""
AROUND = """() => {
    const { left, top, right, bottom } = document.activeElement.getBoundingClientRect();
    const [x, y] = [Math.max(0, left - 6), Math.max(0, top - 6)];
    return { x, y, width: Math.min(innerWidth, right + 6) - x, height: Math.min(innerHeight, bottom + 6) - y };
}"""
UNNAMED = """all => all.filter(one => one.scrollWidth > one.clientWidth && !(one.role && one.ariaLabel))
    .map(one => one.outerHTML.slice(0, 200))"""
NAMES = "all => all.map(one => (one.getAttribute('aria-label') ?? one.innerText).trim())"


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_each_fold_and_arrow_says_what_it_opens(visit, name):
    page = visit(f"book/{name}.html")
    show_answers(page)
    page.locator(".visually-hidden").evaluate_all(
        "all => all.forEach(one => one.classList.remove('visually-hidden'))"
    )
    folds = page.locator("details:not(.further details) > summary").evaluate_all(NAMES)
    folds += page.locator(".toggle-button").evaluate_all(NAMES)
    shown = [fold for fold in folds if fold]
    assert len(shown) > 5 and len(set(shown)) == len(shown)
    assert not any("Toggle" in fold for fold in shown)


def test_a_card_describes_its_formula_in_tex(visit):
    page = visit("book/products.html")
    link = page.locator("p a[href='#equation-eq-products-flow']").first
    link.focus()
    link.hover()
    page.wait_for_function(
        "link => link.hasAttribute('aria-description')", arg=link.element_handle()
    )
    assert "\\frac" in link.get_attribute("aria-description")


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_says_its_pictures_and_formulas(visit, name):
    page = visit(f"slides/{name}.html")
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    deck = page.locator("main")
    assert deck.get_attribute("role") is None
    status = page.locator("p[role=status]")
    said = []
    for number in range(1, page.locator("main section").count()):
        page.evaluate(f"Reveal.slide({number}, 0, 99)")
        words = page.locator("main section").nth(number).evaluate("slide => inWords(slide)")
        assert status.inner_text(timeout=2000) or words == ""
        said.append(status.text_content())
    alternatives = page.locator("main .moving > svg, main img").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label') ?? one.alt)"
    )
    assert alternatives and all(any(words in slide for slide in said) for words in alternatives)
    assert all(slide.count(words) < 2 for slide in said for words in alternatives)
    assert any("\\" in slide for slide in said)  # formulas in TeX
    page.evaluate("Reveal.slide(0)")
    page.get_by_role("link", name="all slides as one page").click()
    page.wait_for_url("**?print")
    assert page.locator("section:visible").count() == len(said) + 1


def test_a_slider_says_what_its_picture_shows(visit):
    page = visit("book/products.html")
    slider, picture = page.locator(".moving input").first, page.locator(".moving > svg").first
    label = picture.get_attribute("aria-label")
    slider.press("End")
    spoken = slider.get_attribute("aria-valuetext")
    assert "half of the target after" in spoken
    assert picture.get_attribute("aria-label") != label
    assert spoken.partition(": ")[2] in picture.get_attribute("aria-label")


def test_the_focus_stays_where_a_page_or_an_answer_ends(visit):
    page = visit("book/what_replicates.html?page=9")
    button = page.get_by_role("button", name="Next")
    while button.get_attribute("aria-disabled") == "false":
        button.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page = visit(f"book/{BOOK.chapters[0]}.html")
    page.locator(".all-answers").press("Enter")
    assert page.evaluate("document.activeElement !== document.body")
    page = visit(f"slides/{DECKS[0]}.html")
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    page.evaluate(f"Reveal.slide({page.locator('main section').count() - 2}, 0, 99)")
    page.get_by_role("button", name="next slide").press("Enter")
    page.wait_for_function(FOCUSED.format("section.present h2"))
    said = page.locator("p[role=status]").text_content()
    assert said.startswith(page.locator("section.present h2").inner_text())


@pytest.mark.parametrize("name", DECKS[:3])
def test_a_slide_keeps_its_answer_until_it_is_shown(visit, name):
    page = visit(f"slides/{name}.html")
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    status = page.locator("p[role=status]")
    asking = page.locator("main section").evaluate_all(
        "all => all.flatMap((slide, number) => slide.querySelector('.fragment') ? [number] : [])"
    )
    for number in asking:
        answer = page.locator("main section").nth(number).locator(".fragment")
        words = answer.evaluate("picture => inWords(picture)")
        page.evaluate(f"Reveal.slide({number}, 0, -1)")
        assert words and words not in status.text_content()
        page.keyboard.press("ArrowRight")
        assert status.text_content() == words
    assert asking


def test_the_header_keeps_the_focus_and_names_the_colours(visit):
    page = visit("book/cite.html", color_scheme="light")
    button = page.get_by_role("button", name="Color mode")
    for mode in ("Dark", "Light", "System Settings"):
        button.press("Enter")
        page.get_by_role("button", name=f"Color mode: {mode}").and_(
            page.locator(":focus")
        ).wait_for()
    page.locator(".primary-toggle").press("Enter")
    assert page.evaluate(FOCUSED.format(".primary-toggle"))


@pytest.mark.parametrize("toggle", ["primary", "secondary"])
def test_a_closed_menu_gives_the_focus_back(visit, toggle):
    page = visit("book/cite.html", NARROW)
    page.locator(f".{toggle}-toggle").press("Enter")
    page.locator(f"#pst-{toggle}-sidebar-modal[open]").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function(FOCUSED.format(f".{toggle}-toggle"))


def test_the_search_keeps_the_focus_and_its_address(visit):
    page = visit("search.html?q=network")
    more = page.get_by_role("button", name="Load more")
    more.wait_for()
    results = page.locator(".pagefind-ui__result-link")
    while more.count():
        count = page.locator(".pagefind-ui__result").count()
        more.press("Enter")
        results.nth(count).wait_for()
    page.wait_for_function(FOCUSED.format(f".pagefind-ui__result:nth-child({count + 1}) a"))
    page.get_by_role("button", name="Clear").press("Enter")
    page.wait_for_url("**/search.html")
    assert page.evaluate(FOCUSED.format("#search input"))


@pytest.mark.parametrize("name", ["book/cite", "book/products", "book/references", "search"])
def test_no_code_of_an_icon_is_said(visit, name):
    page = visit(f"{name}.html")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    said = [
        node.get(part, {}).get("value", "") for node in tree for part in ("name", "description")
    ]
    assert len(said) > 100 and not list(filter(CODES.search, said))


@pytest.mark.parametrize("forced", ["none", "active"])
@pytest.mark.parametrize("name", ["book/index", "book/linear_networks", f"slides/{DECKS[0]}"])
def test_each_stop_of_the_keyboard_shows_itself(visit, name, forced):
    page = visit(f"{name}.html", reduced_motion="reduce", forced_colors=forced)
    page.wait_for_load_state("load")
    for _ in range(30):
        page.keyboard.press("Tab")
        page.wait_for_function("!document.activeElement.getAnimations().length")  # as it slides in
        if page.evaluate("document.activeElement === document.body"):
            break
        box = page.evaluate(AROUND)
        shown = page.screenshot(clip=box)
        page.evaluate(
            "window.last = document.activeElement; HTMLElement.prototype.blur.call(last); last.style.outline = 'none'"
        )
        assert page.screenshot(clip=box) != shown, page.evaluate("last.outerHTML.slice(0, 200)")
        page.evaluate("last.style.outline = ''; last.focus({ preventScroll: true })")


def test_the_contents_of_a_narrow_page_lead_on(visit):
    page = visit("book/localization.html", NARROW)
    page.locator(".secondary-toggle").press("Enter")
    drawer = page.locator("dialog[open]")
    assert drawer.get_attribute("aria-label")
    link = drawer.locator("a[href^='#']").nth(4)
    goal = link.get_attribute("href")
    link.press("Enter")
    page.wait_for_function("document.activeElement.matches('h2')")
    page.keyboard.press("Tab")
    follows = (
        "goal => document.querySelector(goal).compareDocumentPosition(document.activeElement) & 4"
    )
    assert page.evaluate(follows, goal)


def test_a_narrow_ledger_shows_the_buttons_that_sort(visit):
    page = visit("book/what_replicates.html", NARROW)
    for button in page.locator(".all-claims thead button").all():
        button.focus()
        assert button.evaluate(SEEN), button.inner_text()
    page.locator(".all-claims thead button").last.press("Enter")
    assert page.locator(".all-claims th[aria-sort]").count() == 1


@pytest.mark.parametrize("name", BOOK.notebooks)
def test_what_scrolls_in_a_narrow_window_has_a_name(visit, name):
    page = visit(f"book/{name}.html", NARROW)
    show_answers(page)
    formulas = page.locator("article .formula")
    assert formulas.evaluate_all(UNNAMED) == []


@pytest.mark.parametrize("viewport", [LAPTOP, NARROW], ids=["laptop", "narrow"])
@pytest.mark.parametrize(
    "name", ["book/where", "book/two_point/evidence", "book/practice/evidence"]
)
def test_each_stop_of_the_keyboard_has_a_name(visit, name, viewport):
    page = visit(f"{name}.html", viewport)
    page.wait_for_load_state("load")
    stops = page.locator("article [tabindex='0']:visible")
    names = stops.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert names and all(names)
    assert page.locator("[tabindex='0'] .scrolling").count() == 0


def test_the_number_of_results_is_said(visit):
    page = visit("search.html?q=conserved")
    page.wait_for_function(
        "/\\d+ results/.test(document.querySelector('.bd-search-container [role=status]')?.textContent)"
    )


@pytest.mark.parametrize("name", BOOK.pages)
def test_a_page_fits_a_narrow_window(visit, name):
    page = visit(f"{name}.html", NARROW)
    show_answers(page)
    for width in (320, 360):
        page.set_viewport_size(NARROW | {"width": width})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("article *").evaluate_all(CUT) == []


@pytest.mark.parametrize("name", DECKS)
def test_a_deck_fits_a_narrow_window(visit, name):
    page = visit(f"slides/{name}.html", NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


def test_items_are_filtered_and_links_lead_to_hidden_rows(visit):
    page = visit("book/where.html")
    said = page.locator(".ledger-filter output")
    count = page.locator("table.coverage tbody tr").count()
    assert said.inner_text() == f"{count} of {count}"
    page.get_by_label("Document").select_option(label="Kunin et al.")  # all its parts
    page.get_by_label("Filter", exact=True).fill("the paper's")  # with a typewriter's apostrophe
    assert page.locator("table.coverage tbody tr:visible").count() > 1
    page.get_by_label("Filter", exact=True).fill("figure 5(a)")
    assert page.locator("table.coverage tbody tr:visible").count() == 1
    page.get_by_label("Document").select_option(label="van Rossem & Saxe")
    page.get_by_label("Scale").select_option("compared")
    page.get_by_label("Filter", exact=True).fill("figure 5")
    shown = page.locator("table.coverage tbody tr:visible")
    assert shown.count() == 1 and "Figure 5" in shown.first.inner_text()
    page.get_by_label("Verdict").select_option("not decided")
    assert shown.count() == 0 or "not decided" in shown.first.inner_text()
    row = page.locator("table.coverage tbody span[id]").nth(40).get_attribute("id")
    page.evaluate(f"location.hash = {row!r}")
    page.wait_for_url(f"**/where.html#{row}")
    assert said.inner_text() == f"{count} of {count}"
    page.wait_for_function(
        "row => { const { top, bottom } = document.getElementById(row).closest('tr').getBoundingClientRect();"
        " return top > 0 && bottom < innerHeight }",
        arg=row,
    )
