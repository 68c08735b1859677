r"""One conserved quantity in three documents: the symmetry behind it, the maps between the models, and their common plane.

Sources: the product-depth note; Kunin et al. (2024), "Get rich quick"; van Rossem & Saxe (2024), "When representations align".
That a rescaling symmetry conserves an imbalance is known (Du et al., 2018; Kunin et al., 2021); the maps and the plane are new.

A neuron is :math:`\beta = aw` with targets :math:`\beta_*` on white data, as in `lib.theory.single_neuron`. Its two numbers are
the balance :math:`b = \delta/(2\sqrt{\eta_a\eta_w}\,\|\beta_*\|)` and the size :math:`r = \|\beta_0\|/\|\beta_*\|`. For many
neurons δ and :math:`\|\beta\|` are sums over neurons.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.theory import single_neuron
from lib.theory.common import (
    arrays,
    broadcastable,
    count,
    finite,
    held,
    matrix,
    non_negative,
    number,
    numbers,
    positive,
    rows,
    square,
    vector,
)
from lib.theory.two_point import Product, checked_constants


class Neuron(NamedTuple):
    """One linear neuron and its task, to be given to `lib.theory.single_neuron.trajectory` in this order, with the times."""

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


# --- the symmetry and what it conserves


def charge(parameters: Sequence[ArrayLike], generators: Sequence[ArrayLike], rates: Sequence[float]) -> float:
    r"""Return what gradient flow conserves if :math:`\theta_i \to e^{\epsilon S_i}\theta_i` leaves the loss as it is,

    .. math:: Q = \sum_i \frac{1}{\eta_i}\,\langle\theta_i, S_i\theta_i\rangle .

    With :math:`\dot\theta_i = -\eta_i\nabla_iL`, :math:`\dot Q = -\sum_i\langle\nabla_iL, (S_i + S_i^\top)\theta_i\rangle`, which
    for symmetric :math:`S_i` is twice the change of L under the symmetry. An antisymmetric part adds nothing to Q.

    Parameters
    ----------
    parameters : arrays :math:`\theta_i` (n_i,) or (n_i, m_i)
    generators : matrices :math:`S_i` (n_i, n_i)
    rates : learning rates :math:`\eta_i`, positive

    Raises
    ------
    ValueError
        If numbers or shapes do not fit, or a number is not finite or a rate not positive.

    Source: Kunin et al. (2021), there for one learning rate.
    """  # noqa: D400
    return _charge("parameters", parameters, generators, positive("rates", rates))


def charge_step(gradients: Sequence[ArrayLike], generators: Sequence[ArrayLike], rates: Sequence[float]) -> float:
    r"""Return by how much one step :math:`\theta_i \leftarrow \theta_i - \eta_i g_i` changes `charge`, exactly:

    .. math:: Q' - Q = \sum_i \eta_i\,\langle g_i, S_ig_i\rangle

    for symmetric :math:`S_i` and gradients `gradients` of a loss with this symmetry, on all data or on a batch.
    Shapes and errors as in `charge`.

    Source: new in this form; Kunin et al. (2021) have the rate of the modified flow.
    """  # noqa: D400
    return _charge("gradients", gradients, generators, 1 / positive("rates", rates))


def _charge(name: str, vectors: Sequence[ArrayLike], generators: Sequence[ArrayLike], rates: NDArray) -> float:
    vectors, generators, rates = arrays(name, vectors), arrays("generators", generators, square), rows("rates", rates)
    if not len(vectors) == len(generators) == len(rates):
        raise ValueError(f"{len(vectors)} {name}, {len(generators)} generators, {len(rates)} rates: want as many of each")
    total = 0.0
    for theta, generator, rate in zip(vectors, generators, rates, strict=True):
        if theta.ndim not in (1, 2) or generator.shape != theta.shape[:1] * 2:
            raise ValueError(f"{name} {theta.shape} and generators {generator.shape} do not fit: want (n,) or (n, m), and (n, n)")
        total += np.sum(theta * (generator @ theta)) / rate
    return float(total)


def quadratic_invariants(points: ArrayLike, velocities: ArrayLike) -> NDArray:
    r"""Find every symmetric Q for which :math:`\theta^\top Q\theta` is conserved, from samples of a flow: a basis.

    Conserved means :math:`\theta^\top Q\,\dot\theta = 0` at all samples, a linear equation for Q at each.

    Parameters
    ----------
    points, velocities : (n, D) parameters θ and their velocities, at least D(D + 1)/2 of them, in general position

    Returns
    -------
    (k, D, D) an orthonormal basis, in the Frobenius product

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, or there are too few samples to tell.

    Source: new.
    """
    points, velocities = finite("points", points), finite("velocities", velocities)
    if points.ndim != 2 or points.shape != velocities.shape:
        raise ValueError(f"points {points.shape} and velocities {velocities.shape} do not fit: want (n, D) for both")
    n, size = points.shape
    rows, columns = np.triu_indices(size)
    if n < len(rows):
        raise ValueError(f"{n} samples of {size} parameters: want at least {len(rows)}")
    products = points[:, rows] * velocities[:, columns] + points[:, columns] * velocities[:, rows]
    products *= np.where(rows == columns, 0.5, np.sqrt(0.5))  # the basis of symmetric matrices is orthonormal
    products /= np.linalg.norm(products, axis=1, keepdims=True).clip(np.finfo(float).tiny)
    _, strengths, modes = np.linalg.svd(products, full_matrices=False)
    found = modes[strengths < 1e-9 * strengths[0]]
    basis = np.zeros((len(found), size, size))
    basis[:, rows, columns] = basis[:, columns, rows] = found * np.where(rows == columns, 1, np.sqrt(0.5))
    return basis


def deep_imbalances(weights: Sequence[ArrayLike], rates: Sequence[float]) -> list[NDArray]:
    r"""Return what a deep linear network conserves between neighbouring layers,

    .. math:: \frac{1}{\eta_{l+1}}W_{l+1}^\top W_{l+1} - \frac{1}{\eta_l}W_lW_l^\top .

    For two layers this is :math:`\Delta/(\eta_a\eta_w)` of `lib.theory.linear_networks.conserved`, with :math:`W_2 = A^\top`.

    Parameters
    ----------
    weights : matrices :math:`W_l` (n_l, n_{l-1}), the first layer first
    rates : learning rates, positive, one for each layer

    Returns
    -------
    one matrix (n_l, n_l) for each hidden layer

    Raises
    ------
    ValueError
        If there are fewer than two layers, shapes disagree, or a rate is not positive.

    Source: appendix B of Kunin et al. (2024), there for equal rates.
    """  # noqa: D400
    weights, rates = arrays("weights", weights, matrix), positive("rates", rates)
    shapes = [w.shape for w in weights]
    if len(weights) < 2 or rates.shape != (len(weights),):
        raise ValueError(f"{len(weights)} weights and rates {rates.shape}: want two layers or more, and a rate for each")
    pairs = list(zip(weights[:-1], weights[1:], rates[:-1], rates[1:], strict=True))
    if any(below.ndim != 2 or above.ndim != 2 or below.shape[0] != above.shape[1] for below, above, _, _ in pairs):
        raise ValueError(f"weights {shapes} do not fit: want (n_1, n_0), (n_2, n_1), …")
    return [above.T @ above / rate_above - below @ below.T / rate_below for below, above, rate_below, rate_above in pairs]


# --- the maps


def pair_as_neuron(weights: ArrayLike, target: float) -> Neuron:
    r"""Read a product of two weights that learns s as a neuron with one input: :math:`a = w_1`, :math:`w = (w_2)`, δ = c.

    Parameters
    ----------
    weights : (2,)
    target : s, not zero

    Source: new.
    """
    weights = finite("weights", weights)
    if weights.shape != (2,):
        raise ValueError(f"weights has shape {weights.shape}: want a pair, (2,)")
    return Neuron(float(weights[0]), weights[1:], vector("target", [number("target", target)]), 1.0, 1.0)


def neuron_as_pair(neuron: Neuron) -> Product:
    r"""Read a neuron with one input as a product of two weights, in the clock :math:`\sqrt{\eta_a\eta_w}`:

    .. math:: w_1 = (\eta_w/\eta_a)^{1/4}a, \quad w_2 = (\eta_a/\eta_w)^{1/4}w, \quad
              w_1^2 - w_2^2 = \delta/\sqrt{\eta_a\eta_w}.

    Returns
    -------
    weights (2,), target and clock, for `lib.theory.products.flow`

    Raises
    ------
    ValueError
        If the neuron has several inputs, or a learning rate is not positive.

    Source: new.
    """  # noqa: D400
    a, w, target, eta_a, eta_w = _checked(neuron)
    if w.shape != (1,) or target.shape != (1,):
        raise ValueError(f"neuron.w {w.shape} and neuron.beta_star {target.shape}: want a neuron with one input, (1,)")
    shift = (eta_w / eta_a) ** 0.25
    return Product(np.array([shift * a, w[0] / shift]), float(target[0]), float(np.sqrt(eta_a * eta_w)))


def two_points_as_neuron(
    dh2: float, dy2: float, w: float, *, input_distance: float, target_distance: float, tau_h: float, tau_y: float
) -> Neuron:
    r"""Read the equations of two points as a neuron: :math:`a = \|dh\|`, :math:`w = dy/\|dh\|`, :math:`\beta_* = \Delta y`,

    .. math:: \eta_a = \frac{\|\Delta x\|^2}{2\tau_h}, \quad \eta_w = \frac{1}{2\tau_y}, \quad \delta = \frac{A_{high}}{2\tau_y}.

    The scalar a is the *encoder* and w the decoder: δ > 0 says that the layer next to the inputs is the larger. With one output
    the neuron's input is one number, signed along Δy; in general it has two, along Δy and across.

    Parameters
    ----------
    dh2, dy2, w : the three curves at time 0, ‖dh‖² > 0 and ‖dy‖² ≥ 0
    input_distance, target_distance, tau_h, tau_y : positive

    Raises
    ------
    ValueError
        If a number is not finite or has the wrong sign, or no vector dy has this ‖dy‖² and w.

    Source: new.
    """  # noqa: D400
    numbers(input_distance=input_distance, target_distance=target_distance, tau_h=tau_h, tau_y=tau_y)
    h, y, w = number("dh2", dh2, positive), number("dy2", dy2, non_negative), number("w", w)
    x2, _, tau_h, tau_y = checked_constants(input_distance, positive("target_distance", target_distance), tau_h, tau_y)
    along = (y - w) / target_distance
    across2 = y - along**2
    if across2 < -1e-11 * y:
        raise ValueError(f"no dy has dy2 {y:g} and w {w:g}: |dy2 - w| = |dy·Δy| is at most target_distance * sqrt(dy2)")
    dy = np.array([along]) if across2 <= 1e-11 * y else np.array([along, np.sqrt(across2)])
    return Neuron(
        np.sqrt(h), dy / np.sqrt(h), target_distance * np.eye(len(dy))[0], float(x2 / (2 * tau_h)), float(1 / (2 * tau_y))
    )


def coordinates(neuron: Neuron) -> Coordinates:
    r"""Return the balance b, the size r and the cosine of a neuron, which decide its course, and its clock.

    The cosine is 0 where :math:`\beta_0 = 0`. Raises ValueError as `lib.theory.single_neuron.trajectory`. Source: new.
    """
    a, w, target, eta_a, eta_w = _checked(neuron)
    s, length = np.hypot.reduce(vector("neuron.beta_star", target)), np.hypot.reduce(w)
    clock = np.sqrt(eta_a * eta_w) * s
    cosine = float(np.sign(a) * (w / length) @ (target / s)) if length > 0 else 0.0
    with np.errstate(over="ignore"):
        balance = held("the balance", single_neuron.conserved(a, w, eta_a, eta_w) / (2 * clock))
        size = held("the size", np.abs(a) * length / s)
    return Coordinates(float(balance), float(size), cosine, float(clock))


def course(balance: float, size: float, cosine: float, times: ArrayLike) -> NDArray:
    r"""Return :math:`\beta/\|\beta_*\|` along β* and across, at times in units of :math:`1/(\sqrt{\eta_a\eta_w}\,\|\beta_*\|)`.

    Parameters
    ----------
    balance, size : b and r > 0
    cosine : between β₀ and β*, in [-1, 1]
    times : (T,) non-negative

    Returns
    -------
    (T, 2)

    Raises
    ------
    ValueError
        If `size` is not positive, `cosine` out of its range, or a number not finite.

    Source: new; the solution is that of `lib.theory.single_neuron`.
    """
    size, cosine = number("size", size, positive), _cosine(cosine)
    start = size * np.array([cosine, np.sqrt(1 - cosine**2)])
    a, w = single_neuron.initialize(start, 2 * number("balance", balance))
    return single_neuron.trajectory(a, w, [1.0, 0.0], times).beta


# --- the plane of balance and size


def neuron_kernel_distance(balance: ArrayLike, size: ArrayLike, cosine: float = 0.0, dimension: int = 2) -> NDArray:
    r"""Return how far the tangent kernel of one neuron has turned when it has learned, :math:`S(0, \infty)`, on white data.

    The kernel is :math:`A\,I + B\,\hat\beta\hat\beta^\top` with :math:`A, B = \sqrt{b^2 + r^2} \pm b`, and r = 1 at the end.

    Parameters
    ----------
    balance, size : b and r > 0, which broadcast to (...)
    cosine : between β₀ and β*; unless it is -1, with b = 0, the neuron does reach β*
    dimension : of the inputs

    Returns
    -------
    (...)

    Raises
    ------
    ValueError
        If `size` is not positive, `cosine` out of its range, `dimension` not a positive integer, or a number not finite.

    Source: extends the kernel distances of Kunin et al. (2024), section 3, to any size, angle and dimension.
    """
    balance, size, cosine = finite("balance", balance), positive("size", size), _cosine(cosine)
    dimension = count("dimension", dimension)
    broadcastable(balance=balance, size=size)
    (a0, b0), (a1, b1) = (_normalized(*_split(balance, r), dimension) for r in (size, 1.0))
    apart, along = a0 - a1, b0 - b1
    return (dimension * apart**2 + 2 * apart * along + along**2 + 2 * b0 * b1 * (1 - cosine**2)) / 2


def twin_kernel_distance(balance: ArrayLike, size: ArrayLike, dimension: int = 2) -> NDArray:
    r"""Return :math:`S(0, \infty)` for a neuron with a twin, the same w and the opposite a, so that :math:`\beta_0 = 0`.

    For w ⊥ β* only the mean a and the difference of the two w move, as one neuron that starts with w = 0 and
    :math:`\delta = \sum_ka_k^2`: with :math:`A, B = \sqrt{b^2 + r^2} \pm b`, the kernel turns from
    :math:`A\,I + B\,\hat w\hat w^\top` to :math:`A'I + B\,\hat w\hat w^\top + B'\hat\beta_*\hat\beta_*^\top`, where
    :math:`A', B' = \sqrt{A^2/4 + 1} \pm A/2`.

    Parameters
    ----------
    balance, size : b and r > 0, of both neurons together; they broadcast to (...)
    dimension : of the inputs, at least 2

    Returns
    -------
    (...)

    Raises
    ------
    ValueError
        If `size` is not positive, `dimension` not an integer of at least 2, or a number not finite.

    Source: new.
    """
    balance, size, dimension = finite("balance", balance), positive("size", size), count("dimension", dimension, 2)
    broadcastable(balance=balance, size=size)
    a, b = _split(balance, size)
    a_end, b_end = _split(a / 2, 1.0)
    multiplicity = np.array([1, 1, dimension - 2])
    start, end = (
        np.stack(np.broadcast_arrays(*values), axis=-1) for values in ((a + b, a, a), (a_end + b, a_end + b_end, a_end))
    )
    start, end = (m / np.sqrt(np.sum(multiplicity * m**2, axis=-1, keepdims=True)) for m in (start, end))
    return np.sum(multiplicity * (start - end) ** 2, axis=-1) / 2


def _checked(neuron: Neuron) -> Neuron:
    if not isinstance(neuron, Neuron):
        raise TypeError(f"neuron is of type {type(neuron).__name__}: want a Neuron")
    a, w, target = number("neuron.a", neuron.a), rows("neuron.w", neuron.w), finite("neuron.beta_star", neuron.beta_star)
    if w.ndim != 1 or target.shape != w.shape:
        raise ValueError(f"neuron.w {w.shape} and neuron.beta_star {target.shape} do not fit: want (d,) for both")
    return Neuron(a, w, target, number("neuron.eta_a", neuron.eta_a, positive), number("neuron.eta_w", neuron.eta_w, positive))


def _split(balance: NDArray, size: NDArray) -> tuple[NDArray, NDArray]:
    """Return √(b² + r²) ± b without cancellation; their product is r²."""
    larger = np.hypot(balance, size) + np.abs(balance)
    smaller = np.square(size) / larger
    return np.where(balance >= 0, larger, smaller), np.where(balance >= 0, smaller, larger)


def _normalized(a: NDArray, b: NDArray, dimension: int) -> tuple[NDArray, NDArray]:
    """Divide A and B by the norm of A I + B ββᵀ."""
    norm = np.sqrt(dimension * a**2 + 2 * a * b + b**2)
    return a / norm, b / norm


def _cosine(cosine: float) -> float:
    cosine = number("cosine", cosine)
    if np.abs(cosine) > 1:
        raise ValueError(f"cosine is {cosine:g}: want a number from -1 to 1")
    return cosine
