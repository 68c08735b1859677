"""Formulas become MathML when the site is built; what cannot is said, and shown as it was written."""

import html
import re
from pathlib import Path
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from docutils import nodes

from lib.site import formulas


def plain(latex, block=False):
    """Return what a formula's MathML shows, without its structure."""
    shown = html.unescape(re.sub("<[^>]*>", "", formulas.mathml(latex, block)))
    return re.sub("[\u2061\u2063\ufe00]", "", shown)


@pytest.mark.parametrize(
    "latex, shown",
    [
        (r"\operatorname{sech}^2 x", "sech2x"),
        (r"\lVert w \rVert_2", "‖w‖2"),
        (r"\begin{pmatrix}a&b\\c&d\end{pmatrix}", "(abcd)"),
        (r"\bigl(\begin{smallmatrix}1&2\\3&4\end{smallmatrix}\bigr)", "(1234)"),
        (r"\begin{pmatrix}1&2\\[2pt]3&4\end{pmatrix}", "(1234)"),
        (r"\underbrace{x}_{\substack{\text{one}\\\text{two}}}", "x⏟onetwo"),
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


@pytest.mark.parametrize(
    "latex",
    [
        r"a &= b \\ &= c",
        r"\begin{split} a &= b \\ &= c \end{split}",
        r"\begin{aligned} a &= b \\ &= c \end{aligned}",
        r"\begin{align*} a &= b \\ &= c \end{align*}",
    ],
)
def test_lines_are_aligned(latex):
    found = formulas.mathml(latex, block=True)
    assert 'display="block"' in found
    assert found.count("<mtr") >= 2 and plain(latex, True) == "a=b=c"


def test_a_formula_that_cannot_be_converted_is_named():
    with pytest.raises(ValueError, match=r"the formula \\unheard x has no MathML: .*unheard"):
        formulas.mathml(r"\unheard x")


def translator():
    made = SimpleNamespace(body=[], builder=SimpleNamespace(name="html", env=None))
    made.starttag = lambda node, tag, suffix="\n", CLASS="": f'<{tag} class="{CLASS}">{suffix}'
    return made


def test_a_formula_without_mathml_is_a_warning_and_is_shown_as_written(caplog, monkeypatch):
    said = []
    monkeypatch.setattr(formulas.logger, "warning", lambda words, location: said.append(words))
    page = translator()
    with pytest.raises(nodes.SkipNode):
        formulas.visit_math(page, nodes.math("", r"\unheard <x"))
    assert page.body[-1] == r"<code>\unheard &lt;x</code></span>"
    assert len(said) == 1


def test_long_formulas_scroll_by_keyboard_and_short_ones_are_no_stop():
    for number, stops in ((3, 0), (60, 1)):
        latex = "+".join("x" * number)
        page = translator()
        with pytest.raises(nodes.SkipNode):
            formulas.visit_math_block(page, nodes.math_block("", latex, number=None, nowrap=False))
        assert "".join(page.body).count('tabindex="0"') == stops
        page = translator()
        with pytest.raises(nodes.SkipNode):
            formulas.visit_math(page, nodes.math("", latex))
        assert "".join(page.body).count('tabindex="0"') == stops


def test_the_fonts_are_small():
    static, icons = Path(__file__).parents[2] / "book" / "_static", "vendor/fontawesome/webfonts/fa-solid-900.woff2"
    assert (static / formulas.FONT).stat().st_size < 90_000
    assert (static / icons).stat().st_size < 10_000
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
    assert (theme / icons).is_file()  # or the book's would not stand in its place
