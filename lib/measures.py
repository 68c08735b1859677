"""What is read off a network: distances between representations, alignment with the target, the axes that show them."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.training import Observe


def squared_distances(points: Tensor) -> Tensor:
    """Return the squared distances between all pairs of `points` (..., n, d), shape (..., n, n)."""
    return ((points.unsqueeze(-2) - points.unsqueeze(-3)) ** 2).sum(-1)


def two_points(targets: ArrayLike, first: int = 0, second: int = 1) -> Observe:
    """Observe what the two-point theory speaks about, for two of the points.

    Parameters
    ----------
    targets : (n, c)
    first, second : which points

    Returns
    -------
    for `lib.training.train`: dh2 = ‖dh‖² (layer), dy2 = ‖dy‖² and w = ‖dy‖² − dy·(y₂ − y₁)

    Source: van Rossem & Saxe, Eq. 8.
    """
    targets = torch.as_tensor(np.asarray(targets))
    wanted = targets[second] - targets[first]

    def observe(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        dh2 = torch.stack([((h[:, second] - h[:, first]) ** 2).sum(-1) for h in hidden], -1)
        dy = outputs[:, second] - outputs[:, first]
        dy2 = (dy**2).sum(-1)
        return {"dh2": (("layer",), dh2), "dy2": ((), dy2), "w": ((), dy2 - (dy * wanted.to(dy)).sum(-1))}

    return observe


def geometry(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe the outputs (point, output) and the squared distances (layer, point, other) between representations."""
    distances = torch.stack([squared_distances(h) for h in hidden], 1)
    return {"outputs": (("point", "output"), outputs), "distance2": (("layer", "point", "other"), distances)}


def principal_axes(points: ArrayLike, dimensions: int = 2) -> NDArray:
    """Place points in few dimensions so that their squared distances come as near as they can: classical scaling (MDS).

    For points that are given by coordinates this is the projection on their principal axes.

    Parameters
    ----------
    points : (n, d)
    dimensions : at most min(n, d)

    Returns
    -------
    (n, dimensions), centred; the sign of an axis is such that its largest entry is positive

    Raises
    ------
    ValueError
        If `points` is not a matrix of finite numbers, or there are not so many dimensions.
    """
    points = np.asarray(points, float)
    if points.ndim != 2 or not np.all(np.isfinite(points)) or not 1 <= dimensions <= min(points.shape):
        raise ValueError(f"points {points.shape}, dimensions {dimensions}: want finite (n, d) and 1 to min(n, d) dimensions")
    centred = points - points.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :dimensions] * strengths[:dimensions]
    return places * np.sign(places[np.abs(places).argmax(axis=0), np.arange(dimensions)])
