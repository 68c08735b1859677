r"""Gradient flow on a product of weights, :math:`L = \tfrac12(\prod_i w_i^{k_i} - s)^2`.

Source: the note "Product-depth dynamics", which has no equation numbers; we name its
sections. Weights carry no units; time is measured in units of 1/(learning rate).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import ascending, number, numbers, optional, takes, vector
from lib.theory.common import integrate


@takes(weights=vector, target=number, times=ascending, exponents=optional(numbers))
def flow(
    weights: ArrayLike, target: float, times: ArrayLike, exponents: ArrayLike | None = None
) -> NDArray:
    r"""Integrate the gradient flow :math:`\dot w_i = (s-P)\,\partial P/\partial w_i` of
    :math:`P = \prod_i w_i^{k_i}`.

    Parameters
    ----------
    weights : (d,) at time 0
    target : the value s that the product is trained towards
    times : (T,) non-negative and ascending
    exponents : (d,) integers k_i of at least 1; by default all 1

    Returns (T, d) weights at `times`, to about nine digits; weights of size e that grow beside one
    near 1 are wrong by about 1e-14/e, which `time_from` and `pair` are not.

    Source: "Setup" and "Nonlinearities".

    Settings
    --------
    data : one input, 1, and its target s
    initialization : the weights that a cell names
    solved : the gradient flow of ½ (p − s)², at the rate 1 for all weights; LSODA of SciPy
    read : the weights at the times that are asked for
    precision : 64 bits, relative tolerance 10⁻¹², absolute 10⁻¹⁴ of the largest initial weight, or
        of 1 if that is smaller
    """
    k = _exponents(weights, exponents)
    return integrate(lambda t, w: (target - np.prod(w**k)) * _gradient(w, k), weights, times)


def _gradient(weights: NDArray, k: NDArray) -> NDArray:
    """Differentiate the monomial by each weight, without dividing by it."""
    powers = np.tile(weights**k, (len(weights), 1))
    np.fill_diagonal(powers, k * weights ** (k - 1))
    return powers.prod(axis=1)


def _exponents(weights: NDArray, exponents: NDArray | None) -> NDArray:
    """Return k_i (d,) for weights (..., d)."""
    k = np.ones(weights.shape[-1]) if exponents is None else exponents
    if k.shape != weights.shape[-1:]:
        raise ValueError(
            f"exponents {k.shape} do not fit weights {weights.shape}: want one for each weight"
        )
    if np.any((k < 1) | (k != np.round(k))):
        raise ValueError(f"exponents must be positive integers, got {k}")
    return k
