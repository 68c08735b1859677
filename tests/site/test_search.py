"""What is handed to Pagefind for a page; what is found by it is tested in the browser."""

import gzip
import re

import pytest
import small_site as small
from bs4 import BeautifulSoup

from lib.site import build, search, shown
from lib.site.book import Book

PAGE = r"""<main><article class="bd-article"><section id="two-neurons">
<h1><span class="section-number">3. </span>Two neurons<a class="headerlink" href="#two-neurons">#</a></h1>
<p>They meet at <span class="math"><math alttext="\delta &lt; 1.5"><mi>δ</mi></math></span> only.</p>
<section id="what-stays"><h2><span class="section-number">3.1. </span>What stays</h2>
<p>For all times the number</p>
<div class="math" id="equation-eq-stays"><div class="formula"><math alttext="a^2 - w^2"><mi>a</mi></math></div>
<span class="eqno">(3.1)<a class="headerlink">#</a></span></div>
<p>is conserved.</p>
<div class="cell"><div class="cell_input"><pre>code = 1</pre></div><div class="cell_output"><pre>printed</pre>
<div class="claim" id="two-stays"><p><strong>Slip</strong> <span class="claim-statement">It stays</span> measured 1</p>
<details><summary>details</summary>
<div class="claim-details">Eq. 7 · <a href="#two-stays">link to this claim</a></div></details></div>
<figure id="fig-stays"><svg><title>drawn</title></svg><figcaption><p><span class="caption-number">Fig. 3.1 </span>
<span class="caption-text">The balance.</span></p></figcaption></figure></div></div>
<div class="exercise admonition" id="ex-one"><p class="admonition-title">Exercise 3.1 (One)</p>
<section id="exercise-content"><p>Show it.</p></section></div>
<table><tbody><tr><td>claims in a table</td></tr></tbody></table>
<p>After all this</p></section></section></article></main>"""


@pytest.fixture
def searched(tmp_path):
    """Return a function that gives what is searched of a page."""

    def searched(html, page="page"):
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / f"{page}.html").write_text(html)
        return search.searched(page, shown.article(tmp_path, page))

    return searched


def places(html):
    """Return by their ids what the headings say and what stands between each and the next."""
    page = BeautifulSoup(html.replace("\u2024", "."), "html.parser")
    found = {}
    for heading in page.find_all(["h1", "h2", "h5"]):
        title = " ".join(heading.get_text().split())
        heading.replace_with(f"\0{heading['id']}\1{title}\1")
    for part in page.get_text(" ").split("\0")[1:]:
        name, title, text = part.split("\1")
        found[name] = (title, " ".join(text.split()))
    return found


def test_each_thing_has_a_heading_behind_its_section(searched):
    assert places(searched(PAGE)) == {
        "two-neurons": ("3. Two neurons", "They meet at δ < 1.5 only."),
        "what-stays": (
            "3.1. What stays",
            "For all times the number a² - w² is conserved. claims in a table After all this",
        ),
        "equation-eq-stays": ("Eq. (3.1) a² - w²", "For all times the number is conserved."),
        "two-stays": ("Claim: It stays", "Slip It stays measured 1 Eq. 7 ·"),
        "fig-stays": ("Fig. 3.1 The balance.", "Fig. 3.1 The balance."),
        "ex-one": ("Exercise 3.1 (One)", "Exercise 3.1 (One) Show it."),
    }


def test_only_dots_within_numbers_belong_to_words(searched):
    said = searched(PAGE)
    assert "δ &lt; 1.5<" in said and "conserved\u2024<" in said


def test_tables_that_repeat_claims_are_left_out(searched):
    said = searched(PAGE, page="book/margins")
    assert "After all this" in said and "claims in a table" not in said


def test_items_of_documents_and_symbols_are_places(searched):
    rows = (
        '<tr><th><p><span id="{0}"></span><strong>{0}:</strong> it holds</p></th><td>here</td></tr>'
    )
    table = f'<table class="coverage"><tbody>{rows.format("theorem-6")}</tbody></table>'
    symbols = f"<table><tbody>{rows.format('symbol-delta')}{rows.format('other')}</tbody></table>"
    found = places(
        searched(PAGE.replace("</section></section>", f"{table}{symbols}</section></section>"))
    )
    assert found["theorem-6"] == ("theorem-6: it holds", "theorem-6: it holds here")
    assert "symbol-delta" in found and "other" not in found


@pytest.mark.slow
def test_search_previews_and_numbers_follow_a_page_that_changes(tmp_path):
    def built():
        """Return what is searched, the cards of the evidence, and what the lesson calls it."""
        build.build(Book(tmp_path))
        site = tmp_path / "_build" / "html"
        index = [gzip.decompress(path.read_bytes()) for path in site.glob("pagefind/fragment/*")]
        cards = (site / "book/one/evidence.preview.js").read_text(encoding="utf-8")
        lesson = (site / "book/one.html").read_text(encoding="utf-8")
        return b"".join(index).decode(), cards, re.findall(r"\(E1\.\d\)", lesson)

    book = small.write(tmp_path)
    searched, cards, numbers = built()
    assert "The evidence" in searched and "The evidence" in cards
    assert numbers == ["(E1.1)", "(E1.2)"]
    for path in (book.path("one/evidence"), book.folder / "one" / "evidence.md"):
        text = path.read_text(encoding="utf-8").replace("The evidence", "Unheard of")
        text = text.replace("eq-one-first", "eq-x").replace("eq-one-second", "eq-one-first")
        path.write_text(text.replace("eq-x", "eq-one-second"), encoding="utf-8")
    searched, cards, numbers = built()
    assert "The evidence" not in cards and "Unheard of" in cards and "Unheard of" in searched
    assert searched.count("The lesson") and numbers == ["(E1.2)", "(E1.1)"]
