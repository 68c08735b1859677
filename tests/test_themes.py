"""Figures for light and dark pages: what is drawn can be seen on both, and maps keep their colours."""

import base64
from colorsys import rgb_to_hls
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib.colors import ListedColormap, to_rgb, to_rgba, to_rgba_array
from PIL import Image

from lib.figures import style, themes


@pytest.fixture
def drawing():
    fig, (left, right) = plt.subplots(1, 2, figsize=(4, 2), layout="none")
    (line,) = left.plot([0, 1], [0, 1], color=style.BLUE, marker="o", mfc="white")
    left.errorbar([0, 1], [0, 1], 0.1, color=style.sequence(2)[0], capsize=3, **style.EXPERIMENT)
    (star,) = left.plot([0], [0], "*", color="black")
    points = left.scatter([0, 1], [1, 0], color=["black", style.ORANGE])
    mapped = left.scatter([0, 1], [0.5, 0.5], c=[0.0, 1.0])
    field = right.imshow(np.eye(2))
    yield fig, line, star, points, mapped, field
    plt.close(fig)


def test_ink_becomes_light_paper_dark_and_maps_stay(drawing):
    fig, line, star, points, mapped, field = drawing
    fig.canvas.draw()
    before = mapped.get_facecolor().copy(), field.get_cmap()
    themes.darken(fig)
    assert to_rgb(fig.get_facecolor()) == pytest.approx(themes.BACK)
    assert min(to_rgb(star.get_markerfacecolor())) > 0.8
    assert to_rgb(line.get_markerfacecolor()) == pytest.approx(themes.BACK)
    black, orange = points.get_facecolor()
    assert min(black[:3]) > 0.8 and orange == pytest.approx(themes.ink(style.ORANGE))
    assert min(to_rgb(fig.axes[0].yaxis.label.get_color())) > 0.8
    assert mapped.get_edgecolor()[0] == pytest.approx(to_rgba(themes.RIM))  # dark points are seen
    assert (mapped.get_facecolor() == before[0]).all() and field.get_cmap() is before[1]


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_lines_can_be_seen_on_a_dark_page(color):
    most, least = max(color), min(color)
    seen = themes.ink((*color, 0.4))
    assert seen[3] == 0.4 and 0 <= min(seen) <= max(seen) <= 1
    if not (most - least < themes.GREYS and most > themes.FAINT):  # what is faint on white is here
        assert themes.contrast(seen[:3], themes.BACK) >= themes.CONTRAST - 1e-9


@given(st.tuples(*[st.floats(0, 1)] * 3), st.tuples(*[st.floats(0, 1)] * 3))
def test_colours_keep_their_order_from_dark_to_light(first, second):
    assume(min(np.ptp(first), np.ptp(second)) > themes.GREYS)
    before = [themes.contrast(color, themes.BACK) for color in (first, second)]
    after = [themes.contrast(themes.ink(color)[:3], themes.BACK) for color in (first, second)]
    assume(max(before) / min(before) > 1.2)
    assert np.argmax(after) == np.argmax(before)


@pytest.mark.parametrize("color", ["#08306b", style.BLUE, style.RED, style.sequence(4)[0]])
def test_ink_keeps_its_hue(color):
    hues = [rgb_to_hls(*found)[0] for found in (to_rgb(color), themes.ink(color)[:3])]
    assert hues[0] == pytest.approx(hues[1], abs=0.01)


def test_dark_words_on_a_pale_area_can_be_read():
    for pale in ("#7fa6cf", "#dbe6f3", "#f6ddb8", "#cfe3f2", "white"):
        assert themes.contrast(themes.area(pale)[:3], themes.ink("black")[:3]) >= themes.CONTRAST


def test_areas_of_a_map_with_few_colours_are_turned_over():
    fig, ax = plt.subplots()
    mesh = ax.pcolormesh([[0, 1]], cmap=ListedColormap(["#f6ddb8", "#cfe3f2"]))
    themes.darken(fig)
    plt.close(fig)
    assert max(map(max, to_rgba_array(mesh.get_cmap().colors)[:, :3])) < 0.4


def test_only_white_points_become_empty():
    assert themes.point("white")[:3] == pytest.approx(themes.BACK)
    assert themes.point(style.PINK) == themes.ink(style.PINK)


@pytest.mark.parametrize("palette", [style.sequence, style.diverging])
def test_families_of_colours_can_be_seen_on_both_pages(palette):
    for color in palette(7):
        assert themes.contrast(to_rgb(color), (1, 1, 1)) > 2.4
        assert themes.contrast(themes.ink(color)[:3], themes.BACK) >= themes.CONTRAST


def test_a_figure_is_drawn_twice_with_its_size(drawing):
    fig = drawing[0]
    light, known = themes.both(fig)
    with Image.open(BytesIO(light)) as image:
        assert image.size[0] // 2 == known["width"] and image.size[1] // 2 == known["height"]
        assert image.convert("L").getpixel((0, 0)) == 255
    dark = Image.open(BytesIO(base64.b64decode(known["dark"])))
    assert dark.size == image.size and dark.convert("L").getpixel((0, 0)) < 30


def test_outside_a_notebook_nothing_changes(monkeypatch):
    monkeypatch.setattr(plt, "switch_backend", None)
    themes.use()
