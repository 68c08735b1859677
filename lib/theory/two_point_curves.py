"""The three curves of two points: Eq. 7 of van Rossem & Saxe, its exact solution and the loss along it.

Public under `lib.theory.two_point`, whose docstring explains the names.
"""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from lib.theory import single_neuron
from lib.theory.common import LARGEST, ascending, broadcastable, finite, non_negative, number, numbers, positive

CURVES = ("dh2", "dy2", "w")


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
    x2, target2, tau_h, tau_y = checked_constants(input_distance, target_distance, tau_h, tau_y, dh2=h, dy2=y, w=w)
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
    h, y, w = number("dh2", dh2, positive), number("dy2", dy2, non_negative), number("w", w)
    numbers(input_distance=input_distance, target_distance=target_distance, tau_h=tau_h, tau_y=tau_y)
    times, (x2, target2, tau_h, tau_y) = ascending(times), checked_constants(input_distance, target_distance, tau_h, tau_y)
    if np.abs(y - w) > np.sqrt(target2 * y) + 1e-5 * (y + np.abs(w)):
        raise ValueError(f"no dy has dy2 {y:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most target_distance * sqrt(dy2)")
    return dataset(times, path((h, y, w), times, x2, target2, tau_h, tau_y))


def path(start: tuple[float, float, float], times: NDArray, x2: float, target2: float, tau_h: float, tau_y: float) -> NDArray:
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
    h, y, times = number("dh2", dh2, positive), number("dy2", dy2, non_negative), ascending(times)
    numbers(input_distance=input_distance, tau_h=tau_h, tau_y=tau_y)
    x2, _, tau_h, tau_y = checked_constants(input_distance, 0, tau_h, tau_y)
    h, y = _identical(h, y, times, x2, tau_h, tau_y)
    return xr.Dataset({"dh2": ("time", h), "dy2": ("time", y)}, {"time": times})


def _identical(h: float, y: float, times: NDArray, x2: float, tau_h: float, tau_y: float) -> tuple[NDArray, NDArray]:
    high = h - tau_y / tau_h * x2 * y / h
    size = np.abs(high)
    with np.errstate(over="ignore"):  # t/τ = ∞ is the end
        past, slow = size * (times / tau_y), h * (times / tau_y)
        fall = np.exp(-past)
        grown = np.where(past > 1, h * -np.expm1(-past) / (size or 1), slow * exprel(-past))  # ‖dh(0)‖² (1 - fall) / |A|
    top, bottom = (1, fall + grown) if high >= 0 else (fall, 1 + grown)
    return h * top / bottom, y * fall / bottom / bottom


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
    same_shape(times=times, dy2=dy2, w=w)
    target, tau_mean, mean_error = checked_loss(target_distance, tau_mean, mean_error)
    with np.errstate(over="ignore"):
        decay = np.exp(-2 * (times / tau_mean))
    return mean_error**2 / 2 * decay + pair_loss(dy2, w, target)


def pair_loss(dy2: NDArray, w: NDArray, target: float) -> NDArray:
    """Return the second term of Eq. 9, the loss that is left when the mean output is right."""
    return (w + (target**2 - dy2) / 2) / 4


# --- arguments


def checked_constants(
    input_distance: ArrayLike, target_distance: ArrayLike, tau_h: ArrayLike, tau_y: ArrayLike, **others: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return ‖Δx‖², ‖Δy‖², τ_h and τ_y, or raise ValueError; they must broadcast, also against `others`."""
    x, target = positive("input_distance", input_distance), non_negative("target_distance", target_distance)
    if np.any((target > 0) & (target < 1 / LARGEST)):
        raise ValueError(f"target_distance must be 0 or at least {1 / LARGEST:g}: its square would count as zero")
    tau_h, tau_y = positive("tau_h", tau_h), positive("tau_y", tau_y)
    broadcastable(input_distance=x, target_distance=target, tau_h=tau_h, tau_y=tau_y, **others)
    return x**2, target**2, tau_h, tau_y


def checked_loss(target_distance: float, tau_mean: float, mean_error: float) -> tuple[float, float, float]:
    """Return ‖Δy‖, τ_ȳ and the error of the mean, or raise ValueError."""
    target = number("target_distance", target_distance, non_negative)
    return target, number("tau_mean", tau_mean, positive), number("mean_error", mean_error, non_negative)


def same_shape(**arrays: NDArray) -> None:
    """Raise ValueError unless all arrays have the shape of the first."""
    (first, wanted), *others = ((name, np.shape(array)) for name, array in arrays.items())
    for name, shape in others:
        if shape != wanted:
            raise ValueError(f"{name} has shape {shape}: want that of {first}, {wanted}")


def dataset(times: NDArray, curves: ArrayLike) -> xr.Dataset:
    """Name the three curves (3, T) over time (T,)."""
    return xr.Dataset({name: ("time", curve) for name, curve in zip(CURVES, curves, strict=True)}, {"time": times})
