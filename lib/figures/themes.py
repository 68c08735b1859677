"""Figures for light and for dark pages, each with twice the pixels of a plain screen.

On the dark page paper and pale areas become dark, and black becomes white. Colours keep their hue
and their order from dark to light, but all are light enough. Heat maps and photographs stay as they
are.
"""

import base64
import sys
from colorsys import hls_to_rgb, rgb_to_hls
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors
from matplotlib.collections import Collection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from mpl_toolkits.mplot3d.axis3d import Axis as Axis3D

BACK = np.array(colors.to_rgb("#121212"))  # of the dark page
CONTRAST = 4.5  # the least of ink on it, as for text
PLAIN = 7  # the contrast from which ink stays as it is
VIVID = 0.8  # the largest saturation of ink that is made lighter
LIGHTER = np.linspace(0, 1, 201)  # shares of the way to white that are tried
PALE = 0.63  # the lightness above which an area is turned over
FAINT = 0.75  # and a grey line
FEW = 8  # so many colours at most are those of areas, not of a heat map
GREYS = 0.1  # the largest difference of the three colours of a grey
WHITE = 0.97
SOFT = 0.9  # at most, of what was black
RIM = "0.6"  # of points whose colours are those of a map
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
            part.set_markerfacecolor(point(face))
        elif isinstance(part, Collection) and part.get_array() is not None:
            _darken_mapped(part)
        elif isinstance(part, Patch | Collection):
            edges, faces = part.get_edgecolor(), part.get_facecolor()
            inside = point if isinstance(part, PathCollection) else area
            part.set_edgecolor((inside if np.array_equal(edges, faces) else ink)(edges))
            part.set_facecolor(inside(faces))
        elif isinstance(part, Axis3D):
            part.pane.set_facecolor(area(part.pane.get_facecolor()))


def _darken_mapped(part: Collection) -> None:
    """Change the colours of a map only if they fill areas, or points that could not be seen."""
    colours = part.get_cmap()
    if isinstance(colours, colors.ListedColormap) and colours.N <= FEW:
        part.set_cmap(colors.ListedColormap(area(colours.colors)))
    elif isinstance(part, PathCollection):
        part.set_edgecolor(RIM)
        part.set_linewidth(0.4)


def ink(color: Any) -> Any:
    """Return the colour or colours of lines and words for a dark page."""
    return _each(color, _lifted)


def area(color: Any) -> Any:
    """Return the colour or colours of areas for a dark page."""
    return _each(color, _turned)


def point(color: Any) -> Any:
    """Return the colour or colours of the inside of points, which white leaves empty, likewise."""
    return _each(color, lambda one: (_turned if _is_grey(one) else _lifted)(one))


def _each(color: Any, change: Any) -> Any:
    if isinstance(color, str) and color in ("none", "auto"):
        return color
    changed = [tuple(change(one)) for one in colors.to_rgba_array(color)]
    return changed[0] if len(changed) == 1 else changed


def _lifted(color: np.ndarray) -> np.ndarray:
    """Make a colour lighter, the more the darker it is; turn over a grey that is hard to see.

    Contrasts on the dark page from 1 to `PLAIN` become those from `CONTRAST` to it, in equal
    ratios. White, which is drawn on maps, stays, and the pale grey of faint lines remains faint.
    """
    seen = contrast(color[:3], BACK)
    if _is_grey(color):
        faint = FAINT < color[:3].max() < WHITE
        return _over(color) if faint or seen < CONTRAST else color
    wanted = CONTRAST * (PLAIN / CONTRAST) ** (np.log(seen) / np.log(PLAIN))
    return color if seen >= PLAIN else np.append(_lighter(color[:3], wanted), color[3])


def _is_grey(color: np.ndarray) -> bool:
    return np.ptp(color[:3]) < GREYS


def _lighter(color: np.ndarray, wanted: float) -> np.ndarray:
    """Return the darkest colour of this hue with the contrast that is wanted on the dark page."""
    hue, lightness, saturation = rgb_to_hls(*color)
    for share in LIGHTER:
        found = hls_to_rgb(hue, lightness + share * (1 - lightness), min(saturation, VIVID))
        if contrast(found, BACK) >= wanted:
            break
    return np.array(found)


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
