"""What is mended in a page: numbers stay whole, tables scroll,
claims are marked, pictures have their size and open.
"""

import pytest
from PIL import Image, ImageDraw

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


def test_tables_scroll_those_of_claims_are_marked_and_thebe_goes():
    claims = '<table class="table">\n<thead>\n<tr class="row-odd"><th><p>claim</p></th>\n<th><p>verdict</p></th></tr></thead></table>'
    errata = claims.replace("claim", "place")
    thebe = "<script type=\"text/x-thebe-config\">\n{}\n</script>\n<script>kernelName = 'python3'</script>"
    box = '<div class="scrolling" tabindex="0">{}</div>'
    assert reading.mended(
        f'{claims}{errata}<div role="list" class="citation-list">two</div>{thebe}'
    ) == (
        box.format(claims.replace('"table"', '"table ledger"'))
        + box.format(errata)
        + '<div class="citation-list">two</div>'
    )


def test_a_drawing_has_its_size_and_opens(tmp_path):
    drawing = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(drawing).line((0, 0, 300, 200), "black")
    drawing.save(tmp_path / "a.png")
    files, other = {"a drawing.png": tmp_path / "a.png"}, '<img src="../_images/other.png"/>'
    assert pictures.placed(
        '<p><img alt="a &gt; b" src="../_images/a%20drawing.png" /></p>' + other, files
    ) == (
        '<p><a class="zoom" href="../_images/a%20drawing.png" title="Open at full size"><img alt="a &gt; b"'
        ' src="../_images/a%20drawing.png" width="300" height="200" loading="lazy" decoding="async" class="drawn" /></a></p>'
        + other
    )
