r"""Wide and deep linear networks: conserved matrices, preconditioners, isotropic initializations, the exact course, depth.

Source: Kunin et al. (2024), "Get rich quick", section 4 and appendix B. Two layers compute :math:`f(x) = A^\top W x` with
A (h, c), W (h, d) and :math:`\beta = W^\top A` (d, c). The loss is :math:`\tfrac12\|X\beta - Y\|^2`, its flow
:math:`\dot A = -\eta_a W G`, :math:`\dot W = -\eta_w A G^\top` with :math:`G = X^\top X\beta - X^\top Y`, and vec stacks columns.
Functions without learning rates have :math:`\eta_a = \eta_w = 1`. Others reduce to this by
:math:`A \to \sqrt{\eta_w}\,A`, :math:`W \to \sqrt{\eta_a}\,W`, and :math:`\beta` and Y times :math:`\sqrt{\eta_a\eta_w}`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib import checks
from lib.checks import ascending, divisor, fit, gram, matrices, matrix, number, numbers, positive, takes, vector, whole
from lib.theory.common import held, integrate, orthogonal
from lib.theory.deep_linear import (  # noqa: F401  the deep half, under the same name
    deep_flow,
    deep_inductive_bias,
    deep_interpolator,
    deep_isotropic_initialization,
    deep_norm2,
    deep_outer,
    deep_preconditioner,
    rich_preconditioner,
    rich_preconditioner_inverse,
)
from lib.theory.linear_riccati import Course, course, kronecker_sum, singular_values, solve  # noqa: F401  the exact course


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
    r"""Return :math:`\Delta = \eta_w AA^\top - \eta_a WW^\top`, (..., h, h), for `a` (..., h, c) and `w` (..., h, d).

    Source: section 4, "Wide linear networks"; the appendix omits the learning rates.
    """
    fit("(..., h, c), (..., h, d)", a=a, w=w)
    return eta_w * a @ a.mT - eta_a * w @ w.mT


@takes(a=matrix, w=matrix, xtx=gram, xty=matrix, times=ascending, eta_a=positive, eta_w=positive)
def flow(
    a: ArrayLike, w: ArrayLike, xtx: ArrayLike, xty: ArrayLike, times: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0
) -> Flow:
    r"""Integrate the flow of two layers on any data, numerically.

    Parameters
    ----------
    a, w : (h, c) and (h, d) at time 0
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and XᵀY (d, c)
    times : (T,) non-negative and ascending, in units of 1/(learning rate)
    eta_a, eta_w : learning rates, positive

    Source: appendix B, "Wide linear networks".
    """
    fit("(h, c), (h, d), (d, d), (d, c)", a=a, w=w, xtx=xtx, xty=xty)
    (h, c), d = a.shape, len(xtx)

    def velocity(_: float, state: NDArray) -> NDArray:
        a, w = state[: h * c].reshape(h, c), state[h * c :].reshape(h, d)
        g = xtx @ (w.T @ a) - xty
        return -np.append(eta_a * (w @ g), eta_w * (a @ g.T))

    path = integrate(velocity, np.append(a, w), times)
    return Flow(times, path[:, : h * c].reshape(-1, h, c), path[:, h * c :].reshape(-1, h, d))


@takes(a=matrices, w=matrices, eta_a=positive, eta_w=positive)
def preconditioner(a: ArrayLike, w: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    r"""Return M with :math:`\mathrm{vec}(\dot\beta) = -M\,\mathrm{vec}(G)`, the tangent kernel on white data:

    .. math:: M = \eta_w A^\top A \oplus \eta_a W^\top W = \eta_w A^\top A \otimes I_d + \eta_a I_c \otimes W^\top W.

    `a` has shape (..., h, c), `w` (..., h, d), the result (..., dc, dc). Source: section 4, "Wide linear networks".
    """  # noqa: D400
    fit("(..., h, c), (..., h, d)", a=a, w=w)
    return kronecker_sum(eta_w * a.mT @ a, eta_a * w.mT @ w)


@takes(beta_k=matrix, delta_k=number, eta_a=positive, eta_w=positive)
def neuron_preconditioner(beta_k: ArrayLike, delta_k: float, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    r"""Return what one hidden neuron adds to M, in terms of :math:`\beta_k = w_k a_k^\top` and its conserved quantity δ_k:

    .. math:: M_k = \frac{\kappa_k + \delta_k}{2}\frac{\beta_k^\top\beta_k}{\|\beta_k\|_F^2} \oplus
              \frac{\kappa_k - \delta_k}{2}\frac{\beta_k\beta_k^\top}{\|\beta_k\|_F^2}, \qquad
              \kappa_k = \sqrt{\delta_k^2 + 4\eta_a\eta_w\|\beta_k\|_F^2}.

    Parameters
    ----------
    beta_k : (d, c) of rank one
    delta_k : :math:`\eta_w\|a_k\|^2 - \eta_a\|w_k\|^2`
    eta_a, eta_w : learning rates, positive

    Returns (dc, dc). Raises ValueError if `beta_k` does not have rank one. Source: Theorem 2.
    """  # noqa: D400
    u, sigma, vt = np.linalg.svd(beta_k)
    if sigma[0] == 0 or np.any(sigma[1:] > 1e-8 * sigma[0]):
        raise ValueError("beta_k must have rank one: pass np.outer(w[k], a[k]) with neither of them zero")
    of_a, of_w = _split(np.sqrt(eta_a * eta_w) * sigma[0], delta_k)
    return kronecker_sum(of_a * np.outer(vt[0], vt[0]), of_w * np.outer(u[:, 0], u[:, 0]))


@takes(beta=matrices, delta=number)
def preconditioner_isotropic(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return M where :math:`\Delta = \delta I_h`, a function of β alone:

    .. math:: M = \sqrt{\beta^\top\beta + \tfrac{\delta^2}{4}I_c} \otimes I_d
              + I_c \otimes \sqrt{\beta\beta^\top + \tfrac{\delta^2}{4}I_d}.

    It holds if δ = 0, if δ < 0 and h = d, or if δ > 0 and h = c. `beta` has shape (..., d, c), the result (..., dc, dc).
    Source: Theorem 3.
    """  # noqa: D400

    def root(sigma: NDArray) -> NDArray:
        return np.hypot(sigma, delta / 2)

    return kronecker_sum(_of_gram(beta.mT, root), _of_gram(beta, root))


@takes(beta=matrices, delta=number)
def gram_w(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return the Gram matrix of W where :math:`\Delta = \delta I_h`, a function of β alone:

    .. math:: W^\top W = -\tfrac\delta2 I_d + \sqrt{\beta\beta^\top + \tfrac{\delta^2}{4}I_d}.

    It fails exactly if δ < 0 and h < d: then WᵀW has rank h at most, and the right side has rank d.
    `beta` has shape (..., d, c), the result (..., d, d). Small eigenvalues keep their digits. Source: Lemma 8.
    """  # noqa: D400
    return _of_gram(beta, lambda sigma: _split(sigma, delta)[1])


@takes(beta=matrices, delta=number)
def gram_a(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return the Gram matrix of A where :math:`\Delta = \delta I_h`, a function of β alone:

    .. math:: A^\top A = \tfrac\delta2 I_c + \sqrt{\beta^\top\beta + \tfrac{\delta^2}{4}I_c}.

    It fails exactly if δ > 0 and h < c, for the reason of `gram_w`.
    `beta` has shape (..., d, c), the result (..., c, c). Small eigenvalues keep their digits. Source: Lemma 9.
    """  # noqa: D400
    return _of_gram(beta.mT, lambda sigma: _split(sigma, delta)[0])


@takes(beta0=matrix, delta=number, hidden=whole, seed=checks.seed)
def isotropic_initialization(beta0: ArrayLike, delta: float, hidden: int, seed: int) -> tuple[NDArray, NDArray]:
    r"""Draw parameters that compute :math:`\beta_0 = U\Sigma V^\top` and conserve :math:`\Delta = \delta I_h`.

    They are :math:`A = R S_A V^\top`, :math:`W = R S_W U^\top` with a random orthogonal R (h, h),
    :math:`S_A^2 - S_W^2 = \delta` and :math:`S_A S_W = \Sigma`. For δ = 0 they have the rank of β₀, and keep it.

    Parameters
    ----------
    beta0 : (d, c) the map at time 0
    delta : the conserved quantity
    hidden : the width h
    seed : draws R

    Returns a (h, c) and w (h, d). Raises ValueError if no such parameters exist: δ > 0 and h > c, or δ < 0 and h > d, or the rank
    of `beta0` exceeds h.

    Source: Assumption 7 and the remark after it.
    """
    (d, c), h = beta0.shape, hidden
    if delta > 0 and h > c:
        raise ValueError(f"delta {delta:g} > 0 asks that A Aᵀ (h, h) be invertible: hidden {h} must not exceed c = {c}")
    if delta < 0 and h > d:
        raise ValueError(f"delta {delta:g} < 0 asks that W Wᵀ (h, h) be invertible: hidden {h} must not exceed d = {d}")
    u, sigma, vt = np.linalg.svd(beta0)
    if np.any(sigma[h:] > max(d, c) * np.finfo(float).eps * sigma[0]):
        raise ValueError(f"beta0 has a rank above hidden {h}: widen the network or lower the rank")
    padded = np.zeros(h)
    padded[: len(sigma)] = sigma[:h]
    root_a, root_w = _split_roots(padded, delta)
    r = orthogonal(h, np.random.default_rng(seed))
    ka, kw = min(h, c), min(h, d)  # beyond these, the hidden directions are silent
    return r[:, :ka] * root_a[:ka] @ vt[:ka], r[:, :kw] * root_w[:kw] @ u.T[:kw]


@takes(d=whole, c=whole, h=whole, delta=number, scale=positive, seed=checks.seed)
def unbalanced_initialization(d: int, c: int, h: int, delta: float, scale: float, seed: int) -> tuple[NDArray, NDArray]:
    r"""Draw neurons in random directions, with :math:`\|a_k\|^2 - \|w_k\|^2 = \delta` and :math:`\|a_k\|\|w_k\|` = `scale`.

    Parameters
    ----------
    d, c, h : numbers of inputs, outputs and hidden neurons
    delta : the conserved quantity of every neuron, of any sign
    scale : the norm of every :math:`\beta_k = w_k a_k^\top`, positive
    seed : draws the directions

    Returns a (h, c) and w (h, d). Source: the setting of Theorems 2 and 6.
    """
    root_a, root_w = _split_roots(scale, delta)
    rng = np.random.default_rng(seed)
    a, w = rng.normal(size=(h, c)), rng.normal(size=(h, d))
    unit_a, unit_w = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, w))
    return root_a * unit_a, root_w * unit_w


@takes(x=numbers, delta=divisor)
def hyperbolic_entropy(x: ArrayLike, delta: float) -> NDArray:
    r"""Return :math:`q_\delta(x) = \tfrac14(2x\sinh^{-1}(2x/|\delta|) - \sqrt{4x^2+\delta^2} + |\delta|)`, elementwise.

    Its second derivative is :math:`1/\sqrt{\delta^2+4x^2}`. It nears :math:`x^2/(2|\delta|)` for small x and
    :math:`\tfrac12|x|\log(4|x|/(e|\delta|))` for large x, with its digits kept in both. δ = 0 is refused.

    Source: Theorem 11.
    """
    return x * (np.arcsinh(2 * x / np.abs(delta)) / 2 - x / (np.abs(delta) + np.hypot(delta, 2 * x)))


@takes(x=numbers, delta=divisor)
def hyperbolic_entropy_gradient(x: ArrayLike, delta: float) -> NDArray:
    r"""Return :math:`q_\delta'(x) = \tfrac12\sinh^{-1}(2x/|\delta|)`, elementwise, for δ ≠ 0; source: Theorem 11."""
    return np.arcsinh(2 * x / np.abs(delta)) / 2


@takes(mu=vector, phi=vector, q=matrix, delta=vector, target_norm=positive)
def mu_phi_velocity(mu: ArrayLike, phi: ArrayLike, q: ArrayLike, delta: ArrayLike, target_norm: float) -> tuple[NDArray, NDArray]:
    r"""Return the velocities of :math:`\mu_k = a_k\|w_k\|` and :math:`\phi_k = \hat w_k^\top\hat\beta_*`, white data, one output:

    .. math:: \dot\mu_k = \kappa_k\,(s\phi_k - (Q\mu)_k), \qquad
              \dot\phi_k = \frac{2\mu_k}{\kappa_k - \delta_k}\,[s(1-\phi_k^2) - \phi^\top\mu + \phi_k(Q\mu)_k]

    with :math:`\kappa_k = \sqrt{\delta_k^2 + 4\mu_k^2}` and :math:`s = \|\beta_*\|`.

    Parameters
    ----------
    mu, phi, delta : (h,), with δ the diagonal of Δ
    q : (h, h) the overlaps :math:`\hat w_k^\top\hat w_{k'}`
    target_norm : s > 0

    Raises ValueError if a neuron with :math:`\mu_k = 0` and :math:`\delta_k \ge 0` has no input weights to point anywhere.

    Source: appendix B, "Parameter dynamics when c = 1", whose equations hold for :math:`s\phi_k` (φ with 1/s is a slip).
    """  # noqa: D400
    fit("(h,), (h,), (h, h), (h,)", mu=mu, phi=phi, q=q, delta=delta)
    if np.any((mu == 0) & (delta >= 0)):
        raise ValueError("a neuron with mu = 0 and delta >= 0 has no input weights, so that its phi is undefined")
    s = target_norm
    of_a, of_w = _split(mu, delta)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turn = held("the velocity of phi", np.where(delta >= 0, of_a / mu, mu / of_w))  # equal: of_a of_w = μ²
    held_back = phi @ mu - phi * (q @ mu)  # 0 for a single neuron
    return (of_a + of_w) * (s * phi - q @ mu), turn * (s * (1 - phi) * (1 + phi) - held_back)


def _split(sigma: ArrayLike, delta: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return a² and w² with a² - w² = δ and a w = ±σ, (√(δ² + 4σ²) ± δ)/2, without cancellation."""
    sigma = np.asarray(sigma, float)
    larger = np.hypot(sigma, np.divide(delta, 2)) + np.abs(delta) / 2
    smaller = sigma * np.divide(sigma, larger, out=np.zeros_like(larger), where=larger > 0)
    return np.where(np.greater_equal(delta, 0), larger, smaller), np.where(np.greater_equal(delta, 0), smaller, larger)


def _split_roots(sigma: ArrayLike, delta: float) -> tuple[NDArray, NDArray]:
    """Return |a| and |w| with a² - w² = δ and |a w| = σ; the smaller one's square may underflow."""
    larger = np.sqrt(np.hypot(sigma, delta / 2) + np.abs(delta) / 2)
    smaller = np.divide(sigma, larger, out=np.zeros_like(larger), where=larger > 0)
    return (larger, smaller) if delta >= 0 else (smaller, larger)


def _of_gram(beta: NDArray, function: Callable[[NDArray], NDArray]) -> NDArray:
    """Apply a function of the singular values, which are padded by zeros, to ββᵀ: the result is (..., d, d)."""
    u, sigma, _ = np.linalg.svd(beta)
    padded = np.zeros(u.shape[:-1])
    padded[..., : sigma.shape[-1]] = sigma
    return u * function(padded)[..., None, :] @ u.mT
