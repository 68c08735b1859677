r"""Two points in a representation: the effective theory, its exact solution, its final distance and its fit to networks.

Source: van Rossem & Saxe (2024), "When representations align". Two inputs differ by Δx, their targets by Δy, their
representations by :math:`dh = D_h\Delta x` and the outputs by :math:`dy = D_y\,dh`. Distances are norms; the three curves are
:math:`\|dh\|^2`, :math:`\|dy\|^2` and :math:`w = \|dy\|^2 - dy^\top\Delta y`; 1/τ is an effective learning rate.

Eq. 7 follows from Eq. 17, where the mean over the two points is counted once: each final ½ is ¼. This only rescales both
τ by 2: `linear_flow` descends the loss of Eq. 2 as it stands and moves as `solve` does with τ → 2τ. We keep the clock of Eq. 7.
"""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from lib import checks
from lib.checks import ascending, broadcastable, matrices, matrix, non_negatives, positive, positives, takes
from lib.theory import linear_networks
from lib.theory.common import held, integrate_layers, layer_sizes
from lib.theory.two_point_curves import (  # noqa: F401  the curves, under the same name
    CURVES,
    Pair,
    dataset,
    loss,
    one,
    solve,
    velocity,
)
from lib.theory.two_point_fit import Fit, fit, fit_mean  # noqa: F401  and the fit to them

MAPS = {"d_h": matrix, "d_y": matrix, "input_difference": checks.nonzero}


# --- where it ends


@takes(dh2=positives, dy2=non_negatives, pair=checks.instance(Pair))
def high_low(dh2: ArrayLike, dy2: ArrayLike, pair: Pair) -> tuple[NDArray, NDArray]:
    r"""Return the random and the structured distance,

    .. math:: A_{high} = \Big(\frac{\|dh\|^2}{\|\Delta x\|^2} - \frac{\tau_y}{\tau_h}\frac{\|dy\|^2}{\|dh\|^2}\Big)\|\Delta x\|^2,
              \qquad A_{low} = \sqrt{\tau_y/\tau_h}\,\|\Delta x\|\,\|\Delta y\|.

    :math:`A_{high}`, of either sign, is conserved by Eq. 7. The arguments, as in `velocity`, broadcast to (...).

    Source: van Rossem & Saxe, Eq. 11.
    """  # noqa: D400
    broadcastable(dh2=dh2, dy2=dy2, pair=pair)
    with np.errstate(over="ignore"):
        return held("A_high", dh2 - pair.slope * dy2 / dh2), held("A_low", np.sqrt(pair.slope) * pair.y)


def final_distance2(dh2: ArrayLike, dy2: ArrayLike, pair: Pair) -> NDArray:
    r"""Return the final ‖dh‖² of Eq. 7 (...), :math:`\tfrac12A_{high} + \sqrt{\tfrac14A_{high}^2 + A_{low}^2}`.

    `dh2` and `dy2` are ‖dh‖² and ‖dy‖² at time 0. The arguments, as in `velocity`, broadcast to (...).
    With equal targets the answer is :math:`\max(A_{high}, 0)`; with :math:`A_{high} \ll -A_{low}` it is
    :math:`A_{low}^2/|A_{high}|`, not the :math:`A_{high}` to which the text below Eq. 12 sends all large weights.

    >>> unit = Pair(x=1, y=1, tau_h=1, tau_y=1)
    >>> final_distance2([0.001, 100], 0, unit).round(1)  # rich: what the targets ask for; lazy: what was there
    array([  1., 100.])

    Source: van Rossem & Saxe, Eqs. 10 and 11.
    """
    high, low = high_low(dh2, dy2, pair)
    return layer_sizes(low, high)[0] ** 2


# --- the unreduced flow of Eq. 6


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

    Returns dh2, dy2 and w over the coordinate time (T,); rotation, the cosine between dh and dh at time 0; d_h (T, k, n_in) and
    d_y (T, n_out, k). Raises ValueError if dh is zero at time 0.

    Source: van Rossem & Saxe, Eq. 6; corrects Eq. 17, which prints ½ for ¼.
    """  # noqa: D400
    dx, target = input_difference, target_difference
    checks.shaped("(k, n_in), (n_out, k), (n_in,), (n_out,)", d_h=d_h, d_y=d_y, input_difference=dx, target_difference=target)
    if np.hypot.reduce(d_h @ dx) < 1 / checks.LARGEST:
        raise ValueError("d_h maps input_difference to zero: the representations must differ at time 0, by 1e-100 at least")

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
    r"""Return what `linear_flow` conserves, :math:`\tau_yD_y^\top D_y - \tau_hD_hD_h^\top`, (..., k, k).

    For `d_h` (..., k, n_in) and `d_y` (..., n_out, k).

    Source: new; Eq. 24 is its component along dh, given that dh does not rotate.
    """
    checks.shaped("(..., k, n_in), (..., n_out, k)", d_h=d_h, d_y=d_y)
    return linear_networks.conserved(d_y.mT, d_h, tau_h, tau_y)
