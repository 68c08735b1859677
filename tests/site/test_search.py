"""The list of places that search goes through, made from pages; what is found by it is tested in the browser."""

import json
from types import SimpleNamespace

import pytest

from lib.markdown import plain
from lib.site import search
from lib.site.formulas import mathml

PAGE = r"""<nav>Elsewhere</nav><article class="bd-article"><section id="two-neurons">
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
</section></section></article><footer>Elsewhere</footer>"""

RECORD = {"id": "two/stays", "statement": "it stays, $a^2$", "why": "", "source": "Eq. 7", "verdict": "slip"}


def read(page="book/two.html", kind="chapter", html=PAGE):
    article = html.partition("<article")[2].partition("</article>")[0]
    return search.Reader(page, kind, {"two-stays": RECORD}).read(f"<article{article}</article>")


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


def test_code_output_and_drawings_are_not_searched():
    everything = json.dumps([vars(place) for place in read()])
    for word in ("code", "printed", "drawn", "Elsewhere"):
        assert word not in everything


def test_a_list_of_claims_is_one_place():
    (whole,) = [place for place in read("book/what_replicates.html", "page") if place.kind in ("page", "section")]
    assert whole.title == "Two neurons"
    assert "output weight" not in whole.text


def test_a_claim_that_the_ledger_does_not_know_is_an_error():
    with pytest.raises(KeyError, match="two-stays"):
        search.Reader("book/two.html", "chapter", {}).read(PAGE)


def test_synonyms_are_those_of_the_table():
    table = "<table><tbody><tr><td>rich</td><td>feature learning, Active regime</td><td>3</td></tr></tbody></table>"
    assert list(search.synonyms(f'<section id="other-names">{table}</section>')) == [
        (["feature learning", "active regime"], ["rich"])
    ]
    assert list(search.synonyms(f"<section>{table}</section>")) == []


def test_the_list_is_written_for_html_only_and_not_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "index", lambda site, root: {"pages": {}, "places": [], "synonyms": []})
    app = SimpleNamespace(builder=SimpleNamespace(name="html"), outdir=str(tmp_path), srcdir=str(tmp_path))
    search.write(app, ValueError())
    search.write(SimpleNamespace(**vars(app) | {"builder": SimpleNamespace(name="latex")}), None)
    assert not list(tmp_path.iterdir())
    search.write(app, None)
    assert (tmp_path / "places.js").read_text(encoding="utf-8") == 'const PLACES = {"pages":{},"places":[],"synonyms":[]};\n'


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"\Delta = \eta_w AA^\top - \frac{1}{2}\lVert\beta_0\rVert^{2}", "Δ = η_w AAᵀ - 1/2‖β_0‖²"),
        (r"\tfrac12 x + \tfrac\delta2", "1/2 x + δ/2"),
        (r"\frac{\frac{a}{b}+1}{c^{-1}}", "(a/b+1)/(c⁻¹)"),
        (r"\tau\dot w_i = e^{2st}", "τẇ_i = e^(2st)"),
        (r"\frac{\partial L}{\partial\bar{y}}", "(∂ L)/(∂ȳ)"),
        (r"A_{\text{high}}t", "A_high t"),
        (r"y\in\{0,1\}", "y∈{0,1}"),
        (r"\operatorname{arsinh}\frac{2x}{|\delta|}", "arsinh 2x/(|δ|)"),
        ("\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}", "a = b c = d"),
        ("plain", "plain"),
    ],
)
def test_formulas_can_be_read_in_one_line(tex, text):
    assert plain(tex) == text
