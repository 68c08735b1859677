r"""Two points in a representation: the effective theory, its exact solution and where it ends.

Source: van Rossem & Saxe (2024), "When representations align". Two inputs differ by Δx, their
targets by Δy, their representations by :math:`dh = D_h\Delta x` and the outputs by
:math:`dy = D_y\,dh`. Distances are norms; the three curves are :math:`\|dh\|^2`, :math:`\|dy\|^2`
and :math:`w = \|dy\|^2 - dy^\top\Delta y`; 1/τ is an effective learning rate.

Eq. 7 follows from Eq. 17, where the mean over the two points is counted once: each final ½ is ¼.
This only rescales both τ by 2: `linear_flow` descends the loss of Eq. 2 as it stands and moves as
`solve` does with τ → 2τ. We keep the clock of Eq. 7.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from lib import checks
from lib.checks import (
    ascending,
    broadcastable,
    matrices,
    matrix,
    non_negative,
    non_negatives,
    number,
    positive,
    positives,
    takes,
)
from lib.theory import linear
from lib.theory import neuron as single_neuron
from lib.theory.common import held, integrate_layers, layer_sizes

CURVES = ("dh2", "dy2", "w")


def _zero_or_positives(name: str, value: ArrayLike, ndim: int | None = None) -> NDArray:
    """Return numbers that are 0 or at least 1e-100."""
    array = non_negatives(name, value, ndim)
    if np.any((array > 0) & (array < 1 / checks.LARGEST)):
        raise ValueError(
            f"{name} must be 0 or at least {1 / checks.LARGEST:g}: its square would count as zero"
        )
    return array


@dataclass(frozen=True)
class Pair:
    """Two points as the theory knows them: two distances and two clocks.

    Parameters
    ----------
    x, y : ‖Δx‖ > 0 and ‖Δy‖ ≥ 0, how far apart the inputs and the targets are
    tau_h, tau_y : positive time constants of the encoder and of the decoder

    Numbers or arrays that broadcast to (...). Raises ValueError if they do not, or if one is out of
    range.
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
        r"""Return :math:`\tfrac{\tau_y}{\tau_h}\|\Delta x\|^2`
        (...), with which Eq. 11 weighs the decoder.
        """
        with np.errstate(over="ignore"):
            return self.tau_y / self.tau_h * self.x**2


def one(name: str, value: Pair) -> Pair:
    """Return a pair whose fields are one number each."""
    if shape := checks.kind(name, value, Pair).shape:
        raise ValueError(f"{name} has fields of shape {shape}: want one number for each")
    return value


@takes(dh2=positive, dy2=non_negative, w=number, times=ascending, pair=one)
def solve(dh2: float, dy2: float, w: float, times: ArrayLike, pair: Pair) -> xr.Dataset:
    r"""Solve Eq. 7 exactly.

    With :math:`a = \|dh\|` and :math:`u = dy/\|dh\|`, Eq. 7 is one linear hidden neuron that learns
    Δy,

    .. math:: \dot a = -\tfrac1{2\tau_h}\|\Delta x\|^2\,u^\top(au - \Delta y), \qquad
              \dot u = -\tfrac1{2\tau_y}\,a\,(au - \Delta y),

    for which `lib.theory.neuron.trajectory` has the solution. Where a passes through zero, the two
    representations pass through each other; Eq. 7 is singular there, the solution is not. For equal
    targets, Δy = 0, it corrects Eqs. 39 and 40 of the source, whose exponents lack 1/τ_y.

    Parameters
    ----------
    dh2, dy2, w : the three curves at time 0, ‖dh‖² > 0 and ‖dy‖² ≥ 0
    times : (T,) ascending from 0 or later
    pair : of one number each

    Returns dh2, dy2 and w over the coordinate time (T,). Raises ValueError if no vector dy has this
    ‖dy‖² and w.

    Source: new; van Rossem & Saxe, A.3, hold that Eq. 7 "cannot be solved analytically in the
    general case".
    """
    if np.abs(dy2 - w) > np.sqrt(pair.y**2 * dy2) + 1e-5 * (dy2 + np.abs(w)):
        raise ValueError(
            f"no dy has dy2 {dy2:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most pair.y * sqrt(dy2)"
        )
    return dataset(times, path((dh2, dy2, w), times, pair.x**2, pair.y**2, pair.tau_h, pair.tau_y))


def path(
    start: tuple[float, float, float],
    times: NDArray,
    x2: float,
    target2: float,
    tau_h: float,
    tau_y: float,
) -> NDArray:
    """Solve Eq. 7 at times (T,) in any order, with dy·Δy cut to what ‖dy‖² allows;
    return (3, T).
    """
    h, y, w = start
    target = np.sqrt(target2)
    along = np.clip((y - w) / target, -np.sqrt(y), np.sqrt(y)) if target > 0 else 0.0
    across = np.sqrt(max(y - along**2, 0))
    u = np.array([along, across]) / np.sqrt(h)
    neuron = single_neuron.path(
        np.sqrt(h), u, np.array([target, 0]), times, x2 / (2 * tau_h), 1 / (2 * tau_y)
    )
    dy = neuron.beta
    y = np.sum(dy**2, axis=1)
    return np.stack([neuron.a**2, y, y - dy[:, 0] * target])


def dataset(times: NDArray, curves: ArrayLike) -> xr.Dataset:
    """Name the three curves (3, T) over time (T,)."""
    return xr.Dataset(
        {name: ("time", curve) for name, curve in zip(CURVES, curves, strict=True)}, {"time": times}
    )


MAPS = {"d_h": matrix, "d_y": matrix, "input_difference": checks.nonzero}


@takes(dh2=positives, dy2=non_negatives, pair=checks.instance(Pair))
def high_low(dh2: ArrayLike, dy2: ArrayLike, pair: Pair) -> tuple[NDArray, NDArray]:
    r"""Return the random and the structured distance,

    .. math:: A_{high} = \Big(\frac{\|dh\|^2}{\|\Delta x\|^2}
              - \frac{\tau_y}{\tau_h}\frac{\|dy\|^2}{\|dh\|^2}\Big)\|\Delta x\|^2,
              \qquad A_{low} = \sqrt{\tau_y/\tau_h}\,\|\Delta x\|\,\|\Delta y\|.

    :math:`A_{high}`, of either sign, is conserved by Eq. 7. The arguments, as in `velocity`,
    broadcast to (...).

    Source: van Rossem & Saxe, Eq. 11.
    """  # noqa: D400
    broadcastable(dh2=dh2, dy2=dy2, pair=pair)
    with np.errstate(over="ignore"):
        return held("A_high", dh2 - pair.slope * dy2 / dh2), held(
            "A_low", np.sqrt(pair.slope) * pair.y
        )


def final_distance2(dh2: ArrayLike, dy2: ArrayLike, pair: Pair) -> NDArray:
    r"""Return the final ‖dh‖² of Eq. 7 (...),
    :math:`\tfrac12A_{high} + \sqrt{\tfrac14A_{high}^2 + A_{low}^2}`.

    `dh2` and `dy2` are ‖dh‖² and ‖dy‖² at time 0. The arguments, as in `velocity`, broadcast to
    (...). With equal targets the answer is :math:`\max(A_{high}, 0)`; with
    :math:`A_{high} \ll -A_{low}` it is :math:`A_{low}^2/|A_{high}|`, not the :math:`A_{high}` to
    which the text below Eq. 12 sends all large weights.

    A rich network ends where the targets ask for, a lazy one where it was:

    >>> unit = Pair(x=1, y=1, tau_h=1, tau_y=1)
    >>> final_distance2([0.001, 100], 0, unit).round(1)
    array([  1., 100.])

    Source: van Rossem & Saxe, Eqs. 10 and 11.
    """
    high, low = high_low(dh2, dy2, pair)
    return layer_sizes(low, high)[0] ** 2


@takes(**MAPS, times=ascending, target_difference=checks.vector, tau_h=positive, tau_y=positive)
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

    Returns dh2, dy2 and w over the coordinate time (T,); rotation, the cosine between dh and dh at
    time 0; d_h (T, k, n_in) and d_y (T, n_out, k). Raises ValueError if dh is zero at time 0.

    Source: van Rossem & Saxe, Eq. 6; corrects Eq. 17, which prints ½ for ¼.
    """  # noqa: D400
    dx, target = input_difference, target_difference
    checks.shaped(
        "(k, n_in), (n_out, k), (n_in,), (n_out,)",
        d_h=d_h,
        d_y=d_y,
        input_difference=dx,
        target_difference=target,
    )
    if np.hypot.reduce(d_h @ dx) < 1 / checks.LARGEST:
        raise ValueError(
            "d_h maps input_difference to zero: the representations must differ at time 0, by "
            "1e-100 at least"
        )

    # The data are the one direction Δx; the mean over the two points is left out.
    rates = 1 / (4 * tau_h), 1 / (4 * tau_y)
    to_h, to_y = integrate_layers([d_h, d_y], np.outer(dx, dx), np.outer(dx, target), times, rates)
    dh = to_h @ dx
    dy = np.einsum("tok,tk->to", to_y, dh)
    dh2, dy2 = np.sum(dh**2, axis=1), np.sum(dy**2, axis=1)
    curves = dataset(times, (dh2, dy2, dy2 - dy @ target))
    start = d_h @ dx
    return curves.assign(
        rotation=("time", dh @ start / np.sqrt(dh2) / np.sqrt(start @ start)),
        d_h=(("time", "hidden", "input"), to_h),
        d_y=(("time", "output", "hidden"), to_y),
    )


@takes(d_h=matrices, d_y=matrices)
def conserved(d_h: ArrayLike, d_y: ArrayLike, *, tau_h: float, tau_y: float) -> NDArray:
    r"""Return what `linear_flow` conserves, :math:`\tau_yD_y^\top D_y - \tau_hD_hD_h^\top`, (...,
    k, k).

    For `d_h` (..., k, n_in) and `d_y` (..., n_out, k).

    Source: new; Eq. 24 is its component along dh, given that dh does not rotate.
    """
    checks.shaped("(..., k, n_in), (..., n_out, k)", d_h=d_h, d_y=d_y)
    return linear.conserved(d_y.mT, d_h, tau_h, tau_y)
