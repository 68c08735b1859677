r"""What balance and size of a linear neuron decide: its course, its half-time and its kernel.

Sources: Kunin et al. (2024), "Get rich quick", for the kernel; the closed forms in these units are
new.

A neuron is :math:`\beta = aw` with targets :math:`\beta_*` on white data, as in
`lib.theory.neuron`. Its two numbers are the balance
:math:`b = \delta/(2\sqrt{\eta_a\eta_w}\,\|\beta_*\|)` and the size
:math:`r = \|\beta_0\|/\|\beta_*\|`.
Lengths are in units of :math:`s = \|\beta_*\|`, times T in units of the clock
:math:`\sqrt{\eta_a\eta_w}\,s`.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import (
    broadcastable,
    non_negatives,
    number,
    numbers,
    positive,
    positives,
    takes,
    whole,
)
from lib.theory import neuron as single_neuron
from lib.theory.common import layer_sizes

COSINE = partial(number, low=-1, high=1)


@takes(balance=number, size=positive, cosine=COSINE)
def course(balance: float, size: float, cosine: float, times: ArrayLike) -> NDArray:
    r"""Return :math:`\beta/\|\beta_*\|` along β* and across, at times in units of
    :math:`1/(\sqrt{\eta_a\eta_w}\,\|\beta_*\|)`.

    Parameters
    ----------
    balance, size : b and r > 0
    cosine : between β₀ and β*, in [-1, 1]
    times : (T,) non-negative

    Returns (T, 2). Source: new; the solution is that of `lib.theory.neuron`.
    """
    start = size * np.array([cosine, np.sqrt(1 - cosine**2)])
    a, w = single_neuron.initialize(start, 2 * balance)
    return single_neuron.trajectory(a, w, [1.0, 0.0], times).beta


@takes(balance=numbers, size=non_negatives)
def strengths(balance: ArrayLike, size: ArrayLike) -> tuple[NDArray, NDArray]:
    r"""Return what readout and input weights contribute to the kernel,

    .. math:: \kappa_\pm = \sqrt{b^2 + r^2} \pm b, \qquad \kappa_+
              = \frac{\eta_wa^2}{\sqrt{\eta_a\eta_w}\,s}, \quad
              \kappa_- = \frac{\eta_a\|w\|^2}{\sqrt{\eta_a\eta_w}\,s},

    without cancellation; at the end of learning r is 1. The kernel is
    :math:`\kappa_+I + \kappa_-\hat\beta\hat\beta^\top`.

    Parameters
    ----------
    balance, size : b and r ≥ 0, which broadcast to (...)

    Returns two arrays (...). Source: Kunin et al. (2024), section 3, in units of the target.
    """  # noqa: D400
    broadcastable(balance=balance, size=size)
    readout, inputs = layer_sizes(size, 2 * balance)
    return readout**2, inputs**2


@takes(balance=numbers, size=non_negatives)
def half_time(balance: ArrayLike, size: ArrayLike) -> NDArray:
    r"""Return the time, in units of the clock, at which
    :math:`p = \|\beta\|/s` is one half, for φ = 0:

    .. math:: T = \int_r^{1/2}\frac{dp}{(1-p)\sqrt{4b^2+4p^2}} = \frac{1}{2\sqrt{1+b^2}}\Big[\ln
              \frac{b^2+p+\sqrt{(1+b^2)(b^2+p^2)}}{1-p}\Big]_{p=r}^{p=1/2} .

    It is 0 for a start of r ≥ ½. From :math:`w = 0` put r = 0, where `balance` is not 0.

    Parameters
    ----------
    balance, size : b and r ≥ 0, which broadcast to (...)

    Returns (...). Raises ValueError where both are zero: such a neuron rests. Source: new in this
    form.
    """  # noqa: D400
    broadcastable(balance=balance, size=size)
    if np.any((balance == 0) & (size == 0)):
        raise ValueError("size is 0 where balance is 0: such a neuron never starts")
    root, start = np.hypot(1, balance), np.minimum(size, 0.5)

    def primitive(p: NDArray | float) -> NDArray:
        return np.log(np.square(balance) + p + root * np.hypot(balance, p)) - np.log1p(-p)

    return (primitive(0.5) - primitive(start)) / (2 * root)


@takes(balance=numbers, size=positives, cosine=COSINE, dimension=whole)
def neuron_kernel_distance(
    balance: ArrayLike, size: ArrayLike, cosine: float = 0.0, dimension: int = 2
) -> NDArray:
    r"""Return how far the tangent kernel of one neuron has turned when it has learned,
    :math:`S(0, \infty)`, on white data.

    The kernel is that of `strengths`, and r = 1 at the end.

    Parameters
    ----------
    balance, size : b and r > 0, which broadcast to (...)
    cosine : between β₀ and β*; unless it is -1, with b = 0, the neuron does reach β*
    dimension : of the inputs

    Returns (...). Source: extends the kernel distances of Kunin et al. (2024), section 3, to any
    size, angle and dimension.
    """
    broadcastable(balance=balance, size=size)
    (plus, minus), (plus_end, minus_end) = (
        _normalized(*strengths(balance, r), dimension) for r in (size, 1.0)
    )
    apart, along = plus - plus_end, minus - minus_end
    return (
        dimension * apart**2
        + 2 * apart * along
        + along**2
        + 2 * minus * minus_end * (1 - cosine**2)
    ) / 2


def _normalized(plus: NDArray, minus: NDArray, dimension: int) -> tuple[NDArray, NDArray]:
    """Divide κ₊ and κ₋ by the norm of the kernel."""
    norm = np.sqrt(dimension * plus**2 + 2 * plus * minus + minus**2)
    return plus / norm, minus / norm
