"""Every page: complete, light, steady, as wide as a phone, and fine
with axe; links, themes, fonts, without JavaScript.
"""

import gzip
import re
from html import unescape
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import pytest
from browsing import BOOK, LAPTOP, PHONE, opener, rows, serious

from lib.site import ledger

PAGES = [*BOOK.pages, "search", "genindex"]
MOST_BYTES = 350_000
# Axe looks at each element, and most are alike. Of formulas a browser knows what they say; of a
# table a few rows are judged, of code a cell of each section in the first chapter.
TAKE_OUT = "alike => document.querySelectorAll(alike).forEach(element => element.remove())"
ALIKE = "math, tbody tr:nth-child(n+9), "
CODE = ".highlight"
JUMP = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => { for (const move of list.getEntries()) sum += move.value; })
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 300);
})"""


@pytest.fixture(scope="module", params=PAGES)
def seen(request, chromium, address):
    """What there is to see of a page, first on a phone in the
    light theme, then on a laptop in the dark one.
    """
    with opener(chromium, address) as open_page:
        page = open_page(f"{request.param}.html", PHONE, color_scheme="light")
        result = SimpleNamespace(
            name=request.param,
            weight=sum(weight(done.response()) for done in page.finished),
            width=page.evaluate("document.documentElement.scrollWidth"),
            formulas=page.locator(".math").count(),
            rendered=page.locator(".math:has(math)").count(),
            misread=page.locator("merror, .math code").count(),
            wordless=page.locator(
                "img:not([alt]), img[alt=''], .moving > svg:not([aria-label])"
            ).count(),
            missing=page.evaluate(
                "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
            ),
            errors=page.errors,
            outside=page.outside,
            jump=page.evaluate(JUMP),
        )
        first = f"book/{BOOK.chapters[0]}"
        page.evaluate(
            TAKE_OUT, ALIKE + (f".cell ~ .cell {CODE}" if request.param == first else CODE)
        )
        result.light = serious(page)
        page.set_viewport_size(LAPTOP)
        page.add_style_tag(
            content="* { transition: none !important; }"
        )  # or axe sees colours on their way
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        result.dark = serious(page, rules=["color-contrast"])  # a theme changes nothing else
        yield result


def weight(response):
    """Count the bytes that travel: web servers compress text."""
    body = response.body()
    return len(
        body
        if response.headers["content-type"].startswith(("image/", "font/"))
        else gzip.compress(body)
    )


def test_a_page_loads_without_errors_and_asks_nobody_else(seen):
    assert (seen.errors, seen.outside, seen.missing) == ([], [], [])


def test_every_formula_is_rendered_and_every_picture_described(seen):
    assert (seen.rendered, seen.misread, seen.wordless) == (seen.formulas, 0, 0)


def test_a_page_fits_a_phone_and_does_not_jump(seen):
    assert seen.width == PHONE["width"]
    assert 150_000 < seen.weight < MOST_BYTES
    assert seen.jump < 0.05


def test_axe_finds_nothing_serious(seen):
    assert (seen.light, seen.dark) == ([], [])


def test_no_link_inside_the_site_is_dead(site):
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    places = {path: set(re.findall(r'<[^>]* id="([^"]+)"', page)) for path, page in pages.items()}
    dead, count = [], 0
    for path, page in pages.items():
        for link in map(unescape, re.findall(r'<a [^>]*href="([^"]*)"', page)):
            target, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            name = target.split("?")[0]
            goal = (path.parent / unquote(name)).resolve() if name else path
            if not goal.is_file() or (
                anchor and goal in places and unquote(anchor) not in places[goal]
            ):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert not dead
    assert count > 1000


def test_the_theme_switch_changes_the_theme_and_keeps_it(visit):
    page = visit("book/index.html", color_scheme="light")
    theme = "document.documentElement.dataset.theme"
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(theme) == "light"
    bright = page.evaluate(background)
    for _ in range(3):
        if page.evaluate(theme) == "light":
            page.locator(".theme-switch-button:visible").first.click()
    assert page.evaluate(theme) == "dark"
    assert page.evaluate(background) != bright
    page.reload()
    assert page.evaluate(theme) == "dark"


def test_paper_is_white(visit):
    page = visit("book/products.html", color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"


def test_without_javascript_everything_is_there(visit):
    page = visit("book/what_replicates.html", java_script_enabled=False)
    assert rows(page).count() == len(ledger.records(BOOK))
    assert not page.locator(".ledger-filter").is_visible()
    front = visit("book/index.html", java_script_enabled=False)
    assert front.locator(".moving svg").bounding_box()["height"] > 100
    assert not front.locator(".moving input").is_visible()
    chapter = visit(f"book/{BOOK.chapters[0]}.html", java_script_enabled=False)
    assert chapter.locator(".solution").first.locator("p").last.is_visible()
    assert chapter.locator(":is(.all-code, .moving-play, .answer):visible").count() == 0
    fold = chapter.locator("details.behind").first
    fold.locator("summary").press("Enter")
    assert fold.locator("pre").is_visible()
