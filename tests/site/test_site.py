"""The built site of the book: everything that it hands out is in
plain words, numbered alike, and linked to the rest.
"""

import json
import re
from functools import cache
from html import unescape
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from handed_out import markup
from handed_out import words as markdown
from pybtex.database import parse_string

from lib.site import coverage, extension, search, shown
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[2])
pytestmark = pytest.mark.slow
PROBLEM = "Problem: its solution is not on this site."
CHAPTERS, NOTEBOOKS = BOOK.chapters, BOOK.notebooks


@cache
def article(page):
    """Read a page of the site, without code."""
    words = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select_one(
        "article, main.bd-article"
    )
    for part in words.select("pre, script, svg"):
        part.decompose()
    return words


@pytest.mark.parametrize("name", [*NOTEBOOKS, "what_replicates", "where", "margins", "index"])
def test_formulas_are_typeset_wherever_they_stand(site, name):
    words = article(site / "book" / f"{name}.html")
    assert "$" not in words.get_text() and (words.find("math") or name in ("margins", "index"))


def test_claims_equations_figures_and_exercises_can_be_searched(site):
    for name in CHAPTERS:
        html = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
        found = BeautifulSoup(
            search.searched(f"book/{name}", shown.article(site, f"book/{name}")), "html.parser"
        )
        assert not re.search(r"\$|\\[a-z]", found.get_text()), name
        things = BeautifulSoup(html, "html.parser").select(
            "article :is(div.math, div.claim, figure, div.exercise)[id]"
        )
        assert {thing["id"] for thing in things} <= {
            heading["id"] for heading in found.select("h5")
        }, name
        assert "fonts/formulas.js" in html  # the letters of formulas


def test_the_index_of_the_search_is_whole(site):
    entry = json.loads((site / "pagefind" / "pagefind-entry.json").read_text(encoding="utf-8"))
    assert entry["languages"]["en"]["page_count"] == len(BOOK.pages)
    assert all(path.stat().st_size for path in site.glob("pagefind/**/*.*"))


@pytest.mark.parametrize("name", CHAPTERS)
def test_parameters_are_hidden(site, name):
    html = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
    assert "profile = " not in BeautifulSoup(html, "html.parser").article.get_text().replace(
        chr(160), " "
    )
    marks = [
        part.get_text() for part in article(site / "book" / f"{name}.html").select(".problem-mark")
    ]
    assert len(marks) >= 2 and all(mark.startswith(PROBLEM) for mark in marks)


def test_what_the_site_hands_out_has_no_markup(site):
    """Decks, plans, course guide and syllabus; labs, problem
    sets, and the notebooks that the pages offer.
    """
    course = [site / "book" / f"{name}.html" for name in ("course", "syllabus")]
    for page in [*course, *site.glob("slides/*.html"), *site.glob("book/*/plan.html")]:
        shown = article(page)
        for annotation in shown.select("annotation"):  # the TeX of a formula, which is not shown
            annotation.decompose()
        assert not markup(shown.get_text(), typeset=True), page
    for deck in site.glob("slides/*.html"):
        figures = BeautifulSoup(deck.read_text(encoding="utf-8"), "html.parser").select("figure")
        assert all(figure.select_one("img, svg") for figure in figures), deck
    pages = {
        path.relative_to(site).with_suffix("").as_posix() for path in site.glob("book/**/*.html")
    }
    assert pages == set(BOOK.pages)  # solutions are no pages
    notebooks = [
        *site.glob("labs/*.ipynb"),
        *site.glob("problems/*.ipynb"),
        *site.glob("_sources/book/**/*.ipynb"),
    ]
    assert len(notebooks) == 2 * len(CHAPTERS) + len(NOTEBOOKS)
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not markup(markdown(notebook)), path


def test_notebooks_have_the_numbers_of_the_site(site):
    for chapter in CHAPTERS:
        page = article(site / "book" / f"{chapter}.html")
        wanted = [number.get_text().strip() for number in page.select("figure .caption-number")]
        notebook = json.loads(
            (site / "_sources" / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8")
        )
        captions = [cell["source"] for cell in notebook["cells"] if cell["id"].endswith("-caption")]
        assert [caption.split("**")[1] for caption in captions] == wanted


def templates(name):
    """Return what a page that is no notebook leaves to be filled in."""
    return name not in BOOK.notebooks and extension.GENERATED.findall(BOOK.text(name))


def test_downloads_have_different_names(site):
    names = []
    for page in BOOK.pages:
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        names += re.findall(r'_sources/[^"]*" download="([^"]+)"', html)
    whole = [page for page in BOOK.pages if not templates(page.removeprefix("book/"))]
    assert len(set(names)) == len(names) == len(whole) > len(BOOK.notebooks)
    assert "products-evidence.ipynb" in names


def test_each_chapter_leads_to_its_teaching_material_and_back(site):
    names = CHAPTERS
    more = {name: f"{name}/evidence" in NOTEBOOKS for name in names}
    wanted = [("book/syllabus.html", "td:nth-of-type(2) a", 7 * len(names) + sum(more.values()))]
    wanted += [
        (f"book/{name}.html", ".materials a, .problem-mark a", 6 + 2 + more[name]) for name in names
    ]
    for page, count in (("plan", 5), ("code", 6)):  # the quiz is on the page of the plan
        wanted += [
            (f"book/{name}/{page}.html", ".materials a", count + more[name]) for name in names
        ]
    for page, selector, count in wanted:
        assert len(article(site / page).select(selector)) == count, page
    for page in ("course", "syllabus"):
        links = article(site / f"book/{page}.html").select("a[aria-label]")
        assert len({link["aria-label"] for link in links}) == len(links) > 7 * len(names), page


def test_coverage_says_where_things_are(site):
    for name in {chapter for document in coverage.documents(BOOK) for chapter in document.minutes}:
        rows = article(site / "book" / name / "evidence.html").select("table.coverage tbody tr")
        assert len(rows) > 5 and all(row.find("td") for row in rows), name
    assert article(site / "book" / "where.html").select("td a[href*='/evidence.html']")


def test_only_tables_of_claims_look_like_the_ledger(site):
    for name, many in (("what_replicates", True), ("margins", False)):
        words = article(site / "book" / f"{name}.html")
        assert words.find("table") and bool(words.select("table.ledger")) == many


def test_book_and_chapters_have_entries_that_tex_can_typeset(site):
    pages = [path.read_text(encoding="utf-8") for path in site.glob("book/*.html")]
    entries = [
        unescape(entry)
        for page in pages
        for entry in re.findall(r"<pre>(@misc.*?)</pre>", page, re.DOTALL)
    ]
    found = parse_string("\n".join(entries), "bibtex").entries
    assert len(found) == len(entries) == len(CHAPTERS)
    assert all(entry.persons["author"] for entry in found.values())
    assert not [
        entry
        for entry in entries
        if re.search(r"^(?:title|note) = .*(?<!\\)[_$%&#^~]", entry, re.MULTILINE)
    ]
