"""Figures that move: a Matplotlib figure as inline SVG, with a slider, or two, that swaps what differs between its frames.

The still picture is the frame shown first: without JavaScript and in print it is all there is. Words are text, not outlines:
they can be found and selected, weigh little, and take the font and the colour of the page, as axes and everything black do.
The script (`sliders.js`, 1 kB) travels in every output, so that the slider works wherever the notebook does, also in Jupyter.
"""

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import product
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lib.checks import Check, instance, kind, number, optional, takes, vector, words

MOST_BYTES = 300_000
CONTENTS = ""  # stands for an element's contents where others name an attribute
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
REFERENCE = re.compile(r"#([\w.-]+)")
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "moving", "savefig.bbox": "standard"}
NO_METADATA = dict.fromkeys(("Date", "Format", "Type", "Creator"))


def _each(check: Check) -> Check:
    """Return a check of a pair, each half by itself."""

    def pair(name: str, value: tuple) -> tuple:
        if len(kind(name, value, tuple, list)) != 2:
            raise ValueError(f"{name} is {value!r}: want two, one for each slider")
        return tuple(check(name, half) for half in value)

    return pair


@dataclass(frozen=True)
class Moving:
    """A figure with its sliders, as HTML; the notebook shows it, and `alt` where it shows no HTML."""

    html: str
    alt: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.alt


@takes(fig=instance(Figure), values=vector, label=words, alt=words, start=optional(number), format=words)
def figure(
    fig: Figure,
    update: Callable[[float], object],
    values: ArrayLike,
    *,
    label: str,
    alt: str,
    start: float | None = None,
    format: str = "{:g}",
) -> Moving:
    r"""Draw `fig` once for each value and return it with a slider between the frames; let it be the last line of the cell.

    Only artists should change, by `set_data`, `set_offsets`, `set_verts` and the like; their number may. Axes whose ticks or
    limits change are swapped as a whole, which is heavy. The layout is that of the first frame shown. Colours should be legible
    on white and on black; black itself becomes the colour of the page's text. `fig` is closed. A result above 300 kB is
    a ValueError.

    Parameters
    ----------
    fig : the figure, with all its artists
    update : called with a value, sets the artists' data
    values : (K,) numbers, at least two, one for each frame
    label : what the slider changes
    alt : what the picture shows, in words, for those who do not see it
    start : the value shown first, one of `values`; by default the first
    format : how a value is written, as for `str.format`
    """
    return _moving(fig, update, [_slider("values", values, label, start, format)], alt)


@takes(
    fig=instance(Figure),
    values=vector,
    others=vector,
    labels=_each(words),
    alt=words,
    start=optional(_each(number)),
    formats=_each(words),
)
def plane(
    fig: Figure,
    update: Callable[[float, float], object],
    values: ArrayLike,
    others: ArrayLike,
    *,
    labels: tuple[str, str],
    alt: str,
    start: tuple[float, float] | None = None,
    formats: tuple[str, str] = ("{:g}", "{:g}"),
) -> Moving:
    r"""Draw `fig` once for each pair of values and return it with two sliders, one for each direction; else as `figure`.

    There are K × L frames: take few values and let little change, or the result is too heavy.

    Parameters
    ----------
    fig : the figure, with all its artists
    update : called with a value and another, sets the artists' data
    values : (K,) numbers, at least two, for the first slider
    others : (L,) numbers, at least two, for the second slider
    labels : what the sliders change
    alt : what the picture shows, in words, for those who do not see it
    start : the pair shown first; by default the first of each
    formats : how the values are written, as for `str.format`
    """
    starts = start or (None, None)
    both = zip(("values", "others"), (values, others), labels, starts, formats, strict=True)
    return _moving(fig, update, [_slider(*one) for one in both], alt)


@dataclass(frozen=True)
class _Slider:
    values: Sequence[float]
    label: str
    first: int  # the index shown first
    written: list[str]  # the values, as they are read


def _slider(name: str, values: Sequence[float], label: str, start: float | None, format: str) -> _Slider:
    """Check what belongs to one slider."""
    if len(values) < 2:
        raise ValueError(f"{name} are {values}: want at least two")
    start = values[0] if start is None else start
    first = int(np.argmin(np.abs(values - start)))
    if not np.isclose(values[first], start):
        raise ValueError(f"start {start:g} is not one of the {name}; the nearest is {values[first]:g}")
    return _Slider(values, label, first, [format.format(value).replace("-", "−") for value in values])


def _moving(fig: Figure, update: Callable[..., object], sliders: Sequence[_Slider], alt: str) -> Moving:
    """Draw the frames, those of the last slider next to each other."""
    update(*(slider.values[slider.first] for slider in sliders))
    fig.canvas.draw()
    fig.set_layout_engine("none")
    texts = [_draw(fig, update, point) for point in product(*(slider.values for slider in sliders))]
    plt.close(fig)
    shape = [len(slider.values) for slider in sliders]
    first = int(np.ravel_multi_index([slider.first for slider in sliders], shape))
    labels = [slider.label for slider in sliders]
    prefix = "m" + hashlib.sha256("".join([alt, *labels, *texts]).encode()).hexdigest()[:8]
    frames = [_clean(text, prefix) for text in texts]
    still, tracks = frames[first], _number(_changes(frames), first)
    still.attrib |= {
        "role": "img",
        "aria-label": alt,
        "width": f"{fig.get_figwidth() * fig.dpi:.0f}",
        "style": "max-width:100%;height:auto;fill:currentColor;stroke-linejoin:round",
    }
    page = _page(still, tracks, sliders, prefix)
    size = len(page.encode())
    if size > MOST_BYTES:
        raise ValueError(
            f"this moving figure takes {size / 1000:.0f} kB, more than {MOST_BYTES / 1000:.0f}: take fewer values (now"
            f" {' × '.join(map(str, shape))}), fewer points per curve, or let less of the figure change"
        )
    return Moving(page, alt)


def _draw(fig: Figure, update: Callable[..., object], point: Sequence[float]) -> str:
    """Return one frame as Matplotlib writes it."""
    update(*point)
    text = StringIO()
    with plt.rc_context(SETTINGS):
        fig.savefig(text, format="svg", transparent=True, metadata=NO_METADATA)
    return text.getvalue()


def _clean(text: str, prefix: str) -> Element:
    """Parse a frame; round its coordinates, and make its style that of the page and its ids the figure's own."""
    root = ElementTree.fromstring(text)
    names = [element.get("id") for element in root.iter() if f"#{element.get('id')}" in text]
    ids = {name: f"{prefix}-{number}" for number, name in enumerate(names)}
    root.remove(root[0])  # a style sheet that would hold for the whole page
    for element in root.iter():
        element.tag = _local(element.tag)
        old, element.attrib = element.attrib, {}
        for name, value in old.items():
            element.attrib |= _attribute(_local(name), value, ids)
        element.text, element.tail = (element.text or "").strip(), None
    for name in ("height", "version"):
        del root.attrib[name]
    return root


def _local(name: str) -> str:
    """Drop the namespace: HTML knows SVG without."""
    return name.rpartition("}")[2]


def _attribute(name: str, value: str, ids: dict[str, str]) -> dict[str, str]:
    if name == "id":
        return {"id": ids[value]} if value in ids else {}
    if name in ("d", "x", "y"):
        value = re.sub(r"-?\d+\.\d+", lambda match: f"{round(float(match[0]), 2) + 0:g}", value)  # + 0: no -0
        value = " ".join(value.split())
        return {name: value if re.search("[CQ]", value) else value.replace(" L ", " ")}  # after M, pairs are lines
    if name == "style":
        value = re.sub(r" ?font-family:[^;]*;?", "", value)
        for ink in {to_hex("black"), to_hex(plt.rcParams["text.color"])}:
            value = value.replace(ink, "currentColor")
    return {name: REFERENCE.sub(lambda match: "#" + ids.get(match[1], match[1]), value)}


def _changes(versions: Sequence[Element]) -> Iterator[tuple[Sequence[Element], str, list[str | None]]]:
    """Compare one element's versions, one per frame: yield them with the attribute that changes and its states.

    Where the children differ in kind or number, the element's contents change as a whole.
    """
    for name in dict.fromkeys(name for version in versions for name in version.keys()):  # noqa: SIM118 an Element, not a dict
        states = [version.get(name) for version in versions]
        if len(set(states)) > 1:
            yield versions, name, states
    if len({(version.text, *(child.tag for child in version)) for version in versions}) > 1:
        yield versions, CONTENTS, [_inner(version) for version in versions]
    else:
        for children in zip(*versions, strict=True):
            yield from _changes(children)


def _inner(element: Element) -> str:
    return html.escape(element.text, quote=False) + "".join(ElementTree.tostring(child, "unicode") for child in element)


def _number(changes: Iterator, first: int) -> list[list]:
    """Give the changing parts of the still picture numbers; write a state seen before as the number of its frame."""
    tracks = []
    for versions, name, states in list(changes):
        part = versions[first].attrib.setdefault("data-part", str(len(tracks)))
        written = [states.index(state) if state in states[:k] else state for k, state in enumerate(states)]
        tracks.append([part, name, written])
    return tracks


def _page(still: Element, tracks: list[list], sliders: Sequence[_Slider], prefix: str) -> str:
    data = {"values": [slider.written for slider in sliders], "tracks": tracks}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("</", "<\\/").replace("<!", "\\u003c!")  # nothing may end or comment out the script
    rows = "\n".join(_row(slider, prefix + "-second" * number) for number, slider in enumerate(sliders))
    return (
        f'<div class="moving">\n{ElementTree.tostring(still, "unicode")}\n{rows}\n'
        f'<script type="application/json">{text}</script>\n<script>\n{SCRIPT}</script>\n</div>'
    )


def _row(slider: _Slider, name: str) -> str:
    value, label, last = html.escape(slider.written[slider.first]), html.escape(slider.label), len(slider.values) - 1
    return (
        f'<div class="moving-slider" hidden><label for="{name}">{label}</label>\n'
        f'<input type="range" id="{name}" min="0" max="{last}" value="{slider.first}" aria-valuetext="{value}">\n'
        f'<output for="{name}" aria-live="off">{value}</output></div>'
    )
