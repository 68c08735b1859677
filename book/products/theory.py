r"""Gradient descent on a product of weights, :math:`L = \tfrac12(\prod_i w_i^{k_i} - s)^2`: its
times and its depth.

Source: the note "Product-depth dynamics", which has no equation numbers; we name its
sections. Weights carry no units; time is measured in units of 1/(learning rate).
`lib.theory.monomial` integrates the flow.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, expit, hyp2f1, logsumexp

from lib.checks import (
    arrays,
    ascending,
    broadcastable,
    matrix,
    nonnegative_times,
    number,
    numbers,
    optional,
    positive,
    positives,
    takes,
    vector,
    vectors,
    whole,
)
from lib.theory.common import held, integrate_layers
from lib.theory.monomial import _exponents, _gradient

TINY = partial(positives, least=0)  # however small


NODES, SHARES = np.polynomial.legendre.leggauss(16)  # of a quadrature over (-1, 1)


@takes(
    weights=vector, target=number, learning_rate=positive, steps=whole, exponents=optional(numbers)
)
def descend(
    weights: ArrayLike,
    target: float,
    learning_rate: float,
    steps: int,
    exponents: ArrayLike | None = None,
) -> NDArray:
    r"""Run gradient descent, :math:`w_i \leftarrow w_i + \eta\,(s-P)\,\partial P/\partial w_i`.

    Parameters
    ----------
    weights, target, exponents : as in `flow`
    learning_rate : η > 0
    steps : number of steps, at least 1

    Returns (steps + 1, d) weights before each step and after the last. Raises ValueError if the
    weights diverge; the message names the step.

    Source: "Learning rate" (left open in the note).

    Settings
    --------
    data : one input, 1, and its target s
    network : the product p of d weights, without biases; a monomial where a cell has exponents
    initialization : the weights that a cell names, as a rule equal ones, the d-th root of ε
    loss : ½ (p − s)²
    rate : η, the same for all weights, no momentum; where a cell has κ, η = 2κ/λ with the sharpness
        λ = s² Σ 1/w_i² at the solution that gradient flow reaches, for several targets λ of the
        largest
    batch : the one input
    steps : as many as a cell names
    stop : none
    read : the weights before the first step and after each; a half-time is the time, rate × steps,
        at which p first reaches s/2, interpolated where it is compared with a flow
    precision : 64 bits
    """
    k = _exponents(weights, exponents)
    path = np.empty((steps + 1, len(weights)))
    path[0] = w = weights
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(1, len(path)):
            w = w + learning_rate * (target - np.prod(w**k)) * _gradient(w, k)
            path[step] = w
    if not np.all(np.isfinite(path[-1])):
        first = np.argmin(np.isfinite(path).all(axis=1))
        raise ValueError(
            f"descent diverged at step {first}: learning_rate {learning_rate:g} is too large for "
            "these weights"
        )
    return path


@takes(weights=vectors, exponents=optional(numbers))
def conserved(weights: ArrayLike, exponents: ArrayLike | None = None) -> NDArray:
    r"""Return what the flow conserves, :math:`w_i^2/k_i - w_{i+1}^2/k_{i+1}`.

    `weights` are (..., d), `exponents` (d,) as in `flow`, the result (..., d - 1).

    Source: mends a slip in "Nonlinearities", which has the weights equalize for any exponents.
    """
    k = _exponents(weights, exponents)
    first, second = weights[..., :-1], weights[..., 1:] * np.sqrt(k[:-1] / k[1:])
    return (first - second) * (first + second) / k[:-1]


@takes(weights=partial(TINY, ndim=1), product=TINY, exponents=optional(numbers))
def weights_at(
    weights: ArrayLike, product: ArrayLike, exponents: ArrayLike | None = None
) -> NDArray:
    r"""Return the weights that the flow has when their product is `product`.

    All :math:`w_i^2/k_i` move by the same amount, so that :math:`w_i^2 = k_i(v + b_i)` with
    constants :math:`b_i = w_i(0)^2/k_i - \min_j w_j(0)^2/k_j`. What is left is one variable v > 0,
    the root of :math:`\sum_i k_i \ln[k_i(v + b_i)] = 2\ln p`, which rises and is convex in ln v:
    Newton's steps come down to it.

    Parameters
    ----------
    weights : (d,) positive, at time 0
    product : (...) positive
    exponents : as in `flow`

    Returns (..., d).

    Source: new; replaces the one variable of "General case".
    """
    return np.exp(_log_weights(weights, np.log(product), _exponents(weights, exponents)))


@takes(weights=partial(TINY, ndim=1), target=positive, product=TINY, exponents=optional(numbers))
def time_from(
    weights: ArrayLike, target: float, product: ArrayLike, exponents: ArrayLike | None = None
) -> NDArray:
    r"""Time that any positive weights take until their product is `product`: one quadrature.

    .. math:: T = \int_{p_0}^{p} \frac{dp'}{(s-p')\,p'^2\,\sum_i k_i^2/w_i^2}

    with the weights of `weights_at` at p'. Gauss's rule integrates it in :math:`\ln\frac{p}{s-p}`,
    unit by unit.

    Parameters
    ----------
    weights : (d,) positive, with a product below the target
    target : s > 0
    product : (...) in (0, target)
    exponents : as in `flow`

    Returns (...), negative where the flow has been before. Raises ValueError if a product is not
    below the target, or the time overflows.

    Source: new; "General case" has the time of balanced weights only.
    """
    k = _exponents(weights, exponents)
    log_start = np.sum(k * np.log(weights))
    if log_start >= np.log(target) or np.any(product >= target):
        raise ValueError("product and the product of the weights must lie strictly below target")
    start = log_start - np.log(target) - np.log1p(-np.exp(log_start - np.log(target)))
    ends = np.log(product) - np.log(target - product)
    edges = np.append(ends, start)
    edges = np.unique(np.append(edges, np.arange(edges.min(), edges.max())))
    half = np.diff(edges)[:, None] / 2
    logit = edges[:-1, None] + half * (1 + NODES)
    log_product = np.log(target) - np.logaddexp(0, -logit)
    log_weights = _log_weights(weights, log_product, k)
    log_speed = log_product + logsumexp(2 * (np.log(k) - log_weights), axis=-1) + np.log(target)
    with np.errstate(over="ignore"):
        passed = np.append(0, np.cumsum(np.sum(half * SHARES * np.exp(-log_speed), axis=1)))
    return held(
        "the time", passed[np.searchsorted(edges, ends)] - passed[np.searchsorted(edges, start)]
    )


def _log_weights(weights: NDArray, log_product: NDArray, k: NDArray) -> NDArray:
    """Return ln w (..., d) where the product of the weights is exp(log_product) (...)."""
    scaled = weights / np.sqrt(k)
    with np.errstate(divide="ignore"):
        apart = np.log(scaled - scaled.min()) + np.log(scaled + scaled.min())  # ln b
    own = np.asarray(2 * log_product - np.sum(k * np.log(k)))
    log_v = own / k.sum()  # if all b were zero: not below the root
    for _ in range(200):
        excess = np.sum(k * np.logaddexp(log_v[..., None], apart), axis=-1) - own
        step = excess / np.sum(k * expit(log_v[..., None] - apart), axis=-1)
        log_v = log_v - step
        if np.all(np.abs(step) <= 1e-15 * np.maximum(1, np.abs(log_v))):
            break
    return (np.log(k) + np.logaddexp(log_v[..., None], apart)) / 2


@takes(weights=vector, target=positive, times=nonnegative_times)
def pair(weights: ArrayLike, target: float, times: ArrayLike) -> NDArray:
    r"""Return the course of a pair in closed form.

    With :math:`c = w_1^2 - w_2^2`, which is conserved, the flow is
    :math:`\dot w = Mw - \tfrac12\|w\|^2 w` with

    .. math:: M = \begin{pmatrix} c/2 & s\\ s & -c/2\end{pmatrix}, \qquad
        w(t) = \frac{e^{Mt}w(0)}{\sqrt{1 + \int_0^t\|e^{Mt'}w(0)\|^2dt'}}.

    M has the eigenvalues :math:`\pm R/2`, :math:`R = \sqrt{c^2+4s^2}`, so that :math:`w_1/w_2`
    relaxes at the rate R. In these terms it keeps its digits on the way into the saddle, too.

    Parameters
    ----------
    weights : (2,) of any sign, at time 0
    target : s > 0; for s < 0 turn the signs of s and of one weight
    times : (T,) non-negative, in any order

    Returns (T, 2).

    Source: new; solves "How fast do weights equalize?".
    """
    if weights.shape != (2,):
        raise ValueError(f"weights has shape {weights.shape}: want (2,)")
    c = (weights[0] - weights[1]) * (weights[0] + weights[1])
    rate = np.hypot(c, 2 * target)
    larger = rate + abs(c)
    upper = np.array([larger, 2 * target] if c >= 0 else [2 * target, larger]) / np.hypot(
        larger, 2 * target
    )
    lower = np.array([-upper[1], upper[0]])
    grows = weights @ upper
    decays = weights @ lower
    left = np.exp(-rate * times / 2)[:, None]  # e^(-Rt/2)
    size = np.hypot(
        left, np.sqrt(-np.expm1(-rate * times[:, None]) / rate) * np.hypot(grows, decays * left)
    )
    return (grows * upper + decays * left**2 * lower) / np.where(size > 0, size, 1)


@takes(layers=partial(arrays, check=matrix), target=matrix, times=ascending)
def matrix_flow(layers: Sequence[ArrayLike], target: ArrayLike, times: ArrayLike) -> list[NDArray]:
    r"""Integrate the flow of a deep linear network,
    :math:`\dot W_l = (W_d\cdots W_{l+1})^\top (S-P)\,(W_{l-1}\cdots W_1)^\top`.

    Its loss on white inputs is :math:`\tfrac12\|S-P\|^2` with :math:`P = W_d\cdots W_1`. If
    :math:`W_l = U_l\,\mathrm{diag}(w_l)\,U_{l-1}^\top` with the singular vectors :math:`U_d, U_0`
    of S, it stays so, and the numbers :math:`w_{1k}, \dots, w_{dk}` of mode k follow `flow` with
    its singular value as the target.

    Parameters
    ----------
    layers : d matrices (n_l, n_{l-1}) at time 0, W_1 first
    target : (n_d, n_0), the matrix S
    times : (T,) non-negative and ascending

    Returns d arrays (T, n_l, n_{l-1}).

    Source: "Setup", which announces this network and does not train it.
    """
    shapes = [layer.shape for layer in layers]
    chained = all(after[1] == before[0] for before, after in pairwise(shapes))
    if not chained or target.shape != (shapes[-1][0], shapes[0][1]):
        raise ValueError(
            f"layers {shapes} and target {target.shape} do not fit: want (n_l, n_(l-1)), W_1 "
            "first, and (n_d, n_0)"
        )
    return integrate_layers(layers, np.eye(shapes[0][1]), target.T, times)


@takes(product=TINY, target=TINY, degree=numbers, start=TINY)
def time_to_reach(
    product: ArrayLike, target: ArrayLike, degree: ArrayLike, start: ArrayLike
) -> NDArray:
    r"""Time that d balanced weights take to bring their product from `start` to `product`.

    The flow :math:`\dot p = d\,(s-p)\,p^{2-2/d}` integrates to

    .. math:: T = \frac{s^{-(2-2/d)}}{d}\,[F(p/s) - F(p_0/s)], \quad F(x)
              = \frac{x^a}{a}\,{}_2F_1(1, a; a+1; x)

    with :math:`a = 2/d - 1`, and :math:`F(x) = \ln(x/(1-x))` for d = 2. The two leading terms
    :math:`x^a/a + x^{a+1}/(a+1)` are subtracted apart, so that one expression serves all d. A short
    way is integrated instead, in :math:`v = \ln(x/(1-x))`, where :math:`dF = x^a\,dv`.

    Parameters
    ----------
    product, start : in (0, target), broadcast against each other
    target : s > 0
    degree : d ≥ 1, not necessarily an integer

    The time is negative if `product` lies below `start`, where the flow has been before. Raises
    ValueError if `product` or `start` lies outside (0, target), `degree` < 1, or the time
    overflows.

    Source: new; its limits are the times in "General case".
    """
    broadcastable(product=product, target=target, degree=degree, start=start)
    for name, value in (("product", product), ("start", start)):
        if np.any(value >= target):
            raise ValueError(f"{name} must lie strictly between 0 and target")
    if np.any(degree < 1):
        raise ValueError("degree must be at least 1")

    product, target, d, start = np.broadcast_arrays(product, target, degree, start)
    a, b, x0 = 2 / d - 1, 2 / d, start / target  # b = a + 1, with all its digits where d is large
    log_ratio, step = np.log(product / start), product - start
    leading = sum(_power_difference(product / target, x0, log_ratio, power) for power in (a, b))
    long = leading + _tail(product, target, b + 1) - _tail(start, target, b + 1)
    with np.errstate(divide="ignore"):  # far below the start only the other expression is used
        way = np.log1p(step / start) + np.log1p(
            step / (target - product)
        )  # in v, without cancellation
    v = (
        np.log(start / (target - start))[..., None]
        + np.clip(way, -1, 1)[..., None] * (NODES + 1) / 2
    )
    short = way * np.sum(SHARES * expit(v) ** a[..., None], axis=-1) / 2
    with np.errstate(over="ignore"):
        time = target ** -(2 - 2 / d) / d * np.where(np.abs(way) < 1, short, long)
    return held("the time", time)


def _power_difference(x: NDArray, x0: NDArray, log_ratio: NDArray, a: NDArray) -> NDArray:
    """Return (x^a - x0^a) / a without cancellation, and ln(x /
    x0) for a = 0; `log_ratio` is that logarithm.
    """
    shares = -np.expm1(-np.abs(a * log_ratio)) * np.maximum(x**a, x0**a)
    return np.sign(log_ratio) * np.where(
        a == 0, np.abs(log_ratio), shares / np.where(a == 0, 1, np.abs(a))
    )


def _tail(product: NDArray, target: NDArray, b: NDArray) -> NDArray:
    """Sum x^c/c over c = b, b + 1, …, the end of the series of F, about x = 0 or about x = 1."""
    x, y = product / target, (target - product) / target
    about_zero = x**b / b * hyp2f1(1, b, b + 1, np.minimum(x, 0.5))
    n = np.arange(1, 60)
    series = np.cumprod((n - b[..., None]) / n, axis=-1) / n * np.minimum(y, 0.5)[..., None] ** n
    about_one = -np.log(y) - np.euler_gamma - digamma(b) - series.sum(axis=-1)
    return np.where(x < 0.5, about_zero, about_one)


@takes(target=positives, degree=positives)
def approach_rate(target: ArrayLike, degree: ArrayLike) -> NDArray:
    r"""Rate :math:`d\,s^{2-2/d}` at which :math:`s - p` decays
    near the end; source: "Phase 2: approach".
    """
    broadcastable(target=target, degree=degree)
    with np.errstate(over="ignore"):
        return held("the rate", degree * target ** (2 - 2 / degree))


def max_learning_rate(target: ArrayLike, degree: ArrayLike) -> NDArray:
    r"""Largest learning rate at which gradient descent stays at a balanced minimum,
    :math:`2/(d\,s^{2-2/d})`.

    The Hessian there has rank one, with the eigenvalue :math:`s^2\sum_i w_i^{-2} = d\,s^{2-2/d}`;
    no minimum is flatter.

    `target` s and `degree` d are positive. Source: "Learning rate" (left open in the note).
    """
    with np.errstate(divide="ignore"):
        return held("the learning rate", 2 / approach_rate(target, degree))
