r"""Localization in one-layer ReLU networks: the exact flow on Gaussian data, one neuron on any symmetric data, the signals.

Source: the localization notes (unfinished). The network is :math:`\hat y(x) = \frac1K\sum_k\mathrm{ReLU}(\langle w_k, x\rangle)`,
its loss :math:`L = \tfrac12E(\hat y - y)^2`. Classes are balanced, y is 1 with covariance Σ₁ and 0 with Σ₀, inputs have mean 0.
:math:`\rho_{ij} = w_i^\top\Sigma w_j`, θ is the angle in the inner product of Σ, and E[f; S > 0] means
:math:`E[f\,1\{S > 0\}]`. Flows absorb the outer 1/K into τ. Where a formula of the notes is wrong, the docstring says so.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from lib import checks
from lib.checks import (
    ascending,
    broadcastable,
    gram,
    matrix,
    non_negatives,
    positive,
    positives,
    shaped,
    takes,
    vectors,
    whole,
)
from lib.theory.common import EPS, classes, integrate
from lib.theory.orthants import (  # noqa: F401  Gaussian data in half-spaces, under the same name
    Pair,
    _compare,
    _root,
    angle,
    gated_mean,
    orthant_moments,
)


class FixedPoints(NamedTuple):
    """Where one neuron may come to rest on Gaussian data, the winner first."""

    ratio: NDArray  # (n,) μ = λ₁/(λ₁ + λ₀), descending
    weights: NDArray  # (n, n) a fixed point per row
    loss: NDArray  # (n,) ¼ − μ/4π


# --- Gaussian data --------------------------------------------------------------------------------------------------------


@takes(w1=vectors, wk=vectors, sigma=gram)
def relu_pair_moment(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return what two neurons share, :math:`E[\langle w_k, X\rangle X; \langle w_1, X\rangle > 0, \langle w_k, X\rangle > 0]`.

    .. math:: \frac{1}{2\pi}\left[\sqrt{\frac{\rho_{kk}}{\rho_{11}}}\,\sin\theta\;\Sigma w_1 + (\pi - \theta)\,\Sigma w_k\right]

    Arguments and errors as `angle`; the result is (..., n), Σw_k/2 for parallel and 0 for antiparallel vectors.

    Source: corrects localization notes, Eqs. 43–48 (the "[??]" of Eq. 48 is (π − θ)/2π), 49 and 53–54.
    """
    root = _root(sigma, w1=w1, wk=wk)
    p = _compare(w1 @ root, wk @ root)
    (first, second), sine, rest = p.lengths, p.sine[..., None], p.rest[..., None]
    return ((second / first)[..., None] * sine * w1 + rest * wk) @ (root @ root.T) / (2 * np.pi)


@takes(weights=matrix, sigma1=gram, sigma0=gram)
def relu_flow(weights: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> NDArray:
    r"""Return the velocity of every neuron, :math:`\tau\dot w_i = F_i = -K\,\partial L/\partial w_i`, exactly:

    .. math:: F_i = \frac{\Sigma_1w_i}{2\sqrt{2\pi\rho^1_{ii}}} - \frac{1}{4\pi K}\sum_{c=0,1}\sum_k
              \Big[\sqrt{\frac{\rho^c_{kk}}{\rho^c_{ii}}}\,\sin\theta^c_{ik}\,\Sigma_cw_i + (\pi-\theta^c_{ik})\Sigma_cw_k\Big].

    `weights` and the result are (K, n), a neuron per row; `sigma1` and `sigma0` (n, n) are the covariances of the inputs with
    y = 1 and y = 0, Gaussian with mean 0. Errors as `angle`.

    Source: localization notes, Eq. 5 with Eqs. 11 and 43 corrected; for K = 1 it corrects Eqs. 138 and 144–147, where the
    weights would shrink to zero.
    """  # noqa: D400
    return _flow(weights, _root(sigma1, weights=weights), _root(sigma0, weights=weights))


@takes(weights=matrix, sigma1=gram, sigma0=gram)
def relu_loss(weights: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> float:
    r"""Return the loss of the network on Gaussian data, exactly:

    .. math:: L = \frac12\left\{\frac{1}{K^2}\sum_{ij}\frac12\sum_c\frac{\sqrt{\rho^c_{ii}\rho^c_{jj}}}{2\pi}
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
    tau : the time constant τ, positive; K for gradient flow on L, K/2 for gradient flow on E(ŷ − y)²

    Returns times (T,), weights (T, K, n). Errors as `relu_flow`.
    """
    shape, roots = weights0.shape, [_root(sigma, weights0=weights0) for sigma in (sigma1, sigma0)]
    path = integrate(lambda _, w: _flow(w.reshape(shape), *roots).ravel() / tau, weights0.ravel(), times)
    return times, path.reshape(-1, *shape)


@takes(sigma1=gram, sigma0=gram)
def fixed_points(sigma1: ArrayLike, sigma0: ArrayLike) -> FixedPoints:
    r"""Return the fixed points of one neuron on Gaussian data, whose covariances `sigma1` and `sigma0` are (n, n).

    The flow :math:`F = \tfrac14[\sqrt{2/\pi}\,\rho_1^{-1/2}\Sigma_1w - (\Sigma_1+\Sigma_0)w]` vanishes where
    :math:`\Sigma_1w = \mu(\Sigma_1 + \Sigma_0)w` and :math:`w^\top\Sigma_1w = 2\mu^2/\pi`. On a ring these are Fourier modes,

    .. math:: \|w\| = \sqrt{\frac2\pi}\,\frac{\sqrt{\lambda_1}}{\lambda_1+\lambda_0}, \qquad
              \mu = \frac{\lambda_1}{\lambda_1+\lambda_0}.

    A small step towards a mode μ' grows at the rate :math:`\tfrac14(\lambda_1'+\lambda_0')(\mu'/\mu - 1)`: only modes with the
    largest :math:`\lambda_1/\lambda_0` are stable; their loss, :math:`\tfrac14 - \mu/4\pi`, is the least.

    Of two pixels the neuron ends at the one that varies more where y = 1:

    >>> found = fixed_points(sigma1=np.diag([4, 1]), sigma0=np.eye(2))
    >>> found.ratio
    array([0.8, 0.5])
    >>> np.abs(found.weights).round(2)
    array([[0.32, 0.  ],
           [0.  , 0.4 ]])

    Every sign, and within equal μ every rotation, is a fixed point too. Raises ValueError if the sum of the covariances is
    singular.

    Source: corrects localization notes, Eqs. 138 and 144–147 ("this shrinks u_1 to 0").
    """
    shaped("(n, n), (n, n)", sigma1=sigma1, sigma0=sigma0)
    one, zero = (root @ root.T for root in (_root(sigma1), _root(sigma0)))
    variances = np.linalg.eigvalsh(one + zero)
    if variances[0] <= len(one) * EPS * variances[-1]:
        raise ValueError("sigma1 + sigma0 is singular: weights in its null space rest anywhere")
    ratio, modes = eigh(one, one + zero)  # modesᵀ (Σ₁ + Σ₀) modes = I, hence wᵀΣ₁w = μ
    ratio = np.clip(ratio[::-1], 0, 1)
    return FixedPoints(ratio, np.sqrt(2 * ratio / np.pi)[:, None] * modes.T[::-1], 0.25 - ratio / (4 * np.pi))


def _pairs(weights: NDArray, root: NDArray) -> tuple[Pair, NDArray]:
    white = weights @ root
    return _compare(white[:, None], white[None]), white


def _flow(weights: NDArray, root1: NDArray, root0: NDArray) -> NDArray:
    white = weights @ root1
    drive = white @ root1.T / (2 * np.sqrt(2 * np.pi) * np.linalg.norm(white, axis=-1, keepdims=True))
    for root in (root1, root0):
        p, white = _pairs(weights, root)
        length = np.linalg.norm(white, axis=-1)
        own = (p.sine @ length / length)[:, None]  # Σ_k √(ρ_kk/ρ_ii) sin θ_ik
        drive -= (own * white + p.rest @ white) @ root.T / (4 * np.pi * len(weights))
    return drive


# --- one neuron, any inputs that are symmetric about zero -----------------------------------------------------------------


@takes(mean_absolute=non_negatives, variance1=positives, variance0=non_negatives)
def symmetric_score(mean_absolute: ArrayLike, variance1: ArrayLike, variance0: ArrayLike) -> NDArray:
    r"""Return what one neuron maximizes over the directions of w, on any data symmetric about zero, with S = ⟨w, X⟩:

    .. math:: R(w) = \frac{(E[|S| \mid y=1])^2}{E[S^2 \mid y=1] + E[S^2 \mid y=0]}, \qquad \min_s L(sw) = \frac14 - \frac R8.

    The best scale is :math:`s = E|S|/(E[S^2\mid 1] + E[S^2\mid 0])`. The local maxima of R over directions are the flow's stable
    points. On Gaussian data R is :math:`\tfrac2\pi\mu`, with μ as in `fixed_points`; otherwise it is that times Geary's ratio
    of the projection, :math:`\tfrac\pi2(E|S|)^2/E[S^2]`, above 1 for a projection flatter than a Gaussian, such as a sign.

    `mean_absolute` is E|S| where y = 1, `variance1` and `variance0` are E S² where y = 1 and y = 0, each (...), as the result
    is, between 0 and 1. Raises ValueError if the mean exceeds the root of the variance.

    Source: ours; towards section 3.2 of the localization notes, which is empty, for K = 1.
    """  # noqa: D400
    broadcastable(mean_absolute=mean_absolute, variance1=variance1, variance0=variance0)
    if np.any(mean_absolute**2 > variance1 * (1 + 1e-9)):
        raise ValueError("the square of mean_absolute exceeds variance1: no projection has these moments")
    return mean_absolute**2 / (variance1 + variance0)


@takes(inputs=matrix, labels=classes, w=matrix)
def scores(inputs: ArrayLike, labels: ArrayLike, w: ArrayLike) -> NDArray:
    """Return `symmetric_score` (k,) of the neurons w (k, n) on samples (samples, n) with labels 1 or 0."""
    shaped("(s, n), (s,), (k, n)", inputs=inputs, labels=labels, w=w)
    projections = inputs @ w.T
    one, zero = projections[labels == 1], projections[labels == 0]
    return symmetric_score(np.abs(one).mean(axis=0), (one**2).mean(axis=0), (zero**2).mean(axis=0))


@takes(starts=matrix, inputs=matrix, labels=classes, steps=partial(whole, least=0))
def climb_score(starts: ArrayLike, inputs: ArrayLike, labels: ArrayLike, steps: int = 100) -> NDArray:
    r"""Climb `symmetric_score` R on given signals, from several starts at once; no step size, and no step that goes down.

    .. math:: w \leftarrow Q^{-1}g(w), \qquad g(w) = E[X\,\mathrm{sign}\,S \mid y=1], \qquad Q = \Sigma_1 + \Sigma_0 .

    With :math:`a(w) = E[|S| \mid 1] = w^\top g(w)` and :math:`w' = Q^{-1}g(w)`: a is convex, so
    :math:`a(w') \ge g^\top w' = w'^\top Qw'`; and :math:`a(w)^2 = (w^\top Qw')^2 \le w^\top Qw\;w'^\top Qw'`. Hence
    :math:`R(w) \le w'^\top Qw' \le R(w')`.

    Parameters
    ----------
    starts : (k, n) weight vectors
    inputs, labels : (samples, n) and (samples,), 1 or 0; the sample's moments stand for the expectations, uncentred
    steps : how often, from 0

    Returns
    -------
    weights (k, n), of the length at which the flow of one neuron would rest

    Raises
    ------
    ValueError
        If shapes do not fit, a label is neither 1 nor 0, or Q is singular.

    Source: ours; towards section 3.2 of the localization notes.
    """
    shaped("(k, n), (s, n), (s,)", starts=starts, inputs=inputs, labels=labels)
    one, zero = inputs[labels == 1], inputs[labels == 0]
    total = one.T @ one / len(one) + zero.T @ zero / len(zero)
    if np.linalg.cond(total) > 1 / (len(total) * EPS):
        raise ValueError("inputs vary in fewer directions than there are sites: want more samples")
    w = starts
    for _ in range(steps):
        w = np.linalg.solve(total, (np.sign(one @ w.T).T @ one / len(one)).T).T
    return w


# --- the nonlinear Gaussian process on a ring -----------------------------------------------------------------------------


def _circulant(name: str, value: ArrayLike) -> NDArray:
    """Return a symmetric matrix (n, n) in which each row is the first one, moved along the ring."""
    sigma = checks.squares(name, value)
    shifts = np.subtract.outer(np.arange(len(sigma)), np.arange(len(sigma))) % len(sigma)
    off = max(np.abs(sigma - sigma[0][shifts]).max(), np.abs(sigma - sigma.T).max()) if sigma.ndim == 2 else np.inf
    if off > 1e-8 * np.abs(sigma).max():
        raise ValueError(f"{name} is not translation-invariant: want a symmetric circulant matrix (n, n)")
    return sigma


@takes(sigma=_circulant)
def ring_spectrum(sigma: ArrayLike) -> NDArray:
    r"""Return the eigenvalues (n//2 + 1,) of a translation-invariant covariance on a ring, by frequency 0, 1, ..., n//2.

    `sigma` (n, n) is symmetric and circulant. Frequencies other than 0 and n/2 have two modes, a cosine and a sine of norm
    :math:`\sqrt{n/2}`.

    Source: corrects localization notes, Eq. 136 (cosines alone are not a basis).
    """
    return np.fft.rfft(sigma[0]).real


@takes(n=whole, xi=positive)
def ring_correlation(n: int, xi: float) -> NDArray:
    r"""Return the correlations (n, n) of the Gaussian process under the NLGP, :math:`e^{-d(i,j)^2/\xi^2}`, d around the ring.

    From ξ of about n/8 on this has negative eigenvalues (at n = 40, −1e-7 for ξ = 5 and −.03 for ξ = 10). They are set to 0 and
    the diagonal is scaled back to 1, so that it is the correlation of what `lib.data.nlgp` draws. ξ > 0 is measured in sites.
    """
    steps = np.arange(n)
    distance = np.abs(steps - steps[:, None])
    correlation = np.exp(-(np.minimum(distance, n - distance) ** 2) / xi**2)
    variances, modes = np.linalg.eigh(correlation)
    if variances[0] >= -n * EPS * variances[-1]:  # leave it: near 1 any rounding costs the arcsine half its digits
        return correlation
    correlation = modes * np.maximum(variances, 0) @ modes.T
    correlation = np.clip(correlation / correlation[0, 0], -1, 1)
    np.fill_diagonal(correlation, 1)
    return correlation


@takes(gain=positive)
def nlgp_covariance(n: int, xi: float, gain: float) -> NDArray:
    r"""Return the covariance of the nonlinear Gaussian process :math:`x = \mathrm{erf}(gz)/Z(g)`, z with `ring_correlation` C:

    .. math:: \mathrm{Cov}(x)_{ij} = \frac{2}{\pi Z^2}\sin^{-1}\frac{2g^2C_{ij}}{1+2g^2}, \qquad
              Z^2 = \frac2\pi\sin^{-1}\frac{2g^2}{1+2g^2}.

    `n` and `xi` as in `ring_correlation`; for a `gain` g near 0 x is Gaussian, for large g a sign. The diagonal is 1.

    Source: the data that the localization notes name in section 1 and do not define; after Ingrosso & Goldt (2022).
    """  # noqa: D400
    return _arcsine(ring_correlation(n, xi), gain) / _arcsine(1.0, gain)


def _arcsine(c: ArrayLike, gain: float) -> NDArray:
    """Return the arcsine of cs, s = 2g²/(1 + 2g²), from its cosine, which keeps its digits where cs is nearly 1."""
    short = 1 / (1 + 2 * gain**2)  # 1 - s
    s, size = 2 * gain**2 * short, np.abs(c)
    return np.arctan2(np.multiply(s, c), np.sqrt((1 - size + size * short) * (1 + s * size)))
