r"""One linear hidden neuron: its basins, the geometry of its
flow, and the interpolator that it chooses.

Source: Kunin et al. (2024), "Get rich quick", section 3 and appendix A. The names are those of
`lib.theory.neuron`, which has the flow itself: :math:`\beta = aw`, the conserved
:math:`\delta = \eta_w a^2 - \eta_a\|w\|^2`, and data that are white unless a function takes `xtx`
and `xty`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from lib.checks import gram, nonzero, number, positive, takes, vector, vectors
from lib.theory.common import check_data, interpolators, layer_sizes
from lib.theory.neuron import _conserved, _modes, _rescaled, flow


@takes(a0=number, w0=vector, beta_star=nonzero, eta_a=positive, eta_w=positive)
def basin(
    a0: float, w0: ArrayLike, beta_star: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0
) -> int:
    r"""Tell which branch of minima attracts: the final sign of a, or 0 for the saddle.

    It is the sign of
    :math:`p \propto w_0^\top\beta_* + \tfrac{a_0}{2}(\delta + \sqrt{\delta^2 + 4\|\beta_*\|^2})`,
    for every δ; where p vanishes up to the rounding of its terms, the answer is 0. Arguments and
    errors as in `trajectory`.

    Source: "Basins of attraction", there for δ < 0 only, and with the saddle's basin counted to S⁺
    at δ = 0.
    """
    a0, w0, beta_star = _rescaled(a0, w0, beta_star, eta_a, eta_w)
    return int(np.sign(_modes(a0, w0, beta_star).p))


@takes(beta=vectors, delta=number)
def potential(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return the potential of the time-warped mirror flow, shifted to
    :math:`\Phi_\delta(0) = 0` and free of cancellation:

    .. math:: \Phi_\delta(\beta) = \tfrac13(\kappa - 2\delta)\sqrt{\kappa + \delta}
              + c_\delta, \qquad
              \kappa = \sqrt{\delta^2+4\|\beta\|^2}.

    Its Hessian is :math:`\sqrt{\kappa+\delta}\;M^{-1}`. `beta` has shape (..., d), the result
    (...).

    Source: Theorem 1 and "Solving for the potential".
    """  # noqa: D400
    norm = np.hypot.reduce(beta, axis=-1)
    a, w = layer_sizes(norm, delta)
    if delta < 0:
        return (
            np.sqrt(2) * norm * ((2 * a**2 - 3 * delta) / w) / 3
        )  # a = ‖β‖/w, which may underflow
    a0 = np.sqrt(delta)  # at β = 0
    excess = (
        np.sqrt(2) * w * np.divide(w, a + a0, out=np.zeros_like(a), where=a + a0 > 0)
    )  # √2 (a - a0)
    return excess * (2 * a**2 + 2 * a * a0 - a0**2) / 3


@takes(beta=vectors, delta=number)
def potential_gradient(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return :math:`\nabla\Phi_\delta(\beta) = \sqrt{\kappa-\delta}\;\hat\beta`, zero at β = 0.

    `beta` and the result have shape (..., d). Source: "Solving for the potential".
    """
    norm = np.hypot.reduce(beta, axis=-1, keepdims=True)
    _, w = layer_sizes(norm, delta)
    return np.sqrt(2) * w * np.divide(beta, norm, out=np.zeros_like(beta), where=norm > 0)


@takes(xtx=gram, xty=vector, beta0=nonzero, delta=number)
def nearest_in_bregman(xtx: ArrayLike, xty: ArrayLike, beta0: ArrayLike, delta: float) -> NDArray:
    r"""Minimize :math:`\Phi_\delta(\beta) - \nabla\Phi_\delta(\beta_0)^\top\beta` over the
    interpolating β, numerically.

    `xtx` and `xty` are as in `flow`; `beta0` (d,), β at time 0, is not zero. The minimizer (d,) has
    about seven digits.

    Source: Theorem 1.
    """
    check_data(xtx, xty, beta0.shape, "beta0")
    slope0 = potential_gradient(beta0, delta)

    def objective(beta: NDArray) -> tuple[float, NDArray]:
        return potential(beta, delta) - slope0 @ beta, potential_gradient(beta, delta) - slope0

    return best_interpolator(objective, xtx, xty, beta0)


@takes(xtx=gram, xty=vector, a0=number, w0=vector)
def interpolator(xtx: ArrayLike, xty: ArrayLike, a0: float, w0: ArrayLike) -> NDArray:
    r"""Where the flow ends on any data: :math:`\beta(\infty) = \beta_* + a_\infty P_N w_0`, with
    the shortest interpolator β*.

    The data never push along their null space N, so that :math:`P_N w_0` is conserved, and so is δ.
    With :math:`k = \|P_N w_0\|` the two leave

    .. math:: a_\infty^2 = \tfrac{k^2+\delta}{2} + \sqrt{\bigl(\tfrac{k^2+\delta}{2}\bigr)^2
              + \|\beta_*\|^2}.

    The sign of :math:`a_\infty` is that of :math:`a_0` if :math:`\delta + k^2 > 0`, since then a
    cannot vanish. Else it is that of the neuron's basin in the visible directions: in closed form
    if the data are equally strong in all of them, by integration if not.

    Parameters
    ----------
    xtx : (d, d) with a null space of any dimension, 0 and d included
    xty : (d,), in the range of `xtx`; it may be zero
    a0, w0 : as in `flow`, for :math:`\eta_a = \eta_w = 1`

    Returns
    -------
    (d,) the function β at the end

    Raises
    ------
    ValueError
        If nothing interpolates these data, or the start lies on the separatrix: its flow ends in a
        saddle.

    Source: new; contains "Exact solution when interpolating manifold is one-dimensional".
    """
    check_data(xtx, xty, w0.shape, "w0")
    base, null, strengths = interpolators(xtx, xty)
    hidden = null @ (null.T @ w0)
    kept = float(_conserved(a0, w0 - hidden))  # δ + k², of which δ may nearly be -k²
    a_end, _ = layer_sizes(np.linalg.norm(base), kept)
    if kept > 0:
        return base + np.sign(a0) * a_end * hidden
    if a_end == 0:
        return base
    white = np.ptp(strengths) <= 1e-9 * strengths.max()
    sign = basin(a0, w0 - hidden, base) if white else _settled_sign(a0, w0, xtx, xty)
    if sign == 0:
        raise ValueError(
            "a0 and w0 lie on the separatrix: the flow ends in a saddle, where nothing is "
            "interpolated"
        )
    return base + sign * a_end * hidden


def _settled_sign(a0: float, w0: NDArray, xtx: NDArray, xty: NDArray) -> float:
    """Return the final sign of a, or 0 if the flow ends in a
    saddle, where the loss is that of β = 0.
    """
    fastest = np.linalg.eigvalsh(xtx)[-1] * (a0**2 + w0 @ w0) + np.linalg.norm(xty)
    patience = 100 * fastest / (xty @ xty)  # the saddles repel at a rate of at least xty² / fastest
    end = flow(a0, w0, xtx, xty, [patience])
    beta = end.beta[0]
    saddle = beta @ xty - beta @ xtx @ beta / 2 <= 1e-6 * np.linalg.norm(beta) * np.linalg.norm(xty)
    return 0.0 if saddle else float(np.sign(end.a[0]))


def best_interpolator(
    objective: Callable[[NDArray], tuple[float, NDArray]],
    xtx: NDArray,
    xty: NDArray,
    start: NDArray,
) -> NDArray:
    """Minimize a convex objective (value and gradient) over all
    interpolators, from the one nearest to `start`.
    """
    shortest, null, _ = interpolators(xtx, xty)
    if null.shape[1] == 0:
        return shortest

    def restricted(free: NDArray) -> tuple[float, NDArray]:
        value, gradient = objective(shortest + null @ free)
        return value, null.T @ gradient

    best = minimize(
        restricted, null.T @ (start - shortest), jac=True, method="BFGS", options={"gtol": 1e-11}
    )
    return shortest + null @ best.x
