r"""Two points in a representation: the effective theory, its exact solution, its final distance and its fit to networks.

Source: van Rossem & Saxe (2024), "When representations align". Two inputs differ by Δx, their targets by Δy, their
representations by :math:`dh = D_h\Delta x` and the outputs by :math:`dy = D_y\,dh`. Distances are norms; the three curves are
:math:`\|dh\|^2`, :math:`\|dy\|^2` and :math:`w = \|dy\|^2 - dy^\top\Delta y`; 1/τ is an effective learning rate.

Eq. 7 follows from Eq. 17, where the mean over the two points is counted once: each final ½ is ¼. This only rescales both
τ by 2: `linear_flow` descends the loss of Eq. 2 as it stands and moves as `solve` does with τ → 2τ. We keep the clock of Eq. 7.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, least_squares, minimize_scalar
from scipy.special import exprel
from scipy.stats import norm

from lib.theory import single_neuron
from lib.theory.common import ascending, finite, integrate, matrix, non_negative, positive, vector

CURVES = ("dh2", "dy2", "w")


class Fit(NamedTuple):
    """The two time constants that describe three measured curves best."""

    tau_h: float
    tau_y: float
    r2: dict[str, float]  # coefficient of determination of dh2, dy2 and w; not finite where a curve is constant
    loss: float  # squared errors, summed over the points of the three curves (Eq. 49)
    curves: xr.Dataset  # the theory at the measured times, as of `solve`


class Product(NamedTuple):
    """Two weights whose product is dy, to be given to `lib.theory.products.flow`."""

    weights: NDArray  # (2,)
    target: float
    clock: float  # time of the product per time of Eq. 7


# --- the dynamics of Eq. 7


def velocity(
    dh2: ArrayLike,
    dy2: ArrayLike,
    w: ArrayLike,
    *,
    input_distance: ArrayLike,
    target_distance: ArrayLike,
    tau_h: ArrayLike,
    tau_y: ArrayLike,
) -> NDArray:
    r"""Return the velocity of (‖dh‖², ‖dy‖², w),

    .. math::
        \tfrac{d}{dt}\|dh\|^2 &= -\tfrac1{\tau_h}\|\Delta x\|^2 w \\
        \tfrac{d}{dt}\|dy\|^2 &= -w\,(\tfrac1{\tau_y}\|dh\|^2 + \tfrac1{\tau_h}\|\Delta x\|^2\tfrac{\|dy\|^2}{\|dh\|^2}) \\
        \tfrac{d}{dt}w &= -\tfrac1{2\tau_y}(3w - \|dy\|^2 + \|\Delta y\|^2)\|dh\|^2
                          - \tfrac1{2\tau_h}\|\Delta x\|^2\tfrac{(\|dy\|^2 + w)\,w}{\|dh\|^2}.

    Parameters
    ----------
    dh2, dy2, w : ‖dh‖² > 0, ‖dy‖² ≥ 0 and w; they and the constants broadcast to (...)
    input_distance, target_distance : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0
    tau_h, tau_y : positive time constants

    Returns
    -------
    (3, ...)

    Raises
    ------
    ValueError
        If a number is not finite or has the wrong sign.

    Source: van Rossem & Saxe, Eq. 7.
    """  # noqa: D400
    h, y, w = positive("dh2", dh2), non_negative("dy2", dy2), finite("w", w)
    x2, target2, tau_h, tau_y = _constants(input_distance, target_distance, tau_h, tau_y)
    return np.stack(
        np.broadcast_arrays(
            -x2 * w / tau_h,
            -w * (h / tau_y + x2 * y / (tau_h * h)),
            -(3 * w - y + target2) * h / (2 * tau_y) - x2 * (y + w) * w / (2 * tau_h * h),
        )
    )


def solve(
    dh2: float,
    dy2: float,
    w: float,
    times: ArrayLike,
    *,
    input_distance: float,
    target_distance: float,
    tau_h: float,
    tau_y: float,
) -> xr.Dataset:
    r"""Solve Eq. 7 exactly.

    With :math:`a = \|dh\|` and :math:`u = dy/\|dh\|`, Eq. 7 is one linear hidden neuron that learns Δy,

    .. math:: \dot a = -\tfrac1{2\tau_h}\|\Delta x\|^2\,u^\top(au - \Delta y), \qquad
              \dot u = -\tfrac1{2\tau_y}\,a\,(au - \Delta y),

    for which `lib.theory.single_neuron.trajectory` has the solution. Where a passes through zero, the two representations pass
    through each other; Eq. 7 is singular there, the solution is not.

    Parameters
    ----------
    dh2, dy2, w : the three curves at time 0, ‖dh‖² > 0 and ‖dy‖² ≥ 0
    times : (T,) ascending from 0 or later
    input_distance, target_distance : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0
    tau_h, tau_y : positive time constants

    Returns
    -------
    dh2, dy2 and w over the coordinate time (T,)

    Raises
    ------
    ValueError
        If a number is not finite or has the wrong sign, if times do not ascend, or if no vector dy has this ‖dy‖² and w.

    Source: new; van Rossem & Saxe, A.3, hold that Eq. 7 "cannot be solved analytically in the general case".
    """
    h, y, w = (float(value) for value in (positive("dh2", dh2), non_negative("dy2", dy2), finite("w", w)))
    times, (x2, target2, tau_h, tau_y) = ascending(times), _constants(input_distance, target_distance, tau_h, tau_y)
    if np.abs(y - w) > np.sqrt(target2 * y) + 1e-5 * (y + np.abs(w)):
        raise ValueError(f"no dy has dy2 {y:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most target_distance * sqrt(dy2)")
    return _dataset(times, _path((h, y, w), times, x2, target2, tau_h, tau_y))


def _path(start: tuple[float, float, float], times: NDArray, x2: float, target2: float, tau_h: float, tau_y: float) -> NDArray:
    """Solve Eq. 7 at times (T,) in any order, with dy·Δy cut to what ‖dy‖² allows; return (3, T)."""
    h, y, w = start
    if target2 == 0:
        h, y = _identical(h, y, times, x2, tau_h, tau_y)
        return np.stack([h, y, y])
    target = np.sqrt(target2)
    along = np.clip((y - w) / target, -np.sqrt(y), np.sqrt(y))
    across = np.sqrt(max(y - along**2, 0))
    u = np.array([along, across]) / np.sqrt(h)
    neuron = single_neuron.trajectory(np.sqrt(h), u, [target, 0], times, x2 / (2 * tau_h), 1 / (2 * tau_y))
    dy = neuron.beta
    y = np.sum(dy**2, axis=1)
    return np.stack([neuron.a**2, y, y - dy[:, 0] * target])


def identical_outputs(
    dh2: float, dy2: float, times: ArrayLike, *, input_distance: float, tau_h: float, tau_y: float
) -> xr.Dataset:
    r"""Solve Eq. 7 for equal targets, Δy = 0, where w = ‖dy‖²:

    .. math:: \|dh\|^2 = \frac{A_{high}}{1 + (\frac{A_{high}}{\|dh(0)\|^2} - 1)\,e^{-A_{high}t/\tau_y}}, \qquad
              \|dy\|^2 = \|dy(0)\|^2\,\frac{\|dh\|^4}{\|dh(0)\|^4}\,e^{-A_{high}t/\tau_y},

    and :math:`\|dh\|^2 = \|dh(0)\|^2/(1 + \|dh(0)\|^2t/\tau_y)` where :math:`A_{high} = 0`. Nothing overflows at long times.

    Arguments and errors as in `solve`; dh2 and dy2 over the coordinate time are returned.

    Source: corrects van Rossem & Saxe, Eqs. 39 and 40, whose exponents lack 1/τ_y.
    """  # noqa: D400
    h, y, times = positive("dh2", dh2), non_negative("dy2", dy2), ascending(times)
    x2, _, tau_h, tau_y = _constants(input_distance, 0, tau_h, tau_y)
    h, y = _identical(h, y, times, x2, tau_h, tau_y)
    return xr.Dataset({"dh2": ("time", h), "dy2": ("time", y)}, {"time": times})


def _identical(h: float, y: float, times: NDArray, x2: float, tau_h: float, tau_y: float) -> tuple[NDArray, NDArray]:
    high = h - tau_y / tau_h * x2 * y / h
    s = times / tau_y
    fall = np.exp(-np.abs(high) * s)
    grown = h * s * exprel(-np.abs(high) * s)  # ‖dh(0)‖² (1 - fall) / |A|
    top, bottom = (1, fall + grown) if high >= 0 else (fall, 1 + grown)
    return h * top / bottom, y * fall / bottom**2


def loss(
    dy2: ArrayLike, w: ArrayLike, times: ArrayLike, *, target_distance: float, tau_mean: float, mean_error: float
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

    Returns
    -------
    (T,)

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite or has the wrong sign, or times do not ascend.

    Source: van Rossem & Saxe, Eq. 9, without its stray brackets.
    """  # noqa: D400
    times, (dy2, w) = ascending(times), (finite("dy2", dy2), finite("w", w))
    _same_shape(times=times, dy2=dy2, w=w)
    target, tau_mean, mean_error = _checked_loss(target_distance, tau_mean, mean_error)
    return mean_error**2 / 2 * np.exp(-2 * times / tau_mean) + _pair_loss(dy2, w, target)


def _pair_loss(dy2: NDArray, w: NDArray, target: float) -> NDArray:
    return (w + (target**2 - dy2) / 2) / 4


# --- where it ends


def high_low(
    dh2: ArrayLike, dy2: ArrayLike, *, input_distance: ArrayLike, target_distance: ArrayLike, tau_h: ArrayLike, tau_y: ArrayLike
) -> tuple[NDArray, NDArray]:
    r"""Return the random and the structured distance,

    .. math:: A_{high} = \Big(\frac{\|dh\|^2}{\|\Delta x\|^2} - \frac{\tau_y}{\tau_h}\frac{\|dy\|^2}{\|dh\|^2}\Big)\|\Delta x\|^2,
              \qquad A_{low} = \sqrt{\tau_y/\tau_h}\,\|\Delta x\|\,\|\Delta y\|.

    :math:`A_{high}`, of either sign, is conserved by Eq. 7. Arguments, which broadcast to (...), and errors as in `velocity`.

    Source: van Rossem & Saxe, Eq. 11.
    """  # noqa: D400
    h, y = positive("dh2", dh2), non_negative("dy2", dy2)
    x2, target2, tau_h, tau_y = _constants(input_distance, target_distance, tau_h, tau_y)
    slope = tau_y / tau_h * x2
    return h - slope * y / h, np.sqrt(slope * target2)


def final_distance2(
    dh2: ArrayLike, dy2: ArrayLike, *, input_distance: ArrayLike, target_distance: ArrayLike, tau_h: ArrayLike, tau_y: ArrayLike
) -> NDArray:
    r"""Return the final ‖dh‖² of Eq. 7 (...), :math:`\tfrac12A_{high} + \sqrt{\tfrac14A_{high}^2 + A_{low}^2}`.

    `dh2` and `dy2` are ‖dh‖² and ‖dy‖² at time 0. Arguments, which broadcast to (...), and errors as in `velocity`.
    With equal targets the answer is :math:`\max(A_{high}, 0)`; with :math:`A_{high} \ll -A_{low}` it is
    :math:`A_{low}^2/|A_{high}|`, not the :math:`A_{high}` to which the text below Eq. 12 sends all large weights.

    Source: van Rossem & Saxe, Eqs. 10 and 11.
    """
    high, low = high_low(dh2, dy2, input_distance=input_distance, target_distance=target_distance, tau_h=tau_h, tau_y=tau_y)
    return _larger_root(high, low)


def _larger_root(high: NDArray, low: NDArray) -> NDArray:
    """Solve h² - high h - low² = 0, for the root that is not negative, without cancellation."""
    outer = (np.abs(high) + np.hypot(high, 2 * low)) / 2
    return np.where(high >= 0, outer, low / np.where(outer > 0, outer, 1) * low)[()]


def eigenvalues(
    dh2: ArrayLike, dy2: ArrayLike, *, input_distance: ArrayLike, target_distance: ArrayLike, tau_h: ArrayLike, tau_y: ArrayLike
) -> NDArray:
    r"""Return the eigenvalues of (‖dh‖², w) at its stable fixed point,

    .. math:: -\|dh(\infty)\|^2/\tau_y, \qquad -\sqrt{A_{high}^2 + 4A_{low}^2}\,/\,(2\tau_y),

    real and not positive. Arguments, which broadcast to (...), and errors as in `final_distance2`.

    Returns
    -------
    (2, ...)

    Source: new closed form of van Rossem & Saxe, Eqs. 29 to 31.
    """  # noqa: D400
    high, low = high_low(dh2, dy2, input_distance=input_distance, target_distance=target_distance, tau_h=tau_h, tau_y=tau_y)
    return -np.stack([_larger_root(high, low), np.hypot(high, 2 * low) / 2]) / tau_y


def as_product(
    dh2: float, dy2: float, *, input_distance: float, target_distance: float, tau_h: float, tau_y: float, sign: int = 1
) -> Product:
    r"""Map Eq. 7 with one output to the product of two weights, :math:`dy = w_1w_2`, in the clock :math:`t/(2c)`.

    .. math:: w_1 = \alpha\|dh\|, \quad w_2 = \frac{dy}{\alpha\|dh\|}, \quad \alpha^4 = \frac{\tau_h}{\tau_y\|\Delta x\|^2},
              \quad c = \frac{\sqrt{\tau_h\tau_y}}{\|\Delta x\|},

    so that :math:`\dot{dy} = (\|\Delta y\| - dy)\sqrt{4dy^2 + C^2}\,/(2c)` with :math:`C = w_1^2 - w_2^2 = \alpha^2A_{high}`.

    Parameters
    ----------
    dh2, dy2, input_distance, target_distance, tau_h, tau_y : as in `solve`
    sign : 1 if dy points along Δy at time 0, -1 if against it

    Raises
    ------
    ValueError
        If a number is not finite or has the wrong sign, or `sign` is neither 1 nor -1.

    Source: new.
    """
    h, y = positive("dh2", dh2), non_negative("dy2", dy2)
    x2, target2, tau_h, tau_y = _constants(input_distance, target_distance, tau_h, tau_y)
    if sign not in (1, -1):
        raise ValueError(f"sign is {sign}: want 1 or -1")
    first = (tau_h / (tau_y * x2)) ** 0.25 * np.sqrt(h)
    return Product(
        np.array([first, sign * np.sqrt(y) / first]), float(np.sqrt(target2)), float(np.sqrt(x2 / (tau_h * tau_y)) / 2)
    )


# --- random features


def random_feature_probability(
    h: ArrayLike, gain: float, *, input_distance: float, target_distance: float, tau_h: float, tau_y: float
) -> NDArray:
    r"""Return the probability that the final ‖dh‖² is at most `h`, from random weights of a given gain.

    With ‖dh‖²/‖Δx‖² and ‖dy‖²/‖dh‖² independent and normal at time 0, both of mean G and standard deviation G, and
    :math:`\rho = \tau_y/\tau_h`,

    .. math:: P = \Phi\Big(\frac{h - A_{low}^2/h - \|\Delta x\|^2G(1-\rho)}{\|\Delta x\|^2G\sqrt{1+\rho^2}}\Big).

    With equal targets there is an atom at 0, :math:`\Phi((\rho-1)/\sqrt{1+\rho^2})`, which is ½ for equal τ.

    Parameters
    ----------
    h : (...) not negative
    gain : G > 0
    input_distance, target_distance, tau_h, tau_y : as in `solve`

    Returns
    -------
    (...)

    Raises
    ------
    ValueError
        If a number is not finite or has the wrong sign.

    Source: corrects van Rossem & Saxe, Eq. 47, which holds for τ_y = τ_h and Δy ≠ 0.
    """
    h = non_negative("h", h)
    score, _ = _score(h, gain, input_distance, target_distance, tau_h, tau_y)
    return norm.cdf(score)


def random_feature_density(
    h: ArrayLike, gain: float, *, input_distance: float, target_distance: float, tau_h: float, tau_y: float
) -> NDArray:
    r"""Return the density (...) of the final ‖dh‖² at `h` > 0, the derivative of `random_feature_probability`.

    With equal targets it integrates to less than 1: the rest is the atom at 0. Arguments and errors as there.

    Source: corrects van Rossem & Saxe, Eq. 48, which holds for τ_y = τ_h.
    """
    score, slope = _score(positive("h", h), gain, input_distance, target_distance, tau_h, tau_y)
    return norm.pdf(score) * slope


def _score(h: NDArray, gain: float, *constants: float) -> tuple[NDArray, NDArray]:
    """Return the standard normal quantile that final distance `h` corresponds to, and its derivative by h."""
    x2, target2, tau_h, tau_y = _constants(*constants)
    ratio, gain = tau_y / tau_h, positive("gain", gain)
    low2 = ratio * x2 * target2
    spread = x2 * gain * np.hypot(1, ratio)
    with np.errstate(divide="ignore"):
        structured = np.divide(low2, h) if low2 > 0 else np.zeros_like(h)
    return (h - structured - x2 * gain * (1 - ratio)) / spread, (1 + structured / np.where(h > 0, h, 1)) / spread


# --- the unreduced flow of Eq. 6


def linear_flow(
    d_h: ArrayLike,
    d_y: ArrayLike,
    times: ArrayLike,
    *,
    input_difference: ArrayLike,
    target_difference: ArrayLike,
    tau_h: float,
    tau_y: float,
) -> xr.Dataset:
    r"""Integrate the flow of both maps down the loss of two points, rotations included:

    .. math:: \dot D_h = -\tfrac1{4\tau_h}D_y^\top(dy - \Delta y)\,\Delta x^\top, \qquad
              \dot D_y = -\tfrac1{4\tau_y}(dy - \Delta y)\,dh^\top.

    Parameters
    ----------
    d_h : (k, n_in) map from inputs to the representation, at time 0
    d_y : (n_out, k) map from the representation to outputs, at time 0
    times : (T,) ascending from 0 or later
    input_difference, target_difference : Δx (n_in,), not zero, and Δy (n_out,)
    tau_h, tau_y : positive time constants

    Returns
    -------
    Over the coordinate time (T,): dh2, dy2, w; rotation, the cosine between dh and dh at time 0;
    d_h (T, k, n_in) and d_y (T, n_out, k)

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, a time constant is not positive, times do not ascend, or dh is zero at time 0.

    Source: van Rossem & Saxe, Eq. 6; corrects Eq. 17, which prints ½ for ¼.
    """  # noqa: D400
    d_h, d_y, dx = _maps(d_h, d_y, input_difference)
    target = finite("target_difference", target_difference)
    if target.shape != d_y.shape[:1]:
        raise ValueError(f"target_difference {target.shape} does not fit d_y {d_y.shape}: want {d_y.shape[:1]}")
    tau_h, tau_y = positive("tau_h", tau_h), positive("tau_y", tau_y)

    def split(state: NDArray) -> tuple[NDArray, NDArray]:
        return state[..., : d_h.size].reshape(-1, *d_h.shape), state[..., d_h.size :].reshape(-1, *d_y.shape)

    def descend(_: float, state: NDArray) -> NDArray:
        (to_h,), (to_y,) = split(state)
        dh = to_h @ dx
        error = (to_y @ dh - target) / 4
        return -np.concatenate([np.outer(to_y.T @ error, dx).ravel() / tau_h, np.outer(error, dh).ravel() / tau_y])

    times, path = integrate(descend, np.concatenate([d_h.ravel(), d_y.ravel()]), times)
    to_h, to_y = split(path)
    dh = to_h @ dx
    dy = np.einsum("tok,tk->to", to_y, dh)
    dh2, dy2 = np.sum(dh**2, axis=1), np.sum(dy**2, axis=1)
    curves = _dataset(times, (dh2, dy2, dy2 - dy @ target))
    start = d_h @ dx
    return curves.assign(
        rotation=("time", dh @ start / np.sqrt(dh2 * (start @ start))),
        d_h=(("time", "hidden", "input"), to_h),
        d_y=(("time", "output", "hidden"), to_y),
    )


def conserved(d_h: ArrayLike, d_y: ArrayLike, *, tau_h: float, tau_y: float) -> NDArray:
    r"""Return what `linear_flow` conserves, :math:`\tau_yD_y^\top D_y - \tau_hD_hD_h^\top`, (..., k, k).

    For `d_h` (..., k, n_in) and `d_y` (..., n_out, k); errors as in `linear_flow`.

    Source: new; Eq. 24 is its component along dh, given that dh does not rotate.
    """
    d_h, d_y = matrix("d_h", d_h), matrix("d_y", d_y)
    if d_h.shape[-2] != d_y.shape[-1]:
        raise ValueError(f"d_h {d_h.shape} and d_y {d_y.shape} do not fit: want (..., k, n_in) and (..., n_out, k)")
    return positive("tau_y", tau_y) * d_y.mT @ d_y - positive("tau_h", tau_h) * d_h @ d_h.mT


def final_distance2_one_output(
    d_h: ArrayLike, d_y: ArrayLike, *, input_difference: ArrayLike, target_distance: float, tau_h: float, tau_y: float
) -> float:
    r"""Return the final ‖dh‖² of `linear_flow` with one output, for any alignment of `d_y` (1, k) with dh.

    It is Eq. 10 with :math:`A_{high} = \|dh\|^2 - \frac{\tau_y}{\tau_h}\|\Delta x\|^2\|D_y\|^2` and
    :math:`A_{low}^2 = \frac{\tau_y}{\tau_h}\|\Delta x\|^2\,(\|\Delta y\|^2 + \|D_y\|^2\|dh\|^2 - \|dy\|^2)`, of time 0; the
    last two terms cancel where D_y is parallel to dh.

    Arguments and errors as in `linear_flow`; `target_distance` is ‖Δy‖ ≥ 0.

    Source: new.
    """
    d_h, d_y, dx = _maps(d_h, d_y, input_difference)
    if d_y.shape[0] != 1:
        raise ValueError(f"d_y has shape {d_y.shape}: want one output, (1, k)")
    x2, target2, tau_h, tau_y = _constants(np.linalg.norm(dx), target_distance, tau_h, tau_y)
    dh, out, slope = d_h @ dx, d_y[0], tau_y / tau_h * x2
    across = out - (out @ dh) / (dh @ dh) * dh
    low2 = slope * (target2 + (across @ across) * (dh @ dh))
    return float(_larger_root(dh @ dh - slope * (out @ out), np.sqrt(low2)))


# --- the fit to measured curves


def fit(times: ArrayLike, dh2: ArrayLike, dy2: ArrayLike, w: ArrayLike, *, input_distance: float, target_distance: float) -> Fit:
    """Find the two time constants with which Eq. 7, started from the first measured values, describes three measured curves.

    The squared errors of the three curves are summed over the points (Eq. 49), and minimized over log τ_h and log τ_y from the
    best places of a coarse grid. Curves that Eq. 7 cannot describe get the best fit, and a low r2.

    Parameters
    ----------
    times : (T,) ascending, T ≥ 4; `times[0]` counts as time 0
    dh2, dy2, w : (T,) measured ‖dh‖² > 0, ‖dy‖² and w; a start that noise made impossible is moved to the nearest dy·Δy
    input_distance, target_distance : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0

    Raises
    ------
    ValueError
        If shapes disagree, there are fewer than 4 points, a number is not finite, `dh2` is not positive, or times do not ascend.

    Source: van Rossem & Saxe, appendix B.1, "Fitting Procedure".
    """
    times, dh2, dy2, w = _measured(times=times, dh2=dh2, dy2=dy2, w=w)
    positive("dh2", dh2)
    x2, target2, _, _ = _constants(input_distance, target_distance, 1, 1)
    start, clock, measured = (dh2[0], max(dy2[0], 0.0), w[0]), times - times[0], np.stack([dh2, dy2, w])

    def theory(log_taus: NDArray, clock: NDArray) -> NDArray:
        return _path(start, clock, x2, target2, *np.exp(log_taus))

    def polish(log_taus: NDArray, points: NDArray | slice) -> OptimizeResult:
        def errors(log_taus: NDArray) -> NDArray:
            return (theory(log_taus, clock[points]) - measured[:, points]).ravel()

        box = (log_taus - np.log(1e6), log_taus + np.log(1e6))  # flat curves would send τ to infinity
        with np.errstate(divide="ignore", invalid="ignore"):  # SciPy divides 0 by 0 where a constant has no effect
            return least_squares(errors, log_taus, bounds=box, xtol=1e-12, ftol=1e-12, gtol=None)

    few = _sample(len(times))
    starts = _coarse_fits(start, clock[few[::3]], measured[:, few[::3]], x2, target2)
    best = min((polish(log_taus, few) for log_taus in starts), key=lambda found: found.cost)
    log_taus = polish(best.x, slice(None)).x

    curves = theory(log_taus, clock)
    errors = np.sum((curves - measured) ** 2, axis=1)
    spread = np.sum((measured - measured.mean(axis=1, keepdims=True)) ** 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = dict(zip(CURVES, (1 - errors / spread).tolist(), strict=True))
    return Fit(*np.exp(log_taus).tolist(), r2, float(errors.sum()), _dataset(times, curves))


def _sample(size: int, most: int = 200) -> NDArray:
    """Choose at most `most` of `size` points, half of them evenly, half of them dense at the start."""
    even, early = np.linspace(0, size - 1, most // 2), np.geomspace(1, size, most // 2) - 1
    return np.unique(np.round(np.concatenate([even, early])).astype(int))


def _coarse_fits(
    start: tuple[float, float, float], times: NDArray, measured: NDArray, x2: float, target2: float, most: int = 10
) -> list[NDArray]:
    """Return the (log τ_h, log τ_y) of a grid that fit best, one for each ratio τ_y/τ_h.

    With the ratio fixed the constants set the clock alone, so that one solution at many times serves all of them.
    """
    found = []
    center = measured[0].max() ** 2 / (x2 * max(target2, measured[1].max()) or 1.0)
    for ratio in center * np.logspace(-6, 6, 75):
        high = start[0] - ratio * x2 * start[1] / start[0]
        rate = (start[0] + np.hypot(high, 2 * np.sqrt(ratio * x2 * target2))) / (2 * ratio)  # at τ_h = 1
        clocks = np.logspace(-2, 4, 121) / (rate * times[-1])
        curves = _path(start, np.outer(clocks, times).ravel(), x2, target2, 1.0, ratio).reshape(3, len(clocks), -1)
        errors = np.sum((curves - measured[:, None]) ** 2, axis=(0, 2))
        best = np.argmin(errors)
        found.append((errors[best], -np.log(clocks[best]), np.log(ratio) - np.log(clocks[best])))
    apart = [min(found[i : i + 3]) for i in range(0, len(found), 3)]  # half a decade
    return [np.array(log_taus) for _, *log_taus in sorted(apart)[:most]]


def fit_mean(
    times: ArrayLike, losses: ArrayLike, dy2: ArrayLike, w: ArrayLike, *, target_distance: float, mean_error: float
) -> float:
    """Find the time constant τ_ȳ with which Eq. 9 describes a measured loss best, in the sum of squared errors.

    Parameters
    ----------
    times : (T,) ascending, T ≥ 4; `times[0]` counts as time 0
    losses, dy2, w : (T,) the measured loss, and ‖dy‖² and w, measured or of `fit`
    target_distance : ‖Δy‖ ≥ 0
    mean_error : ‖ȳ - (y₁ + y₂)/2‖ > 0 at `times[0]`

    Returns
    -------
    τ_ȳ, within 10⁻⁶ to 10⁶ times the span of `times`

    Raises
    ------
    ValueError
        If shapes disagree, there are fewer than 4 points, a number is not finite or has the wrong sign, or times do not ascend.

    Source: van Rossem & Saxe, Eq. 9 and appendix C.1.
    """
    times, losses, dy2, w = _measured(times=times, losses=losses, dy2=dy2, w=w)
    target, _, mean_error = _checked_loss(target_distance, 1, positive("mean_error", mean_error))
    clock = times - times[0]
    excess = losses - _pair_loss(dy2, w, target)

    def error(log_tau: float) -> float:
        return float(np.sum((mean_error**2 / 2 * np.exp(-2 * clock / np.exp(log_tau)) - excess) ** 2))

    grid = np.log(clock[-1]) + np.log(10) * np.linspace(-6, 6, 121)
    best = int(np.argmin([error(log_tau) for log_tau in grid]))
    near = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    return float(np.exp(minimize_scalar(error, bounds=near, method="bounded", options={"xatol": 1e-9}).x))


# --- arguments


def _constants(
    input_distance: ArrayLike, target_distance: ArrayLike, tau_h: ArrayLike, tau_y: ArrayLike
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return ‖Δx‖², ‖Δy‖², τ_h and τ_y, or raise ValueError."""
    x, target = positive("input_distance", input_distance), non_negative("target_distance", target_distance)
    return x**2, target**2, positive("tau_h", tau_h), positive("tau_y", tau_y)


def _checked_loss(target_distance: float, tau_mean: float, mean_error: float) -> tuple[NDArray, NDArray, NDArray]:
    target = non_negative("target_distance", target_distance)
    return target, positive("tau_mean", tau_mean), non_negative("mean_error", mean_error)


def _maps(d_h: ArrayLike, d_y: ArrayLike, input_difference: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    """Return D_h (k, n_in), D_y (n_out, k) and Δx (n_in,), or raise ValueError."""
    d_h, d_y, dx = matrix("d_h", d_h), matrix("d_y", d_y), vector("input_difference", input_difference)
    if d_h.ndim != 2 or d_y.ndim != 2 or d_h.shape != (d_y.shape[1], len(dx)):
        raise ValueError(f"d_h {d_h.shape}, d_y {d_y.shape}, input_difference {dx.shape} do not fit: want (k, n), (m, k), (n,)")
    if not np.any(d_h @ dx):
        raise ValueError("d_h maps input_difference to zero: the representations must differ at time 0")
    return d_h, d_y, dx


def _measured(times: ArrayLike, **curves: ArrayLike) -> tuple[NDArray, ...]:
    """Return times (T,) and curves (T,), T ≥ 4, or raise ValueError."""
    times, curves = finite("times", times), {name: finite(name, curve) for name, curve in curves.items()}
    _same_shape(times=times, **curves)
    if times.ndim != 1 or len(times) < 4 or np.any(np.diff(times) < 0) or times[0] == times[-1]:
        raise ValueError(f"times has shape {times.shape}: want at least 4 times that ascend, (T,)")
    return times, *curves.values()


def _same_shape(**arrays: NDArray) -> None:
    """Raise ValueError unless all arrays have the shape of the first."""
    (first, wanted), *others = ((name, np.shape(array)) for name, array in arrays.items())
    for name, shape in others:
        if shape != wanted:
            raise ValueError(f"{name} has shape {shape}: want that of {first}, {wanted}")


def _dataset(times: NDArray, curves: ArrayLike) -> xr.Dataset:
    return xr.Dataset({name: ("time", curve) for name, curve in zip(CURVES, curves, strict=True)}, {"time": times})
