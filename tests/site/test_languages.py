"""Nothing depends on English words: two chapters in another language work as in English."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
import translated
from babel.messages.extract import extract_from_dir
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util.nodes import extract_messages

from lib import claims
from lib.site import boxes, languages
from lib.site.book import Book

NOTEBOOKS = ("products", "single_neuron", "products/evidence", "single_neuron/evidence")
PAGES = (*NOTEBOOKS, "what_replicates", "margins", "primer")
TEXT = "p, h1, h2, h3, h4, li, td, th, figcaption, summary"
RECORD = {
    "id": "products/rate",
    "statement": "it *grows* like $t^2$",
    "measure": "largest $t_1$, at most 3",
    "source": "Eq. 7",
    "measured": 0.4,
    "low": 0.5,
    "high": "inf",
    "verdict": "not decided",
    "rivals": {"$t$ alone": 0.3, "chance": 0.25},
    "printed": None,
    "why": "too few steps",
}


def test_parts_of_a_claim_are_messages_without_its_numbers():
    box = boxes.box(RECORD)
    for node in box.findall(nodes.TextElement):
        node.source = "page.ipynb"
    assert [text for _, text in extract_messages(box)] == [
        "Not decided",
        r"it \*grows\* like $t^2$",
        "largest $t_1$, at most 3",
        "too few steps",
        "$t$ alone",
        "chance",
        "Eq. 7",
    ]
    assert box[1].astext() == "largest t_1, at most 3: 0.4, expected ≥ 0.5"


@pytest.mark.parametrize(
    "message, made",
    [
        ("A *map* of $s$, {eq}`eq-one`", "⟦À *màp* öf $s$, {eq}`eq-one`⟧"),
        ("[**See**]{.see} [a](b.md) <b>c</b> {}", "⟦[**Šéé**]{.see} [à](b.md) <b>ç</b> {}⟧"),
    ],
)
def test_the_test_translates_words_and_keeps_markup(message, made):
    assert translated.pseudo(message) == made


def test_scripts_have_no_words_of_their_own():
    used = set()
    for script in (translated.ROOT / "book" / "_static").glob("*.js"):
        used |= set(re.findall(r"\bsaid\.(\w+)", script.read_text(encoding="utf-8")))
    assert used == set(languages.for_scripts())


def test_what_the_site_says_is_in_the_catalogue():
    folder = Path(languages.__file__).parent
    known = {message for _, _, message, *_ in extract_from_dir(folder)}
    for file in folder.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "_":
                assert call.args[0].value in known, file  # what is within an f-string is not found


@cache
def read(path):
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    for part in page.select("pre, svg, article script"):
        part.decompose()
    return page


@cache
def anchors(path):
    return {part["id"] for part in read(path).find_all(id=True)}


@pytest.fixture(scope="module")
def site(translated_book):
    return translated_book / "_build" / "html"


@pytest.fixture(scope="module")
def book(translated_book):
    return Book(translated_book)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_in_the_other_language(site, name):
    page = read(site / f"book/{name}.html")
    assert page.html["lang"] == translated.LANGUAGE
    article = page.article
    assert "$" not in article.get_text()
    texts = [part for part in article.select(TEXT) if not part.select(TEXT)]
    said = []
    for text in texts:
        words = "".join(part for part in text.find_all(string=True) if not part.find_parent("math"))
        if re.search(r"[^\W\d_]{3}", words):
            said.append("⟦" in words)
    assert len(said) > 5 and sum(said) > 0.95 * len(said)
    assert all("(⟦" in title.get_text() for title in article.select(".solution .admonition-title"))
    assert all(image["alt"].startswith("⟦") for image in article.select(".cell_output img[alt]"))


@pytest.mark.slow
@pytest.mark.parametrize("name", translated.CHAPTERS)
def test_questions_hide_their_answers(site, book, name):
    article = read(site / f"book/{name}.html").article
    wanted = book.text(name).count("]{.predict}")
    buttons = article.select("p:has(.predict) + .answer")
    assert len(buttons) == len(article.select(".answer")) == wanted >= 4
    assert {button.get_text() for button in buttons} == {"⟦Šhöw thé àñšwér⟧"}
    assert all(button.find_next_sibling().name != "section" for button in buttons)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_claims_keep_their_verdict_statement_and_numbers(site, book, name):
    article = read(site / f"book/{name}.html").article
    records = list(claims.collect(book.notebook(name)))
    for record in records:
        box = article.find(id=record["id"].replace("/", "-"))
        verdict = record["verdict"].capitalize()
        assert box.strong.get_text() == translated.pseudo(verdict)
        assert f"claim-{record['verdict'].replace(' ', '-')}" in box["class"]
        statement = box.select_one(".claim-statement")
        assert statement.get_text().startswith("⟦")
        assert len(statement.select("math")) == record["statement"].count("$") // 2
        number = box.select_one(".claim-number").get_text()
        bound = claims.bound_text(record).replace("at most", "≤").replace("at least", "≥")
        assert f"{translated.pseudo('expected')} " in number
        assert re.sub("exactly ", "", bound) in number
        for score in record["rivals"].values():
            shown = f": {claims.number_text(record, score)}"
            assert shown in box.select_one(".claim-details").get_text()
        assert box.summary.get_text().startswith("⟦détàïlš⟧")
    assert len(article.select(".claim")) == len(records) > 5


@pytest.mark.slow
def test_the_search_speaks_the_language(site, book):
    entry = json.loads((site / "pagefind/pagefind-entry.json").read_text(encoding="utf-8"))
    assert entry["languages"][translated.LANGUAGE]["page_count"] == len(book.pages)
    page = read(site / "search.html")
    assert page.h1.get_text().startswith("⟦") and "⟦" in page.select_one("#search-hints").get_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", translated.CHAPTERS)
def test_decks_have_the_language_and_all_slides(site, book, name):
    deck = read(site / f"slides/{name}.html")
    assert deck.html["lang"] == translated.LANGUAGE
    assert len(deck.select("main section")) == 1 + len(
        re.findall("^## ", book.text(f"{name}/slides"), re.MULTILINE)
    )
    assert deck.select(".fragment") and "⟦" in deck.select_one(".deck-links").get_text()
    assert all(link.get_text() for link in deck.select("main a"))


@pytest.mark.slow
def test_links_lead_to_what_there_is(site):
    count = 0
    for name in PAGES:
        page = site / f"book/{name}.html"
        for link in read(page).article.select("a[href*='#']:not([href*=':'])"):
            place, _, anchor = link["href"].partition("#")
            goal = Path(page.parent, place).resolve() if place else page
            if goal.is_file() and anchor:  # this book has not all pages
                assert anchor in anchors(goal), (name, link["href"])
                count += 1
    assert count > 300


@pytest.mark.slow
def test_ledgers_are_found_whatever_their_heads_say(site):
    for name in (*translated.CHAPTERS, "what_replicates"):
        (table,) = read(site / f"book/{name}.html").select("table.ledger")
        assert table.th.get_text().startswith("⟦")
    marks = table.select("td:last-child span")
    assert {" ".join(mark["class"]) for mark in marks} <= {
        verdict.replace(" ", "-") for verdict in claims.VERDICTS
    }
    assert len(marks) == len(table.select("tbody tr"))
