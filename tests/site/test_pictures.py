"""Pictures say how large they are, come late, open, and drawings are told from maps."""

from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw

from lib.site import pictures


@pytest.fixture
def app(tmp_path):
    """A builder with a drawing and a map."""
    drawing = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(drawing).line((0, 0, 300, 200), "black")
    drawing.save(tmp_path / "a.png")
    Image.new("RGB", (30, 20), "red").save(tmp_path / "b.png")
    images = {"a.png": "drawing.png", "b.png": "a map.png"}
    return SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(images=images))


def placed(app, body):
    context = {"body": body}
    pictures.place(app, "book/one", "page.html", context, None)
    return context["body"]


def test_a_drawing_has_its_size_and_opens_and_may_be_turned_over(app):
    assert placed(app, '<p><img alt="a &gt; b" src="../_images/drawing.png" /></p>') == (
        '<p><a class="zoom" href="../_images/drawing.png" title="Open at full size"><img alt="a &gt; b"'
        ' src="../_images/drawing.png" width="300" height="200" loading="lazy" decoding="async" class="drawn" /></a></p>'
    )


def test_a_map_keeps_its_colours(app):
    found = placed(app, '<img alt="" src="../_images/a%20map.png"/>')
    assert 'width="30" height="20"' in found and "drawn" not in found


@pytest.mark.parametrize(
    "image",
    [
        '<img alt="x" src="../_images/other.png"/>',
        '<img alt="x" src="logo.svg"/>',
        '<img src="../_images/drawing.png" width="5"/>',
    ],
)
def test_other_pictures_are_left_as_they_are(app, image):
    assert placed(app, image) == image


def test_a_page_without_a_body_stays_empty(app):
    context = {}
    pictures.place(app, "search", "search.html", context, None)
    assert context == {"body": ""}
