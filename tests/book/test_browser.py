"""The built site as a reader meets it, in headless Chromium: laptop and phone, both themes, with and without JavaScript.

The site is built once from the committed notebooks, unless BOOK_SITE names the folder of one that stands. Without a Chromium
these tests are skipped, unless REQUIRE_BROWSER is set.
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
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

import matplotlib.pyplot as plt
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from bs4 import BeautifulSoup

from lib import moving
from lib.book import boxes, build, fonts, ledger, pdf, toc
from lib.claims import CORRECTED, SLIP, VERDICTS

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
    if standing := os.environ.get("BOOK_SITE"):
        return Path(standing)
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
            wordless=page.locator("img:not([alt]), img[alt=''], .moving > svg:not([aria-label])").count(),
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


# What one asks for, and what must come among the first three: a pattern for "kind number title | source | page#anchor".
ASKED = {
    "silent alignment": "section .*alignment.* piecewise_linear",
    "early alignment": "section .*alignment.* piecewise_linear",
    "balanced": "(claim|section) .*balance",
    "conserved": "section .*conserved",
    "conservation law": "section .* (single_neuron|synthesis|products)#",
    "grokking": "section .*Grokking",
    "kernel distance": "section .*kernel.* practice#",
    "NTK": "tangent kernel",
    "feature learning": "section .*rich",
    "Theorem 6": r"claim .*Theorem 6\b.* linear_networks#",
    "theorem 15": r"claim .*Theorem 15\b.* linear_networks#",
    "Eq. 7": r"claim .*Saxe.*Eq\. 7\b.* two_point#",
    "equation 45": r"claim .*Eqs\. 43–48",
    "Figure 1(b)": r"claim .*Figure 1\(b\)",
    "§3.3": r"claim .*§3\.3",
    "2.4": r"equation 2\.4 ",
    "Fig. 2.6": r"figure 2\.6 ",
    "exercise 3.2": r"exercise 3\.2 ",
    "5.2": r"section 5\.2 ",
    "chapter 4": "chapter 4 ",
    "hyperbolic entropy": "claim .*hyperbolic entropy",
    "linear_networks/lemma-8": "claim .*linear_networks#linear_networks-lemma-8$",
    "exercise grokking": "exercise 7",
    "inverse participation ratio": r"figure 6\.",
    "notation": "page .*Notation",
    "misprint": "claim .*#",
    "Cagnetta": "reference ",
}
PLACES = """query => findPlaces(query).map(([page, anchor, kind, number, title, , , source]) =>
    `${kind} ${number} ${title} | ${source} | ${page.replace("book/", "").replace(".html", "")}#${anchor}`)"""


def test_search_knows_words_numbers_and_other_names(visit):
    page = visit("search.html")
    missed = {}
    for query, pattern in ASKED.items():
        first = page.evaluate(PLACES, query)[:3]
        if not any(re.search(pattern, place, re.IGNORECASE) for place in first):
            missed[query] = first
    assert not missed
    for number in ("2.4", "3.1"):
        *first, _ = page.evaluate(PLACES, number)[:4]
        assert all(f" {number} " in place for place in first)
    assert page.evaluate(PLACES, "δ") == page.evaluate(PLACES, "delta")
    assert page.evaluate(PLACES, "zxqv") == []


def test_search_has_every_claim_equation_figure_and_exercise(site):
    text = (site / "places.js").read_text(encoding="utf-8")
    assert len(gzip.compress(text.encode())) < 400_000
    places = json.loads(text.removeprefix("const PLACES = ").rstrip(";\n"))["places"]
    assert [anchor for _, anchor, kind, *_ in places if kind == "claim"] == [
        record["id"].replace("/", "-") for record in ledger.read(ROOT)
    ]
    pages = {
        name: BeautifulSoup((site / name).read_text(encoding="utf-8"), "html.parser") for name in {place[0] for place in places}
    }
    listed = {(page, anchor) for page, anchor, *_ in places}
    assert not [place for place in listed if not pages[place[0]].find(id=place[1])]
    for name, page in pages.items():
        for thing in page.select("article div.math[id], article figure[id], article div.exercise[id], article div.solution[id]"):
            assert (name, thing["id"]) in listed


def test_search_shows_the_places_and_is_used_by_keyboard(visit):
    page = visit(f"book/{toc.chapters(ROOT)[0]}.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("kernel distance")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kernel+distance")
    status, results = page.get_by_role("status"), page.locator("#search-results li")
    results.first.wait_for()
    count = len(page.evaluate(PLACES, "kernel distance"))
    assert status.inner_text() == f"{count} places for “kernel distance”, the first 20 shown."
    assert results.count() == 20
    assert {"kernel", "distance"} <= {word.lower() for word in results.first.locator("mark").all_inner_texts()}
    claim = results.filter(has=page.locator(".place-verdict")).first
    assert re.match(r"Claim (reproduced|new|slip|corrected|not )", claim.inner_text())
    page.locator(".places-more").press("Enter")
    assert results.count() == count
    field = page.locator(".bd-search-container input")
    field.fill("silent alignment")  # as one types
    page.wait_for_url("**/search.html?q=silent%20alignment")
    assert status.inner_text().endswith("The book’s own words were searched, too: alignment.")
    field.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    goal = results.first.locator("a").get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{goal}")
    page.go_back()
    results.first.wait_for()
    assert field.input_value() == "silent alignment"


def test_search_typesets_the_equations_it_finds(visit):
    page = visit("search.html?q=Equation+2.4", PHONE)
    page.wait_for_selector(".place-formula math")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.evaluate(AXE_SCRIPT)
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        page.wait_for_timeout(400)
        assert serious(page.evaluate(AXE, None)) == []


def test_the_magnifier_covers_no_letter(visit):
    page = visit("search.html?q=balanced")
    glass = page.locator(".bd-search-container .fa-magnifying-glass").bounding_box()
    field = page.locator(".bd-search-container input")
    begins = field.bounding_box()["x"] + float(field.evaluate("field => parseFloat(getComputedStyle(field).paddingLeft)"))
    assert glass["x"] + glass["width"] < begins


def test_search_works_from_files(chromium, site):
    context = chromium.new_context()
    page = context.new_page()
    page.goto((site / "search.html").as_uri() + "?q=balanced")
    page.wait_for_selector("#search-results li a")
    page.locator("#search-results li a").first.press("Enter")
    page.wait_for_url("file://**/book/*.html#*")
    context.close()


def test_without_javascript_search_says_so(visit):
    page = visit("search.html?q=balanced", java_script_enabled=False)
    assert page.locator("noscript .admonition-title").inner_text() == "Searching needs JavaScript"
    assert page.locator("noscript .admonition-title").is_visible()


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


BOXES = """boxes => boxes.map(box => {
    const cell = box.closest("div.cell"), fold = cell.querySelector("details.behind");
    return {
        name: box.id,
        verdict: box.querySelector("strong").textContent,
        drawn: Boolean(box.querySelector("svg.claim-axis")),
        pages: [...box.querySelectorAll("a[href*='.html#']")].map(link => link.textContent),
        open: fold.open,
        behind: Boolean(box.compareDocumentPosition(fold) & Node.DOCUMENT_POSITION_FOLLOWING),
        says: fold.querySelector("summary").innerText.trim(),
        boxes: cell.querySelectorAll(".claim").length,
        lines: fold.querySelector("pre").textContent.trim().split("\\n").length,
    };
})"""


@pytest.mark.parametrize("name", toc.chapters(ROOT))
def test_a_claim_is_a_box_with_its_axis_and_the_check_folded_behind(visit, name):
    records = [record for record in ledger.read(ROOT) if record["chapter"] == name]
    page = visit(f"book/{name}.html")
    shown = page.locator("div.claim").evaluate_all(BOXES)
    assert [box["name"] for box in shown] == [record["id"].replace("/", "-") for record in records]
    for box, record in zip(shown, records, strict=True):
        assert box["verdict"] == record["verdict"].capitalize()
        assert box["drawn"] == bool(boxes.axis(record))
        assert box["pages"] == ["ledger"] + ["errata"] * (record["verdict"] in (CORRECTED, SLIP))
        assert box["behind"] and not box["open"]
        assert box["says"] == f"Show the check{'s' * (box['boxes'] > 1)} ({box['lines']} lines)"
    fold = page.locator("details.behind").first
    fold.locator("summary").press("Enter")
    assert fold.locator("pre").is_visible()


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_link_to_a_claim_leads_to_its_box_clear_of_the_header(visit, viewport):
    page = visit("book/errata.html", viewport)
    link = page.locator("td a").nth(6)
    name = link.get_attribute("href").partition("#")[2]
    link.click()
    page.wait_for_url(f"**#{name}")
    below = """selector => {
        const header = document.querySelector(".bd-header-article").getBoundingClientRect().bottom;
        const gap = document.querySelector(selector).getBoundingClientRect().top - header;
        return gap > 0 && gap < 60;
    }"""
    page.wait_for_function(below, arg=f"#{name}.claim")
    outline = "box => getComputedStyle(box).outlineStyle"
    assert page.locator(f"#{name}").evaluate(outline) == "solid"
    assert page.locator(".claim:not(:target)").first.evaluate(outline) == "none"
    page.locator(f"#{name}").get_by_text("ledger").click()
    page.wait_for_url(f"**#what_replicates-{name}")
    page.wait_for_function(below, arg="tr:has(:target)")
    colours = [
        page.locator(f"{row} > td").first.evaluate("cell => getComputedStyle(cell).backgroundColor")
        for row in ("tr:has(:target)", "tbody tr:nth-child(1):not(:has(:target))")
    ]
    assert colours[0] != colours[1]


def test_all_code_of_a_page_opens_at_once_and_that_is_remembered(visit):
    first, second = toc.chapters(ROOT)[:2]
    page = visit(f"book/{first}.html")
    button, folded = page.get_by_role("button", name="Show all code"), page.locator("details.hide:not([open])")
    heading = page.locator("h2").nth(3)
    heading.evaluate("heading => heading.scrollIntoView({behavior: 'instant', block: 'start'})")
    place = heading.bounding_box()["y"]
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    assert heading.bounding_box()["y"] == pytest.approx(place, abs=2)
    page.goto(page.url.replace(first, second))
    assert button.get_attribute("aria-pressed") == "true" and folded.count() == 0
    button.click()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    page.reload()
    assert button.get_attribute("aria-pressed") == "false" and folded.count() > 10
    page.goto(page.url.replace(second, "cite"))
    assert button.count() == 0  # no code, no button


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
    for verdict in VERDICTS:
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


def test_what_the_ledger_shows_is_in_the_address(visit):
    page = visit("book/what_replicates.html?verdict=not+reproduced")
    chapter = toc.title(ROOT, toc.chapters(ROOT)[0])
    page.get_by_label("Verdict").select_option("corrected")
    page.get_by_label("Chapter").select_option(chapter)
    page.get_by_label("Words").fill("rate & ratio")
    asked = parse_qs(urlsplit(page.evaluate("location.href")).query)
    assert asked == {"verdict": ["corrected"], "chapter": [chapter], "words": ["rate & ratio"]}
    page.get_by_label("Words").fill("")
    shown = rows(page).count()
    assert 0 < shown < len(ledger.read(ROOT))
    page.goto(page.evaluate("location.href"))  # as who gets the link sees it
    assert (page.get_by_label("Verdict").input_value(), page.get_by_label("Chapter").input_value()) == ("corrected", chapter)
    assert rows(page).count() == shown
    for choice in ("Verdict", "Chapter"):
        page.get_by_label(choice).select_option("")
    assert page.evaluate("location.search") == ""


def test_on_a_phone_a_row_of_the_ledger_shows_its_verdict(visit):
    page = visit("book/what_replicates.html?verdict=corrected", PHONE)
    assert rows(page).count() == sum(record["verdict"] == CORRECTED for record in ledger.read(ROOT))
    for row in rows(page).all()[:10]:
        name, verdict = row.locator("td").first.bounding_box(), row.locator("td").last.bounding_box()
        assert row.locator("td").last.inner_text() == "corrected"
        assert name["y"] == pytest.approx(verdict["y"], abs=4)
        assert verdict["x"] + verdict["width"] <= PHONE["width"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tiles_have_the_colours_of_their_verdicts(visit, theme):
    page = visit("book/index.html", color_scheme=theme)
    numbers = page.locator(".verdict-tiles .sd-card-title").evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    edges = page.locator(".verdict-tiles .sd-card").evaluate_all("all => all.map(one => getComputedStyle(one).borderBottomColor)")
    assert numbers == edges
    assert len(set(numbers)) == len(VERDICTS)


@pytest.mark.parametrize("name", ["two_point", "localization"])
def test_the_contents_follow_the_reader(visit, name):
    page = visit(f"book/{name}.html")
    links = page.locator(".page-toc a").evaluate_all("links => links.map(link => link.hash)")
    assert len(links) > 8
    for link in [*links, *reversed(links)]:
        # a place well inside the section, where no heading is in sight
        page.evaluate(
            "at => scrollTo({top: scrollY + document.querySelector(at).getBoundingClientRect().top + 60, behavior: 'instant'})",
            link,
        )
        page.wait_for_function(
            "at => document.querySelector('.page-toc a.active')?.hash === at || "
            "scrollY + innerHeight >= document.documentElement.scrollHeight - 2",
            arg=link,
        )
    assert page.locator(".page-toc a.active").count() == page.locator(".page-toc a[aria-current]").count() == 1


def test_no_code_begins_with_a_blank_line(site):
    cells = []
    for name in toc.chapters(ROOT):
        page = BeautifulSoup((site / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        cells += [(name, cell.get_text()) for cell in page.select("div.cell_input pre")]
    assert len(cells) > 100
    assert not [(name, code[:60]) for name, code in cells if not code.splitlines()[0].strip()]


WIDE = """formulas => formulas.filter(box => box.clientWidth).map(box => [
    box.scrollWidth > box.clientWidth + 1,
    getComputedStyle(box).backgroundImage.includes("gradient"),
])"""


@pytest.mark.parametrize("name", ["single_neuron", "linear_networks"])
def test_on_a_phone_a_cut_formula_scrolls_and_says_so(visit, name):
    page = visit(f"book/{name}.html", PHONE)
    for button in page.locator(".solution.dropdown button.toggle-button").all():
        button.press("Enter")
    page.wait_for_function("[...document.querySelectorAll('.solution section')].every(part => part.clientHeight)")
    shown = page.locator(".math .formula").evaluate_all(WIDE)
    assert sum(scrolls for scrolls, _ in shown) > 1
    assert all(shade for scrolls, shade in shown if scrolls)
    cut = """formulas => formulas.filter(formula => formula.clientHeight && formula.getBoundingClientRect().right > innerWidth
        && !formula.closest(".formula, .scrolling"))"""
    page.wait_for_function(f"({cut})([...document.querySelectorAll('.math math')]).length === 0")


BROKEN = r"""() => {
    document.querySelectorAll("details").forEach(fold => { fold.open = true; });
    const words = document.createTreeWalker(document.querySelector(".bd-article"), NodeFilter.SHOW_TEXT), broken = [];
    let count = 0;
    while (words.nextNode()) {
        const text = words.currentNode;
        if (text.parentElement.closest("script, style, svg, math")) continue;
        for (const found of text.data.matchAll(/\d[\d.]*e[-+]\d+/g)) {
            const range = document.createRange();
            range.setStart(text, found.index);
            range.setEnd(text, found.index + found[0].length);
            count += 1;
            if (new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1) broken.push(found[0]);
        }
    }
    return [count, broken];
}"""


@pytest.mark.parametrize("name", ["localization", "single_neuron", "what_replicates", "errata"])
def test_on_a_phone_numbers_stay_whole(visit, name):
    count, broken = visit(f"book/{name}.html", PHONE).evaluate(BROKEN)
    assert count > 10
    assert broken == []


def test_on_a_phone_back_to_top_covers_neither_text_nor_buttons(visit):
    page = visit(f"book/{toc.chapters(ROOT)[0]}.html", PHONE)
    for place in (5000, 4000):  # it is offered to whoever turns back
        page.evaluate("top => scrollTo({top, behavior: 'instant'})", place)
        page.wait_for_timeout(200)
    page.locator("#pst-back-to-top").wait_for(state="visible")
    apart = """() => {
        const box = one => one.getBoundingClientRect(), top = box(document.querySelector("#pst-back-to-top"));
        const header = document.querySelector(".bd-header-article");
        const others = [...header.querySelectorAll("button")].map(box).filter(other => other.width);
        return top.width > 0 && top.bottom <= box(header).bottom && others.length > 2
            && others.every(other => other.right <= top.left || other.left >= top.right);
    }"""
    page.wait_for_function(apart)


def test_the_front_page_counts_as_the_ledger_does_and_leads_there(visit):
    records = ledger.read(ROOT)
    page = visit("book/index.html")
    for verdict in VERDICTS:
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


def test_a_row_of_the_ledger_leads_to_its_claim(visit):
    record = ledger.read(ROOT)[-1]
    page = visit("book/what_replicates.html")
    page.locator("table tbody tr").last.locator("a").first.click()
    page.wait_for_url(f"**/{record['chapter']}.html#*")
    box = page.locator(page.evaluate("location.hash"))
    assert "claim" in box.get_attribute("class").split()
    assert box.inner_text().startswith(record["verdict"].capitalize())


def test_without_javascript_everything_is_there(visit):
    page = visit("book/what_replicates.html", java_script_enabled=False)
    assert rows(page).count() == len(ledger.read(ROOT))
    assert not page.locator(".ledger-filter").is_visible()
    front = visit("book/index.html", java_script_enabled=False)
    assert front.locator(".moving svg").bounding_box()["height"] > 100
    assert not front.locator(".moving input").is_visible()
    chapter = visit(f"book/{toc.chapters(ROOT)[0]}.html", java_script_enabled=False)
    assert chapter.locator(".solution").first.locator("p").last.is_visible()
    assert chapter.locator(".all-code, .moving-play").count() == 0
    fold = chapter.locator("details.behind").first
    fold.locator("summary").press("Enter")
    assert fold.locator("pre").is_visible()


# Previews: what a link leads to, in a card. A link of each kind, on its own page and from another.
CARD = "#preview"
PREVIEWED = {
    "equation": ("linear_networks", "#equation-"),
    "equation of another page": ("errata", ".html#equation-"),
    "figure": ("single_neuron", "#fig-"),
    "claim": ("products", "#products-"),
    "claim of another page": ("margins", "two_point.html#two_point-"),  # a page without formulas of its own
    "work": ("course", "references.html#id"),
    "exercise": ("course", "html#products-ex"),
    "symbol": ("notation", "#symbol-"),
}


def link_to(page, target):
    link = page.locator(f'.bd-article a[href*="{target}"]:not(.headerlink):visible').first
    link.evaluate("link => link.scrollIntoView({block: 'center'})")
    return link


def show(page, link):
    link.hover()
    page.wait_for_selector(f"{CARD}:visible")
    return page.locator(CARD)


@pytest.mark.parametrize("page_name, target", PREVIEWED.values(), ids=PREVIEWED)
def test_a_link_shows_what_it_leads_to(visit, page_name, target):
    page = visit(f"book/{page_name}.html")
    before = page.url
    link = link_to(page, target)
    card = show(page, link)
    assert card.get_attribute("role") == "tooltip"
    assert link.get_attribute("aria-describedby") == card.get_attribute("id")
    assert card.inner_text().strip() or card.locator("math").count()
    assert card.locator(".math").count() == card.locator(".math:has(math)").count()
    assert card.locator("merror, a[href], [tabindex], button, input").count() == 0
    assert page.evaluate("[...document.querySelectorAll('#preview img')].every(image => image.naturalWidth)")
    box = card.bounding_box()
    assert 0 <= box["x"] <= LAPTOP["width"] - box["width"]
    assert 0 <= box["y"] <= LAPTOP["height"] - box["height"]
    page.evaluate(AXE_SCRIPT)
    assert serious(page.evaluate("axe.run('#preview', {resultTypes: ['violations'], preload: false})")) == []
    page.keyboard.press("Escape")
    assert not card.is_visible() and link.get_attribute("aria-describedby") is None
    assert (page.url, page.errors, page.outside) == (before, [], [])


def test_a_card_stays_while_it_is_read_and_goes_with_the_pointer(visit):
    page = visit("book/products.html")
    card = show(page, link_to(page, "#products-"))
    card.hover()
    page.wait_for_timeout(600)
    assert card.is_visible()
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")


def test_the_keyboard_shows_cards_and_is_not_held_in_them(visit):
    page = visit("book/products.html")
    link = link_to(page, "#products-")
    page.keyboard.press("Tab")  # the keyboard is what is used
    link.focus()
    page.locator(CARD).wait_for(state="visible")
    page.keyboard.press("Escape")
    assert not page.locator(CARD).is_visible()
    assert link.evaluate("link => link === document.activeElement")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    page.locator(CARD).wait_for(state="visible")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('#preview')")
    page.keyboard.press("Escape")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("hash => location.hash === hash", arg=link.get_attribute("href"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_first_tap_shows_and_a_second_follows(visit, theme):
    page = visit("book/course.html", PHONE, has_touch=True, color_scheme=theme)
    link, card = link_to(page, "references.html#id"), page.locator(CARD)
    link.tap()
    card.wait_for(state="visible")
    assert "tap again" in card.inner_text() and page.url.endswith("course.html")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.evaluate(AXE_SCRIPT)
    assert serious(page.evaluate("axe.run('#preview', {resultTypes: ['violations'], preload: false})")) == []
    page.touchscreen.tap(5, 100)
    assert not card.is_visible()
    link.tap()
    card.wait_for(state="visible")
    link.tap()
    page.wait_for_url("**/references.html#id*")


def test_a_tap_on_a_link_without_a_card_follows_it(visit):
    page = visit("book/products.html", PHONE, has_touch=True)
    link_to(page, "what_replicates.html#").tap()
    page.wait_for_url("**/what_replicates.html#*")


def test_every_link_to_a_target_with_a_card_finds_it(site):
    scripts = {path.name.split(".")[0]: path.read_text(encoding="utf-8") for path in site.glob("book/*.preview.js")}
    cards = {name: json.loads(text[len("var preview = ") : -2])["parts"] for name, text in scripts.items()}
    found, missing = 0, set()
    for path in site.glob("book/*.html"):
        article = re.search(r'<article class="bd-article".*?</article>', path.read_text(encoding="utf-8"), re.S)[0]
        for page, name in re.findall(r'<a class="reference \w+" href="(?:(\w+)\.html)?#([^"]+)"', article):
            if name in cards[page or path.stem]:
                found += 1
            else:
                missing.add((page or path.stem, name.split("-")[0]))
    assert missing <= {("what_replicates", "what_replicates"), ("errata", "errata")}  # rows that say what the claim's box says
    assert found > 1000


def test_cards_are_light(site):
    own = sum(len(gzip.compress((site / "_static" / name).read_bytes())) for name in ("previews.js", "previews.css"))
    largest = max(len(gzip.compress(path.read_bytes())) for path in site.glob("book/*.preview.js"))
    assert own < 4_000 and largest < 25_000  # the one comes with each page, of the others one when its first card is asked for


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
