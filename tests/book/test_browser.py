"""The built site as a reader meets it, in headless Chromium: laptop and phone, both themes, with and without JavaScript.

The site is built once from the committed notebooks. Without a Chromium these tests are skipped, unless REQUIRE_BROWSER is set.
"""

import gzip
import json
import os
import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from bs4 import BeautifulSoup

from lib.book import build, fonts, ledger, pdf, toc

ROOT = Path(__file__).parents[2]
PAGES = [*toc.pages(ROOT), "search", "genindex"]
PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
MOST_BYTES = 600_000
AXE = "rules => axe.run({resultTypes: ['violations'], preload: false, ...(rules && {runOnly: rules})})"
# Axe looks at each element, and most are alike. Of formulas a browser knows what they say; of a table a few rows are judged, of
# code a cell of each section in the first chapter.
TAKE_OUT = "alike => document.querySelectorAll(alike).forEach(element => element.remove())"
ALIKE = "math, tbody tr:nth-child(n+9), "
CODE = ".highlight"
JUMP = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => { for (const move of list.getEntries()) sum += move.value; })
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(sum), 300);
})"""


class Server(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built from the committed notebooks."""
    folder = tmp_path_factory.mktemp("site")
    build.build(ROOT, folder)
    return folder / "_build" / "html"


@pytest.fixture(scope="module")
def address(site):
    """The site on a port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    manager = pdf.chromium()
    try:
        browser = manager.__enter__()
    except ValueError as problem:
        if os.environ.get("REQUIRE_BROWSER"):
            raise
        pytest.skip(f"browser tests need Chromium: {problem}")
    yield browser
    manager.__exit__(None, None, None)


@pytest.fixture
def visit(chromium, address):
    """Open a page; close what was opened."""
    with opener(chromium, address) as open_page:
        yield open_page


@contextmanager
def opener(chromium, address):
    contexts = []

    def open_page(name, viewport=LAPTOP, **options):
        context = chromium.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.errors, page.outside, page.finished = [], [], []
        page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("requestfinished", lambda request: page.finished.append(request))

        def stay(route):
            inside = route.request.url.startswith((address, "data:"))
            if not inside:
                page.outside.append(route.request.url)
            route.continue_() if inside else route.abort()

        context.route("**/*", stay)
        page.goto(f"{address}/{name}")
        if options.get("java_script_enabled", True):
            page.evaluate("document.fonts.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module", params=PAGES)
def seen(request, chromium, address):
    """What there is to see of a page, first on a phone in the light theme, then on a laptop in the dark one."""
    with opener(chromium, address) as open_page:
        page = open_page(f"{request.param}.html", PHONE, color_scheme="light")
        result = SimpleNamespace(
            name=request.param,
            weight=sum(weight(done.response()) for done in page.finished),
            width=page.evaluate("document.documentElement.scrollWidth"),
            formulas=page.locator(".math").count(),
            rendered=page.locator(".math:has(math)").count(),
            misread=page.locator("merror, .math code").count(),
            wordless=page.locator("img:not([alt]), img[alt=''], .moving svg:not([aria-label])").count(),
            missing=page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"),
            errors=page.errors,
            outside=page.outside,
            jump=page.evaluate(JUMP),
        )
        page.evaluate(AXE_SCRIPT)
        first = f"book/{toc.chapters(ROOT)[0]}"
        page.evaluate(TAKE_OUT, ALIKE + (f".cell ~ .cell {CODE}" if request.param == first else CODE))
        result.light = serious(page.evaluate(AXE, None))
        page.set_viewport_size(LAPTOP)
        page.add_style_tag(content="* { transition: none !important; }")  # or axe sees colours on their way
        page.emulate_media(color_scheme="dark")
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        result.dark = serious(page.evaluate(AXE, ["color-contrast"]))  # a theme changes nothing else
        yield result


def weight(response):
    """Count the bytes that travel: web servers compress text."""
    body = response.body()
    return len(body if response.headers["content-type"].startswith(("image/", "font/")) else gzip.compress(body))


def serious(found):
    return [
        (violation["id"], node["target"], node["failureSummary"])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def test_a_page_loads_without_errors_and_asks_nobody_else(seen):
    assert (seen.errors, seen.outside, seen.missing) == ([], [], [])


def test_every_formula_is_rendered(seen):
    assert (seen.rendered, seen.misread) == (seen.formulas, 0)


def test_a_page_fits_a_phone(seen):
    assert seen.width == PHONE["width"]


def test_a_page_is_light(seen):
    assert 150_000 < seen.weight < MOST_BYTES


def test_a_page_does_not_jump(seen):
    assert seen.jump < 0.05


def test_every_picture_is_described(seen):
    assert seen.wordless == 0


def test_axe_finds_nothing_serious(seen):
    assert (seen.light, seen.dark) == ([], [])


def test_no_link_inside_the_site_is_dead(site):
    pages = {path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in sorted(site.rglob("*.html"))}
    places = {path: {tag["id"] for tag in page.find_all(id=True)} for path, page in pages.items()}
    dead, count = [], 0
    for path, page in pages.items():
        for link in page.find_all("a", href=True):
            target, anchor = urldefrag(link["href"])
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            goal = (path.parent / unquote(target.split("?")[0])).resolve() if target else path
            if not goal.is_file() or (anchor and goal in places and unquote(anchor) not in places[goal]):
                dead.append(f"{path.relative_to(site)}: {link['href']}")
    assert not dead
    assert count > 1000


def test_search_finds_a_theorem(visit):
    page = visit("search.html?q=Theorem+15")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").evaluate_all("links => links.map(link => link.href)")
    chapters = [name for name in toc.chapters(ROOT) if "Theorem 15" in (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")]
    assert chapters
    for name in chapters:
        assert any(f"/{name}.html" in link for link in found)


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
        slider, picture = figure.locator("input[type=range]"), figure.locator("svg")
        assert figure.locator("label").inner_text().strip()
        assert picture.get_attribute("aria-label")
        before, spoken = picture.inner_html(), slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        first = picture.inner_html()
        page.keyboard.press("End")
        assert len({before, first, picture.inner_html()}) == 3
        assert slider.get_attribute("aria-valuetext") == figure.locator("output").inner_text() != spoken


@pytest.mark.parametrize("name", toc.chapters(ROOT))
def test_folded_solutions_open(visit, name):
    page = visit(f"book/{name}.html")
    solutions = page.locator(".solution.dropdown").all()
    assert len(solutions) >= 4
    for solution in solutions:
        inside, button = solution.locator("section").first, solution.locator("button.toggle-button")
        assert not inside.is_visible()
        button.press("Enter")
        inside.wait_for(state="visible")
        assert button.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("name", toc.chapters(ROOT))
def test_the_download_is_the_executed_notebook(visit, name):
    page = visit(f"book/{name}.html")
    link = page.locator("a.btn-download-source-button").first.get_attribute("href")
    answer = page.request.get(page.evaluate("link => new URL(link, location).href", link))
    assert json.loads(answer.text()) == json.loads((ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))


def rows(page):
    return page.locator("table tbody tr:visible")


def test_the_ledger_is_filtered_by_chapter_verdict_and_words(visit):
    records = ledger.read(ROOT)
    page = visit("book/what_replicates.html")
    said = page.locator(".ledger-filter output")
    assert rows(page).count() == len(records)
    for verdict in ("reproduced", "corrected", "not reproduced"):
        page.get_by_label("Verdict").select_option(verdict)
        expected = sum(record["verdict"] == verdict for record in records)
        assert rows(page).count() == expected
        assert said.inner_text() == f"{expected} of {len(records)} claims"
    page.get_by_label("Verdict").select_option("")
    chapter = toc.chapters(ROOT)[1]
    page.get_by_label("Chapter").select_option(toc.title(ROOT, chapter))
    assert rows(page).count() == sum(record["chapter"] == chapter for record in records)
    page.get_by_label("Words").fill(records[-1]["statement"][:30].upper())
    page.get_by_label("Chapter").select_option("")
    assert rows(page).count() >= 1
    page.get_by_label("Words").fill("no claim says this")
    assert said.inner_text() == f"0 of {len(records)} claims"


def test_the_front_page_counts_as_the_ledger_does_and_leads_there(visit):
    records = ledger.read(ROOT)
    page = visit("book/index.html")
    for verdict in ("reproduced", "corrected", "not reproduced"):
        expected = sum(record["verdict"] == verdict for record in records)
        tile = page.locator(".verdict-tiles .sd-card").filter(has=page.get_by_text(verdict, exact=True))
        assert tile.locator(".sd-card-title").inner_text() == str(expected)
        tile.locator("a").press("Enter")
        page.wait_for_url("**/what_replicates.html?*")
        assert rows(page).count() == expected
        page.go_back()


def test_the_front_page_fits_a_screen(visit):
    page = visit("book/index.html")
    for part in (".verdict-tiles", ".moving svg", ".moving input", "text=BibTeX"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] < LAPTOP["height"], part


def test_a_row_of_the_ledger_leads_to_its_cell(visit):
    record = ledger.read(ROOT)[-1]
    page = visit("book/what_replicates.html")
    page.locator("table tbody tr").last.locator("a").first.click()
    page.wait_for_url(f"**/{record['chapter']}.html#*")
    cell = page.locator(page.evaluate("location.hash"))
    assert record["statement"] in cell.inner_text().replace("’", "'") or record["statement"] in page.content()


def test_without_javascript_everything_is_there(visit):
    page = visit("book/what_replicates.html", java_script_enabled=False)
    assert rows(page).count() == len(ledger.read(ROOT))
    assert not page.locator(".ledger-filter").is_visible()
    front = visit("book/index.html", java_script_enabled=False)
    assert front.locator(".moving svg").bounding_box()["height"] > 100
    assert not front.locator(".moving input").is_visible()
    chapter = visit(f"book/{toc.chapters(ROOT)[0]}.html", java_script_enabled=False)
    assert chapter.locator(".solution").first.locator("p").last.is_visible()


def test_formulas_and_icons_are_in_the_fonts(site):
    signs, icons = fonts.points(fonts.SIGNS), fonts.points(fonts.ICONS)
    codes = {}
    for sheet in site.glob("_static/styles/*.css"):
        words = sheet.read_text(encoding="utf-8")
        for names, code in re.findall(r'((?:\.fa-[\w-]+(?::before)?,?)+)\{(?:--fa|content):"\\([0-9a-f]{4})"', words):
            codes |= {name: int(code, 16) for name in re.findall(r"\.(fa-[\w-]+)", names)}
    said, shown = set(), set()
    for path in site.rglob("*.html"):
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        said |= {sign for formula in page.find_all("math") for sign in formula.get_text()}
        shown |= {name for icon in page.select(".fas, .fa-solid") for name in icon["class"] if name in codes}
    assert len(said) > 100
    assert not {sign for sign in said if ord(sign) not in signs and sign != "\n"}
    assert len(shown) > 5
    assert not {name for name in shown if codes[name] not in icons}


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
