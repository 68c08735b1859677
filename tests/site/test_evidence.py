"""Figures and equations of evidence pages have numbers of their own, wherever these are shown."""

import json

import pytest
from bs4 import BeautifulSoup

from lib.site import search, shown

NUMBERS = {
    "eq-{}-own": "({}.1)",
    "fig-{}-own": "Fig. {}.1",
    "eq-{}-first": "(E{}.1)",
    "eq-{}-second": "(E{}.2)",
    "fig-{}-first": "Fig. E{}.1",
}
CHAPTERS = {"one": 1, "two": 2}
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def numbers(chapter):
    return {
        label.format(chapter): said.format(CHAPTERS[chapter]) for label, said in NUMBERS.items()
    }


@pytest.fixture(scope="module")
def site(small_site):
    return small_site / "_build" / "html"


@each_chapter
def test_captions_equations_and_cards_have_the_numbers(site, chapter):
    for page in (f"book/{chapter}", f"book/{chapter}/evidence"):
        found = shown.parts(page, shown.article(site, page))
        cards = (site / f"{page}.preview.js").read_text(encoding="utf-8")
        for label, part in found.items():
            assert part.number == numbers(chapter)[label] in cards


@each_chapter
def test_references_say_the_numbers(site, chapter):
    page = shown.article(site, f"book/{chapter}")
    said = {
        link["href"].rpartition("#")[2]: link.get_text()
        for link in page.select("p a[href*='#'][href*='-']")
    }
    assert {name.removeprefix("equation-"): number for name, number in said.items()} == numbers(
        chapter
    )


def test_slides_say_the_numbers(site):
    deck = BeautifulSoup((site / "slides/one.html").read_text(encoding="utf-8"), "html.parser")
    assert "Fig. E1.1" in deck.figure.get_text()
    links = deck.select("section:last-of-type p a")
    assert [link.get_text() for link in links] == ["(E1.2)", "Fig. 1.1"]


@each_chapter
def test_the_search_and_downloads_have_the_numbers(site, chapter):
    page = f"book/{chapter}/evidence"
    found = BeautifulSoup(search.searched(page, shown.article(site, page)), "html.parser")
    heads = " ".join(head.get_text() for head in found.select("h5"))
    heads = heads.replace(search.NO_DOT, ".")
    notebook = json.loads((site / "_sources" / f"{page}.ipynb").read_text(encoding="utf-8"))
    words = " ".join("".join(cell["source"]) for cell in notebook["cells"])
    number = CHAPTERS[chapter]
    assert f"Eq. (E{number}.2)" in heads and f"Fig. E{number}.1" in heads
    assert f"\\tag{{E{number}.2}}" in words and f"**Fig. E{number}.1**" in words
