"""Decks: on made-up parts of chapters."""

import json
from types import SimpleNamespace

import pytest
import small_book
from sphinx.errors import ExtensionError

from lib.book import slides

EQUATION = '<div class="math"><div class="formula"><math><mi>a</mi></math></div><span class="eqno">(1.2)</span></div>'
FIGURE = '<figure><figcaption><p><span class="caption-number">Fig. 1.1 </span>A figure.</p></figcaption></figure>'
CLAIM = '<div class="docutils claim claim-not-decided container">Not decided</div>'
PARTS = {"equation-eq-one": EQUATION, "fig-one": FIGURE, "fig-moving": FIGURE, "one-right": CLAIM}
DECK = """\
What is it about, with $x$?

## First

![](#eq-one)

See [](#eq-one), [](#fig-one), [](#one-right), [{measured:.1f} and {printed}](#one-right) and [elsewhere](https://example.org).

## Second

![](#fig-moving)

| a | b |
|---|---|
| 1 | $2$ |
"""


@pytest.fixture
def built(tmp_path):
    """A book with one deck, and a site as the build leaves it."""
    root, site = small_book.write(tmp_path / "root", pages=["index"]), tmp_path / "site"
    cell = {"cell_type": "code", "source": "", "execution_count": 1}
    moving = cell | {
        "metadata": {"mystnb": {"figure": {"name": "fig-moving"}}},
        "outputs": [{"data": {"text/html": '<div class="moving"><svg></svg></div>'}}],
    }
    record = {"id": "one/right", "measured": 0.98765, "printed": 2.0}
    claim = cell | {"metadata": {}, "outputs": [{"metadata": {"claim": record}}]}
    (site / "book").mkdir(parents=True)
    for name, cells, parts in (("one", [moving, claim], PARTS), ("two", [], {"equation-eq-two": EQUATION})):
        (root / "book" / f"{name}.ipynb").write_text(json.dumps({"metadata": {}, "cells": cells}))
        preview = json.dumps({"title": name, "parts": parts})
        (site / "book" / f"{name}.preview.js").write_text(f"var preview = {preview};\n")
    (root / "book" / "slides").mkdir()
    (root / "book" / "slides" / "one.md").write_text(DECK)
    return SimpleNamespace(srcdir=root, outdir=site, builder=SimpleNamespace(format="html"))


def deck(built, text=DECK):
    (built.srcdir / "book" / "slides" / "one.md").write_text(text)
    slides.write(built, None)
    return (built.outdir / "slides" / "one.html").read_text(encoding="utf-8")


def test_a_heading_begins_a_slide_and_the_title_comes_first(built):
    written = deck(built)
    assert written.count("<section") == 3
    assert written.index("<h1>Chapter one</h1>") < written.index("What is it about") < written.index("<h2>First</h2>")
    assert "<math" in written and 'href="../book/one.html">Chapter' in written


def test_a_part_is_shown_as_the_chapter_shows_it(built):
    written = deck(built)
    assert EQUATION.replace('class="formula"', 'class="formula" tabindex="0"') in written
    assert "<svg></svg></div><figcaption" in written  # the figure that moves, which a preview has not


def test_links_say_numbers_and_lead_into_the_chapter(built):
    written = deck(built)
    assert '<a href="../book/one.html#equation-eq-one">(1.2)</a>' in written
    assert '<a href="../book/one.html#fig-one">Fig. 1.1</a>' in written
    assert '<a href="../book/one.html#one-right">not decided</a>' in written
    assert '<a href="../book/one.html#one-right">1.0 and 2.0</a>' in written
    assert '<a href="https://example.org">elsewhere</a>' in written


def test_a_deck_may_show_parts_of_other_chapters(built):
    assert "../book/two.html#equation-eq-two" in deck(built, "[](#eq-two)\n")


def test_tables_scroll(built):
    assert '<div class="scrolling" tabindex="0"><table>' in deck(built)


@pytest.mark.parametrize(
    "text, said",
    [
        ("![](#eq-lost)", "an exercise eq-lost"),
        ("See [](#fig-lost).", "an exercise fig-lost"),
        ("[{measured}](#fig-one)", "fig-one is no claim"),
        ("[{median}](#one-right)", "one-right is no claim, or has not what {median} takes"),
        (r"$\nonsense$", "has no MathML"),
    ],
)
def test_a_mistake_ends_the_build_and_names_the_deck(built, text, said):
    with pytest.raises(ExtensionError, match=r"one\.md") as caught:
        deck(built, text)
    assert said in str(caught.value)


def test_a_book_without_decks_needs_no_site(built):
    (built.srcdir / "book" / "slides" / "one.md").unlink()
    for path in (built.outdir / "book").iterdir():
        path.unlink()
    slides.write(built, None)
    assert not (built.outdir / "slides").exists()
