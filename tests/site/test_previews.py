"""Previews: what a link's card shows of its target."""

import json
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from lib.site import previews

FORMULA = r'<span class="math">\(x\)</span>'
BODY = f"""<section id="title"><h1>Title<a class="headerlink" href="#title">#</a></h1>
<div class="math" id="equation-one"><span class="eqno">(1)<a class="headerlink" href="#equation-one">#</a></span>\\[y < z\\]</div>
<figure id="fig-one"><a href="one.png"><img alt="a line" src="../_images/one.png" loading="lazy"></a>
<figcaption><p>Fig. 1 A line.</p></figcaption></figure>
<figure id="fig-two"><div class="output text_html"><div class="moving"><svg><path id="p"/></svg><input></div></div>
<figcaption>Moves.</figcaption></figure>
<div class="claim" id="one-grows"><p><strong>New</strong> it grows {FORMULA}</p>
<details><summary>details</summary><p>Eq. 7 · <a href="what_replicates.html#x">ledger</a></p></details></div>
<div class="exercise" id="ex"><section id="exercise-content">
<p tabindex="0">See <a href="#equation-one">(1)</a>.</p></section></div>
<div class="citation" id="id1"><p>A work.</p></div>
<div class="highlight"><pre><span></span>code <span>of 1</span></pre>
</div><div class="math">no name</div>
<table><thead><tr><th>symbol</th><th>meaning</th><th>where</th></tr></thead>
<tbody><tr><td><p><span id="symbol-x">{FORMULA}</span></p></td><td><p>a place</p></td><td></td></tr></tbody></table></section>"""


@pytest.fixture
def parts():
    return {name: BeautifulSoup(html, "html.parser") for name, html in previews.excerpts(BODY).items()}


def test_what_has_a_name_has_a_card(parts):
    assert list(parts) == ["equation-one", "fig-one", "fig-two", "one-grows", "ex", "id1", "symbol-x"]


@pytest.mark.parametrize(
    "name, words",
    [
        ("equation-one", r"(1)\[y < z\]"),
        ("fig-one", "Fig. 1 A line."),
        ("fig-two", "Moves."),
        ("one-grows", r"New it grows \(x\)"),
        ("ex", "See (1)."),
        ("id1", "A work."),
        ("symbol-x", r"Symbol: \(x\) Meaning: a place"),
    ],
)
def test_a_card_says_what_its_target_says(parts, name, words):
    assert " ".join(parts[name].get_text().split()) == words


def test_a_card_holds_pictures_and_nothing_that_works(parts):
    assert parts["fig-one"].img.attrs == {"alt": "a line", "src": "../_images/one.png"}
    for part in parts.values():
        assert not part.select("a, button, input, script, .moving, [id], [tabindex]")


def test_a_row_that_does_not_fit_its_heads_is_an_error():
    with pytest.raises(ValueError):
        previews.excerpts(BODY.replace("<th>where</th>", ""))


def test_a_script_beside_the_page_holds_its_cards(tmp_path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    previews.write(app, "one", "page.html", {"title": "1. The <em>one</em>", "body": BODY}, SimpleNamespace())
    previews.write(app, "search", "search.html", {"title": "Search"}, None)
    (script,) = tmp_path.iterdir()
    assert script.name == "one.preview.js"
    text = script.read_text(encoding="utf-8")
    assert text.startswith("var preview = {") and text.endswith("};\n")
    assert json.loads(text[len("var preview = ") : -2]) == {"title": "1. The one", "parts": previews.excerpts(BODY)}
