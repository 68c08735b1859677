"""Figures for light and for dark pages, each with twice the pixels of a plain screen.

On the dark page paper and pale areas become dark and ink becomes light; what would be hard to see
is made lighter, its hue kept. Heat maps and photographs stay as they are.
"""

import base64
import sys
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors
from matplotlib.artist import Artist
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

BACK = np.array(colors.to_rgb("#121212"))  # of the dark page
CONTRAST = 4.5  # the least of ink on it, as for text
PALE = 0.75  # the lightness above which an area is turned over
GREYS = 0.1  # the largest difference of the three colours of a grey
WHITE = 0.97
SOFT = 0.9  # at most, of what was black
DENSITY = 2  # pixels for each of a plain screen


def use() -> None:
    """Make a notebook draw each figure for both pages; outside a notebook, do nothing."""
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook else None
    if shell is not None:
        plt.switch_backend(plt.get_backend())  # loads it: it sets a format of its own then
        shell.display_formatter.formatters["image/png"].for_type(Figure, both)


def both(fig: Figure) -> tuple[bytes, dict[str, Any]]:
    """Return a figure as PNG, with its size on a plain screen and its dark twin as metadata.

    Afterwards the figure itself has the dark colours.
    """
    light = _png(fig)
    darken(fig)
    height, width = (int.from_bytes(light[at : at + 4]) // DENSITY for at in (20, 16))
    dark = base64.b64encode(_png(fig)).decode()
    return light, {"width": width, "height": height, "dark": dark}


def _png(fig: Figure) -> bytes:
    drawn = BytesIO()
    laid_out = fig.get_layout_engine() is not None
    fig.canvas.print_figure(drawn, dpi=DENSITY * fig.dpi, bbox_inches="tight")
    if not laid_out:
        fig.set_layout_engine("none")  # printing has put the default one there
    return drawn.getvalue()


def darken(fig: Figure) -> None:
    """Give a figure the colours of a dark page."""
    for part in fig.findobj():
        if isinstance(part, Text):
            part.set_color(ink(part.get_color()))
        elif isinstance(part, Line2D):
            edge, face = part.get_markeredgecolor(), part.get_markerfacecolor()
            part.set_color(ink(part.get_color()))
            part.set_markeredgecolor(ink(edge))
            part.set_markerfacecolor(area(face))
        elif isinstance(part, Patch | Collection) and not _is_mapped(part):
            edges, faces = part.get_edgecolor(), part.get_facecolor()
            part.set_edgecolor(ink(edges))
            part.set_facecolor(area(faces))


def _is_mapped(part: Artist) -> bool:
    """Whether the colours of a part are those of a map."""
    return isinstance(part, ScalarMappable) and part.get_array() is not None


def ink(color: Any) -> Any:
    """Return the colour or colours of lines and words for a dark page."""
    return _each(color, _lifted)


def area(color: Any) -> Any:
    """Return the colour or colours of areas for a dark page."""
    return _each(color, _turned)


def _each(color: Any, change: Any) -> Any:
    if isinstance(color, str) and color in ("none", "auto"):
        return color
    changed = [tuple(change(one)) for one in colors.to_rgba_array(color)]
    return changed[0] if len(changed) == 1 else changed


def _lifted(color: np.ndarray) -> np.ndarray:
    """Turn over what would be hard to see, and the pale grey of lines that are meant to be faint.

    White, which is drawn on maps, and what can be seen stay. So the darkest of several blues
    becomes the lightest, and all remain blue.
    """
    most, least = color[:3].max(), color[:3].min()
    faint = most - least < GREYS and PALE < most < WHITE
    if not faint and contrast(color[:3], BACK) >= CONTRAST:
        return color
    turned = _over(color)
    for share in np.linspace(0, 1, 51):
        mixed = (1 - share) * turned[:3] + share
        if faint or contrast(mixed, BACK) >= CONTRAST:
            break
    return np.append(mixed, color[3])


def _turned(color: np.ndarray) -> np.ndarray:
    """Turn a pale colour over, white to the page's; lift others."""
    if color[:3].max() + color[:3].min() < 2 * PALE:
        return _lifted(color)
    return np.append(BACK + (1 - BACK) * _over(color)[:3], color[3])


def _over(color: np.ndarray) -> np.ndarray:
    """Turn a colour over: its lightness becomes one minus itself, as in HLS; black a soft white."""
    lightness = (color[:3].max() + color[:3].min()) / 2
    return np.append(np.minimum(color[:3] + 1 - 2 * lightness, SOFT), color[3])


def contrast(first: Any, second: Any) -> float:
    """Return the contrast of two colours by the Web Content Accessibility Guidelines, 1 to 21."""
    darker, lighter = sorted(_luminance(np.asarray(one)) for one in (first, second))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: np.ndarray) -> float:
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
