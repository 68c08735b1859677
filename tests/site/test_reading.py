"""What is mended in a page: numbers stay whole, tables scroll,
claims are marked, pictures have their size and open.
"""

import base64
import re
from hashlib import sha256

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from lib.site import pictures, reading


@pytest.mark.parametrize(
    "text, marked",
    [
        ("<p>at most 1.8e-06, or 2e+5</p>", ["1.8e-06", "2e+5"]),
        ("<td><p>−3e-4</p></td><pre>7.1e-12\n</pre>", ["3e-4", "7.1e-12"]),
        ("<p>the-06 case, 5e6 and 1-2</p>", []),
        ("<math><mn>3e-3</mn></math>", []),
        (
            '<svg><text>1e-3</text></svg><script>x = 1e-3</script><style>a{b:1e-3}</style><p title="1e-3">',
            [],
        ),
    ],
)
def test_numbers_in_the_text_are_marked(text, marked):
    expected = text
    for number in marked:
        expected = expected.replace(number, f'<span class="number">{number}</span>')
    assert reading.mended(text) == expected


def test_a_formula_keeps_its_full_stop():
    formula = '<span class="math notranslate nohighlight"><math><mi>x</mi></math></span>'
    together = f'<span class="together">{formula}).</span> Then {formula} is {formula}<p>.'
    assert reading.mended(f"{formula}). Then {formula} is {formula}<p>.") == together


def test_named_tables_scroll_rows_have_heads_and_thebe_goes():
    row = "<tr><{0}><p>one</p></{1}><td>two</td></tr>"
    table = "<table><thead><tr><th><p>claim</p></th></tr></thead>{}</table>"
    claims = table.format(row.format("td", "td"))
    named = table.format(row.format('th scope="row"', "th"))
    heading = '<h2>1. <math alttext="d&gt;2"><mi>d</mi></math> {}<a class="headerlink" href="#a">#</a></h2>'
    titled = claims.replace("<table>", "<table><caption><span>Table 1</span> A title</caption>")
    thebe = "<script type=\"text/x-thebe-config\">\n{}\n</script>\n<script>kernelName = 'python3'</script>"
    box = '<div class="scrolling" tabindex="0" role="group" aria-label="{}">{}</div>'
    outer = '<div class="pst-scrollable-table-container">{}\n</div>'
    assert reading.mended(
        f"{claims}{heading.format('wide')}{outer.format(claims)}{titled}"
        f'<div role="list" class="citation-list">two</div>{thebe}'
    ) == (
        f"{box.format('Table', named)}{heading.format('wide')}{box.format('1. d&gt;2 wide', named)}"
        + box.format("Table 1 A title", titled.replace(claims[7:], named[7:]))
        + '<div class="citation-list">two</div>'
    )


def test_a_picture_has_its_size_and_opens(tmp_path):
    Image.new("RGB", (300, 200), "white").save(tmp_path / "a.png")
    files = {"a picture.png": tmp_path / "a.png"}
    other = '<img src="../_images/other.png"/>'
    written = '<img alt="a &gt; b" src="../_images/a%20picture.png" style="width: 300px" />'
    link = '<a class="zoom" href="../_images/a%20picture.png" title="Enlarge">'
    size = '<img alt="a &gt; b" src="../_images/a%20picture{}.png" width="{}" height="{}" loading="lazy" decoding="async" {}/></a>'
    assert (
        pictures.placed(f"<p>{written}</p>{other}", files)
        == f"<p>{link}{size.format('', 300, 200, '')}</p>{other}"
    )
    linked = f'<a class="reference internal image-reference" href="x">{written}\n</a>'
    assert pictures.placed(linked, files) == pictures.placed(written, files)
    twins = pictures.placed(written, files, ["a picture.png"])
    assert twins.count('width="150" height="100"') == 2
    assert 'src="../_images/a%20picture.dark.png"' in twins
    assert re.findall(r'class="(only-\w+)"', twins) == ["only-light", "only-dark"]


def test_dark_figures_are_found_by_the_light_ones():
    light, dark = (base64.b64encode(one).decode() for one in (b"light", b"dark"))
    output = {"data": {"image/png": light}, "metadata": {"image/png": {"dark": dark}}}
    plain = {"data": {"image/png": light}, "metadata": {}}
    notebook = {"cells": [{"outputs": [output]}, {"outputs": [plain]}, {}]}
    assert pictures.dark(notebook) == {f"{sha256(b'light').hexdigest()}.png": b"dark"}


def test_a_figure_is_named_by_its_own_number():
    number = '<figcaption><p><span class="caption-number">Fig. {} </span>A.</p></figcaption>'
    figures = [f'<figure id="{one}"><svg></svg>{number.format(one)}</figure>' for one in (1, 2)]
    body = "<figure><svg></svg></figure>".join(figures)
    named = BeautifulSoup(reading.mended(body), "html.parser").select("figure")
    assert [one.get("aria-label") for one in named] == ["Fig. 1", None, "Fig. 2"]


def test_questions_and_moving_figures_get_their_buttons():
    asked = '<p>One. <span class="predict"><strong>Guess.</strong></span> Which?</p>'
    slider = '<div class="moving-slider" hidden><label>a</label></div>'
    body = f"<h1>A</h1>\n<p>Before.</p>\n{asked}\n<p>The answer.</p>\n{slider}"
    mended = BeautifulSoup(reading.mended(body), "html.parser")
    assert mended.h1.find_next_sibling().text == "Show all answers"
    assert (
        mended.find("span", class_="predict").parent.find_next_sibling().text == "Show the answer"
    )
    assert mended.select_one(".answer")["aria-label"] == "Show the answer: One. Guess. Which?"
    assert len(mended.select(".answer")) == 1
    assert mended.select_one(".moving-slider > .moving-play") and mended.select_one(".enlarge")
    assert "answer" not in reading.mended("<h1>A</h1><p>No question.</p>")
