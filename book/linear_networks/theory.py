"""Initial weights of wide and deep linear networks, and the interpolator that a deep one chooses.

Source: Kunin et al. (2024), "Get rich quick", section 4 and appendix B. The names are those of
`lib.theory.linear`, which has the flow and its closed form.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import (
    gram,
    non_negative,
    nonzero,
    number,
    positive,
    seed,
    shaped,
    takes,
    vector,
    whole,
)
from lib.theory.common import interpolators, layer_sizes, orthogonal


@takes(d=whole, c=whole, h=whole, delta=number, scale=positive, seed=seed)
def unbalanced_initialization(
    d: int, c: int, h: int, delta: float, scale: float, seed: int
) -> tuple[NDArray, NDArray]:
    r"""Draw neurons in random directions, with :math:`\|a_k\|^2 - \|w_k\|^2 = \delta` and
    :math:`\|a_k\|\|w_k\|` = `scale`.

    Parameters
    ----------
    d, c, h : numbers of inputs, outputs and hidden neurons
    delta, scale : the conserved quantity and the norm of :math:`\beta_k = w_k a_k^\top`, of every
        neuron
    seed : draws the directions

    Returns a (h, c) and w (h, d). Source: the setting of Theorems 2 and 6.
    """
    root_a, root_w = layer_sizes(scale, delta)
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(h, c))
    w = rng.normal(size=(h, d))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return root_a * a, root_w * w


@takes(d=whole, depth=whole, a_norm=non_negative, delta=number, seed=seed)
def deep_isotropic_initialization(
    d: int, depth: int, a_norm: float, delta: float, seed: int
) -> tuple[NDArray, NDArray]:
    r"""Draw parameters with :math:`aa^\top - W_LW_L^\top = \delta I` and
    :math:`W_{l+1}^\top W_{l+1} = W_lW_l^\top`.

    They are :math:`W_l = R_{l+1}^\top S R_l` with :math:`S = \sqrt{aa^\top - \delta I}`, random
    orthogonal :math:`R_l` and :math:`R_{L+1} = I`. For `a_norm` = 0, this is
    :math:`W_l = \alpha O_l` with :math:`\delta = -\alpha^2`.

    Parameters
    ----------
    d, depth : the width of every layer, and L, the number of matrices
    a_norm : ‖a‖, non-negative; the direction of a is random
    delta, seed : the conserved quantity, not positive unless d = 1; the seed draws a and the R_l

    Returns a (d,) and ws (L, d, d). Raises ValueError if no such parameters exist. Source:
    Definition 12.
    """
    if delta > a_norm**2:
        raise ValueError(f"delta {delta:g} must be at most the square of a_norm {a_norm:g}")
    if delta > 0 and d > 1:
        raise ValueError(
            f"delta {delta:g} > 0 asks that a aᵀ, of rank one, be invertible: with d = {d}, want "
            "delta <= 0"
        )
    rng = np.random.default_rng(seed)
    direction = orthogonal(d, rng)[0]
    along = np.outer(direction, direction)
    root = np.sqrt(a_norm**2 - delta) * along + np.sqrt(max(-delta, 0.0)) * (np.eye(d) - along)
    r = [orthogonal(d, rng) for _ in range(depth)] + [np.eye(d)]
    ws = [above.T @ root @ below for below, above in pairwise(r)]
    return a_norm * direction, np.array(ws)


@takes(xtx=gram, xty=vector, beta0=nonzero, depth=whole)
def deep_interpolator(xtx: ArrayLike, xty: ArrayLike, beta0: ArrayLike, depth: int) -> NDArray:
    r"""Return where the rich limit ends: the interpolator of Theorem 15, in closed form, (d,).

    .. math:: \beta_\infty = \beta_* + (\|\beta_\infty\|/\|\beta_0\|)^{L/(L+1)} P\beta_0

    with the shortest interpolator :math:`\beta_*` and the projector P on the null space of the
    data. Its squared norm u is the positive root of
    :math:`u = \|\beta_*\|^2 + u^{L/(L+1)}\,\|P\beta_0\|^2/\|\beta_0\|^{2L/(L+1)}`.

    Parameters
    ----------
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy (d,), in its range
    beta0, depth : (d,) the function at time 0, not zero; and L, the number of matrices
    """
    shaped("(d, d), (d,), (d,)", xtx=xtx, xty=xty, beta0=beta0)
    shortest, null, _ = interpolators(xtx, xty)
    unseen = null @ (null.T @ beta0)
    size = np.hypot.reduce(beta0)
    least = np.hypot.reduce(shortest)
    unit = max(size, least)
    kept = np.hypot.reduce(unseen) / size
    power = depth / (depth + 1)
    start = (size / unit) ** 2
    seen = (least / unit) ** 2
    u = lower = max(seen, start * kept ** (2 * depth + 2))  # u = ‖β∞‖², in units
    if lower == 0:
        return shortest
    for _ in range(100):
        # Newton on a convex function: from the second step on it falls to the root
        pulled = kept**2 * start ** (1 - power) * u**power
        u = max(u - (u - seen - pulled) / (1 - power * pulled / u), lower)
    return shortest + (np.sqrt(u) * unit / size) ** power * unseen
