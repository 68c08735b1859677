"""Figures that move: a Matplotlib figure as inline SVG, with a
slider that swaps what differs between its frames.

The still picture is the frame shown first: without JavaScript and in print it is all there is.
Words are text, not outlines: they can be found and selected, weigh little, and take the font and
the colour of the page, as axes and everything black do. The script (`sliders.js`, 1 kB) travels in
every output, so that the slider works wherever the notebook does, also in Jupyter.
"""

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lib.checks import takes, vector, words
from lib.figures import themes

MOST_BYTES = 300_000
CONTENTS = ""  # stands for an element's contents where others name an attribute
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
COLOR = re.compile(r"((fill|stroke): (#[0-9a-f]{6}))")
REFERENCE = re.compile(r"#([\w.-]+)")
SETTINGS: dict[Any, str] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "moving",
    "savefig.bbox": "standard",
}
NO_METADATA = dict.fromkeys(("Date", "Format", "Type", "Creator"))


@dataclass(frozen=True)
class Moving:
    """A figure with its slider, as HTML; the notebook shows it, and `alt` where it
    shows no HTML.
    """

    html: str
    alt: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.alt


@takes(values=vector, label=words, alt=words)
def figure(
    fig: Figure,
    update: Callable[[float], str],
    values: ArrayLike,
    *,
    label: str,
    alt: str,
    start: float | None = None,
    format: str = "{:g}",
) -> Moving:
    r"""Draw `fig` once for each value and return it with a slider
    between the frames; let it be the last line of the cell.

    Only artists should change, by `set_data`, `set_offsets`, `set_verts` and the like; their number
    may. Axes whose ticks or limits change are swapped as a whole, which is heavy. The layout is
    that of the first frame shown. Colours get twins for dark pages; black becomes the colour of
    the page's text. `fig` is closed. A result above 300 kB is a ValueError.

    Parameters
    ----------
    fig : the figure, with all its artists
    update : called with a value, sets the artists' data, and returns in a few words what they show,
        such as "half the target after 45"; that is said with the value and behind `alt`
    values : (K,) numbers, at least two, one for each frame
    label : what the slider changes
    alt : what the picture shows, in words, for those who do not see it
    start : the value shown first, one of `values`; by default the first
    format : how a value is written, as for `str.format`
    """
    if len(values) < 2:
        raise ValueError(f"values are {values}: want at least two")
    start = values[0] if start is None else start
    first = int(np.argmin(np.abs(values - start)))
    if not np.isclose(values[first], start):
        raise ValueError(
            f"start {start:g} is not one of the values; the nearest is {values[first]:g}"
        )
    written = [format.format(value).replace("-", "−") for value in values]
    said = [update(value) for value in values]
    if not all(isinstance(words, str) and words for words in said):
        raise TypeError("update returns no words: want what the frame shows, for those who listen")
    update(values[first])
    fig.canvas.draw()
    fig.set_layout_engine("none")
    texts = [_draw(fig, update, value) for value in values]
    plt.close(fig)
    prefix = "m" + hashlib.sha256("".join([alt, label, *texts]).encode()).hexdigest()[:8]
    frames = [_clean(text, prefix) for text in texts]
    still, tracks = frames[first], _number(_changes(frames), first)
    still.attrib |= {
        "role": "img",
        "aria-label": f"{alt} {said[first]}",
        "width": f"{fig.get_figwidth() * fig.dpi:.0f}",
        "style": "max-width:100%;height:auto;fill:currentColor;stroke-linejoin:round",
    }
    data = {"alt": alt, "values": written, "said": said, "tracks": tracks}
    spoken = f"{written[first]}: {said[first]}"
    page = _page(still, data, _row(prefix, label, written, spoken, first))
    size = len(page.encode())
    if size > MOST_BYTES:
        raise ValueError(
            f"this moving figure takes {size / 1000:.0f} kB, more than {MOST_BYTES / 1000:.0f}: "
            "take fewer values (now"
            f" {len(values)}), fewer points per curve, or let less of the figure change"
        )
    return Moving(page, alt)


def _draw(fig: Figure, update: Callable[[float], object], value: float) -> str:
    """Return one frame as Matplotlib writes it."""
    update(value)
    text = StringIO()
    with plt.rc_context(SETTINGS):
        fig.savefig(text, format="svg", transparent=True, metadata=NO_METADATA)
    return text.getvalue()


def _clean(text: str, prefix: str) -> Element:
    """Parse a frame; round its coordinates, and make its style
    that of the page and its ids the figure's own.
    """
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


def _attribute(name: str, value: str, ids: dict[Any, str]) -> dict[str, str]:
    if name == "id":
        return {"id": ids[value]} if value in ids else {}
    if name in ("d", "x", "y"):
        value = re.sub(
            r"-?\d+\.\d+", lambda match: f"{round(float(match[0]), 2) + 0:g}", value
        )  # + 0: no -0
        value = " ".join(value.split())
        return {
            name: value if re.search("[CQ]", value) else value.replace(" L ", " ")
        }  # after M, pairs are lines
    if name == "style":
        value = re.sub(r" ?font-family:[^;]*;?", "", value)
        for ink in {to_hex("black"), to_hex(plt.rcParams["text.color"])}:
            value = value.replace(ink, "currentColor")
        value = COLOR.sub(_both, value)
    return {name: REFERENCE.sub(lambda match: "#" + ids.get(match[1], match[1]), value)}


@cache
def _dark(kind: str, color: str) -> str:
    return to_hex((themes.ink if kind == "stroke" else themes.area)(color))


def _both(found: re.Match) -> str:
    """Add to a colour the one for dark pages; a browser that does not know both keeps the first."""
    light, kind, color = found.groups()
    dark = _dark(kind, color)
    return light if dark == color else f"{light}; {kind}: light-dark({color}, {dark})"


def _changes(
    versions: Sequence[Element],
) -> Iterator[tuple[Sequence[Element], str, list[str | None]]]:
    """Compare one element's versions, one per frame: yield them
    with the attribute that changes and its states.

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
    return html.escape(element.text or "", quote=False) + "".join(
        ElementTree.tostring(child, "unicode") for child in element
    )


def _number(changes: Iterator, first: int) -> list[list]:
    """Give the changing parts of the still picture numbers; write
    a state seen before as the number of its frame.
    """
    tracks = []
    for versions, name, states in list(changes):
        part = versions[first].attrib.setdefault("data-part", str(len(tracks)))
        written = [
            states.index(state) if state in states[:k] else state for k, state in enumerate(states)
        ]
        tracks.append([part, name, written])
    return tracks


def _page(still: Element, data: dict, row: str) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("</", "<\\/").replace(
        "<!", "\\u003c!"
    )  # nothing may end or comment out the script
    return (
        f'<div class="moving">\n{ElementTree.tostring(still, "unicode")}\n{row}\n'
        f'<script type="application/json">{text}</script>\n<script>\n{SCRIPT}</script>\n</div>'
    )


def _row(name: str, label: str, written: Sequence[str], spoken: str, first: int) -> str:
    """Write the slider with its label and its value."""
    value = html.escape(written[first])
    return (
        f'<div class="moving-slider" hidden><label for="{name}">{html.escape(label)}</label>\n'
        f'<input type="range" id="{name}" min="0" max="{len(written) - 1}" value="{first}"'
        f' aria-valuetext="{html.escape(spoken)}">\n'
        f'<output for="{name}" aria-live="off">{value}</output></div>'
    )
