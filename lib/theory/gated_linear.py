r"""Gated deep linear networks with one layer and fixed gates: moments, gradient flow, its limit, and which gating wins.

Source: section 4 of the localization notes. The model is :math:`\hat y = \frac1K\sum_k g_k(x)\,w_k^\top x` (Eq. 80), its loss
:math:`\tfrac12 E(\hat y - y)^2`. With :math:`\tilde x = g \otimes x`, :math:`A = E\tilde x\tilde x^\top` and
:math:`b = E\tilde x y` the flow is :math:`K\tau\dot w = b - Aw/K`: the notes' Eqs. 82 and 85 miss the last 1/K.
Classes are balanced and y is 0 or 1. The stacked w (Kn,) holds w₁ first, then w₂, and so on.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from lib.theory.common import ascending, binary, finite, number, positive, square
from lib.theory.orthants import covariance_root, gated_mean, orthant_covariance, weight_rows


class Moments(NamedTuple):
    """What the gated network knows of the data."""

    a: NDArray  # (Kn, Kn)
    b: NDArray  # (Kn,)


class Modes(NamedTuple):
    """The eigenmodes of A, the largest eigenvalue first."""

    eigenvalues: NDArray  # (Kn,) λ, with rounding below zero set to 0
    vectors: NDArray  # (Kn, Kn) P, a mode per column
    drive: NDArray  # (Kn,) c = Pᵀb, 0 in a zero mode
    gain: NDArray  # (Kn,) c²/λ, by which the mode lowers the loss of Eq. 96 in the end


def gdln_moments(inputs: ArrayLike, labels: ArrayLike, gates: ArrayLike) -> Moments:
    r"""Average :math:`A = \langle(g\otimes x)(g\otimes x)^\top\rangle` and :math:`b = \langle y\,g\otimes x\rangle` over samples.

    Parameters
    ----------
    inputs : (samples, n)
    labels : (samples,)
    gates : (K, samples), 0 or 1

    Returns
    -------
    a (Kn, Kn) and b (Kn,)

    Raises
    ------
    ValueError
        If shapes disagree, or a gate is neither 0 nor 1.

    Source: localization notes, Eqs. 83–87.
    """
    x, y, g = finite("inputs", inputs), finite("labels", labels), binary("gates", gates)
    if x.ndim != 2 or g.ndim != 2 or y.shape != x.shape[:1] or g.shape[1:] != y.shape:
        raise ValueError(
            f"inputs {x.shape}, labels {y.shape} and gates {g.shape} do not fit: want (samples, n), (samples,), (K, samples)"
        )
    gated = (g.T[:, :, None] * x[:, None, :]).reshape(len(x), -1)  # (samples, Kn)
    return Moments(gated.T @ gated / len(x), gated.T @ y / len(x))


def gdln_gaussian_moments(gates: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> Moments:
    r"""Return A and b exactly for half-space gates :math:`g_k(x) = 1\{\langle v_k, x\rangle > 0\}` on Gaussian data.

    Parameters
    ----------
    gates : (K, n) the vectors v; a ReLU network's own gates are its weights
    sigma1, sigma0 : (n, n) covariances of the inputs with y = 1 and y = 0

    Returns
    -------
    a (Kn, Kn) and b (Kn,)

    Raises
    ------
    ValueError
        If a covariance is not symmetric and positive semidefinite, shapes disagree, or a gate is zero.

    Source: localization notes, Eqs. 83–87 and 92, with the pair moments of `lib.theory.orthants`.
    """
    for name, sigma in (("sigma1", sigma1), ("sigma0", sigma0)):
        gates = weight_rows("gates", gates, covariance_root(name, sigma))
    if gates.ndim != 2:
        raise ValueError(f"gates has shape {gates.shape}: want (K, n)")
    blocks = sum(orthant_covariance(gates[:, None], gates, sigma) for sigma in (sigma1, sigma0)) / 2  # (K, K, n, n)
    return Moments(blocks.transpose(0, 2, 1, 3).reshape(gates.size, gates.size), gated_mean(gates, sigma1).ravel() / 2)


def gdln_modes(a: ArrayLike, b: ArrayLike) -> Modes:
    r"""Diagonalize :math:`A = P\Lambda P^\top`.

    Parameters
    ----------
    a : (Kn, Kn) symmetric and positive semidefinite
    b : (Kn,) in the range of `a`, as the moments of any data are

    Raises
    ------
    ValueError
        If shapes disagree, `a` is not symmetric and positive semidefinite, or `b` drives a mode of eigenvalue 0.

    Source: localization notes, Eqs. 87–88, where a zero eigenvalue divides by zero.
    """
    covariance_root("a", a)
    a, b = finite("a", a), finite("b", b)
    if b.shape != a.shape[:1]:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: want (Kn, Kn) and (Kn,)")
    eigenvalues, vectors = (array[..., ::-1] for array in np.linalg.eigh((a + a.T) / 2))
    drive, zero = vectors.T @ b, eigenvalues <= len(a) * np.finfo(float).eps * eigenvalues[0]
    if np.any(np.abs(drive[zero]) > 1e-6 * max(np.linalg.norm(b), np.sqrt(eigenvalues[0]))):
        raise ValueError("b drives a mode in which a is 0: no data have such moments, and the flow would not end")
    eigenvalues, drive = np.where(zero, 0, eigenvalues), np.where(zero, 0, drive)
    return Modes(eigenvalues, vectors, drive, drive**2 / np.where(zero, 1, eigenvalues))


def gdln_trajectory(weights0: ArrayLike, a: ArrayLike, b: ArrayLike, times: ArrayLike, tau: float = 1.0) -> NDArray:
    r"""Solve :math:`K\tau\dot w = b - Aw/K`, the gradient flow of the loss of Eq. 80, exactly.

    With :math:`A = P\Lambda P^\top`, :math:`l = \lambda/K`, :math:`u = P^\top w` and :math:`c = P^\top b` every mode relaxes
    alone,

    .. math:: u(t) = \frac cl + e^{-lt/(K\tau)}\Big(u(0) - \frac cl\Big)

    and a mode with :math:`\lambda = 0` keeps its initial value, because there c = 0.

    Parameters
    ----------
    weights0 : (K, n)
    a, b : (Kn, Kn) and (Kn,), from `gdln_moments` or `gdln_gaussian_moments`
    times : (T,) ascending from 0 or later
    tau : the time constant τ, positive

    Returns
    -------
    (T, K, n)

    Raises
    ------
    ValueError
        As `gdln_modes`, or if `weights0` does not fit, times do not ascend from 0 or later, or `tau` is not positive.

    Source: corrects localization notes, Eqs. 85 and 88–90 (no 1/K; the constant of integration is signed, no exponential).
    """
    modes, w = gdln_modes(a, b), _network("weights0", weights0, b)
    times, tau = ascending(times), number("tau", tau, positive)
    with np.errstate(over="ignore"):
        past = np.minimum(times[:, None] / (len(w) * tau), 1e300)
        decay = -modes.eigenvalues / len(w) * past  # (T, Kn)
    settled = -np.expm1(decay) * len(w) / np.where(modes.eigenvalues > 0, modes.eigenvalues, 1)
    reached = np.where(decay < -1, settled, past * exprel(decay))  # (1 - e^(-lt/Kτ)) / l, either way with its digits
    u = np.exp(decay) * (modes.vectors.T @ w.ravel()) + reached * modes.drive
    return (u @ modes.vectors.T).reshape(-1, *w.shape)


def gdln_limit(weights0: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray:
    r"""Return :math:`w(\infty) = KA^+b + (I - A^+A)\,w(0)`, least squares of y on :math:`\tilde x/K`, (K, n).

    Of all solutions it is the nearest to `weights0` (K, n). Arguments and errors as `gdln_trajectory`.

    Source: corrects localization notes, section 4.4.2 (:math:`A^{-1}b` lacks the K) and Eq. 107 (a leftover exponential).
    """
    modes, w = gdln_modes(a, b), _network("weights0", weights0, b)
    alive = modes.eigenvalues > 0
    settled = len(w) * modes.drive / np.where(alive, modes.eigenvalues, 1)
    return (modes.vectors @ np.where(alive, settled, modes.vectors.T @ w.ravel())).reshape(w.shape)


def gdln_loss(weights: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray:
    r"""Return :math:`\tfrac12 E(\hat y - y)^2 = \tfrac12[w^\top Aw/K^2 - 2b^\top w/K + \tfrac12]`, for weights (..., K, n).

    Source: localization notes, Eqs. 3 and 80.
    """
    a, b, w = square("a", a), finite("b", b), _weights("weights", weights, b)
    if a.ndim != 2 or b.shape != a.shape[:1]:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: want (Kn, Kn) and (Kn,)")
    flat = w.reshape(*w.shape[:-2], -1) / w.shape[-2]
    return 0.5 * (np.einsum("...i,ij,...j->...", flat, a, flat) - 2 * flat @ b + 0.5)


def gdln_best_loss(a: ArrayLike, b: ArrayLike) -> float:
    r"""Return the least :math:`E(\hat y - y)^2` of a gating, :math:`\tfrac12 - b^\top A^+b`: twice `gdln_loss` at its limit.

    Arguments and errors as `gdln_modes`.

    Source: localization notes, Eqs. 96–97, which have no ½ before the square.
    """
    return float(0.5 - gdln_modes(a, b).gain.sum())


def _weights(name: str, weights: ArrayLike, b: ArrayLike) -> NDArray:
    weights, size = finite(name, weights), np.size(b)
    if weights.ndim < 2 or weights.shape[-2] * weights.shape[-1] != size:
        raise ValueError(f"{name} has shape {weights.shape}: want (K, n) with K·n = {size}, the length of b")
    return weights


def _network(name: str, weights: ArrayLike, b: ArrayLike) -> NDArray:
    weights = _weights(name, weights, b)
    if weights.ndim != 2:
        raise ValueError(f"{name} has shape {weights.shape}: want one network (K, n)")
    return weights
