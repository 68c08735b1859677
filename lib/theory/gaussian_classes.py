r"""Two classes of Gaussian inputs: the exact flow of one ReLU layer
on them, and the covariances of signals on a ring.

Source: the localization notes (unfinished). The network is
:math:`\hat y(x) = \frac1K\sum_k\mathrm{ReLU}(\langle w_k, x\rangle)`, its loss
:math:`L = \tfrac12E(\hat y - y)^2`. Classes are balanced, y is 1 with covariance Σ₁ and 0 with Σ₀,
inputs have mean 0. :math:`\rho_{ij} = w_i^\top\Sigma w_j`, θ is the angle in the inner product of
Σ, and E[f; S > 0] means :math:`E[f\,1\{S > 0\}]`. Flows absorb the outer 1/K into τ. Where a
formula of the notes is wrong, the docstring says so.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import ascending, gram, matrix, positive, takes, whole
from lib.theory.common import EPS, integrate
from lib.theory.orthants import Pair, _compare, _root


@takes(weights=matrix, sigma1=gram, sigma0=gram)
def relu_flow(weights: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> NDArray:
    r"""Return the velocity of every neuron,
    :math:`\tau\dot w_i = F_i = -K\,\partial L/\partial w_i`, exactly:

    .. math:: F_i = \frac{\Sigma_1w_i}{2\sqrt{2\pi\rho^1_{ii}}} - \frac{1}{4\pi K}\sum_{c=0,1}\sum_k
              \Big[\sqrt{\frac{\rho^c_{kk}}{\rho^c_{ii}}}\,\sin\theta^c_{ik}\,\Sigma_cw_i
              + (\pi-\theta^c_{ik})\Sigma_cw_k\Big].

    `weights` and the result are (K, n), a neuron per row; `sigma1` and `sigma0` (n, n) are the
    covariances of the inputs with y = 1 and y = 0, Gaussian with mean 0. Errors as `angle`.

    Source: localization notes, Eq. 5 with Eqs. 11 and 43 corrected; for K = 1 it corrects Eqs. 138
    and 144–147, where the weights would shrink to zero.
    """  # noqa: D400
    return _flow(weights, _root(sigma1, weights=weights), _root(sigma0, weights=weights))


@takes(weights=matrix, sigma1=gram, sigma0=gram)
def relu_loss(weights: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> float:
    r"""Return the loss of the network on Gaussian data, exactly:

    .. math:: L = \frac12\left\{\frac{1}{K^2}\sum_{ij}\frac12\sum_c
              \frac{\sqrt{\rho^c_{ii}\rho^c_{jj}}}{2\pi}
              \left[\sin\theta^c_{ij} + (\pi-\theta^c_{ij})\cos\theta^c_{ij}\right]
              - \frac1K\sum_i\sqrt{\frac{\rho^1_{ii}}{2\pi}} + \frac12\right\}.

    Arguments and errors as `relu_flow`. Source: localization notes, Eq. 3; ours.
    """  # noqa: D400
    roots = [_root(sigma, weights=weights) for sigma in (sigma1, sigma0)]
    squared = 0.0
    for root in roots:
        p, white = _pairs(weights, root)
        length = np.linalg.norm(white, axis=-1)
        squared += 0.5 * np.sum(np.outer(length, length) * p.overlap) / (2 * np.pi)
    hit = np.linalg.norm(weights @ roots[0], axis=-1).mean() / np.sqrt(2 * np.pi)
    return float(0.5 * (squared / len(weights) ** 2 - hit + 0.5))


@takes(weights0=matrix, sigma1=gram, sigma0=gram, times=ascending, tau=positive)
def relu_trajectory(
    weights0: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike, times: ArrayLike, tau: float = 1.0
) -> tuple[NDArray, NDArray]:
    r"""Integrate :math:`\tau\dot w_i = F_i` from `weights0` (K, n), numerically.

    Parameters
    ----------
    weights0, sigma1, sigma0 : as in `relu_flow`
    times : (T,) ascending from 0 or later
    tau : the time constant τ, positive; K for gradient flow on L, K/2 for gradient flow on E(ŷ −
        y)²

    Returns times (T,), weights (T, K, n). Errors as `relu_flow`.
    """
    shape, roots = weights0.shape, [_root(sigma, weights0=weights0) for sigma in (sigma1, sigma0)]
    path = integrate(
        lambda _, w: _flow(w.reshape(shape), *roots).ravel() / tau, weights0.ravel(), times
    )
    return times, path.reshape(-1, *shape)


def _pairs(weights: NDArray, root: NDArray) -> tuple[Pair, NDArray]:
    white = weights @ root
    return _compare(white[:, None], white[None]), white


def _flow(weights: NDArray, root1: NDArray, root0: NDArray) -> NDArray:
    white = weights @ root1
    drive = (
        white @ root1.T / (2 * np.sqrt(2 * np.pi) * np.linalg.norm(white, axis=-1, keepdims=True))
    )
    for root in (root1, root0):
        p, white = _pairs(weights, root)
        length = np.linalg.norm(white, axis=-1)
        own = (p.sine @ length / length)[:, None]  # Σ_k √(ρ_kk/ρ_ii) sin θ_ik
        drive -= (own * white + p.rest @ white) @ root.T / (4 * np.pi * len(weights))
    return drive


@takes(n=whole, xi=positive)
def ring_correlation(n: int, xi: float) -> NDArray:
    r"""Return the correlations (n, n) of the Gaussian process under the NLGP,
    :math:`e^{-d(i,j)^2/\xi^2}`, d around the ring.

    From ξ of about n/8 on this has negative eigenvalues (at n = 40, −1e-7 for ξ = 5 and −.03 for ξ
    = 10). They are set to 0 and the diagonal is scaled back to 1, so that it is the correlation of
    what `lib.data.nlgp` draws. ξ > 0 is measured in sites.
    """
    steps = np.arange(n)
    distance = np.abs(steps - steps[:, None])
    correlation = np.exp(-(np.minimum(distance, n - distance) ** 2) / xi**2)
    variances, modes = np.linalg.eigh(correlation)
    if (
        variances[0] >= -n * EPS * variances[-1]
    ):  # leave it: near 1 any rounding costs the arcsine half its digits
        return correlation
    correlation = modes * np.maximum(variances, 0) @ modes.T
    correlation = np.clip(correlation / correlation[0, 0], -1, 1)
    np.fill_diagonal(correlation, 1)
    return correlation


@takes(gain=positive)
def nlgp_covariance(n: int, xi: float, gain: float) -> NDArray:
    r"""Return the covariance of the nonlinear Gaussian process :math:`x = \mathrm{erf}(gz)/Z(g)`, z
    with `ring_correlation` C:

    .. math:: \mathrm{Cov}(x)_{ij} = \frac{2}{\pi Z^2}\sin^{-1}\frac{2g^2C_{ij}}{1+2g^2}, \qquad
              Z^2 = \frac2\pi\sin^{-1}\frac{2g^2}{1+2g^2}.

    `n` and `xi` as in `ring_correlation`; for a `gain` g near 0 x is Gaussian, for large g a sign.
    The diagonal is 1.

    Source: the data that the localization notes name in section 1 and do not define; after Ingrosso
    & Goldt (2022).
    """  # noqa: D400
    return _arcsine(ring_correlation(n, xi), gain) / _arcsine(1.0, gain)


def _arcsine(c: ArrayLike, gain: float) -> NDArray:
    """Return the arcsine of cs, s = 2g²/(1 + 2g²), from its
    cosine, which keeps its digits where cs is nearly 1.
    """
    short = 1 / (1 + 2 * gain**2)  # 1 - s
    s, size = 2 * gain**2 * short, np.abs(c)
    return np.arctan2(np.multiply(s, c), np.sqrt((1 - size + size * short) * (1 + s * size)))
