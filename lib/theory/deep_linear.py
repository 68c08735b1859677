r"""Deep linear networks of one output: isotropic initializations, preconditioners and the rich limit.

Source: Kunin et al. (2024), "Get rich quick", appendix B, "Deep linear networks". L square matrices and a vector compute
:math:`f(x) = a^\top W_L\cdots W_1 x`, so that :math:`\beta = W_1^\top\cdots W_L^\top a`; all learning rates are 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.theory.common import (
    best_interpolator,
    count,
    finite,
    generator,
    held,
    integrate,
    normal_equations,
    number,
    orthogonal,
    square,
    vector,
)


class DeepFlow(NamedTuple):
    """Parameters of a deep network with one output along the flow."""

    times: NDArray  # (T,)
    a: NDArray  # (T, d)
    ws: NDArray  # (T, L, d, d), W_1 first

    @property
    def beta(self) -> NDArray:
        """The function that the network computes, β = W_1ᵀ⋯W_Lᵀ a, (T, d)."""
        beta = self.a
        for layer in range(self.ws.shape[1] - 1, -1, -1):
            beta = np.einsum("tij,ti->tj", self.ws[:, layer], beta)
        return beta


def deep_flow(a: ArrayLike, ws: ArrayLike, xtx: ArrayLike, xty: ArrayLike, times: ArrayLike) -> DeepFlow:
    r"""Integrate the flow of :math:`f(x) = a^\top W_L\cdots W_1 x`, of depth L + 1 and width d throughout, numerically.

    Parameters
    ----------
    a : (d,) at time 0
    ws : (L, d, d) at time 0, W_1 first
    xtx : (d, d) the matrix XᵀX, symmetric and positive semidefinite
    xty : (d,) the vector Xᵀy
    times : (T,) non-negative and ascending

    Raises
    ------
    ValueError
        As `flow`.

    Source: appendix B, "Deep linear networks".
    """
    a, ws = finite("a", a), finite("ws", ws)
    d = a.size
    if a.ndim != 1 or ws.ndim != 3 or ws.shape != (len(ws), d, d):
        raise ValueError(f"a {a.shape} and ws {ws.shape} do not fit: want (d,) and (L, d, d) with L of at least 1")
    xtx, xty = normal_equations(xtx, xty, (d,), "a")

    def velocity(_: float, state: NDArray) -> NDArray:
        a, ws = state[:d], state[d:].reshape(-1, d, d)
        above = [a]  # W_{l+1}ᵀ⋯W_Lᵀ a, from l = L down to l = 0
        for w in ws[::-1]:
            above.append(w.T @ above[-1])
        below = [xtx @ above[-1] - xty]  # W_{l-1}⋯W_1 G, from l = 1 up to l = L + 1
        for w in ws:
            below.append(w @ below[-1])
        return -np.concatenate([below[-1], *(np.outer(u, v).ravel() for u, v in zip(above[-2::-1], below[:-1], strict=True))])

    times, path = integrate(velocity, np.append(a, ws), times)
    return DeepFlow(times, path[:, :d], path[:, d:].reshape(-1, len(ws), d, d))


def deep_isotropic_initialization(d: int, depth: int, a_norm: float, delta: float, seed: int) -> tuple[NDArray, NDArray]:
    r"""Draw parameters with :math:`aa^\top - W_LW_L^\top = \delta I` and :math:`W_{l+1}^\top W_{l+1} = W_lW_l^\top`.

    They are :math:`W_l = R_{l+1}^\top S R_l` with :math:`S = \sqrt{aa^\top - \delta I}`, random orthogonal :math:`R_l` and
    :math:`R_{L+1} = I`. For `a_norm` = 0, this is :math:`W_l = \alpha O_l` with :math:`\delta = -\alpha^2`.

    Parameters
    ----------
    d : width of every layer
    depth : L, the number of matrices
    a_norm : ‖a‖, non-negative; the direction of a is random
    delta : the conserved quantity, not positive unless d = 1
    seed : draws a and the R_l

    Returns
    -------
    a, ws : (d,) and (L, d, d)

    Raises
    ------
    ValueError
        If no such parameters exist: δ > 0 and d > 1, where aaᵀ is singular, or δ > ‖a‖².

    Source: Definition 12, there with a = 0 as the example.
    """
    d, depth = count("d", d), count("depth", depth)
    a_norm, delta = number("a_norm", a_norm), number("delta", delta)
    if a_norm < 0 or delta > a_norm**2:
        raise ValueError(f"a_norm {a_norm:g} must be non-negative and delta {delta:g} at most its square")
    if delta > 0 and d > 1:
        raise ValueError(f"delta {delta:g} > 0 asks that a aᵀ, of rank one, be invertible: with d = {d}, want delta <= 0")
    rng = generator(seed)
    direction = orthogonal(d, rng)[0]
    along = np.outer(direction, direction)
    root = np.sqrt(a_norm**2 - delta) * along + np.sqrt(max(-delta, 0.0)) * (np.eye(d) - along)
    r = [*(orthogonal(d, rng) for _ in range(depth)), np.eye(d)]
    return a_norm * direction, np.array([r[layer + 1].T @ root @ r[layer] for layer in range(depth)])


def deep_norm2(a_norm2: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return :math:`\|\beta\|^2 = \|a\|^2(\|a\|^2 - \delta)^L`, elementwise; source: Lemma 13, whose proof prints d for L."""
    a_norm2 = finite("a_norm2", a_norm2)
    with np.errstate(over="ignore"):
        return held("the squared norm", a_norm2 * (a_norm2 - np.float64(number("delta", delta))) ** count("depth", depth))


def deep_outer(w1_gram: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return :math:`\beta\beta^\top = (W_1^\top W_1)^{L+1} + \delta\,(W_1^\top W_1)^L`, (..., d, d); source: Lemma 13."""
    w1_gram, depth = square("w1_gram", w1_gram), count("depth", depth)
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.linalg.matrix_power(w1_gram, depth)
        return held("the outer product", power @ w1_gram + number("delta", delta) * power)


def deep_preconditioner(a_norm2: float, w1_gram: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return M with :math:`\dot\beta = -M G` where the parameters are isotropic:

    .. math:: M = (W_1^\top W_1)^L + \|a\|^2\sum_{l=0}^{L-1}(\|a\|^2-\delta)^l\,(W_1^\top W_1)^{L-1-l}.

    Parameters
    ----------
    a_norm2 : ‖a‖²
    w1_gram : (..., d, d) the matrix W_1ᵀW_1
    delta : the conserved quantity
    depth : L, the number of matrices

    Source: Lemma 14.
    """  # noqa: D400
    w1_gram, depth, delta = square("w1_gram", w1_gram), count("depth", depth), number("delta", delta)
    a_norm2 = number("a_norm2", a_norm2)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = [np.linalg.matrix_power(w1_gram, n) for n in range(depth + 1)]
        own = sum(np.float64(a_norm2 - delta) ** n * powers[depth - 1 - n] for n in range(depth))
        return held("the preconditioner", powers[depth] + a_norm2 * own)


def rich_preconditioner(beta: ArrayLike, depth: int) -> NDArray:
    r"""Return the limit δ → 0, :math:`M = \|\beta\|^{\frac{2L}{L+1}} I + L\,\|\beta\|^{-\frac{2}{L+1}}\beta\beta^\top`.

    `beta` (d,) is not zero; the result has shape (d, d). Source: proof of Theorem 15.
    """
    norm, along, depth = _direction(beta, depth)
    return norm ** (2 * depth / (depth + 1)) * (np.eye(len(along)) + depth * along)


def rich_preconditioner_inverse(beta: ArrayLike, depth: int) -> NDArray:
    r"""Return :math:`M^{-1} = \|\beta\|^{-\frac{2L}{L+1}} I - \frac{L}{L+1}\|\beta\|^{-\frac{4L+2}{L+1}}\beta\beta^\top`.

    `beta` (d,) is not zero; the result has shape (d, d). Source: corrects the proof of Theorem 15, which prints a plus.
    """
    norm, along, depth = _direction(beta, depth)
    with np.errstate(over="ignore", invalid="ignore"):
        shrink = held("the inverse", norm ** (-2 * depth / (depth + 1)))
    return shrink * (np.eye(len(along)) - depth / (depth + 1) * along)


def deep_inductive_bias(beta: ArrayLike, beta0: ArrayLike, depth: int) -> NDArray:
    r"""Return :math:`Q(\beta) = \frac{L+1}{L+2}\|\beta\|^{\frac{L+2}{L+1}} - \|\beta_0\|^{-\frac{L}{L+1}}\beta_0^\top\beta`.

    Parameters
    ----------
    beta : (..., d)
    beta0 : (d,) the function at time 0, not zero
    depth : L, the number of matrices

    Returns
    -------
    (...)

    Source: Theorem 15.
    """
    beta, slope, depth = finite("beta", beta), _slope(vector("beta0", beta0), depth), count("depth", depth)
    if beta.shape[-1:] != slope.shape:
        raise ValueError(f"beta {beta.shape} does not fit beta0 {slope.shape}: want (..., d) and (d,)")
    return (depth + 1) / (depth + 2) * np.hypot.reduce(beta, axis=-1) ** ((depth + 2) / (depth + 1)) - beta @ slope


def deep_argmin(xtx: ArrayLike, xty: ArrayLike, beta0: ArrayLike, depth: int) -> NDArray:
    r"""Minimize `deep_inductive_bias` over the β that interpolate, numerically.

    Parameters
    ----------
    xtx : (d, d) the matrix XᵀX, symmetric and positive semidefinite
    xty : (d,) the vector Xᵀy, in the range of `xtx`
    beta0 : (d,) the function at time 0, not zero
    depth : L, the number of matrices

    Returns
    -------
    (d,) the minimizer, to about seven digits

    Source: Theorem 15.
    """
    beta0 = vector("beta0", beta0)
    slope0 = _slope(beta0, depth)
    xtx, xty = normal_equations(xtx, xty, beta0.shape, "beta0")

    def objective(beta: NDArray) -> tuple[float, NDArray]:
        return deep_inductive_bias(beta, beta0, depth), _slope(beta, depth) - slope0

    return best_interpolator(objective, xtx, xty, beta0)


def _slope(beta: NDArray, depth: int) -> NDArray:
    """Return β / ‖β‖^(L/(L+1)), the gradient of the potential of Theorem 15, zero at β = 0."""
    norm, depth = np.hypot.reduce(beta), count("depth", depth)
    return beta / norm ** (depth / (depth + 1)) if norm > 0 else np.zeros_like(beta)


def _direction(beta: ArrayLike, depth: int) -> tuple[float, NDArray, int]:
    beta = vector("beta", beta)
    norm = np.hypot.reduce(beta)
    return norm, np.outer(beta / norm, beta / norm), count("depth", depth)
