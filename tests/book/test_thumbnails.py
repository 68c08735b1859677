"""The chapters' small pictures come from the executed notebooks."""

import json
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from lib.book import thumbnails, toc

ROOT = Path(__file__).parents[2]


def png(size, colour="white"):
    written = BytesIO()
    Image.new("RGB", size, colour).save(written, "PNG")
    return written.getvalue()


def test_a_small_picture_is_the_left_part_in_the_shape_of_a_card():
    panels = Image.new("RGB", (900, 300), "white")
    panels.paste("black", (0, 0, 480, 300))
    written = BytesIO()
    panels.save(written, "PNG")
    small = Image.open(BytesIO(thumbnails.small(written.getvalue())))
    assert small.format == "WEBP" and small.size == (thumbnails.WIDTH, thumbnails.HEIGHT)
    assert small.convert("L").getextrema()[1] < 20  # the first panel alone


@pytest.mark.parametrize("size", [(10, 500), (500, 10), (1, 1)])
def test_pictures_of_any_shape_become_small_ones(size):
    assert Image.open(BytesIO(thumbnails.small(png(size)))).size == (thumbnails.WIDTH, thumbnails.HEIGHT)


def test_a_chapter_shows_its_first_figure_and_one_without_shows_none(tmp_path):
    (tmp_path / "book").mkdir()
    files = "".join(f"- file: book/{name}.ipynb\n" for name in ("one", "two", "new"))
    (tmp_path / "_toc.yml").write_text(f"root: book/index\nchapters:\n{files}")
    figure = {"mystnb": {"figure": {"name": "fig"}, "image": {"alt": 'a "curve"'}}}
    outputs = [{"data": {"image/png": b64encode(png((30, 20))).decode()}}]
    cells = [{"metadata": {}, "outputs": outputs}, {"metadata": figure, "outputs": outputs}, {"metadata": figure}]
    for name, part in (("one", cells), ("two", [])):
        (tmp_path / "book" / f"{name}.ipynb").write_text(json.dumps({"cells": part}))
    for name in ("one", "two", "new"):
        (tmp_path / "book" / f"{name}.md").write_text(f"# On <{name}>\n")
    html = thumbnails.cards(tmp_path)
    assert html.count("<img") == 1 and 'class="drawn"' in html and 'alt="a &quot;curve&quot;"' in html
    assert '<a href="new.html"><span>3. On &lt;new&gt;</span></a>' in html
    app = SimpleNamespace(srcdir=tmp_path, outdir=tmp_path / "html", builder=SimpleNamespace(format="html"))
    thumbnails.write(app, RuntimeError())
    assert not app.outdir.exists()
    thumbnails.write(app, None)
    assert [path.name for path in app.outdir.rglob("*.webp")] == ["one.webp"]


@pytest.mark.parametrize("chapter", toc.chapters(ROOT))
def test_each_chapter_of_the_book_has_a_light_picture(chapter):
    picture, words = thumbnails.figure(ROOT, chapter)
    assert words and len(thumbnails.small(picture)) < 12_000
