r"""The exact course of two-layer linear networks on white data, from any isotropic start: a matrix Riccati equation.

Where :math:`AA^\top - WW^\top = \delta I`, the stacked layers :math:`Z = (W^\top; A^\top)`, (d + c, h), obey

.. math:: \dot Z = FZ - \tfrac12 ZZ^\top Z, \qquad
          F = \begin{pmatrix}-\tfrac\delta2 I_d & \beta_*\\ \beta_*^\top & \tfrac\delta2 I_c\end{pmatrix},

so that :math:`ZZ^\top = e^{Ft}Z_0\,(I + Z_0^\top\!\int_0^t\!e^{2Fs}ds\,Z_0)^{-1}Z_0^\top e^{Ft}`; its blocks are
:math:`W^\top W`, :math:`\beta` and :math:`A^\top A`. The loss is :math:`\tfrac12\|\beta - \beta_*\|^2`, all learning rates are 1.

Source: Braun et al. (2022), after Fukumizu (1998), for δ = 0 and many starts; Dominé et al. (2025), with this F, for δ ≠ 0,
h = min(d, c) and an invertible block of the start. Ours: no inverse of F or of the start, so every rank and width; the program.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from lib.checks import fit, matrix, moments, number, takes, vector

EPS = np.finfo(float).eps


class Course(NamedTuple):
    """What two layers compute along the flow, and the Gram matrices that make their tangent kernel."""

    times: NDArray  # (T,)
    beta: NDArray  # (T, d, c), WᵀA
    gram_w: NDArray  # (T, d, d), WᵀW
    gram_a: NDArray  # (T, c, c), AᵀA

    @property
    def kernel(self) -> NDArray:
        """The tangent kernel on white data, AᵀA ⊕ WᵀW, (T, dc, dc)."""
        return kronecker_sum(self.gram_a, self.gram_w)


class _Modes(NamedTuple):
    """Z in the eigenvectors of F, whose eigenvalues are ±(|δ|/2 + excess)."""

    z: NDArray  # (n, h)
    terms: NDArray  # (n,), the sizes of what its rows were summed from
    grows: NDArray  # (n,) booleans
    excess: NDArray  # (n,), of at least 0


@takes(a=matrix, w=matrix, beta_star=matrix, times=moments)
def solve(a: ArrayLike, w: ArrayLike, beta_star: ArrayLike, times: ArrayLike) -> NDArray:
    r"""Return the map :math:`\beta(t) = W^\top A` on white data, exactly, (T, d, c); see `course` for arguments and errors.

    >>> solve([[1.0], [0.0]], [[0.0], [1.0]], [[2.0]], [0, 1, 30]).ravel().round(3)  # AAᵀ - WWᵀ is not δI: refused
    Traceback (most recent call last):
    ValueError: a aᵀ - w wᵀ is 1 away from 0 I: want isotropic layers, as from isotropic_initialization
    >>> solve([[1.0]], [[0.5]], [[2.0]], [0, 1, 30]).ravel().round(3)
    array([0.5  , 1.916, 2.   ])
    """
    return course(a, w, beta_star, times).beta


@takes(a=matrix, w=matrix, beta_star=matrix, times=moments)
def course(a: ArrayLike, w: ArrayLike, beta_star: ArrayLike, times: ArrayLike) -> Course:
    r"""Solve the flow of two isotropic layers on white data exactly, aligned with the target or not.

    In the eigenvectors of F a row of Z either grows or decays. Columns of Z are combined so that the row that has grown most has
    one entry, the next row two, and so on, each divided by its own growth: nothing overflows, at any time. A start that lies in
    the basin of a saddle up to the rounding of its numbers counts as in it, and singular values of `beta_star` that are zero up
    to rounding as zero.

    Parameters
    ----------
    a, w : (h, c) and (h, d) at time 0, with :math:`AA^\top - WW^\top = \delta I_h` for a δ of any sign
    beta_star : (d, c) the least-squares solution, of any rank
    times : (T,) non-negative

    Raises ValueError if the layers are not isotropic to 1e-8 of their size. This bounds Δ, not the map: near a saddle,
    layers that are isotropic to 1e-9 only may leave it at another time than the answer for Δ = δI does.

    Source: see the module.
    """
    fit("(h, c), (h, d), (d, c)", a=a, w=w, beta_star=beta_star)
    delta = _isotropic_delta(a, w)
    (d, c), r = beta_star.shape, min(beta_star.shape)
    u, s, vt = np.linalg.svd(beta_star)
    s = np.where(s > max(d, c) * EPS * s[0], s, 0.0)
    kappa = np.hypot(delta, 2 * s)
    excess = 2 * s * np.divide(s, kappa + np.abs(delta), out=np.zeros(r), where=kappa > 0)
    # the growing mode is (low u, high v) and the decaying one (high u, -low v); those beyond r have one part only
    larger = np.sqrt(0.5 + np.divide(np.abs(delta), 2 * kappa, out=np.full(r, 0.5), where=kappa > 0))
    smaller = np.divide(s, kappa * larger, out=np.zeros(r), where=kappa > 0)
    low, high = (smaller, larger) if delta >= 0 else (larger, smaller)
    into = np.block(
        [
            [low[:, None] * u.T[:r], high[:, None] * vt[:r]],
            [high[:, None] * u.T[:r], -low[:, None] * vt[:r]],
            [u.T[r:], np.zeros((d - r, c))],
            [np.zeros((c - r, d)), vt[r:]],
        ]
    )
    stacked = np.vstack([w.T, a.T])
    terms = np.abs(into) @ np.hypot.reduce(stacked, axis=1)
    grows = np.repeat([True, False, delta <= 0, delta >= 0], [r, r, d - r, c - r])
    modes = _Modes(into @ stacked, terms, grows, np.concatenate([excess, excess, np.zeros(d + c - 2 * r)]))
    y = into.T @ _grown(modes, np.abs(delta), times)
    of_w, of_a = y[:, :d], y[:, d:]
    return Course(times, of_w @ of_a.mT, of_w @ of_w.mT, of_a @ of_a.mT)


@takes(beta0_values=vector, target_values=vector, delta=number, times=moments)
def singular_values(beta0_values: ArrayLike, target_values: ArrayLike, delta: float, times: ArrayLike) -> NDArray:
    r"""Solve :math:`\dot\lambda = \sqrt{\delta^2+4\lambda^2}\,(s-\lambda)`, the aligned modes on white data, exactly.

    Each mode is `solve` for h = d = c = 1, that is, a single neuron of one input: :math:`(w, a) = e^{Ft}(w_0, a_0)/\sqrt D` with
    :math:`D = 1 + \int_0^t\|e^{Fs}(w_0, a_0)\|^2ds`, and :math:`\lambda = wa`. Here δ is given and :math:`e^{Ft}` written so that
    small λ keep their digits, also close to the saddle.

    >>> singular_values([0.001, 0.001], [2, 1], delta=0, times=[0, 3, 8]).round(2)  # the strong mode is learned first
    array([[0.  , 0.  ],
           [1.98, 0.29],
           [2.  , 1.  ]])

    Parameters
    ----------
    beta0_values : (r,) the modes at time 0; a mode of either sign keeps its singular vectors and may pass through zero
    target_values : (r,) their targets s
    delta : the conserved quantity, 0 or at least 1e-150 in size
    times : (T,) non-negative

    Returns (T, r); for δ = 0 a mode does not leave or cross zero.

    Source: Lemma 10, with signed values (the singular values themselves, :math:`|\lambda|`, reflect at zero).
    """
    fit("(r,), (r,)", beta0_values=beta0_values, target_values=target_values)
    if 0 < np.abs(delta) < 1e-150:
        raise ValueError(f"delta is {delta:g}: want 0, or at least 1e-150 in size: its square decides when a mode crosses zero")
    # The signs of the target and of δ are taken out: from here on s, δ ≥ 0, and only the start may be negative.
    flip, delta = np.where(target_values < 0, -1.0, 1.0), np.abs(delta)
    s, start, t = np.abs(target_values), beta0_values * flip, times[:, None]
    h, kappa = np.hypot(delta, 2 * start), np.hypot(delta, 2 * s)
    a0 = np.sqrt((h + delta) / 2)
    w0 = np.divide(start, a0, out=np.zeros_like(a0), where=a0 > 0)
    rate = np.where(kappa > 0, kappa, 1.0)
    high = np.sqrt((1 + delta / rate) / 2)  # the growing mode is (low, high), the decaying one (high, -low)
    low = np.where(kappa > 0, s / (rate * high), high)
    # a start against the target leaves the saddle by the part √(κh + δ² - 4s|λ|)/√(2κ) of the growing mode
    apart = kappa * h + 4 * s * np.abs(start)
    with np.errstate(over="ignore", invalid="ignore"):  # where the start is along the target
        against = delta * np.sqrt((1 + (kappa**2 + 4 * start**2) / np.where(apart > 0, apart, 1)) / (2 * rate))
    up, down = np.where(start >= 0, low * w0 + high * a0, against), high * w0 - low * a0
    with np.errstate(over="ignore"):  # κt = ∞ is the end
        e, phi = np.exp(-kappa * t), _decayed(kappa, t)  # all is divided by e^(κt/2), d by its square
    d = e + phi * (up**2 + e * down**2)
    w = np.where(start >= 0, (high**2 * e + low**2) * w0 + phi * (s * a0), low * up + high * e * down)
    a = np.where(start >= 0, (high**2 + low**2 * e) * a0 + phi * (s * w0), high * up - low * e * down)
    return flip * w * np.divide(a, d, out=np.zeros_like(d), where=d > 0)


def kronecker_sum(first: NDArray, second: NDArray) -> NDArray:
    """Return first ⊗ I + I ⊗ second for (..., c, c) and (..., d, d)."""
    c, d = first.shape[-1], second.shape[-1]
    total = np.einsum("...ij,kl->...ikjl", first, np.eye(d)) + np.einsum("ij,...kl->...ikjl", np.eye(c), second)
    return total.reshape(*first.shape[:-2], c * d, c * d)


def _isotropic_delta(a: NDArray, w: NDArray) -> float:
    """Return δ with AAᵀ - WWᵀ = δI, or raise ValueError."""
    of_a, of_w = np.square(a.astype(np.longdouble)).sum(), np.square(w.astype(np.longdouble)).sum()
    delta = float((of_a - of_w) / len(a))
    gap = np.abs(a @ a.T - w @ w.T - delta * np.eye(len(a))).max()
    if gap > 1e-8 * float(of_a + of_w):
        raise ValueError(
            f"a aᵀ - w wᵀ is {gap:.3g} away from {delta:.3g} I: want isotropic layers, as from isotropic_initialization"
        )
    return delta


def _decayed(rate: NDArray, times: NDArray) -> NDArray:
    """Integrate exp(-rate u) over u from 0 to t, for a rate of at least 0; t where it is 0."""
    past = rate * times
    return np.where(past > 1, -np.expm1(-past) / np.where(rate > 0, rate, 1.0), times * exprel(-past))


def _grown(modes: _Modes, delta: float, times: NDArray) -> NDArray:
    r"""Return Y (T, n, h) with :math:`YY^\top = e^{ft}z\,(I + z^\top\varphi z)^{-1}z^\top e^{ft}`, φ = ∫e²ᶠᵗ.

    With the columns of :math:`(\sqrt\varphi z; I)` combined by any invertible matrix to C = QR, the columns of
    :math:`e^{ft}z`, combined in the same way, are YR. Rates are subtracted from each other before they are multiplied by t:
    where δ is large they differ little. `delta` is |δ|.
    """
    (n, h), count, t = modes.z.shape, len(times), times[:, None]
    size = np.where(modes.terms > 0, modes.terms, 1)
    rows = np.vstack([modes.z / size[:, None], np.eye(h)])
    rows = np.repeat(rows[None], count, axis=0)  # (T, n + h, h)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        size = np.log(size)  # of the parts that a row was summed from: its rounding is EPS
        half, rest = np.zeros((2, n + h))  # a row of C is exp((half + rest) t + offset) times that of rows
        half[:n], rest[:n] = np.where(modes.grows, delta / 2, 0.0), np.where(modes.grows, modes.excess, 0.0)
        offset, above = np.zeros((2, count, n + h))
        offset[:, :n] = size + np.log(_decayed(delta + 2 * modes.excess, t)) / 2
        above[:, :n] = size - np.where(modes.grows, 0.0, delta / 2 + modes.excess) * t  # as offset, for a row of YR
        at = np.arange(count)
        combined, upper = np.zeros((count, n + h, h)), np.zeros((count, n, h))
        blur = np.ones(count)  # by how much small pivots have enlarged the rounding of what is left
        for k in range(h):
            left = np.hypot.reduce(rows[:, :, k:], axis=-1)
            there = left > 8 * (n + h) * EPS * blur[:, None]  # not a row that was a pivot, whose entries are zero
            rows[~there, k:] = 0.0  # rounding, which later would grow
            fastest = np.lexsort((np.where(there, rest, -1), np.where(there, half, -1)), axis=-1)[:, -1]
            ahead = (half - half[fastest, None]) * t + (rest - rest[fastest, None]) * t
            pivot = np.argmax(np.where(there, ahead + offset + np.log(left), -np.inf), axis=1)
            blur += 1 / left[at, pivot]
            rows[:, :, k:], entry = _reflected(rows[:, :, k:], rows[at, pivot, k:])
            rows[at, pivot, k + 1 :] = 0.0
            column, own = rows[:, :, k] / entry[:, None], offset[at, pivot, None]
            ahead = (half - half[pivot, None]) * t + (rest - rest[pivot, None]) * t - own
            combined[:, :, k] = np.where(column == 0, 0, column * np.exp(ahead + offset))
            upper[:, :, k] = np.where(column == 0, 0, column * np.exp(ahead + above))[:, :n]
    return np.linalg.solve(np.linalg.qr(combined, mode="r").mT, upper.mT).mT


def _reflected(rows: NDArray, pivot: NDArray) -> tuple[NDArray, NDArray]:
    """Return rows (T, n, m) times the reflection that turns `pivot` (T, m) to the first axis, and its entry there (T,)."""
    entry = -np.copysign(np.hypot.reduce(pivot, axis=-1), pivot[:, 0])
    axis = pivot.copy()
    axis[:, 0] -= entry
    axis /= np.hypot.reduce(axis, axis=-1)[:, None]
    return rows - 2 * (rows @ axis[:, :, None]) * axis[:, None, :], entry
