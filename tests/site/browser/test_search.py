"""Search as a reader uses it: what is found, by which words and numbers, by keyboard, from files, without JavaScript."""

import gzip
import json
import re

from axe_playwright_python.base import AXE_SCRIPT
from browsing import AXE, PHONE, ROOT, serious
from bs4 import BeautifulSoup

from lib.site import ledger, toc


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
    "silent alignment": "section .*silent alignment",
    "early alignment": "section .*alignment.* piecewise_linear",
    "balanced": "(claim|section) .*balance",
    "conserved": "section .*conserved",
    "conservation law": "(section|claim|item) .*conserve",
    "grokking": "section .*Grokking",
    "kernel distance": "(section|item) .*kernel",
    "NTK": "tangent kernel",
    "feature learning": "section .*rich",
    "Theorem 6": r"claim .*Theorem 6\b.* linear_networks#",
    "theorem 15": r"(claim|item) .*Theorem 15\b",
    "Eq. 7": r"claim .*Saxe.*Eq\. 7\b.* two_point#",
    "equation 45": r"claim .*Eqs\. 43–48",
    "Figure 1(b)": r"claim .*Figure 1\(b\)",
    "§3.3": r"(claim|item) .*3\.3",
    "2.4": r"equation 2\.4 ",
    "Fig. 2.5": r"figure 2\.5 ",
    "exercise 3.2": r"exercise 3\.2 ",
    "5.2": r"section 5\.2 ",
    "chapter 4": "chapter 4 ",
    "hyperbolic entropy": "claim .*hyperbolic entropy",
    "linear_networks/lemmas": "claim .*linear_networks#linear_networks-lemmas$",
    "exercise weight decay": "exercise [28]",
    "inverse participation ratio": r"section 6\.1 ",
    "notation": "page .*Notation",
    "misprint": "(claim|item) .*#",
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
    found = sorted(anchor for _, anchor, kind, *_ in places if kind == "claim")
    assert found == sorted(record["id"].replace("/", "-") for record in ledger.read(ROOT))
    pages = {
        name: BeautifulSoup((site / name).read_text(encoding="utf-8"), "html.parser") for name in {place[0] for place in places}
    }
    listed = {(page, anchor) for page, anchor, *_ in places}
    assert not [place for place in listed if not pages[place[0]].find(id=place[1])]
    for name, page in pages.items():
        for thing in page.select("article div.math[id], article figure[id], article div.exercise[id], article div.solution[id]"):
            assert (name, thing["id"]) in listed


def test_no_page_brings_the_index_of_sphinx(site):
    assert not (site / "searchindex.js").exists()
    brought = [path for path in site.rglob("*.html") if re.search("searchindex|searchtools", path.read_text(encoding="utf-8"))]
    assert not brought


def test_search_shows_the_places_and_is_used_by_keyboard(visit):
    page = visit(f"book/{toc.chapters(ROOT)[0]}.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("kernel distance")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=kernel+distance")
    status, results = page.get_by_role("status"), page.locator("#search-results li")
    results.first.wait_for()
    count = len(page.evaluate(PLACES, "kernel distance"))
    assert status.inner_text() == f"{count} results for “kernel distance”, the first 20 shown."
    assert results.count() == 20
    assert {"kernel", "distance"} <= {word.lower() for word in results.first.locator("mark").all_inner_texts()}
    claim = results.filter(has=page.locator(".place-verdict")).first
    assert re.match(r"Claim (reproduced|new|slip|corrected|not )", claim.inner_text())
    page.locator(".places-more").press("Enter")
    assert results.count() == count
    field = page.locator(".bd-search-container input")
    field.fill("silent alignment")  # as one types
    page.wait_for_url("**/search.html?q=silent%20alignment")
    assert status.inner_text().endswith("Also searched for the book’s own terms: alignment.")
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
    assert page.locator("noscript .admonition-title").inner_text() == "Search needs JavaScript"
    assert page.locator("noscript .admonition-title").is_visible()
