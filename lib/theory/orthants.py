r"""Gaussian data in one, two and three half-spaces: angles, probabilities, moments.

Source: section 2 of the localization notes, whose closed forms (Eqs. 25, 30, 43–48) are wrong; these replace them.
:math:`X \sim N(0, \Sigma)`, :math:`\rho_{ij} = w_i^\top\Sigma w_j`, :math:`\theta` is the angle between two weight vectors in the
inner product of Σ, :math:`\cos\theta = \rho_{1k}/\sqrt{\rho_{11}\rho_{kk}}`, and E[f; S > 0] means :math:`E[f\,1\{S > 0\}]`.
The angle is taken from the sum and the difference of the unit vectors, so that it is right to about 1e-16 near 0 and π, too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import spherical_jn

from lib.theory.common import LARGEST, broadcastable, finite, square

EPS = np.finfo(float).eps


class OrthantMoments(NamedTuple):
    """Moments of S = ⟨w₁, X⟩ and T = ⟨w_k, X⟩ where both are positive, each (...)."""

    probability: NDArray  # P(S > 0, T > 0)
    ss: NDArray  # E[S²; S > 0, T > 0]
    st: NDArray  # E[ST; S > 0, T > 0]
    tt: NDArray  # E[T²; S > 0, T > 0]


class Pair(NamedTuple):
    """Two weight vectors in the inner product of Σ, whitened: what every closed form is made of."""

    lengths: tuple[NDArray, NDArray]  # √ρ_11 and √ρ_kk, (...)
    plus: NDArray  # the sum of the unit vectors (..., n)
    minus: NDArray  # their difference (..., n)
    sine: NDArray  # sin θ
    rest: NDArray  # π − θ
    cosine: NDArray  # cos θ

    @property
    def angle(self) -> NDArray:
        """The angle θ, with its digits near 0 and π."""
        return 2 * np.arctan2(np.linalg.norm(self.minus, axis=-1), np.linalg.norm(self.plus, axis=-1))


def covariance_root(name: str, sigma: ArrayLike) -> NDArray:
    """Return R (n, n) with RRᵀ = Σ, or raise ValueError unless Σ is symmetric and positive semidefinite."""
    sigma = square(name, sigma)
    if sigma.ndim != 2:
        raise ValueError(f"{name} has shape {sigma.shape}: want one covariance matrix (n, n)")
    if not np.allclose(sigma, sigma.T, rtol=1e-8, atol=1e-10 * np.abs(sigma).max()):
        raise ValueError(f"{name} is not symmetric: want a covariance matrix")
    variances, modes = np.linalg.eigh(sigma)
    if variances[0] < -1e-10 * np.abs(variances).max():
        raise ValueError(f"{name} has the eigenvalue {variances[0]:.3g} < 0: want a covariance matrix, positive semidefinite")
    return modes * np.sqrt(np.maximum(variances, 0))


def weight_rows(name: str, weights: ArrayLike, root: NDArray) -> NDArray:
    """Return weight vectors (..., n), or raise ValueError unless all fit Σ = `root` `root`ᵀ and none has ⟨w, X⟩ = 0."""
    weights, n = finite(name, weights), len(root)
    if weights.ndim < 1 or weights.shape[-1] != n:
        raise ValueError(f"{name} has shape {weights.shape}: want weight vectors (..., {n}), as the covariance is ({n}, {n})")
    spread = np.linalg.norm(weights @ root, axis=-1)
    floor = np.sqrt(n * EPS) * np.linalg.norm(root, 2) * np.linalg.norm(weights, axis=-1)
    if np.any(spread <= np.maximum(floor, 1 / LARGEST)):
        raise ValueError(
            f"{name} holds a zero weight vector, or one that no input moves (wᵀΣw = 0): it has no half-space;"
            f" want √(wᵀΣw) of at least {1 / LARGEST:g}"
        )
    return weights


def whitened_pair(s: NDArray, t: NDArray) -> Pair:
    """Compare whitened weight vectors Rᵀw₁ and Rᵀw_k, (..., n) each, which broadcast."""
    lengths = np.linalg.norm(s, axis=-1), np.linalg.norm(t, axis=-1)
    s, t = s / lengths[0][..., None], t / lengths[1][..., None]
    plus, minus = s + t, s - t
    p, m = np.linalg.norm(plus, axis=-1), np.linalg.norm(minus, axis=-1)  # 2 cos(θ/2) and 2 sin(θ/2)
    return Pair(lengths, plus, minus, p * m / 2, 2 * np.arctan2(p, m), (p - m) * (p + m) / 4)


def overlap(p: Pair) -> NDArray:
    """Return sin θ + (π − θ) cos θ, (...): with r = π − θ it is sin r − r cos r = r² j₁(r), which keeps its digits near θ = π."""
    return p.rest**2 * spherical_jn(1, p.rest)


def pair(
    w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike, names: tuple[str, str] = ("w1", "wk")
) -> tuple[Pair, NDArray, NDArray, NDArray]:
    """Check two arrays of weight vectors, called by `names`, and Σ; return the pair, both weights and the root of Σ."""
    root = covariance_root("sigma", sigma)
    w1, wk = weight_rows(names[0], w1, root), weight_rows(names[1], wk, root)
    broadcastable(**dict(zip(names, (w1, wk), strict=True)))
    return whitened_pair(w1 @ root, wk @ root), w1, wk, root


def angle(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return θ, :math:`\cos\theta = \rho_{1k}/\sqrt{\rho_{11}\rho_{kk}}`, between 0 and π.

    Parameters
    ----------
    w1, wk : (..., n) weight vectors that broadcast
    sigma : (n, n) covariance

    Returns
    -------
    (...), in radians

    Raises
    ------
    ValueError
        If `sigma` is not symmetric and positive semidefinite, shapes disagree, or a weight vector is zero.

    Source: localization notes, after Eq. 43, "order parameter"; to their question: yes, the cosine identity holds.
    """
    return pair(w1, wk, sigma)[0].angle


def orthant_probability(weights: ArrayLike, sigma: ArrayLike) -> float:
    r"""Return the probability that one, two or three half-spaces hold X at once.

    .. math:: P = \tfrac12, \qquad P = \tfrac12 - \frac{\theta_{12}}{2\pi}, \qquad
              P = \tfrac12 - \frac{\theta_{12} + \theta_{13} + \theta_{23}}{4\pi}.

    Parameters
    ----------
    weights : (m, n) the half-spaces ⟨w, X⟩ > 0, m = 1, 2 or 3
    sigma : (n, n) covariance

    Raises
    ------
    ValueError
        As `angle`, or if m is none of 1, 2, 3: from four on there is no closed form.

    Source: the localization notes need the first two; all three are Sheppard's.
    """
    weights = finite("weights", weights)
    if weights.ndim != 2 or not 1 <= len(weights) <= 3:
        raise ValueError(f"weights has shape {weights.shape}: want (m, n) with m = 1, 2 or 3 half-spaces")
    i, j = np.triu_indices(len(weights), 1)
    first, second = (weights[i], weights[j]) if len(i) else (weights, weights)
    angles = pair(first, second, sigma, ("weights", "weights"))[0].angle
    return float(0.5 - angles.sum() / (2 * np.pi * max(len(weights) - 1, 1)))


def orthant_moments(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> OrthantMoments:
    r"""Return the moments of S and T where both are positive.

    .. math:: P = \frac{\pi-\theta}{2\pi}, \qquad
              E[S^2; \cdot] = \frac{\rho_{11}}{2\pi}(\pi - \theta + \sin\theta\cos\theta), \qquad
              E[ST; \cdot] = \frac{\sqrt{\rho_{11}\rho_{kk}}}{2\pi}(\sin\theta + (\pi-\theta)\cos\theta).

    Parameters
    ----------
    w1, wk : (..., n) weight vectors that broadcast
    sigma : (n, n) covariance

    Raises
    ------
    ValueError
        As `angle`.

    Source: corrects localization notes, Eqs. 25 (which is E[T²]) and 30, and Eqs. 66–76.
    """
    p, *_ = pair(w1, wk, sigma)
    (s, t), mixed = p.lengths, overlap(p) / (2 * np.pi)
    square_part = p.rest * p.sine**2 / (2 * np.pi) + p.cosine * mixed  # = π - θ + sin θ cos θ over 2π, without cancellation
    return OrthantMoments(p.rest / (2 * np.pi), s**2 * square_part, s * t * mixed, t**2 * square_part)


def orthant_covariance(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return :math:`E[XX^\top; S > 0, T > 0]`, which gates a linear network (A of two half-spaces).

    .. math:: E[XX^\top; \cdot] = \frac{1}{2\pi}\left[(\pi - \theta)\,\Sigma
              + \sin\theta\,\Big(\frac{pp^\top}{p^\top\Sigma^{-1}p} - \frac{mm^\top}{m^\top\Sigma^{-1}m}\Big)\right], \qquad
              p, m = \frac{\Sigma w_1}{\sqrt{\rho_{11}}} \pm \frac{\Sigma w_k}{\sqrt{\rho_{kk}}}.

    Parameters
    ----------
    w1, wk : (..., n) weight vectors that broadcast
    sigma : (n, n) covariance

    Returns
    -------
    (..., n, n); Σ/2 for parallel and 0 for antiparallel vectors

    Raises
    ------
    ValueError
        As `angle`.

    Source: Eq. 84 of the localization notes for ReLU's own gates; ours.
    """
    p, _, _, root = pair(w1, wk, sigma)

    def outer(v: NDArray) -> NDArray:
        length = np.linalg.norm(v, axis=-1, keepdims=True)
        v = np.divide(v, length, out=np.zeros_like(v), where=length > 0) @ root.T
        return v[..., :, None] * v[..., None, :]

    sine, rest = p.sine[..., None, None], p.rest[..., None, None]
    return (rest * (root @ root.T) + sine * (outer(p.plus) - outer(p.minus))) / (2 * np.pi)


def gated_mean(weights: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return :math:`E[X; \langle w, X\rangle > 0] = \Sigma w/\sqrt{2\pi\,w^\top\Sigma w}` for Gaussian data.

    Parameters
    ----------
    weights : (..., n)
    sigma : (n, n) covariance

    Returns
    -------
    (..., n)

    Raises
    ------
    ValueError
        As `angle`.

    Source: localization notes, Eq. 11.
    """
    root = covariance_root("sigma", sigma)
    white = weight_rows("weights", weights, root) @ root
    return white @ root.T / (np.sqrt(2 * np.pi) * np.linalg.norm(white, axis=-1, keepdims=True))
