"""What is measured on the representations of two and of several points."""

from functools import partial

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import matrix, size, takes, whole
from lib.networks import Observe


def squared_distances(points: Tensor) -> Tensor:
    """Return the squared distances between all pairs of `points`
    (..., n, d), shape (..., n, n); NaN where a point is.
    """
    return ((points.unsqueeze(-2) - points.unsqueeze(-3)) ** 2).sum(-1)


@takes(targets=matrix)
def two_points(targets: ArrayLike, first: int = 0, second: int = 1) -> Observe:
    """Observe what the two-point theory speaks about, for the `first`
    and the `second` of the points with targets (n, c).

    It is for `lib.training.train`: dh2 = ‖dh‖² (layer), dy2 = ‖dy‖² and w = ‖dy‖² − dy·(y₂ − y₁).

    Source: van Rossem & Saxe, Eq. 8.
    """
    first, second = (
        whole("first", first, 0, len(targets) - 1),
        whole("second", second, 0, len(targets) - 1),
    )
    wanted = torch.as_tensor(targets[second] - targets[first])

    def observe(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        dh2 = torch.stack([((h[:, second] - h[:, first]) ** 2).sum(-1) for h in hidden], -1)
        dy = outputs[:, second] - outputs[:, first]
        dy2 = (dy**2).sum(-1)
        return {
            "dh2": (("layer",), dh2),
            "dy2": ((), dy2),
            "w": ((), dy2 - (dy * wanted.to(dy)).sum(-1)),
        }

    return observe


def geometry(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe the outputs (point, output) and the squared
    distances (layer, point, other) between representations.

    A ValueError if there are none: `lib.training.train` passes on the `layers` that it is asked
    for.
    """
    if len(hidden) == 0:
        raise ValueError("hidden is empty: ask for layers, such as layers=None for all")
    distances = torch.stack([squared_distances(h) for h in hidden], 1)
    return {
        "outputs": (("point", "output"), outputs),
        "distance2": (("layer", "point", "other"), distances),
    }


@takes(points=partial(matrix, largest=np.inf), dimensions=size)
def principal_axes(points: ArrayLike, dimensions: int = 2) -> NDArray:
    """Place points in few dimensions so that their squared distances
    come as near as they can: classical scaling (MDS).

    For points that are given by coordinates this is the projection on their principal axes.

    Points (n, d) get places (n, dimensions), centred, for at most min(n, d) dimensions; the sign of
    an axis is such that its largest entry is positive.
    """
    if dimensions > min(points.shape):
        raise ValueError(
            f"points {points.shape}, dimensions {dimensions}: want at most min(n, d) dimensions"
        )
    centred = points - points.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :dimensions] * strengths[:dimensions]
    return places * np.sign(places[np.abs(places).argmax(axis=0), np.arange(dimensions)])
