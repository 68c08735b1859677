"""What is read off a network: distances between representations, alignment with the target, the axes that show them."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.signal import convolve
from torch import Tensor

from lib.checks import number, numbers, whole
from lib.networks import check_tensor
from lib.training import Observe


def squared_distances(points: Tensor) -> Tensor:
    """Return the squared distances between all pairs of `points` (..., n, d), shape (..., n, n); NaN where a point is."""
    check_tensor("points", points, 2)
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
    targets = numbers("targets", targets, ndim=2)
    first, second = whole("first", first, 0, len(targets) - 1), whole("second", second, 0, len(targets) - 1)
    targets = torch.as_tensor(targets)
    wanted = targets[second] - targets[first]

    def observe(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        dh2 = torch.stack([((h[:, second] - h[:, first]) ** 2).sum(-1) for h in hidden], -1)
        dy = outputs[:, second] - outputs[:, first]
        dy2 = (dy**2).sum(-1)
        return {"dh2": (("layer",), dh2), "dy2": ((), dy2), "w": ((), dy2 - (dy * wanted.to(dy)).sum(-1))}

    return observe


def geometry(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe the outputs (point, output) and the squared distances (layer, point, other) between representations.

    A ValueError if there are none: `lib.training.train` passes on the `layers` that it is asked for.
    """
    if len(hidden) == 0:
        raise ValueError("hidden is empty: ask for layers, such as layers=None for all")
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
    points = numbers("points", points)
    if points.ndim != 2 or not 1 <= number("dimensions", dimensions) <= min(points.shape) or dimensions % 1:
        raise ValueError(f"points {points.shape}, dimensions {dimensions}: want finite (n, d) and 1 to min(n, d) dimensions")
    centred = points - points.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :dimensions] * strengths[:dimensions]
    return places * np.sign(places[np.abs(places).argmax(axis=0), np.arange(dimensions)])


def inverse_participation_ratio(w: ArrayLike | Tensor, axis: int = -1) -> NDArray | Tensor:
    r"""Return :math:`\sum_i w_i^4 / (\sum_i w_i^2)^2`: 1 for one site, 1/n for n equal ones, about 3/n for random weights.

    Parameters
    ----------
    w : (..., n) weights, an array or a tensor
    axis : the one along which the sites lie

    Returns
    -------
    (...), of the kind of `w`

    Raises
    ------
    ValueError
        If a weight vector is zero or not finite.

    Source: the authors' code for the localization notes; that of Ingrosso & Goldt (2022) has the reciprocal.
    """
    w = w if isinstance(w, Tensor) else numbers("w", w)
    if w.ndim == 0 or 0 in w.shape:
        raise ValueError(f"w has shape {tuple(w.shape)}: want weights (..., n)")
    axis = whole("axis", axis, -w.ndim, w.ndim - 1)
    largest = abs(w).max(axis).values if isinstance(w, Tensor) else np.max(np.abs(w), axis)
    if not bool(((largest > 0) & (largest < np.inf)).all()):
        raise ValueError("w holds a zero weight vector, or one that is not finite: it has no participation ratio")
    unit = w / (largest.unsqueeze(axis) if isinstance(w, Tensor) else np.expand_dims(largest, axis))
    return (unit**4).sum(axis) / (unit**2).sum(axis) ** 2


def gate_agreement(path: ArrayLike, inputs: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return how many gates 1{⟨w, x⟩ ≥ 0} keep their value from one recorded time to the next, and throughout.

    Parameters
    ----------
    path : (T, K, n) the weights of K neurons at T times, at least 2
    inputs : (samples, n)

    Returns
    -------
    p (T - 1, K) and p_unif (K,), fractions of the inputs

    Raises
    ------
    ValueError
        If shapes disagree, or there are fewer than two times.

    Source: localization notes, Eqs. 77–79.
    """
    path, inputs = numbers("path", path), numbers("inputs", inputs)
    if path.ndim != 3 or inputs.ndim != 2 or path.shape[-1] != inputs.shape[-1] or len(path) < 2:
        raise ValueError(f"path {path.shape} and inputs {inputs.shape} do not fit: want (T, K, n) with T > 1, and (samples, n)")
    gates = path @ inputs.T >= 0  # (T, K, samples)
    same = gates[1:] == gates[:-1]
    return same.mean(axis=-1), same.all(axis=0).mean(axis=-1)


def accuracy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the fraction of points whose largest output is the label's, for outputs (..., n, c), labels (n,) or (..., n)."""
    check_tensor("outputs", outputs, 2)
    check_tensor("labels", labels, 1)
    if labels.shape != outputs.shape[-1 - labels.ndim : -1]:
        raise ValueError(
            f"outputs {tuple(outputs.shape)} and labels {tuple(labels.shape)} do not fit: want (..., n, c), (..., n)"
        )
    return (outputs.argmax(-1) == labels).to(outputs).mean(-1)


def filter_laplacian(filters: ArrayLike, kernel: ArrayLike) -> NDArray:
    r"""Return how rough filters are, :math:`\left\| \frac{w}{\|w\|_2} * \Delta \right\|_2^2`.

    Outside of a filter there are zeros, so that the convolution is larger than the filter: by Parseval's theorem this is the mean
    of :math:`|\hat\Delta|^2` over the filter's power spectrum.

    Parameters
    ----------
    filters : (..., k, k)
    kernel : Δ (l, l), the discrete Laplacian

    Returns
    -------
    (...)

    Raises
    ------
    ValueError
        If shapes are other ones, or a filter is zero or not finite.

    Source: Kunin et al. (2024), appendix, Figure 5 (b); the margin is ours.
    """
    filters, kernel = numbers("filters", filters), numbers("kernel", kernel)
    if filters.ndim < 2 or kernel.ndim != 2:
        raise ValueError(f"filters {filters.shape} and kernel {kernel.shape}: want (..., k, k) and (l, l)")
    largest = np.max(np.abs(filters), axis=(-2, -1), keepdims=True)
    if not np.all((largest > 0) & (largest < np.inf)):
        raise ValueError("filters holds one that is zero or too large: it has no shape")
    filters = filters / largest  # so that no square overflows or underflows
    norm = np.linalg.norm(filters, axis=(-2, -1), keepdims=True)
    kernel = kernel.reshape((1,) * (filters.ndim - 2) + kernel.shape)
    return np.sum(convolve(filters / norm, kernel, method="direct") ** 2, axis=(-2, -1))
