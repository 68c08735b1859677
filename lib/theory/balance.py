r"""What balance and size of a start decide, in closed form: half-time, sharpness, how far the kernel turns.

Public under `lib.theory.synthesis`, whose docstring explains the names.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, non_negatives, number, numbers, positives, takes, whole

COSINE = partial(number, low=-1, high=1)


@takes(balance=numbers, size=non_negatives)
def strengths(balance: ArrayLike, size: ArrayLike) -> tuple[NDArray, NDArray]:
    r"""Return what readout and input weights contribute to the kernel,

    .. math:: \kappa_\pm = \sqrt{b^2 + r^2} \pm b, \qquad \kappa_+ = \frac{\eta_wa^2}{\sqrt{\eta_a\eta_w}\,s}, \quad
              \kappa_- = \frac{\eta_a\|w\|^2}{\sqrt{\eta_a\eta_w}\,s},

    without cancellation; at the end of learning r is 1. The kernel is :math:`\kappa_+I + \kappa_-\hat\beta\hat\beta^\top`.

    Parameters
    ----------
    balance, size : b and r ≥ 0, which broadcast to (...)

    Returns two arrays (...). Source: Kunin et al. (2024), section 3, in units of the target.
    """  # noqa: D400
    broadcastable(balance=balance, size=size)
    return _split(balance, size)


@takes(balance=numbers, size=non_negatives)
def half_time(balance: ArrayLike, size: ArrayLike) -> NDArray:
    r"""Return the time, in units of the clock, at which :math:`p = \|\beta\|/s` is one half, for φ = 0:

    .. math:: T = \int_r^{1/2}\frac{dp}{(1-p)\sqrt{4b^2+4p^2}} = \frac{1}{2\sqrt{1+b^2}}\Big[\ln
              \frac{b^2+p+\sqrt{(1+b^2)(b^2+p^2)}}{1-p}\Big]_{p=r}^{p=1/2} .

    It is 0 for a start of r ≥ ½. From :math:`w = 0` put r = 0, where `balance` is not 0.

    Parameters
    ----------
    balance, size : b and r ≥ 0, which broadcast to (...)

    Returns (...). Raises ValueError where both are zero: such a neuron rests. Source: new in this form.
    """  # noqa: D400
    broadcastable(balance=balance, size=size)
    if np.any((balance == 0) & (size == 0)):
        raise ValueError("size is 0 where balance is 0: such a neuron never starts")
    root, start = np.hypot(1, balance), np.minimum(size, 0.5)

    def primitive(p: NDArray | float) -> NDArray:
        return np.log(np.square(balance) + p + root * np.hypot(balance, p)) - np.log1p(-p)

    return (primitive(0.5) - primitive(start)) / (2 * root)


@takes(balance=numbers)
def sharpness(balance: ArrayLike) -> NDArray:
    r"""Return the largest curvature of the loss at the minimum that a neuron reaches, in units of the target:

    .. math:: \frac{\lambda_{\max}}{s} = \kappa_+ + \kappa_- = 2\sqrt{1+b^2} .

    λ is the largest eigenvalue of the Hessian of :math:`\tfrac12\|\beta-\beta_*\|^2` in the parameters (a, w), for one learning
    rate η, where :math:`b = (a^2-\|w\|^2)/2s`. For two rates it is that of :math:`H_{ij}\sqrt{\eta_i\eta_j}` in units of
    :math:`\sqrt{\eta_a\eta_w}\,s`. Gradient descent of rate η is stable at the minimum if :math:`\eta\lambda < 2`. It holds for
    one active direction on white data of strength one, not for neurons that point elsewhere.

    `balance` b and the result have shape (...). Source: new in these units; Zhao et al. (2023) relate sharpness to the charge.
    """  # noqa: D400
    return 2 * np.hypot(1, balance)


@takes(rate=positives, momentum=partial(number, low=0, high=np.nextafter(1, 0)))
def largest_balance(rate: ArrayLike, momentum: float = 0.0) -> NDArray:
    r"""Return the largest |b| at which gradient descent is stable at the minimum that one neuron reaches on white data,

    .. math:: |b| < \sqrt{\Big(\frac{1 + \mu}{\eta s}\Big)^2 - 1},

    for heavy-ball momentum μ in [0, 1), which is stable up to :math:`\eta\lambda = 2(1 + \mu)`.

    `rate` (...) is ηs in (0, 1 + μ], :math:`\sqrt{\eta_a\eta_w}\,s` for two rates, times the strength of the data; above it no
    minimum is stable. Source: new in these units.
    """  # noqa: D400
    most = 1 + momentum
    if np.any(rate > most):
        raise ValueError(f"rate is up to {np.max(rate):g}: want at most {most:g}, beyond which no minimum is stable")
    return np.sqrt((most - rate) * (most + rate)) / rate


# --- the plane of balance and size


@takes(balance=numbers, size=positives, cosine=COSINE, dimension=whole)
def neuron_kernel_distance(balance: ArrayLike, size: ArrayLike, cosine: float = 0.0, dimension: int = 2) -> NDArray:
    r"""Return how far the tangent kernel of one neuron has turned when it has learned, :math:`S(0, \infty)`, on white data.

    The kernel is that of `strengths`, and r = 1 at the end.

    Parameters
    ----------
    balance, size : b and r > 0, which broadcast to (...)
    cosine : between β₀ and β*; unless it is -1, with b = 0, the neuron does reach β*
    dimension : of the inputs

    Returns (...). Source: extends the kernel distances of Kunin et al. (2024), section 3, to any size, angle and dimension.
    """
    broadcastable(balance=balance, size=size)
    (plus, minus), (plus_end, minus_end) = (_normalized(*_split(balance, r), dimension) for r in (size, 1.0))
    apart, along = plus - plus_end, minus - minus_end
    return (dimension * apart**2 + 2 * apart * along + along**2 + 2 * minus * minus_end * (1 - cosine**2)) / 2


@takes(balance=numbers, size=positives, dimension=partial(whole, least=2))
def twin_kernel_distance(balance: ArrayLike, size: ArrayLike, dimension: int = 2) -> NDArray:
    r"""Return :math:`S(0, \infty)` for a neuron with a twin, the same w and the opposite a, so that :math:`\beta_0 = 0`.

    For w ⊥ β* only the mean a and the difference of the two w move, as one neuron that starts with w = 0 and
    :math:`\delta = \sum_ka_k^2`, of balance :math:`\kappa_+/2`: with :math:`\kappa_\pm` of `strengths` and
    :math:`\kappa'_\pm = \sqrt{\kappa_+^2/4 + 1} \pm \kappa_+/2` the kernel turns from
    :math:`\kappa_+I + \kappa_-\hat w\hat w^\top` to
    :math:`\kappa'_+I + \kappa_-\hat w\hat w^\top + \kappa'_-\hat\beta_*\hat\beta_*^\top`.

    Arguments as in `neuron_kernel_distance`, of both neurons together, in at least two dimensions. Source: new.
    """
    broadcastable(balance=balance, size=size)
    plus, minus = _split(balance, size)
    plus_end, minus_end = _split(plus / 2, 1.0)
    multiplicity = np.array([1, 1, dimension - 2])
    start, end = (
        np.stack(np.broadcast_arrays(*values), axis=-1)
        for values in ((plus + minus, plus, plus), (plus_end + minus, plus_end + minus_end, plus_end))
    )
    start, end = (m / np.sqrt(np.sum(multiplicity * m**2, axis=-1, keepdims=True)) for m in (start, end))
    return np.sum(multiplicity * (start - end) ** 2, axis=-1) / 2


def _split(balance: NDArray, size: NDArray) -> tuple[NDArray, NDArray]:
    """Return √(b² + r²) ± b without cancellation; their product is r²."""
    larger = np.hypot(balance, size) + np.abs(balance)
    smaller = size * np.divide(size, larger, out=np.zeros_like(larger), where=larger > 0)
    return np.where(balance >= 0, larger, smaller), np.where(balance >= 0, smaller, larger)


def _normalized(plus: NDArray, minus: NDArray, dimension: int) -> tuple[NDArray, NDArray]:
    """Divide κ₊ and κ₋ by the norm of the kernel."""
    norm = np.sqrt(dimension * plus**2 + 2 * plus * minus + minus**2)
    return plus / norm, minus / norm
