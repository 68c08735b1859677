"""Pictures say how large they are, come late, and open; that drawings are told from maps is tested in the browser."""

from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw

from lib.site import pictures


@pytest.fixture
def app(tmp_path):
    """A builder with a drawing."""
    drawing = Image.new("RGB", (300, 200), "white")
    ImageDraw.Draw(drawing).line((0, 0, 300, 200), "black")
    drawing.save(tmp_path / "a.png")
    return SimpleNamespace(srcdir=tmp_path, builder=SimpleNamespace(images={"a.png": "a drawing.png"}))


def placed(app, body):
    context = {"body": body}
    pictures.place(app, "book/one", "page.html", context, None)
    return context["body"]


def test_a_drawing_has_its_size_and_opens_and_may_be_turned_over(app):
    assert placed(app, '<p><img alt="a &gt; b" src="../_images/a%20drawing.png" /></p>') == (
        '<p><a class="zoom" href="../_images/a%20drawing.png" title="Open at full size"><img alt="a &gt; b"'
        ' src="../_images/a%20drawing.png" width="300" height="200" loading="lazy" decoding="async" class="drawn" /></a></p>'
    )


@pytest.mark.parametrize("image", ['<img src="../_images/other.png"/>', '<img src="../_images/a%20drawing.png" width="5"/>'])
def test_other_pictures_are_left_as_they_are(app, image):
    assert placed(app, image) == image
