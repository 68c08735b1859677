"""Previews: what a link's card shows of its target."""

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


def test_what_has_a_name_has_a_card_that_says_what_it_says(parts):
    assert {name: " ".join(part.get_text().split()) for name, part in parts.items()} == {
        "equation-one": r"(1)\[y < z\]",
        "fig-one": "Fig. 1 A line.",
        "fig-two": "Moves.",
        "one-grows": r"New it grows \(x\)",
        "ex": "See (1).",
        "id1": "A work.",
        "symbol-x": r"Symbol: \(x\) Meaning: a place",
    }


def test_a_card_holds_pictures_and_nothing_that_works(parts):
    assert parts["fig-one"].img.attrs == {"alt": "a line", "src": "../_images/one.png"}
    for part in parts.values():
        assert not part.select("a, button, input, script, .moving, [id], [tabindex]")
