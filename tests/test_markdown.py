"""Text and tables in Markdown, as a reader of CommonMark and HTML sees them."""

import string

import pytest
from markdown_it import MarkdownIt

from lib import markdown

SHOW = MarkdownIt("gfm-like", {"linkify": False, "html": True})


@pytest.mark.parametrize(
    "text",
    [
        string.punctuation,
        "a*b*c _d_ `e`",
        "<script>alert(1)</script>",
        "&amp; [x](y) ~~z~~",
        "w\\_1",
    ],
)
def test_what_is_escaped_is_shown_as_it_is(text):
    shown = SHOW.renderInline(f"x {markdown.escape(text)}")
    plain = (
        f"x {text}".replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
    )
    assert shown == plain


def test_a_table_keeps_its_columns():
    written = markdown.table(["a", "b"], [["|x|", 1], ["two\nlines", ""]])
    assert written == "| a | b |\n|---|---|\n| \\|x\\| | 1 |\n| two lines |  |"
    assert SHOW.render(written).count("<td>") == 4 and "<td>|x|</td>" in SHOW.render(written)


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
    assert markdown.plain(tex) == text
