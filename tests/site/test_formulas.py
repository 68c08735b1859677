"""Formulas become MathML when the site is built; what
cannot is said, and shown as it was written.
"""

import html
import re
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from docutils import nodes

from lib.site import formulas


def plain(latex, block=False):
    """Return what a formula's MathML shows, without its structure."""
    shown = html.unescape(
        re.sub("<annotation.*?</annotation>|<[^>]*>", "", formulas.mathml(latex, block))
    )
    return re.sub("[\u2061\u2063\ufe00]", "", shown)


@pytest.mark.parametrize(
    "latex, shown",
    [
        (r"\operatorname{sech}^2 x", "sech2x"),
        (r"\lVert w \rVert_2", "‖w‖2"),
        (r"\begin{pmatrix}a&b\\c&d\end{pmatrix}", "(abcd)"),
        (r"\begin{pmatrix}1&2\\[2pt]3&4\end{pmatrix}", "(1234)"),
        (r"f(x) = \begin{cases}1 & x>0\\0 & x<0\end{cases}", "f(x)={1x>00x<0"),
        (r"f'' + \dot w + \hat\beta + \mathcal{N} + \mathbb{R}", "f″+w˙+β^+𝒩+ℝ"),
        (r"\tfrac12 \sum_{i=1}^n \prod_j \int_0^1 \sqrt{x}\,dx", "12∑i=1n∏j∫01xdx"),
        ("1", "1"),
    ],
)
def test_a_formula_says_in_mathml_what_it_said(latex, shown):
    found = formulas.mathml(latex)
    assert found.startswith("<math") and "merror" not in found
    assert plain(latex).replace("ˆ", "^") == shown


def test_a_formula_says_its_tex():
    found = BeautifulSoup(formulas.mathml(r" \frac{s-p}{p}w_i < 1 "), "html.parser").math
    assert found["alttext"] == r"\frac{s-p}{p}w_i < 1"
    assert found.find("annotation", encoding="application/x-tex").get_text() == found["alttext"]


@pytest.mark.parametrize("name", ["", "aligned", "align*"])
def test_lines_are_aligned(name):
    lines = r"a &= b \\ &= c"
    latex = rf"\begin{{{name}}} {lines} \end{{{name}}}" if name else lines
    found = formulas.mathml(latex, block=True)
    assert 'display="block"' in found
    assert found.count("<mtr") >= 2 and plain(latex, True) == "a=b=c"


def written(visit, node):
    """Return what a page gets for a formula."""
    made = SimpleNamespace(body=[], builder=SimpleNamespace(name="html", env=None))
    made.starttag = lambda node, tag, suffix="\n", CLASS="": f'<{tag} class="{CLASS}">{suffix}'
    with pytest.raises(nodes.SkipNode):
        visit(made, node)
    return "".join(made.body)


def test_each_formula_that_may_scroll_is_named():
    short, long = "x", "x" * (formulas.LONG + 1)
    assert formulas.scrolled("span", short) == short
    for tag, formula, stops in (("div", short, 0), ("div", long, 1), ("span", long, 1)):
        found = formulas.scrolled(tag, formula, "(1.2)")
        assert found.count('role="group" aria-label="Formula (1.2)"') == 1
        assert found.count('tabindex="0"') == stops


def test_a_formula_without_mathml_is_a_warning(monkeypatch):
    said = []
    monkeypatch.setattr(formulas.logger, "warning", lambda words, location: said.append(words))
    assert written(formulas.visit_math, nodes.math("", r"\unheard <x")).endswith(
        r"<code>\unheard &lt;x</code></span>"
    )
    (words,) = said
    assert words.startswith(r"the formula \unheard <x has no MathML: ")
