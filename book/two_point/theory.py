"""The velocity and the loss of two points, and the fit of their theory to measured curves.

Source: van Rossem & Saxe (2024), "When representations align". `lib.theory.two_points` explains the
names and solves Eq. 7.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, least_squares, minimize_scalar

from lib import checks
from lib.checks import (
    ascending,
    broadcastable,
    non_negative,
    non_negatives,
    nonzero,
    numbers,
    positive,
    positives,
    takes,
    vector,
)
from lib.theory.two_points import CURVES, Pair, dataset, one, path


@takes(dh2=positives, dy2=non_negatives, w=numbers, pair=checks.instance(Pair))
def velocity(dh2: ArrayLike, dy2: ArrayLike, w: ArrayLike, pair: Pair) -> NDArray:
    r"""Return the velocity of (‖dh‖², ‖dy‖², w),

    .. math::
        \tfrac{d}{dt}\|dh\|^2 &= -\tfrac1{\tau_h}\|\Delta x\|^2 w \\
        \tfrac{d}{dt}\|dy\|^2 &= -w\,(\tfrac1{\tau_y}\|dh\|^2
              + \tfrac1{\tau_h}\|\Delta x\|^2\tfrac{\|dy\|^2}{\|dh\|^2}) \\
        \tfrac{d}{dt}w &= -\tfrac1{2\tau_y}(3w - \|dy\|^2 + \|\Delta y\|^2)\|dh\|^2
                          - \tfrac1{2\tau_h}\|\Delta x\|^2\tfrac{(\|dy\|^2 + w)\,w}{\|dh\|^2}.

    Parameters
    ----------
    dh2, dy2, w : ‖dh‖² > 0, ‖dy‖² ≥ 0 and w
    pair : its fields and the curves broadcast to (...)

    Returns (3, ...). Source: van Rossem & Saxe, Eq. 7.
    """  # noqa: D400
    broadcastable(dh2=dh2, dy2=dy2, w=w, pair=pair)
    h, y, x2, tau_h, tau_y = dh2, dy2, pair.x**2, pair.tau_h, pair.tau_y
    return np.stack(
        np.broadcast_arrays(
            -x2 * w / tau_h,
            -w * (h / tau_y + x2 * y / (tau_h * h)),
            -(3 * w - y + pair.y**2) * h / (2 * tau_y) - x2 * (y + w) * w / (2 * tau_h * h),
        )
    )


@takes(
    dy2=vector,
    w=vector,
    times=ascending,
    target_distance=non_negative,
    tau_mean=positive,
    mean_error=non_negative,
)
def loss(
    dy2: ArrayLike,
    w: ArrayLike,
    times: ArrayLike,
    *,
    target_distance: float,
    tau_mean: float,
    mean_error: float,
) -> NDArray:
    r"""Return the training loss along the curves,

    .. math:: L = \tfrac12\|\bar y(0) - \tfrac{y_1+y_2}{2}\|^2 e^{-2t/\tau_{\bar y}}
                  + \tfrac14\big(w + \tfrac12(\|\Delta y\|^2 - \|dy\|^2)\big).

    Parameters
    ----------
    dy2, w : (T,) as of `solve`
    times : (T,) ascending from 0 or later
    target_distance : ‖Δy‖ ≥ 0
    tau_mean : τ_ȳ > 0; as ȳ decouples exactly, its clock needs no factor 2
    mean_error : ‖ȳ(0) - (y₁ + y₂)/2‖ ≥ 0, the error of the mean output at time 0

    Returns (T,). Source: van Rossem & Saxe, Eq. 9, without its stray brackets.
    """  # noqa: D400
    checks.shaped("(T,), (T,), (T,)", times=times, dy2=dy2, w=w)
    with np.errstate(over="ignore"):
        decay = np.exp(-2 * (times / tau_mean))
    return mean_error**2 / 2 * decay + pair_loss(dy2, w, target_distance)


def pair_loss(dy2: NDArray, w: NDArray, target: float) -> NDArray:
    """Return the second term of Eq. 9, the loss that is left when the mean output is right."""
    return (w + (target**2 - dy2) / 2) / 4


@takes(dh=nonzero, decoder=vector, times=ascending, pair=one)
def one_output(dh: ArrayLike, decoder: ArrayLike, times: ArrayLike, pair: Pair) -> xr.Dataset:
    r"""Solve Eq. 6 exactly for one output, whatever the angle between dh and the decoder.

    With :math:`H = \sqrt{\tau_h}\,dh/\|\Delta x\|` and :math:`D = \sqrt{\tau_y}\,D_y^\top` the
    directions of H + D and H − D do not change. Their lengths change by the factors :math:`\sqrt z`
    and :math:`1/\sqrt z`, where z(0) = 1 and, with :math:`c = \sqrt{\tau_h\tau_y}/\|\Delta x\|`,

    .. math:: \dot z = \frac1{4c^2}\big(\|H_0 - D_0\|^2 + 4c\,\|\Delta y\|\,z
              - \|H_0 + D_0\|^2z^2\big),

    a Riccati equation with constant coefficients.

    Parameters
    ----------
    dh : (k,) at time 0, not zero
    decoder : (k,) :math:`D_y^\top` at time 0
    times : (T,) ascending from 0 or later
    pair : of one number each, in the time of Eq. 7; Δy counts as positive

    Returns dh2, dy2 and w over the coordinate time (T,), and dh and decoder (T, k).

    Source: new; van Rossem & Saxe solve neither Eq. 6 nor Eq. 7.
    """
    checks.shaped("(k,), (k,)", dh=dh, decoder=decoder)
    h = np.sqrt(pair.tau_h) / pair.x * dh
    d = np.sqrt(pair.tau_y) * decoder
    c = np.sqrt(pair.tau_h * pair.tau_y) / pair.x
    constant = np.sum((h - d) ** 2) / (4 * c**2)
    half_linear = pair.y / (2 * c)
    square = np.sum((h + d) ** 2) / (4 * c**2)
    rate = np.sqrt(half_linear**2 + constant * square)
    # z = (rate + (constant + half_linear) tanh) / (rate + (square - half_linear) tanh), where tanh
    # is of rate * t; rate - half_linear * tanh is written as a sum, since it loses its digits
    if rate == 0:  # equal targets and dh and the decoder balanced, along each other
        z = (1 + constant * times) / (1 + square * times)
    else:
        with np.errstate(over="ignore"):
            late = 2 / (1 + np.exp(2 * rate * times))  # 1 - tanh
        above = rate + (constant + half_linear) * (1 - late)
        difference = constant * square / (rate + half_linear) + half_linear * late
        with np.errstate(divide="ignore"):  # 0 where H = −D, of which z makes nothing
            z = np.minimum(above / (difference + square * (1 - late)), 1e300)
    root = np.sqrt(z)[:, None]
    plus = (h + d) * root
    minus = (h - d) / root
    dh = (plus + minus) / 2 * pair.x / np.sqrt(pair.tau_h)
    decoder = (plus - minus) / 2 / np.sqrt(pair.tau_y)
    dy = np.sum(dh * decoder, axis=1)
    curves = dataset(times, (np.sum(dh**2, axis=1), dy**2, dy**2 - dy * pair.y))
    return curves.assign(dh=(("time", "unit"), dh), decoder=(("time", "unit"), decoder))


class Fit(NamedTuple):
    """The pair whose two time constants describe three measured curves best."""

    pair: Pair
    r2: dict[
        str, float
    ]  # coefficient of determination of dh2, dy2 and w; not finite where a curve is constant
    # squared errors, summed over the points of the three curves (Eq. 49)
    loss: float
    curves: xr.Dataset  # the theory at the measured times, as of `solve`


@takes(
    times=vector,
    dh2=partial(positives, ndim=1),
    dy2=vector,
    w=vector,
    input_distance=positive,
    target_distance=non_negative,
)
def fit(
    times: ArrayLike,
    dh2: ArrayLike,
    dy2: ArrayLike,
    w: ArrayLike,
    *,
    input_distance: float,
    target_distance: float,
) -> Fit:
    """Find the two time constants with which Eq. 7, started from the first measured values,
    describes three measured curves.

    The squared errors of the three curves are summed over the points (Eq. 49), and minimized over
    log τ_h and log τ_y from the best places of a coarse grid. Curves that Eq. 7 cannot describe get
    the best fit, and a low r2.

    Parameters
    ----------
    times : (T,) ascending, T ≥ 4; `times[0]` counts as time 0
    dh2, dy2, w : (T,) measured ‖dh‖² > 0, ‖dy‖² and w; a start that noise made impossible is moved
        to the nearest dy·Δy
    input_distance, target_distance : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0

    Source: van Rossem & Saxe, appendix B.1, "Fitting Procedure".
    """
    _check_measured(times, dh2=dh2, dy2=dy2, w=w)
    x2, target2 = input_distance**2, target_distance**2
    start, clock, measured = (
        (dh2[0], max(dy2[0], 0.0), w[0]),
        times - times[0],
        np.stack([dh2, dy2, w]),
    )

    def theory(log_taus: NDArray, clock: NDArray) -> NDArray:
        return path(start, clock, x2, target2, *np.exp(log_taus))

    def polish(
        log_taus: NDArray, points: NDArray | slice, most: int | None = None
    ) -> OptimizeResult:
        def errors(log_taus: NDArray) -> NDArray:
            if not np.all(
                np.isfinite(log_taus)
            ):  # SciPy's step where nothing has an effect; it then stays where it is
                return np.full(measured[:, points].size, np.nan)
            return (theory(log_taus, clock[points]) - measured[:, points]).ravel()

        box = (
            log_taus - np.log(1e6),
            log_taus + np.log(1e6),
        )  # flat curves would send τ to infinity
        with np.errstate(
            divide="ignore", invalid="ignore"
        ):  # SciPy divides 0 by 0 where a constant has no effect
            return least_squares(
                errors, log_taus, bounds=box, xtol=1e-12, ftol=1e-12, gtol=None, max_nfev=most
            )

    few = _sample(len(times))
    starts = _coarse_fits(start, clock[few[::3]], measured[:, few[::3]], x2, target2)
    tried = sorted((polish(log_taus, few, 4) for log_taus in starts), key=lambda found: found.cost)
    best = min((polish(found.x, few) for found in tried[:3]), key=lambda found: found.cost)
    log_taus = polish(best.x, slice(None)).x

    curves = theory(log_taus, clock)
    errors = np.sum((curves - measured) ** 2, axis=1)
    spread = np.sum((measured - measured.mean(axis=1, keepdims=True)) ** 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = dict(zip(CURVES, (1 - errors / spread).tolist(), strict=True))
    pair = Pair(input_distance, target_distance, *np.exp(log_taus))
    return Fit(pair, r2, float(errors.sum()), dataset(times, curves))


def _sample(size: int, most: int = 200) -> NDArray:
    """Choose at most `most` of `size` points, half of them
    evenly, half of them dense at the start.
    """
    even, early = np.linspace(0, size - 1, most // 2), np.geomspace(1, size, most // 2) - 1
    return np.unique(np.round(np.concatenate([even, early])).astype(int))


def _coarse_fits(
    start: tuple[float, float, float],
    times: NDArray,
    measured: NDArray,
    x2: float,
    target2: float,
) -> list[NDArray]:
    """Return the (log τ_h, log τ_y) of a grid that fit best, one for each ratio τ_y/τ_h.

    With the ratio fixed the constants set the clock alone, so that one solution at many times
    serves all of them.
    """
    found = []
    center = measured[0].max() ** 2 / (x2 * max(target2, measured[1].max()) or 1.0)
    for ratio in center * np.logspace(-6, 6, 50):
        high = start[0] - ratio * x2 * start[1] / start[0]
        rate = (start[0] + np.hypot(high, 2 * np.sqrt(ratio * x2 * target2))) / (
            2 * ratio
        )  # at τ_h = 1
        clocks = np.logspace(-2, 4, 61) / (rate * times[-1])
        curves = path(start, np.outer(clocks, times).ravel(), x2, target2, 1.0, ratio).reshape(
            3, len(clocks), -1
        )
        errors = np.sum((curves - measured[:, None]) ** 2, axis=(0, 2))
        best = np.argmin(errors)
        found.append((errors[best], -np.log(clocks[best]), np.log(ratio) - np.log(clocks[best])))
    apart = [min(found[i : i + 2]) for i in range(0, len(found), 2)]  # half a decade
    return [np.array(log_taus) for _, *log_taus in sorted(apart)[:10]]


@takes(
    times=vector,
    losses=vector,
    dy2=vector,
    w=vector,
    target_distance=non_negative,
    mean_error=positive,
)
def fit_mean(
    times: ArrayLike,
    losses: ArrayLike,
    dy2: ArrayLike,
    w: ArrayLike,
    *,
    target_distance: float,
    mean_error: float,
) -> float:
    """Find the time constant τ_ȳ with which Eq. 9 describes a
    measured loss best, in the sum of squared errors.

    Parameters
    ----------
    times : (T,) ascending, T ≥ 4; `times[0]` counts as time 0
    losses, dy2, w : (T,) the measured loss, and ‖dy‖² and w, measured or of `fit`
    target_distance : ‖Δy‖ ≥ 0
    mean_error : ‖ȳ - (y₁ + y₂)/2‖ > 0 at `times[0]`

    Returns τ_ȳ, within 10⁻⁶ to 10⁶ times the span of `times`. Source: van Rossem & Saxe, Eq. 9 and
    appendix C.1.
    """
    _check_measured(times, losses=losses, dy2=dy2, w=w)
    clock, excess = times - times[0], losses - pair_loss(dy2, w, target_distance)

    def error(log_tau: float) -> float:
        return float(
            np.sum((mean_error**2 / 2 * np.exp(-2 * clock / np.exp(log_tau)) - excess) ** 2)
        )

    grid = np.log(clock[-1]) + np.log(10) * np.linspace(-6, 6, 121)
    best = int(np.argmin([error(log_tau) for log_tau in grid]))
    near = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    return float(
        np.exp(minimize_scalar(error, bounds=near, method="bounded", options={"xatol": 1e-9}).x)
    )


def _check_measured(times: NDArray, **curves: NDArray) -> None:
    """Raise ValueError unless all curves are measured at these times (T,), T ≥ 4, which ascend."""
    checks.shaped("(T,), (T,), (T,), (T,)", times=times, **curves)
    if len(times) < 4 or np.any(np.diff(times) < 0) or times[0] == times[-1]:
        raise ValueError(f"times has shape {times.shape}: want at least 4 times that ascend, (T,)")
