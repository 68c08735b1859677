"""One look for all figures: theory is a line, an experiment is points or a band."""

import matplotlib.style
import numpy as np
import seaborn as sns
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from lib.figures import themes

BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, GREY, YELLOW, SKY = sns.color_palette(
    "colorblind"
).as_hex()

EXPERIMENT = {"linestyle": "none", "marker": "o", "markersize": 4.5, "alpha": 0.8}


def use() -> None:
    """Set Matplotlib up for the book, whatever it was set
    to; call it once at the top of a chapter.
    """
    themes.use()
    matplotlib.style.use("default")
    sns.set_theme(
        context="notebook",
        style="ticks",
        palette="colorblind",
        rc={
            "font.sans-serif": [
                "DejaVu Sans",
                "Arial",
                "sans-serif",
            ],  # Matplotlib has the first, browsers others
            "figure.figsize": (7.2, 3.6),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "savefig.bbox": "tight",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "axes.labelsize": "medium",
            "font.size": 11,
            "legend.frameon": False,
            "legend.fontsize": "small",
            "lines.linewidth": 1.8,
            "grid.color": "0.5",  # of three-dimensional axes, on light and on dark pages
            "grid.linewidth": 0.5,
        },
    )


def sequence(count: int) -> list:
    """Return `count` colours that run from dark to light, for an ordered family of curves.

    The lightest third of the colour map is left out: it is hard to see on white.
    """
    return [to_rgb(color) for color in colormaps["viridis"](np.linspace(0, 0.68, count))]


def label_panels(axes: list[Axes]) -> None:
    """Letter the panels of a figure, (a), (b), and so on, before their titles."""
    axes = list(axes) if np.iterable(axes) else [axes]
    for letter, axis in zip("abcdefghij", axes, strict=False):
        title = axis.get_title()
        axis.set_title("")
        axis.set_title(f"({letter}) {title}".rstrip(), loc="left")


def diverging(count: int) -> list:
    """Return `count` colours from dark blue over grey to a lighter, deep orange.

    For a parameter that changes sign; the two ends differ in lightness, too.
    """
    return sns.blend_palette(["#08306b", BLUE, "#9a9a9a", ORANGE, "#c44e00"], count)
