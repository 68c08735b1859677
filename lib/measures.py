"""What is read off a network: distances between representations, alignment with the target, the axes that show them."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import matrices, matrix, numbers, size, squares, takes, whole
from lib.networks import Observe
from lib.networks.base import check_labels


def squared_distances(points: Tensor) -> Tensor:
    """Return the squared distances between all pairs of `points` (..., n, d), shape (..., n, n); NaN where a point is."""
    return ((points.unsqueeze(-2) - points.unsqueeze(-3)) ** 2).sum(-1)


@takes(targets=matrix)
def two_points(targets: ArrayLike, first: int = 0, second: int = 1) -> Observe:
    """Observe what the two-point theory speaks about, for the `first` and the `second` of the points with targets (n, c).

    It is for `lib.training.train`: dh2 = ‖dh‖² (layer), dy2 = ‖dy‖² and w = ‖dy‖² − dy·(y₂ − y₁).

    Source: van Rossem & Saxe, Eq. 8.
    """
    first, second = whole("first", first, 0, len(targets) - 1), whole("second", second, 0, len(targets) - 1)
    wanted = torch.as_tensor(targets[second] - targets[first])

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


@takes(points=partial(matrix, largest=np.inf), dimensions=size)
def principal_axes(points: ArrayLike, dimensions: int = 2) -> NDArray:
    """Place points in few dimensions so that their squared distances come as near as they can: classical scaling (MDS).

    For points that are given by coordinates this is the projection on their principal axes.

    Points (n, d) get places (n, dimensions), centred, for at most min(n, d) dimensions; the sign of an axis is such that its
    largest entry is positive.
    """
    if dimensions > min(points.shape):
        raise ValueError(f"points {points.shape}, dimensions {dimensions}: want at most min(n, d) dimensions")
    centred = points - points.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :dimensions] * strengths[:dimensions]
    return places * np.sign(places[np.abs(places).argmax(axis=0), np.arange(dimensions)])


def inverse_participation_ratio(w: ArrayLike | Tensor) -> NDArray | Tensor:
    r"""Return :math:`\sum_i w_i^4 / (\sum_i w_i^2)^2`: 1 for one site, 1/n for n equal ones, about 3/n for random weights.

    The result is (...) for weights (..., n): an array for an array, a tensor for a tensor.

    Source: the code for the localization notes (leonlufkin/Localization); that of Ingrosso & Goldt (2022) has the reciprocal.

    Examples
    --------
    >>> print(inverse_participation_ratio([[0, 0, -7, 0], [1, 1, -1, 1]]))
    [1.   0.25]
    """
    w = w if isinstance(w, Tensor) else numbers("w", w, largest=np.inf)
    if w.ndim == 0 or 0 in w.shape:
        raise ValueError(f"w has shape {tuple(w.shape)}: want weights (..., n)")
    largest = abs(w).amax(-1, keepdim=True) if isinstance(w, Tensor) else np.max(np.abs(w), -1, keepdims=True)
    if not bool(((largest > 0) & (largest < np.inf)).all()):
        raise ValueError("w holds a zero weight vector, or one that is not finite: it has no participation ratio")
    unit = w / largest
    return (unit**4).sum(-1) / (unit**2).sum(-1) ** 2


@takes(path=partial(numbers, ndim=3), inputs=matrix)
def gate_agreement(path: ArrayLike, inputs: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return how many gates 1{⟨w, x⟩ ≥ 0} keep their value from one recorded time to the next, and throughout.

    Parameters
    ----------
    path : (T, K, n) the weights of K neurons at T times, at least 2
    inputs : (samples, n)

    Returns
    -------
    p (T - 1, K) and p_unif (K,), fractions of the inputs

    Source: localization notes, Eqs. 77–79.
    """
    if path.shape[-1] != inputs.shape[-1] or len(path) < 2:
        raise ValueError(f"path {path.shape} and inputs {inputs.shape} do not fit: want (T, K, n) with T > 1, and (samples, n)")
    gates = path @ inputs.T >= 0  # (T, K, samples)
    same = gates[1:] == gates[:-1]
    return same.mean(axis=-1), same.all(axis=0).mean(axis=-1)


def accuracy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the fraction of points whose largest output is the label's, for outputs (..., n, c), labels (n,) or (..., n)."""
    check_labels(outputs, labels)
    return (outputs.argmax(-1) == labels).to(outputs).mean(-1)


@takes(filters=partial(matrices, largest=np.inf), kernel=matrix)
def filter_laplacian(filters: ArrayLike, kernel: ArrayLike) -> NDArray:
    r"""Return how rough filters are, :math:`\left\| \frac{w}{\|w\|_2} * \Delta \right\|_2^2`.

    Outside of a filter there are zeros, so that the convolution is larger than the filter. It is computed as the mean of
    :math:`|\hat\Delta|^2` over the filter's power spectrum, which it is by Parseval's theorem.

    The result is (...) for filters (..., k, k) and the kernel Δ (l, l), the discrete Laplacian.

    Source: Kunin et al. (2024), appendix, Figure 5 (b); the margin is ours.
    """
    largest = np.max(np.abs(filters), axis=(-2, -1), keepdims=True)
    if not np.all(largest > 0):
        raise ValueError("filters holds one that is zero: it has no shape")
    filters = filters / largest  # so that no square overflows or underflows
    norm = np.linalg.norm(filters, axis=(-2, -1), keepdims=True)
    size = np.add(filters.shape[-2:], kernel.shape) - 1
    spectra = np.fft.fft2(filters / norm, size) * np.fft.fft2(kernel, size)
    return np.mean(np.abs(spectra) ** 2, axis=(-2, -1))


@takes(filters=partial(squares, largest=np.inf))
def gabor_share(filters: ArrayLike) -> NDArray:
    r"""Return the share of a filter's power that the best of 117,600 Gabor functions has, 1 for a filter that is one of them.

    A Gabor function is a plane wave in a Gaussian window,
    :math:`e^{-x^2/2\sigma_x^2 - y^2/2\sigma_y^2}\cos(2\pi x/\lambda - \varphi)`, with x along the wave, from the window's
    centre. All take part that have 5 lengths and 5 widths of the window (.08 to .41 of the filter's side), 8 wavelengths (.28 to
    1.6 sides), 12 directions and 7 × 7 centres; the phase is the best one.

    The result is (...) for filters (..., k, k), k ≥ 5. Of 15 × 15 pixels a Gabor function between those of the net has .97, the
    median, and rarely less than .8; white noise has .07.

    Source: beyond Kunin et al. (2024), figure 5 (b), whose appendix calls the filters Gabor filters.
    """
    side = filters.shape[-1]
    if side < 5:
        raise ValueError(f"filters have {side} pixels a side: want 5 or more, for a wave in a window")
    largest = np.max(np.abs(filters), axis=(-2, -1), keepdims=True)
    if not np.all(largest > 0):
        raise ValueError("filters holds one that is zero: it has no shape")
    pictures = (filters / largest).reshape(-1, side**2)  # so that no square overflows or underflows
    pictures = (pictures / np.linalg.norm(pictures, axis=1, keepdims=True)).astype(np.float32)
    best = np.zeros(len(pictures))
    for even, odd in _gabor_pairs(side):
        best = np.maximum(best, ((pictures @ even.T) ** 2 + (pictures @ odd.T) ** 2).max(1))
    return best.reshape(filters.shape[:-2])


def _gabor_pairs(side: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Give Gabor functions of one window, wavelength and direction at all centres, in two orthonormal phases (centre, pixel)."""
    sizes, waves = side * 0.08 * 1.5 ** np.arange(5), side * np.geomspace(0.28, 1.6, 8)
    away = np.arange(side) - (side - 1) / 2 - 0.4 * side * np.linspace(-1, 1, 7)[:, None]  # of a pixel from a centre
    across, down = away[None, :, None, :], away[:, None, :, None]
    for length, width, wave, turn in product(sizes, sizes, waves, np.pi / 12 * np.arange(12)):
        x, y = across * np.cos(turn) + down * np.sin(turn), down * np.cos(turn) - across * np.sin(turn)
        window = np.exp(-0.5 * ((x / length) ** 2 + (y / width) ** 2))
        even, odd = ((window * way(2 * np.pi * x / wave)).reshape(-1, side**2) for way in (np.cos, np.sin))
        even /= np.linalg.norm(even, axis=1, keepdims=True)
        odd -= (even * odd).sum(1, keepdims=True) * even
        odd /= np.linalg.norm(odd, axis=1, keepdims=True)
        yield even.astype(np.float32), odd.astype(np.float32)
