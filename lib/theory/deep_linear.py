r"""Deep linear networks of one output: isotropic initializations, preconditioners and the rich limit.

Source: Kunin et al. (2024), "Get rich quick", appendix B, "Deep linear networks". L square matrices and a vector compute
:math:`f(x) = a^\top W_L\cdots W_1 x`, so that :math:`\beta = W_1^\top\cdots W_L^\top a`; all learning rates are 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import ascending, fit, gram, non_negative, nonzero, number, numbers, seed, squares, takes, vector, vectors, whole
from lib.theory.common import held, integrate, interpolators, orthogonal


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


@takes(a=vector, ws=numbers, xtx=gram, xty=vector, times=ascending)
def deep_flow(a: ArrayLike, ws: ArrayLike, xtx: ArrayLike, xty: ArrayLike, times: ArrayLike) -> DeepFlow:
    r"""Integrate the flow of :math:`f(x) = a^\top W_L\cdots W_1 x`, of depth L + 1 and width d throughout, numerically.

    Parameters
    ----------
    a, ws : (d,) and (L, d, d) at time 0, W_1 first
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy (d,)
    times : (T,) non-negative and ascending

    Source: appendix B, "Deep linear networks".
    """
    fit("(d,), (L, d, d), (d, d), (d,)", a=a, ws=ws, xtx=xtx, xty=xty)
    d = len(a)

    def velocity(_: float, state: NDArray) -> NDArray:
        a, ws = state[:d], state[d:].reshape(-1, d, d)
        above = [a]  # W_{l+1}ᵀ⋯W_Lᵀ a, from l = L down to l = 0
        for w in ws[::-1]:
            above.append(w.T @ above[-1])
        below = [xtx @ above[-1] - xty]  # W_{l-1}⋯W_1 G, from l = 1 up to l = L + 1
        for w in ws:
            below.append(w @ below[-1])
        return -np.concatenate([below[-1], *(np.outer(u, v).ravel() for u, v in zip(above[-2::-1], below[:-1], strict=True))])

    path = integrate(velocity, np.append(a, ws), times)
    return DeepFlow(times, path[:, :d], path[:, d:].reshape(-1, len(ws), d, d))


@takes(d=whole, depth=whole, a_norm=non_negative, delta=number, seed=seed)
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

    Returns a (d,) and ws (L, d, d). Raises ValueError if no such parameters exist: δ > 0 and d > 1, where aaᵀ is singular, or δ >
    ‖a‖².

    Source: Definition 12, there with a = 0 as the example.
    """
    if delta > a_norm**2:
        raise ValueError(f"delta {delta:g} must be at most the square of a_norm {a_norm:g}")
    if delta > 0 and d > 1:
        raise ValueError(f"delta {delta:g} > 0 asks that a aᵀ, of rank one, be invertible: with d = {d}, want delta <= 0")
    rng = np.random.default_rng(seed)
    direction = orthogonal(d, rng)[0]
    along = np.outer(direction, direction)
    root = np.sqrt(a_norm**2 - delta) * along + np.sqrt(max(-delta, 0.0)) * (np.eye(d) - along)
    r = [*(orthogonal(d, rng) for _ in range(depth)), np.eye(d)]
    return a_norm * direction, np.array([r[layer + 1].T @ root @ r[layer] for layer in range(depth)])


@takes(a_norm2=numbers, delta=number, depth=whole)
def deep_norm2(a_norm2: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return :math:`\|\beta\|^2 = \|a\|^2(\|a\|^2 - \delta)^L`, elementwise; source: Lemma 13, whose proof prints d for L."""
    with np.errstate(over="ignore"):
        return held("the squared norm", a_norm2 * (a_norm2 - delta) ** depth)


@takes(w1_gram=squares, delta=number, depth=whole)
def deep_outer(w1_gram: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return :math:`\beta\beta^\top = (W_1^\top W_1)^{L+1} + \delta\,(W_1^\top W_1)^L`, (..., d, d); source: Lemma 13."""
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.linalg.matrix_power(w1_gram, depth)
        return held("the outer product", power @ w1_gram + delta * power)


@takes(a_norm2=number, w1_gram=squares, delta=number, depth=whole)
def deep_preconditioner(a_norm2: float, w1_gram: ArrayLike, delta: float, depth: int) -> NDArray:
    r"""Return M with :math:`\dot\beta = -M G` where the parameters are isotropic:

    .. math:: M = (W_1^\top W_1)^L + \|a\|^2\sum_{l=0}^{L-1}(\|a\|^2-\delta)^l\,(W_1^\top W_1)^{L-1-l}.

    `a_norm2` is ‖a‖², `w1_gram` the matrix W_1ᵀW_1 (..., d, d) and `depth` L. Source: Lemma 14.
    """  # noqa: D400
    with np.errstate(over="ignore", invalid="ignore"):
        powers = [np.linalg.matrix_power(w1_gram, n) for n in range(depth + 1)]
        own = sum(np.float64(a_norm2 - delta) ** n * powers[depth - 1 - n] for n in range(depth))
        return held("the preconditioner", powers[depth] + a_norm2 * own)


@takes(beta=nonzero, depth=whole)
def rich_preconditioner(beta: ArrayLike, depth: int) -> NDArray:
    r"""Return the limit δ → 0, :math:`M = \|\beta\|^{\frac{2L}{L+1}} I + L\,\|\beta\|^{-\frac{2}{L+1}}\beta\beta^\top`.

    `beta` (d,) is not zero; the result has shape (d, d). Source: proof of Theorem 15.
    """
    norm, along = _direction(beta)
    return norm ** (2 * depth / (depth + 1)) * (np.eye(len(along)) + depth * along)


@takes(beta=nonzero, depth=whole)
def rich_preconditioner_inverse(beta: ArrayLike, depth: int) -> NDArray:
    r"""Return :math:`M^{-1} = \|\beta\|^{-\frac{2L}{L+1}} I - \frac{L}{L+1}\|\beta\|^{-\frac{4L+2}{L+1}}\beta\beta^\top`.

    `beta` (d,) is not zero; the result has shape (d, d). Source: corrects the proof of Theorem 15, which prints a plus.
    """
    norm, along = _direction(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        shrink = held("the inverse", norm ** (-2 * depth / (depth + 1)))
    return shrink * (np.eye(len(along)) - depth / (depth + 1) * along)


@takes(beta=vectors, beta0=nonzero, depth=whole)
def deep_inductive_bias(beta: ArrayLike, beta0: ArrayLike, depth: int) -> NDArray:
    r"""Return :math:`Q(\beta) = \frac{L+1}{L+2}\|\beta\|^{\frac{L+2}{L+1}} - \|\beta_0\|^{-\frac{L}{L+1}}\beta_0^\top\beta`.

    `beta` has shape (..., d), `beta0`, the function at time 0 and not zero, (d,), the result (...). Source: Theorem 15.
    """
    fit("(..., d), (d,)", beta=beta, beta0=beta0)
    power = (depth + 2) / (depth + 1)
    return (depth + 1) / (depth + 2) * np.hypot.reduce(beta, axis=-1) ** power - beta @ (
        beta0 / np.hypot.reduce(beta0) ** (depth / (depth + 1))
    )


@takes(xtx=gram, xty=vector, beta0=nonzero, depth=whole)
def deep_interpolator(xtx: ArrayLike, xty: ArrayLike, beta0: ArrayLike, depth: int) -> NDArray:
    r"""Return where the rich limit ends: the interpolator that minimizes `deep_inductive_bias`, (d,).

    In the limit every layer has rank one, and gradients never enter the null space of the data, whose projector is P: thus
    :math:`W_1P` is conserved, and with it :math:`P\beta/\|\beta\|^{L/(L+1)}`. With the shortest interpolator :math:`\beta_*`

    .. math:: \beta_\infty = \beta_* + \Bigl(\frac{\|\beta_\infty\|}{\|\beta_0\|}\Bigr)^{L/(L+1)} P\beta_0 .

    Its squared norm u follows from :math:`u = \|\beta_*\|^2 + u^{L/(L+1)}\,\|P\beta_0\|^2/\|\beta_0\|^{2L/(L+1)}`, which has one
    positive root.

    Parameters
    ----------
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy (d,), in its range
    beta0 : (d,) the function at time 0, not zero
    depth : L, the number of matrices

    Source: Theorem 15, in closed form.
    """
    fit("(d, d), (d,), (d,)", xtx=xtx, xty=xty, beta0=beta0)
    shortest, null, _ = interpolators(xtx, xty)
    unseen = null @ (null.T @ beta0)
    size, least, power = np.hypot.reduce(beta0), np.hypot.reduce(shortest), depth / (depth + 1)
    unit, kept = max(size, least), np.hypot.reduce(unseen) / size
    start, seen = (size / unit) ** 2, (least / unit) ** 2
    u = lower = max(seen, start * kept ** (2 * depth + 2))  # u = ‖β∞‖², in units
    for _ in range(100 if lower > 0 else 0):  # Newton on a convex function: from the second step on it falls to the root
        pulled = kept**2 * start ** (1 - power) * u**power
        u = max(u - (u - seen - pulled) / (1 - power * pulled / u), lower)
    return shortest + (np.sqrt(u) * unit / size) ** power * unseen


def _direction(beta: NDArray) -> tuple[float, NDArray]:
    """Return ‖β‖ and ββᵀ/‖β‖²."""
    norm = np.hypot.reduce(beta)
    return norm, np.outer(beta / norm, beta / norm)
