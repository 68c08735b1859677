r"""One linear hidden neuron, :math:`f(x) = a\,w^\top x`: what it
conserves, its exact gradient flow and its tangent kernel.

Source: Kunin et al. (2024), "Get rich quick", section 3 and appendix A. The loss is
:math:`\tfrac12\|Xaw - y\|^2`, its flow :math:`\dot a = -\eta_a w^\top(X^\top X aw - X^\top y)`,
:math:`\dot w = -\eta_w a\,(X^\top X aw - X^\top y)`, and
:math:`\delta = \eta_w a^2 - \eta_a\|w\|^2` is conserved: upstream δ > 0, balanced δ = 0, downstream
δ < 0. The data are white (:math:`X^\top X = I`, :math:`X^\top y = \beta_*`) unless a function takes
`xtx` and `xty`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import (
    ascending,
    broadcastable,
    gram,
    nonnegative_times,
    nonzero,
    number,
    numbers,
    positive,
    takes,
    vector,
    vectors,
)
from lib.theory.common import EPS, check_data, integrate_layers, layer_sizes


class Trajectory(NamedTuple):
    """Parameters along the flow."""

    times: NDArray  # (T,)
    a: NDArray  # (T,)
    w: NDArray  # (T, d)

    @property
    @takes()  # under the caller's own settings of floating-point errors, too
    def beta(self) -> NDArray:
        """The function that the neuron computes, β = a w, (T, d)."""
        return self.a[:, None] * self.w


class _Modes(NamedTuple):
    """The linear flow behind the nonlinear one: N(t) = p
    exp(λ₊t) + m exp(λ₋t), with λ₊ ≥ 0 ≥ λ₋.
    """

    delta: float
    rise: float  # λ₊
    fall: float  # λ₋
    p: float
    m: float


@takes(a=numbers, w=vectors, eta_a=positive, eta_w=positive)
def conserved(a: ArrayLike, w: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    r"""Return :math:`\delta = \eta_w a^2 - \eta_a \|w\|^2` for `a`
    (...) and `w` (..., d); source: "Conserved quantity".
    """
    broadcastable(a=a, w=w[..., 0])
    return _conserved(a, w, eta_a, eta_w)


def _conserved(a: ArrayLike, w: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0) -> NDArray:
    return eta_w * np.square(a) - eta_a * np.sum(np.square(w), axis=-1)


@takes(beta0=nonzero, delta=number)
def initialize(beta0: ArrayLike, delta: float) -> tuple[float, NDArray]:
    r"""Choose the parameters that compute :math:`\beta_0 \ne 0` with a given δ, with
    :math:`a_0 > 0` (and unit learning rates).

    For `beta0` (d,) returns a0, a float with
    :math:`a_0^2 = \tfrac12(\delta + \sqrt{\delta^2 + 4\|\beta_0\|^2})`, and w0 (d,).

    Source: appendix A, "Function space dynamics".
    """
    norm = np.hypot.reduce(beta0)
    a, w = layer_sizes(norm, delta)
    return float(a), beta0 / norm * w


@takes(
    a0=number, w0=vector, beta_star=vector, times=nonnegative_times, eta_a=positive, eta_w=positive
)
def trajectory(
    a0: float,
    w0: ArrayLike,
    beta_star: ArrayLike,
    times: ArrayLike,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
) -> Trajectory:
    r"""Solve the flow on white data exactly, for every δ,
    every sign and through every sign change of a.

    For :math:`\eta_a = \eta_w = 1`, write :math:`a = N/\sqrt D` with :math:`D = 1 + 2\int_0^t N^2`.
    Then N obeys the *linear* equation :math:`\ddot N = \delta\dot N + \|\beta_*\|^2 N`, so that
    with :math:`\lambda_\pm = \tfrac12(\delta \pm \sqrt{\delta^2 + 4\|\beta_*\|^2})`

    .. math:: N = p\,e^{\lambda_+ t} + m\,e^{\lambda_- t}, \qquad a = \frac{N}{\sqrt D}, \qquad
              w = \frac{w_0 + \beta_*\int_0^t N}{\sqrt D}.

    Other learning rates reduce to this by :math:`a \to \sqrt{\eta_w}\,a`,
    :math:`w \to \sqrt{\eta_a}\,w`, :math:`\beta_* \to \sqrt{\eta_a\eta_w}\,\beta_*`. All terms are
    scaled by the growing exponential, so that nothing overflows. A start that is on the separatrix
    up to the rounding of its numbers counts as on it and ends in the saddle (see `basin`).

    Parameters
    ----------
    a0, w0 : output weight and input weights (d,) at time 0
    beta_star : (d,) the least-squares solution; it may be zero
    times : (T,) non-negative, in units of 1/(learning rate)
    eta_a, eta_w : learning rates, positive

    Source: new; contains the three cases of appendix A, "Exact solutions".
    """
    return path(a0, w0, beta_star, times, eta_a, eta_w)


def path(
    a0: float, w0: NDArray, beta_star: NDArray, times: NDArray, eta_a: float, eta_w: float
) -> Trajectory:
    """Solve as `trajectory` does, for arguments that have
    been checked: fits call it thousands of times.
    """
    a0, w0, beta_star = _rescaled(a0, w0, beta_star, eta_a, eta_w)

    delta, rise, fall, p, m = _modes(a0, w0, beta_star)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_p = np.log(np.abs(p))  # -inf on the separatrix, where p = 0
        scale = np.clip(
            rise * times + log_p, 0, 1e300
        )  # every term below is divided by exp(scale), or its square
        plus = np.sign(p) * np.exp(np.minimum(rise * times, 1e300) + log_p - scale)
        start, minus = np.exp(-scale), m * np.exp(fall * times - scale)
        n = a0 * np.exp(fall * times - scale) - plus * np.expm1((fall - rise) * times)
        integral_n = plus * _phi(rise, times) + m * start * _phi(-fall, times)
        cross = (
            plus * minus * _phi(delta, times)
            if delta >= 0
            else p * start * m * start * _phi(-delta, times)
        )
        d = (
            start**2
            + 2 * plus**2 * _phi(2 * rise, times)
            + 2 * (m * start) ** 2 * _phi(-2 * fall, times)
            + 4 * cross
        )
    a = n / np.sqrt(d)
    w = (start[:, None] * w0 + np.outer(integral_n, beta_star)) / np.sqrt(d)[:, None]
    return Trajectory(times, a / np.sqrt(eta_w), w / np.sqrt(eta_a))


def _phi(rate: float, times: NDArray) -> NDArray:
    """Integrate exp(-rate u) over u from 0 to t, for a rate of at least 0."""
    return times if rate == 0 else -np.expm1(-rate * times) / rate


def _modes(a0: float, w0: NDArray, beta_star: NDArray) -> _Modes:
    r"""Return the modes, λ± and p free of cancellation, and p = 0 where it is zero up to rounding.

    Where :math:`\omega = w_0^\top\beta_*` opposes :math:`a_0`, p comes from the conjugate of
    :math:`\omega + a_0\lambda_+`, :math:`(a_0\lambda_+ + \omega)(a_0\lambda_+ - \omega) =
    \delta(a_0^2\lambda_+ + s^2) + s^2\|w_\perp\|^2`.
    """
    size, s = a0**2 + w0 @ w0, np.linalg.norm(beta_star)
    delta = float(
        _conserved(np.longdouble(a0), w0.astype(np.longdouble))
    )  # a difference of squares that may nearly agree
    gap = np.hypot(delta, 2 * s)  # λ₊ - λ₋
    if gap == 0:  # β* = 0 and δ = 0: N stays
        return _Modes(delta, 0.0, 0.0, a0, 0.0)
    larger = (gap + np.abs(delta)) / 2
    rise, fall = (larger, -s * (s / larger)) if delta >= 0 else (s * (s / larger), -larger)
    omega = w0 @ beta_star
    p, m = (omega + a0 * rise) / gap, -(omega + a0 * fall) / gap
    if omega * a0 < 0:
        across = s * np.linalg.norm(w0 - omega / s * (beta_star / s))
        apart = np.abs(a0) * rise + np.abs(omega)
        share = np.abs(a0) * (np.abs(a0) * rise / apart) + s * (
            s / apart
        )  # in this order nothing overflows
        p = np.sign(a0) * (delta * share + across * (across / apart)) / gap
        if np.abs(p) <= 4 * EPS * size * share / gap:
            p = 0.0
    return _Modes(delta, rise, fall, p, m)


@takes(a0=number, w0=vector, xtx=gram, xty=vector, times=ascending, eta_a=positive, eta_w=positive)
def flow(
    a0: float,
    w0: ArrayLike,
    xtx: ArrayLike,
    xty: ArrayLike,
    times: ArrayLike,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
) -> Trajectory:
    r"""Integrate the flow on any data, numerically.

    Parameters
    ----------
    a0, w0, eta_a, eta_w : as in `trajectory`
    xtx, xty : XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy (d,), in its range
    times : (T,) non-negative and ascending

    Source: appendix A, first display.

    Settings
    --------
    data : any, given by XᵀX and Xᵀy
    initialization : any a and w
    solved : ȧ = −η_a w·g, ẇ = −η_w a g with g = XᵀX a w − Xᵀy, the gradient flow of ½ ‖X a w − y‖²,
        without a mean; η_a = {eta_a}, η_w = {eta_w} unless a cell says otherwise; LSODA of SciPy
    read : a, w and β = a w at the times that are asked for
    precision : 64 bits, relative tolerance 10⁻¹², absolute 10⁻¹⁴ of the largest initial weight, or
        of 1 if that is smaller
    """
    check_data(xtx, xty, w0.shape, "w0")
    w, a = integrate_layers([w0[None], np.array([[a0]])], xtx, xty[:, None], times, [eta_w, eta_a])
    return Trajectory(times, a[:, 0, 0], w[:, 0])


@takes(beta=vectors, delta=number)
def preconditioner(beta: ArrayLike, delta: float) -> NDArray:
    r"""Return M with :math:`\dot\beta = -M\,\nabla_\beta L`, the
    tangent kernel on white data (:math:`\eta_a\eta_w = 1`):

    .. math:: M = \frac{\kappa+\delta}{2}\,I
              + \frac{\kappa-\delta}{2}\,\hat\beta\hat\beta^\top, \qquad
              \kappa = \sqrt{\delta^2+4\|\beta\|^2}.

    `beta` has shape (..., d), the result (..., d, d). Raises ValueError if β = 0 and δ < 0, where M
    depends on the direction in which β left zero.

    Source: Eq. for M in section 3, "Identifying regimes of learning in function space".
    """  # noqa: D400
    norm = np.hypot.reduce(beta, axis=-1)[..., None]
    if delta < 0 and np.any(norm == 0):
        raise ValueError("beta is zero and delta negative: the preconditioner has no limit there")
    unit = beta / np.where(norm == 0, 1, norm)
    a, w = layer_sizes(norm[..., None], delta)
    return a**2 * np.eye(beta.shape[-1]) + w**2 * unit[..., :, None] * unit[..., None, :]


def _rescaled(
    a0: float, w0: NDArray, beta_star: NDArray, eta_a: float, eta_w: float
) -> tuple[float, NDArray, NDArray]:
    """Reduce the flow to unit learning rates."""
    if w0.shape != beta_star.shape:
        raise ValueError(
            f"w0 {w0.shape} and beta_star {beta_star.shape} do not fit: want (d,) for both"
        )
    return a0 * np.sqrt(eta_w), w0 * np.sqrt(eta_a), beta_star * np.sqrt(eta_a * eta_w)
