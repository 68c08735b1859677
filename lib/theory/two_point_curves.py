"""The three curves of two points: Eq. 7 of van Rossem & Saxe, its exact solution and the loss along it.

Public under `lib.theory.two_point`, whose docstring explains the names.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from lib import checks
from lib.checks import ascending, broadcastable, non_negative, non_negatives, number, numbers, positive, positives, takes, vector
from lib.theory import single_neuron

CURVES = ("dh2", "dy2", "w")


def _zero_or_positives(name: str, value: ArrayLike, ndim: int | None = None) -> NDArray:
    """Return numbers that are 0 or at least 1e-100."""
    array = non_negatives(name, value, ndim)
    if np.any((array > 0) & (array < 1 / checks.LARGEST)):
        raise ValueError(f"{name} must be 0 or at least {1 / checks.LARGEST:g}: its square would count as zero")
    return array


@dataclass(frozen=True)
class Pair:
    """Two points as the theory knows them: two distances and two clocks.

    Parameters
    ----------
    x, y : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0, how far apart the inputs and the targets are
    tau_h, tau_y : positive time constants of the encoder and of the decoder

    Numbers or arrays that broadcast to (...). Raises ValueError if they do not, or if one is out of range.
    """

    x: ArrayLike
    y: ArrayLike
    tau_h: ArrayLike
    tau_y: ArrayLike

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check = _zero_or_positives if name == "y" else positives
            object.__setattr__(self, name, check(name, value)[()])
        broadcastable(**vars(self))

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape to which the four broadcast."""
        return np.broadcast_shapes(*map(np.shape, vars(self).values()))

    @property
    def slope(self) -> NDArray:
        r"""Return :math:`\tfrac{\tau_y}{\tau_h}\|\Delta x\|^2` (...), with which Eq. 11 weighs the decoder."""
        with np.errstate(over="ignore"):
            return self.tau_y / self.tau_h * self.x**2


def one(name: str, value: Pair) -> Pair:
    """Return a pair whose fields are one number each."""
    if shape := checks.kind(name, value, Pair).shape:
        raise ValueError(f"{name} has fields of shape {shape}: want one number for each")
    return value


@takes(dh2=positives, dy2=non_negatives, w=numbers, pair=checks.instance(Pair))
def velocity(dh2: ArrayLike, dy2: ArrayLike, w: ArrayLike, pair: Pair) -> NDArray:
    r"""Return the velocity of (‖dh‖², ‖dy‖², w),

    .. math::
        \tfrac{d}{dt}\|dh\|^2 &= -\tfrac1{\tau_h}\|\Delta x\|^2 w \\
        \tfrac{d}{dt}\|dy\|^2 &= -w\,(\tfrac1{\tau_y}\|dh\|^2 + \tfrac1{\tau_h}\|\Delta x\|^2\tfrac{\|dy\|^2}{\|dh\|^2}) \\
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


@takes(dh2=positive, dy2=non_negative, w=number, times=ascending, pair=one)
def solve(dh2: float, dy2: float, w: float, times: ArrayLike, pair: Pair) -> xr.Dataset:
    r"""Solve Eq. 7 exactly.

    With :math:`a = \|dh\|` and :math:`u = dy/\|dh\|`, Eq. 7 is one linear hidden neuron that learns Δy,

    .. math:: \dot a = -\tfrac1{2\tau_h}\|\Delta x\|^2\,u^\top(au - \Delta y), \qquad
              \dot u = -\tfrac1{2\tau_y}\,a\,(au - \Delta y),

    for which `lib.theory.single_neuron.trajectory` has the solution. Where a passes through zero, the two representations pass
    through each other; Eq. 7 is singular there, the solution is not. For equal targets, Δy = 0, it corrects Eqs. 39 and 40 of
    the source, whose exponents lack 1/τ_y.

    Parameters
    ----------
    dh2, dy2, w : the three curves at time 0, ‖dh‖² > 0 and ‖dy‖² ≥ 0
    times : (T,) ascending from 0 or later
    pair : of one number each

    Returns dh2, dy2 and w over the coordinate time (T,). Raises ValueError if no vector dy has this ‖dy‖² and w.

    Source: new; van Rossem & Saxe, A.3, hold that Eq. 7 "cannot be solved analytically in the general case".
    """
    if np.abs(dy2 - w) > np.sqrt(pair.y**2 * dy2) + 1e-5 * (dy2 + np.abs(w)):
        raise ValueError(f"no dy has dy2 {dy2:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most pair.y * sqrt(dy2)")
    return dataset(times, path((dh2, dy2, w), times, pair.x**2, pair.y**2, pair.tau_h, pair.tau_y))


def path(start: tuple[float, float, float], times: NDArray, x2: float, target2: float, tau_h: float, tau_y: float) -> NDArray:
    """Solve Eq. 7 at times (T,) in any order, with dy·Δy cut to what ‖dy‖² allows; return (3, T)."""
    h, y, w = start
    target = np.sqrt(target2)
    along = np.clip((y - w) / target, -np.sqrt(y), np.sqrt(y)) if target > 0 else 0.0
    across = np.sqrt(max(y - along**2, 0))
    u = np.array([along, across]) / np.sqrt(h)
    neuron = single_neuron.path(np.sqrt(h), u, np.array([target, 0]), times, x2 / (2 * tau_h), 1 / (2 * tau_y))
    dy = neuron.beta
    y = np.sum(dy**2, axis=1)
    return np.stack([neuron.a**2, y, y - dy[:, 0] * target])


@takes(dy2=vector, w=vector, times=ascending, target_distance=non_negative, tau_mean=positive, mean_error=non_negative)
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

    Returns (T,). Source: van Rossem & Saxe, Eq. 9, without its stray brackets.
    """  # noqa: D400
    checks.shaped("(T,), (T,), (T,)", times=times, dy2=dy2, w=w)
    with np.errstate(over="ignore"):
        decay = np.exp(-2 * (times / tau_mean))
    return mean_error**2 / 2 * decay + pair_loss(dy2, w, target_distance)


def pair_loss(dy2: NDArray, w: NDArray, target: float) -> NDArray:
    """Return the second term of Eq. 9, the loss that is left when the mean output is right."""
    return (w + (target**2 - dy2) / 2) / 4


def dataset(times: NDArray, curves: ArrayLike) -> xr.Dataset:
    """Name the three curves (3, T) over time (T,)."""
    return xr.Dataset({name: ("time", curve) for name, curve in zip(CURVES, curves, strict=True)}, {"time": times})
