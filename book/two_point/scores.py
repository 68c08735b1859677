"""How well the theory of van Rossem & Saxe does: Eq. 7 beside rivals,
Eq. 10 at other distances, in XOR and among blobs.

A rival of Eq. 7 is fitted to the same three curves by the same sum of squared errors. It is a
function of the curves (3, T), the times (T,) in units of their span, ‖Δx‖ and ‖Δy‖, and its
constants, and returns curves (3, T). A logistic step has no dynamics: it knows the distances' first
values only, and is told their last ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import least_squares

from book.two_point.experiments import fit
from book.two_point.settings import INPUT_DISTANCE, TARGET_DISTANCE
from lib import data
from lib.checks import one_of
from lib.theory import two_points
from lib.theory.two_points import CURVES, Pair

Lengths = tuple[float, float]


def _eq_7(
    curves: NDArray, times: NDArray, lengths: Lengths, log_tau_h: float, log_tau_y: float
) -> NDArray:
    """Return the theory itself."""
    pair = Pair(*lengths, np.exp(log_tau_h), np.exp(log_tau_y))
    return two_points.solve(*curves[:, 0], times, pair).to_array().values


def _one_clock(curves: NDArray, times: NDArray, lengths: Lengths, log_tau: float) -> NDArray:
    """Return the theory with equal time constants."""
    return _eq_7(curves, times, lengths, log_tau, log_tau)


def _step(
    curves: NDArray,
    times: NDArray,
    lengths: Lengths,
    middle: float,
    width: float,
    powers: Sequence = (1, 1),
) -> NDArray:
    """Return a logistic step of both distances to their last values."""
    rise = 1 / (1 + np.exp(np.clip((middle - times) / np.exp(width), -500, 500)))
    rise = (rise - rise[0]) / max(np.ptp(rise), 1e-100)
    dh2, dy2 = (
        curve[0] + (end - curve[0]) * rise**power
        for curve, end, power in zip(curves, curves[:, -1], powers, strict=False)
    )
    return np.stack([dh2, dy2, dy2 - lengths[1] * np.sqrt(np.maximum(dy2, 0))])


_MIDDLES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9)


COURSES: dict[str, tuple[Callable[..., NDArray], list[tuple]]] = {  # and where their fits begin
    "Eq. 7": (_eq_7, [(log_tau, log_tau) for log_tau in (-3, -1, 1)]),
    "one clock": (_one_clock, [(log_tau,) for log_tau in range(-9, 2, 2)]),
    "step": (_step, [(middle, -3.0) for middle in _MIDDLES]),
    # ‖dh‖² along the theory's path from small balanced maps, ‖dh‖² ∝ ‖dy‖
    "step with path": (partial(_step, powers=(0.5, 1)), [(middle, -3.0) for middle in _MIDDLES]),
}


# a bad fit has a flat minimum: with SciPy's own tolerances its R² hangs on the processor
_least = partial(least_squares, xtol=1e-12, ftol=1e-12)


def quality(
    found: xr.Dataset,
    name: str,
    *,
    input_distance: float = INPUT_DISTANCE,
    target_distance: float = TARGET_DISTANCE,
) -> xr.DataArray:
    """Fit a course of `COURSES` to each trial of `lib.experiments.two_point.dynamics`, and return
    its R² (trial, curve).
    """
    course, starts = COURSES[one_of("name", name, COURSES)]
    times, scores = found.step.values / found.step.values[-1], []
    for trial in range(found.sizes["trial"]):
        curves = np.stack([found[each].isel(trial=trial).values.astype(float) for each in CURVES])

        def errors(constants: NDArray, curves: NDArray = curves) -> NDArray:
            return (
                course(curves, times, (input_distance, target_distance), *constants) - curves
            ).ravel()

        best = min((_least(errors, start) for start in starts), key=lambda fit: fit.cost)
        scores.append(1 - np.mean(best.fun.reshape(curves.shape) ** 2, axis=1) / curves.var(axis=1))
    return xr.DataArray(scores, dims=("trial", "curve"), coords={"curve": list(CURVES)})


def ratio(found: xr.Dataset) -> float:
    """Return τ_y/τ_h from the mean effective learning rates of the networks of
    `lib.experiments.two_point.dynamics`.
    """
    fitted = fit(found)
    return float((1 / fitted.tau_h).mean() / (1 / fitted.tau_y).mean())


def agreement(found: xr.Dataset, ratio: float, **fixed: float) -> NDArray:
    """Compare Eq. 10 with the networks of `lib.experiments.two_point.final_distance` that learned,
    where Δy > 0.

    As in the authors' code (loekvanrossem/universality), a network has learned if its loss ends
    below 1e-3.

    Parameters
    ----------
    ratio : τ_y/τ_h
    fixed : x or y, in place of ‖Δx‖ or ‖Δy‖ in Eq. 10

    Returns (4, n), ‖Δx‖, ‖Δy‖, the measured and the predicted final ‖dh‖.
    """
    start, end = (
        found.sel(moment=m).transpose("input_distance", "target_distance") for m in ("start", "end")
    )
    dx, dy = np.meshgrid(end.input_distance, end.target_distance, indexing="ij")
    pair = replace(Pair(dx, dy, tau_h=1.0, tau_y=ratio), **fixed)
    squared = two_points.final_distance2(start.dh2.values, start.dy2.values, pair)
    used = (end.loss < 1e-3).values & (dy > 0)
    return np.stack([dx, dy, np.sqrt(end.dh2.values), np.sqrt(squared)])[:, used]


def log_error(compared: NDArray) -> float:
    """Return the root mean square of ln(measured/predicted) of `agreement`."""
    return float(np.sqrt(np.mean(np.log(compared[2] / compared[3]) ** 2)))


def exponents(compared: NDArray) -> NDArray:
    """Fit powers of ‖Δx‖ and ‖Δy‖ to the measured row of `agreement`; return the two."""
    factors = np.stack([*np.log(compared[:2]), np.ones(compared.shape[1])], axis=1)
    return np.linalg.lstsq(factors, np.log(compared[2]))[0][:2]


def powers(found: xr.Dataset) -> NDArray:
    """Return the fitted powers of ‖Δx‖ and ‖Δy‖ in the final ‖dh‖ for each seed (seeds, 2)."""
    ones = [found.sel(seed=seed) for seed in found.seed]
    return np.array([exponents(agreement(one, 1.0)) for one in ones])


def collapse(found: xr.Dataset) -> xr.DataArray:
    """Return the variance along the irrelevant feature over that along the relevant one, of
    `lib.experiments.two_point.blobs`.
    """
    first, second = found.spread.isel(context=0), found.spread.isel(context=1)
    kept = (
        first.isel(feature=1) / first.isel(feature=0),
        second.isel(feature=0) / second.isel(feature=1),
    )
    return sum(kept) / 2


def digit_matrices(found: xr.Dataset) -> dict[str, NDArray]:
    """Return matrices (100, 100) over the digits of `lib.experiments.two_point.digits`.

    First what was trained, the mean over networks of ‖dh‖² at the end; then what is said to be near
    it: Eq. 50 as in the authors' code, Eq. 10 for small weights, up to a constant, and what needs
    no theory.

    Source: van Rossem & Saxe, Eqs. 10 and 50; `experiments/mnist_structure.ipynb` of the authors.
    """
    labels, (i, j) = found.label.values, np.triu_indices(found.sizes["digit"], 1)

    def square(values: NDArray) -> NDArray:
        matrix = np.zeros((len(labels), len(labels)))
        matrix[i, j] = matrix[j, i] = values
        return matrix

    start, end = (square(each) for each in found.distance2.isel(moment=[0, -1]).mean("seed").values)
    pixels, unequal = np.sqrt(square(found.input2.values)), labels[:, None] != labels
    return {
        "trained": end,
        "Eq. 50": _class_sums()[np.ix_(labels, labels)],
        "Eq. 10": pixels * np.sqrt(2) * unequal,
        "labels": 1.0 * unequal,
        "pixels": pixels,
        "labels + pixels": unequal + pixels / pixels.max(),
        "untrained": np.sqrt(start),
    }


@cache
def _class_sums(count: int = 10_000) -> NDArray:
    """Return the sums of √2 ‖Δx‖ over the pairs of the first digits
    that lie in two classes (10, 10), 0 within a class.

    This is what Eq. 50 comes to with pixels from 0 to 255, where exp(-‖Δx‖‖Δy‖) is 1 within a class
    and nearly 0 elsewhere.
    """
    pixels, labels = (torch.from_numpy(values[:count]) for values in data.mnist())
    sums, classes = torch.zeros(10, 10, dtype=torch.float64), torch.eye(10)[labels.long()]
    for part in torch.arange(len(labels)).split(1000):
        apart = torch.cdist(pixels[part], pixels) * 2**0.5
        sums += (classes[part].T @ apart @ classes).double()
    return sums.fill_diagonal_(0).numpy()
