"""The list of places that search goes through, made from pages; what is found by it is tested in the browser."""

import pytest

from lib.markdown import plain
from lib.site import search
from lib.site.formulas import mathml

PAGE = r"""<article class="bd-article"><section id="two-neurons">
<h1><span class="section-number">3. </span>Two neurons<a class="headerlink" href="#two-neurons">#</a></h1>
<p>They meet at <span class="math"><math data-tex="\delta = 0"><mi>δ</mi></math></span>,
where the <em>kernel distance</em> is <em>small</em>.</p>
<section id="what-stays"><h2><span class="section-number">3.1. </span>What stays</h2>
<p>Look. For all times the number</p>
<div class="math" id="equation-eq-stays"><span class="eqno">(3.1)<a class="headerlink">#</a></span>
<div class="formula"><math data-tex="a^2 - w^2" display="block"><mi>a</mi></math></div></div>
<p>is conserved.</p>
<div class="cell"><div class="cell_input"><pre>code = 1</pre></div><div class="cell_output">
<pre>printed</pre><div class="claim claim-slip" id="two-stays"><p>Slip: it stays</p></div>
<figure id="fig-stays"><svg><title>drawn</title></svg><figcaption><p><span class="caption-number">Fig. 3.1 </span>
<span class="caption-text">It stays.</span></p></figcaption></figure></div></div>
<div class="exercise admonition" id="ex-one">
<p class="admonition-title"><span class="caption-number">Exercise 3.1 </span> (One)</p>
<section id="exercise-content"><p>Show <span class="math"><math data-tex="a=\tfrac12"><mi>a</mi></math></span>.</p>
<div class="math" id="equation-eq-inside"><span class="eqno">(3.2)</span>
<math data-tex="b"><mi>b</mi></math></div></section></div>
<table><thead><tr><th>symbol</th><th>meaning</th></tr></thead><tbody><tr><td>a</td><td>output weight</td></tr></tbody></table>
</section></section></article>"""

RECORD = {"id": "two/stays", "statement": "it stays, $a^2$", "why": "", "source": "Eq. 7", "verdict": "slip"}


def read():
    return search.Reader("book/two.html", "chapter", {"two-stays": RECORD}).read(PAGE)


def test_a_page_has_places_of_every_kind_in_their_order():
    found = [(place.kind, place.number, place.anchor) for place in read()]
    assert found == [
        ("chapter", "3", "two-neurons"),
        ("section", "3.1", "what-stays"),
        ("equation", "3.1", "equation-eq-stays"),
        ("claim", "", "two-stays"),
        ("figure", "3.1", "fig-stays"),
        ("equation", "3.2", "equation-eq-inside"),
        ("exercise", "3.1", "ex-one"),
    ]


def test_a_place_says_what_stands_there_and_where_it_is():
    chapter, section, equation, claim, figure, _, exercise = read()
    assert (chapter.title, chapter.text) == ("Two neurons", "They meet at δ = 0, where the kernel distance is small.")
    assert chapter.terms == "kernel distance"  # one emphasized word is no term
    assert section.text == "Look. For all times the number a² - w² is conserved. symbol · meaning. a · output weight."
    assert (equation.formula, equation.title) == (mathml("a^2 - w^2", block=True), "a² - w²")
    assert equation.text == "For all times the number … is conserved."  # by which it is found
    assert (claim.title, claim.source, claim.verdict, claim.section) == ("it stays, a²", "Eq. 7", "slip", "3.1 What stays")
    assert figure.text == "It stays."
    assert (exercise.title, exercise.text) == ("One", "Show a=1/2.")


def test_a_list_of_claims_is_one_place():
    table = "<table><tbody><tr><td>a</td><td>output weight</td></tr></tbody></table>"
    page = f'<section id="all"><h1>All</h1>{table}<section id="some"><h2>Some</h2>{table}</section></section>'
    (whole,) = search.Reader("book/what_replicates.html", "page", {}).read(page)
    assert "output weight" not in whole.text


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"\tfrac12 x + \tfrac\delta2", "1/2 x + δ/2"),
        (r"\frac{\frac{a}{b}+1}{c^{-1}}", "(a/b+1)/(c⁻¹)"),
        (r"\tau\dot w_i = e^{2st}", "τẇ_i = e^(2st)"),
        (r"\frac{\partial L}{\partial\bar{y}}", "(∂ L)/(∂ȳ)"),
        (r"A_{\text{high}}t", "A_high t"),
        (r"y\in\{0,1\}", "y∈{0,1}"),
        (r"\operatorname{arsinh}\frac{2x}{|\delta|}", "arsinh 2x/(|δ|)"),
        ("\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}", "a = b c = d"),
    ],
)
def test_formulas_can_be_read_in_one_line(tex, text):
    assert plain(tex) == text
