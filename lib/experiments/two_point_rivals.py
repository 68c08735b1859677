"""Rivals of Eq. 7 (van Rossem & Saxe), fitted to the same three curves by the same sum of squared errors.

A rival is a function of the curves (3, T), the times (T,) in units of their span, ‖Δx‖, ‖Δy‖ and its constants, and returns curves
(3, T). A logistic step has no dynamics: it only knows the distances' first values, and is told their last ones or fits them.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lib.checks import labelled, one_of, positive, takes
from lib.experiments.two_point import INPUT_DISTANCE, TARGET_DISTANCE
from lib.theory import two_point
from lib.theory.two_point import CURVES, Pair

Lengths = tuple[float, float]


def eq_7(curves: NDArray, times: NDArray, lengths: Lengths, log_tau_h: float, log_tau_y: float) -> NDArray:
    """Return the theory itself."""
    pair = Pair(*lengths, np.exp(log_tau_h), np.exp(log_tau_y))
    return two_point.solve(*curves[:, 0], times, pair).to_array().values


def one_clock(curves: NDArray, times: NDArray, lengths: Lengths, log_tau: float) -> NDArray:
    """Return the theory with equal time constants."""
    return eq_7(curves, times, lengths, log_tau, log_tau)


def step(curves: NDArray, times: NDArray, lengths: Lengths, middle: float, width: float) -> NDArray:
    """Return a logistic step of both distances to their last values."""
    return _step_to(curves[:2, -1], curves, times, lengths, middle, width)


def free_step(curves: NDArray, times: NDArray, lengths: Lengths, middle: float, width: float, *ends: float) -> NDArray:
    """Return a logistic step of both distances to fitted ends, in units of their largest values."""
    return _step_to(ends * curves[:2].max(axis=1), curves, times, lengths, middle, width)


def _step_to(ends: Sequence, curves: NDArray, times: NDArray, lengths: Lengths, middle: float, width: float) -> NDArray:
    rise = 1 / (1 + np.exp(np.clip((middle - times) / np.exp(width), -500, 500)))
    rise = (rise - rise[0]) / max(np.ptp(rise), 1e-100)
    dh2, dy2 = (curve[0] + (end - curve[0]) * rise for curve, end in zip(curves, ends, strict=False))
    return np.stack([dh2, dy2, dy2 - lengths[1] * np.sqrt(np.maximum(dy2, 0))])


_MIDDLES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9)
COURSES: dict[str, tuple[Callable[..., NDArray], list[tuple]]] = {  # and where their fits begin
    "Eq. 7": (eq_7, [(log_tau, log_tau) for log_tau in (-3, -1, 1)]),
    "one clock": (one_clock, [(log_tau,) for log_tau in range(-9, 2, 2)]),
    "step": (step, [(middle, -3.0) for middle in _MIDDLES]),
    "free step": (free_step, [(middle, width, 1.0, 1.0) for middle in _MIDDLES for width in (-6.0, -3.0)]),
}


@takes(found=labelled("trial", "step", *CURVES), input_distance=positive, target_distance=positive)
def quality(
    found: xr.Dataset, name: str, *, input_distance: float = INPUT_DISTANCE, target_distance: float = TARGET_DISTANCE
) -> xr.DataArray:
    """Fit a course of `COURSES` to each trial of `lib.experiments.two_point.dynamics`, and return its R² (trial, curve)."""
    course, starts = COURSES[one_of("name", name, COURSES)]
    times, scores = found.step.values / found.step.values[-1], []
    for trial in range(found.sizes["trial"]):
        curves = np.stack([found[each].isel(trial=trial).values.astype(float) for each in CURVES])

        def errors(constants: NDArray, curves: NDArray = curves) -> NDArray:
            return (course(curves, times, (input_distance, target_distance), *constants) - curves).ravel()

        best = min((least_squares(errors, start) for start in starts), key=lambda fit: fit.cost)
        scores.append(1 - np.mean(best.fun.reshape(curves.shape) ** 2, axis=1) / curves.var(axis=1))
    return xr.DataArray(scores, dims=("trial", "curve"), coords={"curve": list(CURVES)})
