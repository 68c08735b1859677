"""Figures that move: what the slider swaps makes each frame.
The site's tests move them in a browser.
"""

import html
import json
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lib.figures import sliders

VALUES = [0.0, 0.5, 1.0]
ALT = "a wave & its <dots>"


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    assert not plt.get_fignums()


def wave():
    """Return a figure with a curve, markers, a scatter, a title
    and polygons whose number changes, and its update.
    """
    fig, (left, right) = plt.subplots(1, 2, layout="constrained")
    x = np.linspace(0, 6, 50)
    (curve,), (marks,) = left.plot(x, 0 * x), left.plot([], [], "o", color="black")
    dots = left.scatter([1, 2, 3], [0, 0, 0])
    regions = right.add_collection(plt.matplotlib.collections.PolyCollection([]))
    text = right.text(0, 0, "")
    left.set(ylim=(-1, 1), xlabel="$x_1$")

    def update(value):
        curve.set_ydata(np.sin(x + value))
        marks.set_data([value], [value])
        dots.set_offsets(np.c_[[1, 2, 3], np.sin(np.array([1, 2, 3]) + value)])
        dots.set_facecolor(plt.matplotlib.colormaps["viridis"](value))
        count = 1 + round(2 * value)
        regions.set_verts(
            [[(k / 3, 0), (k / 3 + 0.3, 0), (k / 3, value + 0.1)] for k in range(count)]
        )
        text.set_text(f"{count} < 5")
        return f"{count} polygons"

    return fig, update


def wave_without_words():
    fig, update = wave()
    plt.close(fig)
    return fig, lambda value: update(value) and None


def moved(values=VALUES, **changes):
    fig, update = wave()
    try:
        return sliders.figure(fig, update, values, **{"label": "phase", "alt": ALT} | changes)
    finally:
        plt.close(fig)


def parse(figure):
    """Return the still picture and the data of its script."""
    svg = re.search(r"<svg.*</svg>", figure.html, re.DOTALL)[0]
    data = re.search(r'<script type="application/json">(.*?)</script>', figure.html, re.DOTALL)[1]
    return ElementTree.fromstring(svg), json.loads(data)


def at_frame(figure, frame):
    """Do what the script does."""
    still, data = parse(figure)
    for part, name, states in data["tracks"]:
        element = still.find(f".//*[@data-part='{part}']")
        state = states[states[frame]] if isinstance(states[frame], int) else states[frame]
        if name == sliders.CONTENTS:
            changed = ElementTree.fromstring(f"<g>{state}</g>")
            element.text, element[:] = changed.text, list(changed)
        elif state is None:
            element.attrib.pop(name, None)
        else:
            element.set(name, state)
    return still


def drawn(value):
    """Return Matplotlib's own drawing at one value, with the same layout."""
    fig, update = wave()
    update(VALUES[0])
    fig.canvas.draw()
    fig.set_layout_engine("none")
    text = sliders._draw(fig, update, value)
    plt.close(fig)
    return ElementTree.fromstring(text)


def numbers(element):
    """List the coordinates in a tree."""
    places = [
        value
        for part in element.iter()
        for name, value in sorted(part.items())
        if name in ("d", "x", "y")
    ]
    return [
        float(number) for place in places for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", place)
    ]


def kinds(element):
    return [(part.tag.rpartition("}")[2], (part.text or "").strip()) for part in element.iter()]


@pytest.mark.parametrize(("frame", "start"), [(0, 1.0), (1, 0.0), (2, 0.5)])
def test_the_script_makes_each_frame_from_the_still_picture(frame, start):
    own, ours = drawn(VALUES[frame]), at_frame(moved(start=start), frame)
    own.remove(own[0])  # Matplotlib's style sheet
    assert kinds(ours) == kinds(own)
    np.testing.assert_allclose(numbers(ours), numbers(own), atol=0.0051)
    for part, other in zip(ours.iter(), own.iter(), strict=True):
        assert part.get("transform") == other.get("transform")
        colour = r"fill: (?!#000000)(#\w{6})"
        assert re.findall(colour, part.get("style", "")) == re.findall(
            colour, other.get("style", "")
        )


def test_ids_are_unique_and_every_reference_leads_somewhere():
    page = moved().html + moved(alt="another").html
    assert page.startswith(moved().html)  # the same figure gives the same text
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    references = re.findall(r'(?:url\(|href=\\?"|for=")#?([\w-]+)', page)
    assert references and set(references) <= set(ids)


def test_words_follow_the_page_and_the_picture_has_its_text():
    figure = moved(label="a < b", format="{:+g}")
    still, _ = parse(figure)
    assert (still.get("role"), repr(figure)) == ("img", ALT)
    assert still.get("aria-label") == f"{ALT} 1 polygons"
    assert f">{html.escape('a < b')}</label>" in figure.html
    assert not re.search("font-family|<style|xmlns|#000000|<metadata", figure.html)
    assert "−1" in moved([-1, 1]).html  # a minus, not a hyphen
    figure = moved(start=0.5, format="</script><!{:g}")
    assert figure.html.count("</script>") == 2 and "<!" not in figure.html
    assert parse(figure)[1]["values"][1] == "</script><!0.5"
    assert 'min="0" max="2" value="1"' in figure.html and "2 < 5" in [
        part.text for part in parse(figure)[0].iter()
    ]


def test_colours_have_twins_for_dark_pages_behind_themselves():
    styles = re.findall(r'style="([^"]*)"', moved().html)
    assert any(
        re.search(r"stroke: #[0-9a-f]{6}; stroke: light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\)", one)
        for one in styles
    )
    assert not any("#000000" in one for one in styles)


def test_what_is_shown_is_said():
    with pytest.raises(TypeError, match="update returns no words"):
        sliders.figure(*wave_without_words(), VALUES, label="phase", alt=ALT)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"values": [1.0]}, "values are .*: want at least two"),
        ({"start": 0.4}, "start 0.4 is not one of the values; the nearest is 0.5"),
    ],
)
def test_values_and_start_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        moved(**changes)


def test_a_heavy_figure_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(sliders, "MOST_BYTES", 10_000)
    with pytest.raises(
        ValueError, match=r"takes \d+ kB, more than 10: take fewer values \(now 3\)"
    ):
        moved()
