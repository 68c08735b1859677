r"""One conserved quantity in the models of three documents: its symmetry and drift, the maps
between them, and what it decides.

Sources: the product-depth note; Kunin et al. (2024), "Get rich quick"; van Rossem & Saxe (2024),
"When representations align". That a rescaling symmetry conserves an imbalance is known (Du et al.,
2018; Kunin et al., 2021); maps and closed forms are new.

A neuron is :math:`\beta = aw` with targets :math:`\beta_*` on white data, as in
`lib.theory.neuron`. Its two numbers are the balance
:math:`b = \delta/(2\sqrt{\eta_a\eta_w}\,\|\beta_*\|)` and the size
:math:`r = \|\beta_0\|/\|\beta_*\|`. For many neurons δ and :math:`\|\beta\|` are sums over neurons.
Lengths are in units of :math:`s = \|\beta_*\|`, times T and learning rates in units of the clock
:math:`\sqrt{\eta_a\eta_w}\,s`.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib import checks
from lib.checks import (
    arrays,
    broadcastable,
    non_negatives,
    nonzero,
    number,
    numbers,
    positive,
    positives,
    shaped,
    takes,
    vector,
    whole,
)
from lib.theory import neuron as single_neuron
from lib.theory.common import held, layer_sizes
from lib.theory.two_points import Pair, one

GENERATORS, RATES = partial(arrays, check=checks.squares), partial(positives, ndim=1)


PART = partial(number, low=0, high=np.nextafter(1, 0))


VECTOR = partial(numbers, ndim=1)


COSINE = partial(number, low=-1, high=1)


class Neuron(NamedTuple):
    """One linear neuron and its task, to be given to
    `lib.theory.neuron.trajectory` in this order, with the times.
    """

    a: float
    w: NDArray  # (d,)
    beta_star: NDArray  # (d,)
    eta_a: float
    eta_w: float


class Coordinates(NamedTuple):
    """What decides the course of a neuron, all without units, and its clock."""

    balance: float  # b = δ / (2 √(η_a η_w) ‖β*‖)
    size: float  # r = ‖β₀‖ / ‖β*‖
    cosine: float  # between β₀ and β*
    clock: float  # time without units per time, √(η_a η_w) ‖β*‖


def _neuron(name: str, value: Neuron) -> Neuron:
    """Return a neuron of numbers that fit: a check for `takes`."""
    fields = zip(
        (number, vector, vector, positive, positive),
        Neuron._fields,
        checks.kind(name, value, Neuron),
        strict=True,
    )
    neuron = Neuron._make(check(f"{name}.{field}", given) for check, field, given in fields)
    shaped("(d,), (d,)", **{f"{name}.w": neuron.w, f"{name}.beta_star": neuron.beta_star})
    return neuron


@takes(parameters=arrays, generators=GENERATORS, rates=RATES)
def charge(
    parameters: Sequence[ArrayLike], generators: Sequence[ArrayLike], rates: Sequence[float]
) -> float:
    r"""Return what gradient flow conserves if :math:`\theta_i \to e^{\epsilon G_i}\theta_i` leaves
    the loss as it is,

    .. math:: Q = \sum_i \frac{1}{\eta_i}\,\langle\theta_i, G_i\theta_i\rangle .

    With :math:`\dot\theta_i = -\eta_i\nabla_iL`,
    :math:`\dot Q = -\sum_i\langle\nabla_iL, (G_i + G_i^\top)\theta_i\rangle`, which for symmetric
    :math:`G_i` is twice the change of L under the symmetry. An antisymmetric part adds nothing to
    Q.

    Parameters
    ----------
    parameters : arrays :math:`\theta_i` (n_i,) or (n_i, m_i)
    generators : matrices :math:`G_i` (n_i, n_i)
    rates : learning rates :math:`\eta_i`, positive

    Source: Kunin et al. (2021), there for one learning rate.
    """  # noqa: D400
    if not len(parameters) == len(generators) == len(rates):
        count = f"{len(parameters)} parameters, {len(generators)} generators, {len(rates)} rates"
        raise ValueError(f"{count}: want as many of each")
    total = 0.0
    for v, g, rate in zip(parameters, generators, rates, strict=True):
        shaped("(n,), (n, n)" if v.ndim == 1 else "(n, m), (n, n)", parameters=v, generators=g)
        total += np.sum(v * (g @ v)) / rate
    return float(total)


@takes(start=number, kinetic=VECTOR, momentum=PART, decay=PART)
def drift(start: float, kinetic: ArrayLike, momentum: float = 0.0, decay: float = 0.0) -> NDArray:
    r"""Return `charge` along gradient descent with momentum μ and decay ν, from rest and exactly,
    given the updates' own charges.

    With :math:`u_k = \mu u_{k-1} - g_k` and
    :math:`\theta_i \leftarrow (1-\nu)\theta_i + \eta_iu_{i,k}`, the charge Q, the charge of the
    motion :math:`P = \sum_i\langle u_i, G_i\theta_i\rangle` and that of the update
    :math:`U = \sum_i\eta_i\langle u_i, G_iu_i\rangle` obey

    .. math:: Q_{k+1} = (1-\nu)^2Q_k + 2(1-\nu)P_k + U_k, \qquad P_{k+1} = \mu\,[(1-\nu)P_k
              + U_k], \qquad P_0 = 0,

    because the gradient's part of P vanishes by the symmetry. Without decay
    :math:`Q_\infty - Q_0 = \frac{1+\mu}{1-\mu}\sum_kU_k`; with μ = ν = 0 a step adds
    :math:`\sum_i\eta_i\langle g_i, G_ig_i\rangle`.

    Parameters
    ----------
    start : Q at step 0
    kinetic : U (n,), one for each step
    momentum, decay : μ and ν, in [0, 1)

    Returns (n + 1,). Source: new; Tanaka & Kunin (2021) have the laws of the continuous limits.
    """
    charges, motion = [start], 0.0
    for update in kinetic:
        charges.append((1 - decay) ** 2 * charges[-1] + 2 * (1 - decay) * motion + update)
        motion = momentum * ((1 - decay) * motion + update)
    return np.array(charges)


@takes(dh2=positive, dy2=checks.non_negative, w=number, pair=one)
def two_points_as_neuron(dh2: float, dy2: float, w: float, pair: Pair) -> Neuron:
    r"""Read the equations of two points as a neuron: :math:`a = \|dh\|`, :math:`w = dy/\|dh\|`,
    :math:`\beta_* = \Delta y`,

    .. math:: \eta_a = \frac{\|\Delta x\|^2}{2\tau_h}, \quad \eta_w
              = \frac{1}{2\tau_y}, \quad \delta = \frac{A_{high}}{2\tau_y}.

    The scalar a is the *encoder* and w the decoder: δ > 0 says that the layer next to the inputs is
    the larger. With one output the neuron's input is one number, signed along Δy; in general it has
    two, along Δy and across.

    Arguments and errors as `lib.theory.two_points.solve`, but `pair.y` is positive. Source: new.
    """  # noqa: D400
    target = positive("pair.y", pair.y)
    along = (dy2 - w) / target
    across2 = dy2 - along**2
    if across2 < -1e-11 * dy2:
        raise ValueError(
            f"no dy has dy2 {dy2:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most pair.y * sqrt(dy2)"
        )
    dy = np.array([along]) if across2 <= 1e-11 * dy2 else np.array([along, np.sqrt(across2)])
    a, beta_star = np.sqrt(dh2), target * np.eye(len(dy))[0]
    return Neuron(
        a, dy / a, beta_star, float(pair.x**2 / (2 * pair.tau_h)), float(1 / (2 * pair.tau_y))
    )


@takes(neuron=_neuron)
def coordinates(neuron: Neuron) -> Coordinates:
    r"""Return the balance b, the size r and the cosine of a
    neuron, which decide its course, and its clock.

    Where :math:`\beta_0 = 0`, balance and size alone do not decide. The cosine is then that of w,
    with the sign of a (+ for a = 0, where :math:`w` and :math:`-w` have mirrored courses), or 0 for
    w = 0, which starts straight towards β*.

    >>> coordinates(Neuron(3, [1], [2], 1, 1))
    Coordinates(balance=2.0, size=1.5, cosine=1.0, clock=2.0)

    Source: new.
    """
    a, w, target, eta_a, eta_w = neuron
    s, length = np.hypot.reduce(nonzero("neuron.beta_star", target)), np.hypot.reduce(w)
    clock = np.sqrt(eta_a * eta_w) * s
    cosine = float((-1 if a < 0 else 1) * (w / length) @ (target / s)) if length > 0 else 0.0
    with np.errstate(over="ignore"):
        balance = held("the balance", single_neuron.conserved(a, w, eta_a, eta_w) / (2 * clock))
        size = held("the size", np.abs(a) * length / s)
    return Coordinates(float(balance), float(size), cosine, float(clock))


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


@takes(
    balance=numbers,
    size=positives,
    dimension=partial(whole, least=2),
    pairs=partial(whole, least=1),
)
def twin_kernel_distance(
    balance: ArrayLike, size: ArrayLike, dimension: int = 2, pairs: int = 1
) -> NDArray:
    r"""Return :math:`S(0, \infty)` for neurons with twins, the same
    w and the opposite a, so that :math:`\beta_0 = 0`.

    For w ⊥ β* only the mean a and the difference of the two w of a pair move, of all pairs as one
    neuron that starts with w = 0 and :math:`\delta = \sum_ka_k^2`, of balance :math:`\kappa_+/2`:
    with :math:`\kappa_\pm` of `strengths`,
    :math:`\kappa'_\pm = \sqrt{\kappa_+^2/4 + 1} \pm \kappa_+/2` and the mean P of the pairs'
    :math:`\hat w\hat w^\top` the kernel turns from :math:`\kappa_+I + \kappa_-P` to
    :math:`\kappa'_+I + \kappa_-P + \kappa'_-\hat\beta_*\hat\beta_*^\top`.

    Arguments as in `neuron_kernel_distance`, of all neurons together; `pairs` of equal size and
    orthogonal w, fewer than the dimensions. Source: new.
    """
    broadcastable(balance=balance, size=size)
    if pairs >= dimension:
        raise ValueError(
            f"pairs is {pairs}: want fewer than the {dimension} dimensions, since w ⊥ β*"
        )
    plus, minus = strengths(balance, size)
    plus_end, minus_end = strengths(plus / 2, 1.0)
    minus, multiplicity = minus / pairs, np.array([pairs, 1, dimension - pairs - 1])
    start, end = (
        np.stack(np.broadcast_arrays(*values), axis=-1)
        for values in (
            (plus + minus, plus, plus),
            (plus_end + minus, plus_end + minus_end, plus_end),
        )
    )
    start, end = (
        m / np.sqrt(np.sum(multiplicity * m**2, axis=-1, keepdims=True)) for m in (start, end)
    )
    return np.sum(multiplicity * (start - end) ** 2, axis=-1) / 2


def _normalized(plus: NDArray, minus: NDArray, dimension: int) -> tuple[NDArray, NDArray]:
    """Divide κ₊ and κ₋ by the norm of the kernel."""
    norm = np.sqrt(dimension * plus**2 + 2 * plus * minus + minus**2)
    return plus / norm, minus / norm
