r"""Gated deep linear networks with one layer and fixed gates:
moments, gradient flow, its limit, and which gating wins.

Source: sections 3.1 and 4 of the localization notes. The model is
:math:`\hat y = \frac1K\sum_k g_k(x)\,w_k^\top x` (Eq. 80), its loss
:math:`\tfrac12 E(\hat y - y)^2`. With :math:`\tilde x = g \otimes x`,
:math:`A = E\tilde x\tilde x^\top` and :math:`b = E\tilde x y` the flow is
:math:`K\tau\dot w = b - Aw/K`: the notes' Eqs. 82 and 85 miss the last 1/K. Classes are balanced
and y is 0 or 1. The stacked w (Kn,) holds w₁ first, then w₂, and so on.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel, ndtr

from lib.checks import (
    ascending,
    binary,
    broadcastable,
    gram,
    matrix,
    numbers,
    positive,
    positives,
    shaped,
    takes,
    vector,
)
from lib.theory.common import EPS
from lib.theory.orthants import _compare, _gated_covariance, _root, gated_mean


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


@takes(inputs=matrix, labels=vector, gates=binary)
def gdln_moments(inputs: ArrayLike, labels: ArrayLike, gates: ArrayLike) -> Moments:
    r"""Average :math:`A = \langle(g\otimes x)(g\otimes x)^\top\rangle` and
    :math:`b = \langle y\,g\otimes x\rangle` over samples.

    `inputs` are (samples, n), `labels` (samples,) and `gates` (K, samples), 0 or 1. Source:
    localization notes, Eqs. 83–87.
    """
    shaped("(samples, n), (samples,), (K, samples)", inputs=inputs, labels=labels, gates=gates)
    gated = (gates.T[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1)  # (samples, Kn)
    return Moments(gated.T @ gated / len(inputs), gated.T @ labels / len(inputs))


@takes(gates=matrix, sigma1=gram, sigma0=gram)
def gdln_gaussian_moments(gates: ArrayLike, sigma1: ArrayLike, sigma0: ArrayLike) -> Moments:
    r"""Return A and b exactly for half-space gates :math:`g_k(x) = 1\{\langle v_k, x\rangle > 0\}`
    on Gaussian data.

    `gates` (K, n) are the vectors v; a ReLU network's own gates are its weights. `sigma1` and
    `sigma0` (n, n) are the covariances of the inputs with y = 1 and y = 0. Errors as
    `lib.theory.orthants.angle`.

    Source: localization notes, Eqs. 83–87 and 92, with the pair moments of `lib.theory.orthants`.
    """
    roots = [_root(sigma, gates=gates) for sigma in (sigma1, sigma0)]
    blocks = (
        sum(
            _gated_covariance(_compare(gates[:, None] @ root, gates @ root), root) for root in roots
        )
        / 2
    )  # (K, K, n, n)
    assert isinstance(blocks, np.ndarray)  # and not the 0 with which `sum` begins
    return Moments(
        blocks.transpose(0, 2, 1, 3).reshape(gates.size, gates.size),
        gated_mean(gates, sigma1).ravel() / 2,
    )


@takes(a=gram, b=vector)
def gdln_modes(a: ArrayLike, b: ArrayLike) -> Modes:
    r"""Diagonalize :math:`A = P\Lambda P^\top`, `a` (Kn, Kn), symmetric and positive semidefinite,
    with `b` (Kn,) in its range.

    The moments of any data are such; raises ValueError if these are not: if `b` drives a mode of
    eigenvalue 0.

    Source: localization notes, Eqs. 87–88, where a zero eigenvalue divides by zero.
    """
    shaped("(Kn, Kn), (Kn,)", a=a, b=b)
    eigenvalues, vectors = (array[..., ::-1] for array in np.linalg.eigh((a + a.T) / 2))
    drive, zero = vectors.T @ b, eigenvalues <= len(a) * EPS * eigenvalues[0]
    if np.any(np.abs(drive[zero]) > 1e-6 * max(np.linalg.norm(b), np.sqrt(eigenvalues[0]))):
        raise ValueError(
            "b drives a mode in which a is 0: no data have such moments, and the flow would not end"
        )
    eigenvalues, drive = np.where(zero, 0, eigenvalues), np.where(zero, 0, drive)
    return Modes(eigenvalues, vectors, drive, drive**2 / np.where(zero, 1, eigenvalues))


@takes(weights0=matrix, times=ascending, tau=positive)
def gdln_trajectory(
    weights0: ArrayLike, a: ArrayLike, b: ArrayLike, times: ArrayLike, tau: float = 1.0
) -> NDArray:
    r"""Solve :math:`K\tau\dot w = b - Aw/K`, the gradient flow of the loss of Eq. 80, exactly.

    With :math:`A = P\Lambda P^\top`, :math:`l = \lambda/K`, :math:`u = P^\top w` and
    :math:`c = P^\top b` every mode relaxes alone,

    .. math:: u(t) = \frac cl + e^{-lt/(K\tau)}\Big(u(0) - \frac cl\Big)

    and a mode with :math:`\lambda = 0` keeps its initial value, because there c = 0.

    Parameters
    ----------
    weights0 : (K, n)
    a, b : (Kn, Kn) and (Kn,), from `gdln_moments` or `gdln_gaussian_moments`
    times : (T,) ascending from 0 or later
    tau : the time constant τ, positive

    The result is (T, K, n). Errors as `gdln_modes`.

    Source: corrects localization notes, Eqs. 85 and 88–90 (no 1/K; the constant of integration is
    signed, no exponential).
    """
    modes, w = gdln_modes(a, b), weights0
    if w.size != len(modes.drive):
        raise ValueError(
            f"weights0 has shape {w.shape}: want (K, n) with K·n = {len(modes.drive)}, the "
            "length of b"
        )
    with np.errstate(over="ignore"):
        past = np.minimum(times[:, None] / (len(w) * tau), 1e300)
        decay = -modes.eigenvalues / len(w) * past  # (T, Kn)
    settled = -np.expm1(decay) * len(w) / np.where(modes.eigenvalues > 0, modes.eigenvalues, 1)
    reached = np.where(
        decay < -1, settled, past * exprel(decay)
    )  # (1 - e^(-lt/Kτ)) / l, either way with its digits
    u = np.exp(decay) * (modes.vectors.T @ w.ravel()) + reached * modes.drive
    return (u @ modes.vectors.T).reshape(-1, *w.shape)


def gdln_limit(weights0: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray:
    r"""Return :math:`w(\infty) = KA^+b + (I - A^+A)\,w(0)`, least squares of y on
    :math:`\tilde x/K`, (K, n).

    Of all solutions it is the nearest to `weights0` (K, n). Arguments and errors as
    `gdln_trajectory`.

    Source: corrects localization notes, section 4.4.2 (:math:`A^{-1}b` lacks the K) and Eq. 107 (a
    leftover exponential).
    """
    return gdln_trajectory(weights0, a, b, [np.finfo(float).max])[0]


@takes(margins=numbers, spreads=positives)
def flip_probability(margins: ArrayLike, spreads: ArrayLike) -> NDArray:
    r"""Return the probability that a gate flips, :math:`\Phi(-|S|/s)`.

    A signal lies at the distance S = ⟨w, x⟩ from the gate's edge (`margins`, (...)). The weights'
    change δ moves it by ⟨δ, x⟩, a Gaussian of mean 0 and standard deviation s (`spreads`, (...));
    both broadcast.

    Source: ours, for Eq. 78 of the localization notes.
    """
    broadcastable(margins=margins, spreads=spreads)
    return ndtr(-np.abs(margins) / spreads)


@takes(hessian=matrix, noise=matrix, learning_rate=positive, steps=positives)
def jitter(hessian: ArrayLike, noise: ArrayLike, learning_rate: float, steps: ArrayLike) -> NDArray:
    r"""Return the covariance of what descent moves in some steps
    while it only trembles about a minimum, (T, d, d).

    Near the minimum :math:`w \leftarrow w - \eta(Hw + \zeta)` with fresh noise ζ of covariance C.
    In the eigenmodes of H, with :math:`q_i = 1 - \eta h_i`, the stationary covariance is
    :math:`\Sigma_{ij} = \eta^2C_{ij}/(1 - q_iq_j)`, and what lies between the weights L steps apart
    has the covariance

    .. math:: \Sigma_{ij}\,(2 - q_i^L - q_j^L),

    which is :math:`\eta^2LC_{ij}` where H is 0: without a pull, noise adds up.

    Parameters
    ----------
    hessian, noise : H and C, symmetric (d, d); a negative eigenvalue of H, which a measured one has
        by noise, counts as 0
    learning_rate : η, positive and below 1 over the largest eigenvalue of H
    steps : L (T,), positive

    Source: ours, for section 3.3 of the localization notes; the autoregressive process of order
    one.
    """
    shaped("(d, d), (d, d), (t,)", hessian=hessian, noise=noise, steps=steps)
    curvatures, modes = np.linalg.eigh(hessian)
    h = learning_rate * np.maximum(curvatures, 0)
    if h[-1] >= 1:
        raise ValueError(
            f"learning_rate is {learning_rate}: want less than {1 / curvatures[-1]:g}, so that "
            "steps do not overshoot"
        )
    gone = -np.expm1(np.multiply.outer(steps, np.log1p(-h)))  # 1 - qᴸ
    once = h[:, None] + h - h[:, None] * h  # 1 - q_i q_j
    still = once <= 0
    grown = np.where(
        still,
        steps[:, None, None],
        (gone[:, :, None] + gone[:, None, :]) / np.where(still, 1, once),
    )
    return learning_rate**2 * modes @ (modes.T @ noise @ modes * grown) @ modes.T


def gdln_best_loss(a: ArrayLike, b: ArrayLike, square: float = 0.5) -> float:
    r"""Return the least :math:`E(\hat y - y)^2` of a gating, :math:`E y^2 - b^\top A^+b`.

    `square` is E y², ½ for balanced classes 1 and 0; with moments of a sample it must be the
    sample's. Otherwise arguments and errors as `gdln_modes`.

    Source: localization notes, Eqs. 96–97, which have no ½ before the square.
    """
    return float(square - gdln_modes(a, b).gain.sum())


@takes(path=partial(numbers, ndim=3), inputs=matrix)
def gate_agreement(path: ArrayLike, inputs: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return how many gates 1{⟨w, x⟩ ≥ 0} keep their value from
    one recorded time to the next, and throughout.

    Parameters
    ----------
    path : (T, K, n) the weights of K neurons at T times, at least 2
    inputs : (samples, n)

    Returns
    -------
    p (T - 1, K) and p_unif (K,), fractions of the inputs

    Source: localization notes, Eqs. 77–79.
    """
    if path.shape[-1] != inputs.shape[-1] or len(path) < 2:
        raise ValueError(
            f"path {path.shape} and inputs {inputs.shape} do not fit: want (T, K, n) with T > 1, "
            "and (samples, n)"
        )
    gates = path @ inputs.T >= 0  # (T, K, samples)
    same = gates[1:] == gates[:-1]
    return same.mean(axis=-1), same.all(axis=0).mean(axis=-1)
