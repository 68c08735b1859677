r"""Two and more linear layers: what they conserve, their flow, their
tangent kernel, and their course in closed form.

Two layers compute :math:`f(x) = A^\top W x` with A (h, c), W (h, d) and :math:`\beta = W^\top A`
(d, c). The loss is :math:`\tfrac12\|X\beta - Y\|^2`, its flow :math:`\dot A = -\eta_a W G`,
:math:`\dot W = -\eta_w A G^\top` with :math:`G = X^\top X\beta - X^\top Y`. Functions without
learning rates have :math:`\eta_a = \eta_w = 1`; others reduce to this by
:math:`A \to \sqrt{\eta_w}\,A`, :math:`W \to \sqrt{\eta_a}\,W`, and :math:`\beta` and Y times
:math:`\sqrt{\eta_a\eta_w}`.

Sources: Kunin et al. (2024), "Get rich quick", section 4 and appendix B; for `course` Braun et al.
(2022), Dominé et al. (2025).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from lib.checks import (
    ascending,
    gram,
    matrices,
    matrix,
    nonnegative_times,
    number,
    numbers,
    positive,
    seed,
    shaped,
    takes,
    vector,
    whole,
)
from lib.theory.common import EPS, integrate_layers, layer_sizes, orthogonal


class Flow(NamedTuple):
    """Parameters of two layers along the flow."""

    times: NDArray  # (T,)
    a: NDArray  # (T, h, c)
    w: NDArray  # (T, h, d)

    @property
    def beta(self) -> NDArray:
        """The map that the network computes, β = WᵀA, (T, d, c)."""
        return self.w.mT @ self.a


@takes(a=matrices, w=matrices, eta_a=positive, eta_w=positive)
def conserved(a: ArrayLike, w: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    r"""Return :math:`\Delta = \eta_w AA^\top - \eta_a WW^\top`,
    (..., h, h), for `a` (..., h, c) and `w` (..., h, d).

    Source: section 4, "Wide linear networks"; the appendix omits the learning rates.
    """
    shaped("(..., h, c), (..., h, d)", a=a, w=w)
    return eta_w * a @ a.mT - eta_a * w @ w.mT


@takes(a=matrix, w=matrix, xtx=gram, xty=matrix, times=ascending, eta_a=positive, eta_w=positive)
def flow(
    a: ArrayLike,
    w: ArrayLike,
    xtx: ArrayLike,
    xty: ArrayLike,
    times: ArrayLike,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
) -> Flow:
    r"""Integrate the flow of two layers on any data, numerically, to about nine digits.

    Entries below 1e-14 of the start's largest (or of 1, if that is smaller) are not followed.

    Parameters
    ----------
    a, w : (h, c) and (h, d) at time 0
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and XᵀY (d, c)
    times : (T,) non-negative and ascending, in units of 1/(learning rate)
    eta_a, eta_w : learning rates, positive

    Source: appendix B, "Wide linear networks".

    Settings
    --------
    data : any, given by XᵀX and XᵀY
    initialization : any A and W
    solved : the gradient flow of ½ ‖X WᵀA − Y‖², squared Frobenius norm, without a mean, in A with
        the rate {eta_a} and in W with the rate {eta_w} unless a cell says otherwise; LSODA of SciPy
    read : A, W and β = WᵀA at the times that are asked for
    precision : 64 bits, relative tolerance 10⁻¹², absolute 10⁻¹⁴ of the largest initial weight, or
        of 1 if that is smaller
    """
    shaped("(h, c), (h, d), (d, d), (d, c)", a=a, w=w, xtx=xtx, xty=xty)
    w, readout = integrate_layers([w, a.T], xtx, xty, times, [eta_w, eta_a])
    return Flow(times, readout.mT, w)


@takes(a=matrices, w=matrices, eta_a=positive, eta_w=positive)
def preconditioner(a: ArrayLike, w: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    r"""Return M with :math:`\mathrm{vec}(\dot\beta) = -M\,\mathrm{vec}(G)`, the tangent kernel on
    white data:

    .. math:: M = \eta_w A^\top A \oplus \eta_a W^\top W = \eta_w A^\top A \otimes I_d
              + \eta_a I_c \otimes W^\top W.

    `a` has shape (..., h, c), `w` (..., h, d), the result (..., dc, dc). Source: section 4, "Wide
    linear networks".
    """  # noqa: D400
    shaped("(..., h, c), (..., h, d)", a=a, w=w)
    return _kronecker_sum(eta_w * a.mT @ a, eta_a * w.mT @ w)


@takes(beta0=matrix, delta=number, hidden=whole, seed=seed)
def isotropic_initialization(
    beta0: ArrayLike, delta: float, hidden: int, seed: int
) -> tuple[NDArray, NDArray]:
    r"""Draw parameters that compute :math:`\beta_0 = U\Sigma V^\top` and conserve
    :math:`\Delta = \delta I_h`.

    They are :math:`A = R S_A V^\top`, :math:`W = R S_W U^\top` with a random orthogonal R (h, h),
    :math:`S_A^2 - S_W^2 = \delta` and :math:`S_A S_W = \Sigma`. For δ = 0 they keep the rank that
    β₀ has up to rounding.

    Parameters
    ----------
    beta0 : (d, c) the map at time 0
    delta, hidden : the conserved quantity and the width h
    seed : draws R

    Returns a (h, c) and w (h, d). Raises ValueError if no such parameters exist: δ > 0 and h > c,
    or δ < 0 and h > d, or the rank of `beta0` exceeds h. Source: Assumption 7 and the remark after
    it.
    """
    (d, c), h = beta0.shape, hidden
    if delta > 0 and h > c:
        raise ValueError(
            f"delta {delta:g} > 0 asks that A Aᵀ (h, h) be invertible: hidden {h} must not "
            f"exceed c = {c}"
        )
    if delta < 0 and h > d:
        raise ValueError(
            f"delta {delta:g} < 0 asks that W Wᵀ (h, h) be invertible: hidden {h} must not "
            f"exceed d = {d}"
        )
    u, sigma, vt = np.linalg.svd(beta0)
    sigma = np.where(
        sigma > max(d, c) * EPS * sigma[0], sigma, 0.0
    )  # for δ = 0 the root of a rounded zero is not small
    if np.any(sigma[h:]):
        raise ValueError(f"beta0 has a rank above hidden {h}: widen the network or lower the rank")
    root_a, root_w = layer_sizes(np.pad(sigma[:h], (0, max(0, h - len(sigma)))), delta)
    r = orthogonal(h, np.random.default_rng(seed))
    ka, kw = min(h, c), min(h, d)  # beyond these, the hidden directions are silent
    return r[:, :ka] * root_a[:ka] @ vt[:ka], r[:, :kw] * root_w[:kw] @ u.T[:kw]


class Course(NamedTuple):
    """What two layers compute along the flow, and the Gram matrices that make their
    tangent kernel.
    """

    times: NDArray  # (T,)
    beta: NDArray  # (T, d, c), WᵀA
    gram_w: NDArray  # (T, d, d), WᵀW
    gram_a: NDArray  # (T, c, c), AᵀA

    @property
    def kernel(self) -> NDArray:
        """The tangent kernel on white data, AᵀA ⊕ WᵀW, (T, dc, dc)."""
        return _kronecker_sum(self.gram_a, self.gram_w)


@takes(a=matrix, w=matrix, beta_star=matrix, times=nonnegative_times)
def course(a: ArrayLike, w: ArrayLike, beta_star: ArrayLike, times: ArrayLike) -> Course:
    r"""Solve the flow of two isotropic layers on white data
    exactly, aligned with the target or not.

    The stacked layers :math:`Z = (W^\top; A^\top)`, (d + c, h), and
    :math:`F = (-\tfrac\delta2I, \beta_*; \beta_*^\top, \tfrac\delta2I)` have
    :math:`ZZ^\top = e^{Ft}Z_0\,(I + Z_0^\top\!\int_0^t\!e^{2Fs}ds\,Z_0)^{-1}Z_0^\top e^{Ft}`. In
    the eigenvectors of F a row of Z either grows or decays. Columns of Z are combined so that the
    row that has grown most has one entry, the next row two, and so on, each divided by its own
    growth: nothing overflows, at any time. A start that lies in the basin of a saddle up to the
    rounding of its numbers counts as in it.

    With ``expm`` and one solve the formula takes eight lines, as in the lesson. These lose all
    digits where :math:`e^{2Ft}` is large, and a numerical integration leaves saddles by rounding;
    this function is longer because it does neither.

    Parameters
    ----------
    a, w : (h, c) and (h, d) at time 0, with :math:`AA^\top - WW^\top = \delta I_h` for a δ of any
        sign
    beta_star : (d, c) the least-squares solution, of any rank
    times : (T,) non-negative

    Raises ValueError if the layers are not isotropic to 1e-8 of their size. Source: see the module;
    ours is that F and the start need no inverse, hence every rank and width.
    """
    shaped("(h, c), (h, d), (d, c)", a=a, w=w, beta_star=beta_star)
    delta = _isotropic_delta(a, w)
    (d, c), r = beta_star.shape, min(beta_star.shape)
    u, s, vt = np.linalg.svd(beta_star)
    s = np.where(s > max(d, c) * EPS * s[0], s, 0.0)
    up, down = layer_sizes(s, delta)
    size = np.hypot(up, down)
    excess = np.minimum(up, down) ** 2
    # The growing mode is (low u, high v) and the decaying one
    # (high u, -low v); those beyond r have one part only.
    high = np.divide(up, size, out=np.ones(r), where=size > 0)
    low = np.divide(down, size, out=np.zeros(r), where=size > 0)
    growing, decaying = (
        [low[:, None] * u.T[:r], high[:, None] * vt[:r]],
        [high[:, None] * u.T[:r], -low[:, None] * vt[:r]],
    )
    into = np.block(
        [growing, decaying, [u.T[r:], np.zeros((d - r, c))], [np.zeros((c - r, d)), vt[r:]]]
    )
    stacked = np.vstack([w.T, a.T])
    terms = np.abs(into) @ np.hypot.reduce(stacked, axis=1)
    grows = np.repeat([True, False, delta <= 0, delta >= 0], [r, r, d - r, c - r])
    excess = np.concatenate([excess, excess, np.zeros(d + c - 2 * r)])
    y = into.T @ _grown(into @ stacked, terms, grows, excess, np.abs(delta), times)
    of_w, of_a = y[:, :d], y[:, d:]
    return Course(times, of_w @ of_a.mT, of_w @ of_w.mT, of_a @ of_a.mT)


@takes(a=matrix, w=matrix, beta_star=matrix, times=nonnegative_times)
def solve(a: ArrayLike, w: ArrayLike, beta_star: ArrayLike, times: ArrayLike) -> NDArray:
    r"""Return the map :math:`\beta(t) = W^\top A` on white data,
    exactly, (T, d, c); see `course` for arguments and errors.

    >>> solve([[1.0]], [[0.5]], [[2.0]], [0, 1, 30]).ravel().round(3)
    array([0.5  , 1.916, 2.   ])
    """
    return course(a, w, beta_star, times).beta


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
def deep_flow(
    a: ArrayLike, ws: ArrayLike, xtx: ArrayLike, xty: ArrayLike, times: ArrayLike
) -> DeepFlow:
    r"""Integrate the flow of :math:`f(x) = a^\top W_L\cdots W_1 x`,
    of depth L + 1 and width d throughout, numerically.

    The layers at time 0 are `a` (d,) and `ws` (L, d, d), W_1 first; the other arguments are those
    of `flow`, with `xty` (d,). Source: appendix B, "Deep linear networks".

    Settings
    --------
    data : any, given by XᵀX and Xᵀy
    initialization : any a and W₁, …, W_L
    solved : the gradient flow of ½ ‖X W₁ᵀ ⋯ W_Lᵀ a − y‖², without a mean, with the rate 1 in all
        layers; LSODA of SciPy
    read : all layers at the times that are asked for
    precision : 64 bits, relative tolerance 10⁻¹², absolute 10⁻¹⁴ of the largest initial weight, or
        of 1 if that is smaller
    """
    shaped("(d,), (L, d, d), (d, d), (d,)", a=a, ws=ws, xtx=xtx, xty=xty)
    *ws, readout = integrate_layers([*ws, a[None]], xtx, xty[:, None], times)
    return DeepFlow(times, readout[:, 0], np.stack(ws, axis=1))


def _kronecker_sum(first: NDArray, second: NDArray) -> NDArray:
    """Return first ⊗ I + I ⊗ second for (..., c, c) and (..., d, d)."""
    c, d = first.shape[-1], second.shape[-1]
    total = np.einsum("...ij,kl->...ikjl", first, np.eye(d)) + np.einsum(
        "ij,...kl->...ikjl", np.eye(c), second
    )
    return total.reshape(*first.shape[:-2], c * d, c * d)


def _isotropic_delta(a: NDArray, w: NDArray) -> float:
    """Return δ with AAᵀ - WWᵀ = δI, or raise ValueError."""
    of_a, of_w = np.square(a.astype(np.longdouble)).sum(), np.square(w.astype(np.longdouble)).sum()
    delta = float((of_a - of_w) / len(a))
    gap = np.abs(a @ a.T - w @ w.T - delta * np.eye(len(a))).max()
    if gap > 1e-8 * float(of_a + of_w):
        raise ValueError(
            f"a aᵀ - w wᵀ is {gap:.3g} away from {delta:.3g} I: want layers as from "
            "isotropic_initialization"
        )
    return delta


def _decayed(rate: NDArray, times: NDArray) -> NDArray:
    """Integrate exp(-rate u) over u from 0 to t, for a rate of at least 0; t where it is 0."""
    past = rate * times
    return np.where(
        past > 1, -np.expm1(-past) / np.where(rate > 0, rate, 1.0), times * exprel(-past)
    )


def _grown(
    z: NDArray, terms: NDArray, grows: NDArray, excess: NDArray, delta: float, times: NDArray
) -> NDArray:
    r"""Return Y (T, n, h) with :math:`YY^\top = e^{ft}z\,(I + z^\top\varphi z)^{-1}z^\top e^{ft}`,
    φ = ∫e²ᶠᵗ.

    Here f are the eigenvalues :math:`\pm(|\delta|/2 + \mathrm{excess})` of F, `z` (n, h) is Z in
    its eigenvectors, and `terms` (n,) the sizes of what its rows were summed from. With the columns
    of :math:`(\sqrt\varphi z; I)` combined by any invertible matrix to C = QR, the columns of
    :math:`e^{ft}z`, combined in the same way, are YR. Rates are subtracted from each other before
    they are multiplied by t: where δ is large they differ little. `delta` is :math:`|\delta|`.
    """
    (n, h), count, t = z.shape, len(times), times[:, None]
    size = np.where(terms > 0, terms, 1)
    rows = np.vstack([z / size[:, None], np.eye(h)])
    rows = np.repeat(rows[None], count, axis=0)  # (T, n + h, h)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Sizes of the rows of C as logarithms, since they differ by
        # more than floats can: of √φ z first, then of I.
        size = np.log(size)  # of the parts that a row was summed from: its rounding is EPS
        half, rest = np.zeros(
            (2, n + h)
        )  # a row of C is exp((half + rest) t + offset) times that of rows
        half[:n], rest[:n] = np.where(grows, delta / 2, 0.0), np.where(grows, excess, 0.0)
        offset, above = np.zeros((2, count, n + h))
        offset[:, :n] = size + np.log(_decayed(delta + 2 * excess, t)) / 2
        above[:, :n] = (
            size - np.where(grows, 0.0, delta / 2 + excess) * t
        )  # as offset, for a row of YR
        at = np.arange(count)
        combined, upper = np.zeros((count, n + h, h)), np.zeros((count, n, h))
        # Column by column, at all times at once: the row that is largest now becomes the pivot; the
        # columns that are left are reflected, so that it has one entry, and divided by it. Rows
        # that grow more slowly never stand beside faster ones.
        blur = np.ones(count)  # by how much small pivots have enlarged the rounding of what is left
        for k in range(h):
            left = np.hypot.reduce(rows[:, :, k:], axis=-1)
            there = (
                left > 8 * (n + h) * EPS * blur[:, None]
            )  # not a row that was a pivot, whose entries are zero
            rows[~there, k:] = 0.0  # rounding, which later would grow
            fastest = np.lexsort((np.where(there, rest, -1), np.where(there, half, -1)), axis=-1)[
                :, -1
            ]
            ahead = (half - half[fastest, None]) * t + (rest - rest[fastest, None]) * t
            pivot = np.argmax(np.where(there, ahead + offset + np.log(left), -np.inf), axis=1)
            blur += 1 / left[at, pivot]
            rows[:, :, k:], entry = _reflected(rows[:, :, k:], rows[at, pivot, k:])
            rows[at, pivot, k + 1 :] = 0.0
            column, own = rows[:, :, k] / entry[:, None], offset[at, pivot, None]
            ahead = (half - half[pivot, None]) * t + (rest - rest[pivot, None]) * t - own
            combined[:, :, k] = np.where(column == 0, 0, column * np.exp(ahead + offset))
            upper[:, :, k] = np.where(column == 0, 0, column * np.exp(ahead + above))[:, :n]
    # Y = (combined columns of eᶠᵗz) R⁻¹, where CᵀC = RᵀR.
    # ty: ignore[missing-attribute] NumPy's stubs know no mode="r"
    return np.linalg.solve(np.linalg.qr(combined, mode="r").mT, upper.mT).mT


def _reflected(rows: NDArray, pivot: NDArray) -> tuple[NDArray, NDArray]:
    """Return rows (T, n, m) times the reflection that turns `pivot`
    (T, m) to the first axis, and its entry there (T,).
    """
    entry = -np.copysign(np.hypot.reduce(pivot, axis=-1), pivot[:, 0])
    axis = pivot.copy()
    axis[:, 0] -= entry
    axis /= np.hypot.reduce(axis, axis=-1)[:, None]
    return rows - 2 * (rows @ axis[:, :, None]) * axis[:, None, :], entry
