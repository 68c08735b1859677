r"""Gaussian data in one, two and three half-spaces: angles, probabilities, moments.

Source: section 2 of the localization notes, whose closed forms (Eqs. 25, 30, 43–48) are wrong;
these replace them. :math:`X \sim N(0, \Sigma)`, :math:`\rho_{ij} = w_i^\top\Sigma w_j`,
:math:`\theta` is the angle between two weight vectors in the inner product of Σ,
:math:`\cos\theta = \rho_{1k}/\sqrt{\rho_{11}\rho_{kk}}`, and E[f; S > 0] means
:math:`E[f\,1\{S > 0\}]`. The angle is taken from the sum and the difference of the unit vectors, so
that it is right to about 1e-16 near 0 and π, too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import spherical_jn

from lib.checks import LARGEST, broadcastable, gram, takes, vectors
from lib.theory.common import EPS


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
        return 2 * np.arctan2(
            np.linalg.norm(self.minus, axis=-1), np.linalg.norm(self.plus, axis=-1)
        )

    @property
    def overlap(self) -> NDArray:
        """The overlap sin θ + (π − θ) cos θ: with r = π − θ it is sin r
        − r cos r = r² j₁(r), which keeps its digits near π.
        """
        return self.rest**2 * spherical_jn(1, self.rest)


def _root(sigma: NDArray, **weights: NDArray) -> NDArray:
    """Return R (n, n) with RRᵀ = Σ, or raise ValueError unless all
    weights (..., n) fit Σ and none has ⟨w, X⟩ = 0.
    """
    variances, modes = np.linalg.eigh(sigma)
    n = len(sigma)
    root = modes * np.sqrt(
        np.where(variances > n * EPS * variances[-1], variances, 0)
    )  # what is smaller is rounding
    for name, w in weights.items():
        if w.shape[-1] != n:
            raise ValueError(
                f"{name} has shape {w.shape}: want weight vectors (..., {n}), as the covariance "
                f"is ({n}, {n})"
            )
        floor = np.sqrt(n * EPS) * np.linalg.norm(root, 2) * np.linalg.norm(w, axis=-1)
        if np.any(np.linalg.norm(w @ root, axis=-1) <= np.maximum(floor, 1 / LARGEST)):
            raise ValueError(
                f"{name} holds a zero weight vector, or one that no input moves (wᵀΣw = 0): it "
                "has no half-space;"
                f" want √(wᵀΣw) of at least {1 / LARGEST:g}"
            )
    broadcastable(**weights)
    return root


def _compare(s: NDArray, t: NDArray) -> Pair:
    """Compare whitened weight vectors Rᵀw₁ and Rᵀw_k, (..., n) each, which broadcast."""
    lengths = np.linalg.norm(s, axis=-1), np.linalg.norm(t, axis=-1)
    s, t = s / lengths[0][..., None], t / lengths[1][..., None]
    plus, minus = s + t, s - t
    p, m = (
        np.linalg.norm(plus, axis=-1),
        np.linalg.norm(minus, axis=-1),
    )  # 2 cos(θ/2) and 2 sin(θ/2)
    return Pair(lengths, plus, minus, p * m / 2, 2 * np.arctan2(p, m), (p - m) * (p + m) / 4)


@takes(w1=vectors, wk=vectors, sigma=gram)
def angle(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return θ, :math:`\cos\theta = \rho_{1k}/\sqrt{\rho_{11}\rho_{kk}}`, between 0 and π, (...).

    The weights `w1` and `wk` (..., n) broadcast; `sigma` (n, n) is the covariance. Raises
    ValueError if `sigma` is not symmetric and positive semidefinite, or no input moves a weight
    vector: wᵀΣw = 0.

    Source: localization notes, after Eq. 43, "order parameter"; to their question: yes, the cosine
    identity holds.
    """
    root = _root(sigma, w1=w1, wk=wk)
    return _compare(w1 @ root, wk @ root).angle


@takes(w1=vectors, wk=vectors, sigma=gram)
def orthant_moments(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> OrthantMoments:
    r"""Return the moments of S and T where both are positive.

    .. math:: P = \frac{\pi-\theta}{2\pi}, \qquad
              E[S^2; \cdot] = \frac{\rho_{11}}{2\pi}(\pi - \theta + \sin\theta\cos\theta), \qquad
              E[ST; \cdot] = \frac{\sqrt{\rho_{11}\rho_{kk}}}{2\pi}(\sin\theta
              + (\pi-\theta)\cos\theta).

    Arguments and errors as `angle`. Source: corrects localization notes, Eqs. 25 (which is E[T²])
    and 30, and Eqs. 66–76.
    """
    root = _root(sigma, w1=w1, wk=wk)
    p = _compare(w1 @ root, wk @ root)
    (s, t), mixed = p.lengths, p.overlap / (2 * np.pi)
    square_part = (
        p.rest * p.sine**2 / (2 * np.pi) + p.cosine * mixed
    )  # = π - θ + sin θ cos θ over 2π, without cancellation
    return OrthantMoments(
        p.rest / (2 * np.pi), s**2 * square_part, s * t * mixed, t**2 * square_part
    )


def _gated_covariance(p: Pair, root: NDArray) -> NDArray:
    """Return E[XXᵀ; S > 0, T > 0] of each pair, (..., n, n);
    ours, for Eq. 84 of the localization notes.

    It is [(π - θ) Σ + sin θ (ppᵀ/pᵀΣ⁻¹p - mmᵀ/mᵀΣ⁻¹m)]/2π with p, m = Σw₁/√ρ₁₁ ± Σw_k/√ρ_kk.
    """

    def outer(v: NDArray) -> NDArray:
        length = np.linalg.norm(v, axis=-1, keepdims=True)
        v = np.divide(v, length, out=np.zeros_like(v), where=length > 0) @ root.T
        return v[..., :, None] * v[..., None, :]

    sine, rest = p.sine[..., None, None], p.rest[..., None, None]
    return (rest * (root @ root.T) + sine * (outer(p.plus) - outer(p.minus))) / (2 * np.pi)


@takes(weights=vectors, sigma=gram)
def gated_mean(weights: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return :math:`E[X; \langle w, X\rangle > 0] = \Sigma w/\sqrt{2\pi\,w^\top\Sigma w}` for
    Gaussian data.

    `weights` and the result have shape (..., n), `sigma` (n, n). Errors as `angle`. Source:
    localization notes, Eq. 11.
    """
    root = _root(sigma, weights=weights)
    white = weights @ root
    return white @ root.T / (np.sqrt(2 * np.pi) * np.linalg.norm(white, axis=-1, keepdims=True))
