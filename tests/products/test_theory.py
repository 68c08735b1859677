"""The product's closed forms against quadrature, the full
d-weight flow, autograd and finite steps.
"""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import quad, solve_ivp

from book.products import theory
from lib.theory import monomial
from lib.theory.common import orthogonal

targets = st.floats(0.05, 20)


fractions = st.floats(1e-6, 1 - 1e-6)


def loss_gradient(weights, target, exponents):
    """Differentiate ½(Πw^k - s)² with autograd."""
    w = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
    (0.5 * (torch.prod(w ** torch.tensor(exponents, dtype=torch.float64)) - target) ** 2).backward()
    return w.grad.numpy()


@given(seed=seeds, d=st.integers(1, 5), target=targets)
def test_descend_takes_autograd_steps(seed, d, target):
    rng = np.random.default_rng(seed)
    w, k = rng.normal(size=d), rng.integers(1, 4, size=d)
    w[0] = rng.choice([0.0, w[0]])  # a zero weight must not divide
    path = theory.descend(w, target, 1e-4, 2, k)
    assert path.shape == (3, d)
    for before, after in pairwise(path):
        np.testing.assert_allclose(
            after, before - 1e-4 * loss_gradient(before, target, k), rtol=1e-12, atol=1e-15
        )


@given(seed=seeds, d=st.integers(2, 5))
def test_flow_conserves(seed, d):
    rng = np.random.default_rng(seed)
    w, k = rng.uniform(-1.2, 1.2, size=d), rng.integers(1, 4, size=d)
    kept = theory.conserved(monomial.flow(w, 1.5, np.linspace(0, 20, 7), k), k)
    assert kept.shape == (7, d - 1)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-8)


def test_conserved_is_the_difference_of_scaled_squares():
    np.testing.assert_allclose(theory.conserved([3.0, 2.0, 1.0], [1, 2, 4]), [9 - 2, 2 - 0.25])


@given(
    target=targets,
    d=st.one_of(st.floats(1, 12), st.sampled_from([1, 1.5, 2, 2 + 1e-12, 3])),
    x0=fractions,
    x1=fractions,
)
def test_time_to_reach_is_the_integral(target, d, x0, x1):
    """T = ∫ dp / (d (s-p) p^(2-2/d)), in the variable u with p =
    s/(1+e^-u), which removes both singular ends.
    """

    def integrand(u):
        x = 1 / (1 + np.exp(-u))
        return (x * target) ** (2 / d - 2) * x / d

    u0, u1 = np.log(x0 / (1 - x0)), np.log(x1 / (1 - x1))
    expected, _ = quad(integrand, u0, u1, limit=400, epsabs=0, epsrel=1e-10)
    time = theory.time_to_reach(x1 * target, target, d, x0 * target)
    np.testing.assert_allclose(time, expected, rtol=1e-6, atol=1e-9 * abs(integrand(u0)))


def test_time_to_reach_takes_arrays():
    times = theory.time_to_reach(0.5, 1.0, np.array([1, 2, 3])[:, None], np.array([1e-3, 1e-2]))
    assert times.shape == (3, 2)
    np.testing.assert_allclose(times[1, 0], theory.time_to_reach(0.5, 1.0, 2, 1e-3))


@pytest.mark.parametrize(
    "product, start", [(0, 0.1), (1, 0.1), (0.5, 0), (0.5, 1), (0.5, -0.1), (np.nan, 0.5), (2, 0.5)]
)
def test_time_to_reach_refuses_what_is_never_reached(product, start):
    with pytest.raises(ValueError, match=r"product|start"):
        theory.time_to_reach(product, 1.0, 2, start)


@given(target=st.floats(0.1, 10), d=st.integers(1, 8))
def test_max_learning_rate_is_two_over_the_curvature(target, d):
    w = torch.full((d,), target ** (1 / d), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(
        lambda v: 0.5 * (torch.prod(v) - target) ** 2, w
    ).numpy()
    curvatures = np.linalg.eigvalsh(hessian)
    np.testing.assert_allclose(theory.max_learning_rate(target, d), 2 / curvatures[-1], rtol=1e-9)
    np.testing.assert_allclose(theory.approach_rate(target, d), curvatures[-1], rtol=1e-9)
    np.testing.assert_allclose(curvatures[:-1], 0, atol=1e-9 * curvatures[-1])


def course(weights, target, exponents, times):
    """Integrate the flow of autograd's gradient with another solver."""

    def velocity(t, w):
        return -loss_gradient(w, target, exponents)

    return solve_ivp(velocity, (0, times[-1]), weights, "DOP853", times, rtol=1e-12, atol=1e-14).y.T


@given(seed=seeds, d=st.integers(1, 6), target=st.floats(0.3, 5))
@settings(max_examples=25)
def test_any_start_is_one_quadrature(seed, d, target):
    """The time and the weights at which the integrated flow of all weights has its products."""
    rng = np.random.default_rng(seed)
    w, k = np.exp(rng.uniform(-2, 1, size=d)), rng.integers(1, 4, size=d)
    w *= (rng.uniform(0.01, 0.8) * target / np.prod(w**k)) ** (1 / k.sum())
    times = theory.time_from(w, target, 0.9 * target, k) * np.array([0, 0.1, 0.5, 0.9, 1])
    path = course(w, target, k, times)
    p = np.prod(path**k, axis=1)
    np.testing.assert_allclose(p[-1], 0.9 * target, rtol=1e-9)
    np.testing.assert_allclose(
        theory.time_from(w, target, p, k), times, rtol=1e-9, atol=1e-9 * times[-1]
    )
    np.testing.assert_allclose(theory.weights_at(w, p, k), path, rtol=1e-9)


@given(
    seed=seeds,
    d=st.integers(1, 8),
    start=st.floats(-280, -1),
    share=st.floats(0.01, 1),
    target=st.floats(-3, 3),
)
def test_balanced_weights_of_any_size_have_the_closed_form(seed, d, start, share, target):
    k = np.random.default_rng(seed).integers(1, 4, size=d)
    depth = k.sum()
    clock = np.prod(k**k) ** (1 / depth)
    s, start, end = 10**target, 10 ** (target + start), 10 ** (target + start * (1 - share) - 1e-9)
    balanced = np.sqrt(k) * (start / np.prod(k ** (k / 2))) ** (1 / depth)
    expected = theory.time_to_reach(end, s, depth, start) / clock
    np.testing.assert_allclose(theory.time_from(balanced, s, end, k), expected, rtol=1e-9)
    np.testing.assert_allclose(
        theory.weights_at(balanced, end, k), balanced * (end / start) ** (1 / depth), rtol=1e-11
    )


@given(seed=seeds, m=st.integers(1, 4), others=st.integers(1, 3), small=st.floats(-70, -30))
def test_every_large_weight_removes_a_degree(seed, m, others, small):
    """From m weights of vanishing size, large ones do not move; the
    error is what they move by at the end of growth.
    """
    rng = np.random.default_rng(seed)
    w = np.append(np.full(m, 10**small), rng.uniform(0.5, 2, size=others))
    large = w[m:].prod()
    law = theory.time_to_reach(1e-6 / large, 1 / large, m, 10 ** (small * m)) / large**2
    np.testing.assert_allclose(theory.time_from(w, 1.0, 1e-6), law, rtol=1e-4)


def test_half_times_from_the_text():
    e = 1e-5
    starts = [[e ** (1 / 3)] * 3, [1, e**0.5, e**0.5], [1, 1, e]]
    np.testing.assert_allclose(
        [theory.time_from(w, 1, 0.5) for w in starts], [45.5654056, 5.5167598, 0.5357301], rtol=1e-7
    )


def test_the_weights_keep_their_differences_over_any_range():
    w, p = np.array([1e-150, 3e-20, 1.0, 50.0]), np.logspace(-250, 30, 29)
    found = theory.weights_at(w, p)
    np.testing.assert_allclose(found.prod(axis=-1), p, rtol=1e-11)
    squares = np.diff(found[::-1] ** 2, axis=-1) - np.diff(w**2)
    assert np.all(np.abs(squares) <= 1e-13 * np.max(found[::-1] ** 2, axis=-1, keepdims=True))
    assert theory.weights_at([2.0, 0.1, 1.0], p.reshape(1, 29)).shape == (1, 29, 3)


@given(seed=seeds, target=st.floats(0.1, 5), size=st.floats(-4, 0.5))
@settings(max_examples=12)
def test_a_pair_in_closed_form_is_its_flow(seed, target, size):
    rng = np.random.default_rng(seed)
    w, times = rng.normal(size=2) * 10**size, np.array([0, 0.3, 1, 4]) / target
    np.testing.assert_allclose(
        theory.pair(w, target, times), course(w, target, [1, 1], times), rtol=1e-8, atol=1e-9
    )


@given(target=st.floats(0.01, 100), first=st.floats(-120, 2), second=st.floats(-120, 2))
def test_a_pair_ends_where_it_must(target, first, second):
    w = np.array([10**first, 10**second])
    late = theory.pair(w, target, [1e4 / target, 1e300])
    np.testing.assert_allclose(late, [theory.weights_at(w, target)] * 2, rtol=1e-12)
    np.testing.assert_allclose(theory.pair(-w, target, [1e300]), -late[:1], rtol=1e-14)


def test_a_pair_at_its_saddle_and_beside_it():
    np.testing.assert_array_equal(theory.pair([0, 0], 1, [0, 1, 1e300]), np.zeros((3, 2)))
    path = theory.pair([1, -1], 1, [0, 1, 20, 1e300])  # into the saddle: dp/dt = -2 |p| (1 + |p|)
    p = (
        -0.5
        * np.exp(-2 * np.array([0, 1, 20, np.inf]))
        / (1 - 0.5 * np.exp(-2 * np.array([0, 1, 20, np.inf])))
    )
    np.testing.assert_allclose(path.prod(axis=1), p, rtol=1e-12)
    np.testing.assert_allclose(theory.pair([1, -1 + 1e-12], 1, [1e300]), [[1, 1]], rtol=1e-9)
    np.testing.assert_allclose(theory.pair([0, 2], 1, [1e-9]), [[2e-9, 2]], rtol=1e-8)


@given(seed=seeds, d=st.integers(1, 4))
@settings(max_examples=15)
def test_a_matrix_network_follows_autograd(seed, d):
    """Of any widths, also rectangular."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=d + 1)
    layers = [rng.normal(size=(after, before)) / 2 for before, after in pairwise(sizes)]
    target, times = rng.normal(size=(sizes[-1], sizes[0])), [0, 0.4, 1.5]

    def velocity(t, state):
        parts = torch.split(
            torch.tensor(state, requires_grad=True), [layer.size for layer in layers]
        )
        ws = [
            part.reshape(layer.shape).detach().requires_grad_()
            for part, layer in zip(parts, layers, strict=True)
        ]
        (
            0.5 * ((reduce(lambda product, w: w @ product, ws) - torch.tensor(target)) ** 2).sum()
        ).backward()
        return -np.concatenate([w.grad.numpy().ravel() for w in ws])

    start = np.concatenate([layer.ravel() for layer in layers])
    ode = solve_ivp(velocity, (0, 1.5), start, "DOP853", times, rtol=1e-11, atol=1e-13).y.T
    path = theory.matrix_flow(layers, target, times)
    assert [w.shape for w in path] == [(3, *layer.shape) for layer in layers]
    np.testing.assert_allclose(
        np.concatenate([w.reshape(3, -1) for w in path], axis=1), ode, rtol=1e-8, atol=1e-9
    )


@given(seed=seeds, d=st.integers(2, 5), n=st.integers(1, 3))
@settings(max_examples=15)
def test_aligned_modes_are_products(seed, d, n):
    rng = np.random.default_rng(seed)
    turns = [orthogonal(n, rng) for _ in range(d + 1)]
    w, targets = rng.uniform(0.2, 1.2, size=(d, n)), rng.uniform(0.3, 3, size=n)
    layers = [turns[i + 1] * w[i] @ turns[i].T for i in range(d)]
    times = [0, 0.5, 2, 1e7, 1e9]  # at 1e12 one in thirty is refused: it takes too many steps
    path = theory.matrix_flow(layers, turns[d] * targets @ turns[0].T, times)
    for i in range(d):
        found = turns[i + 1].T @ path[i] @ turns[i]
        expected = np.stack(
            [monomial.flow(w[:, k], targets[k], times)[:, i] for k in range(n)], axis=1
        )
        np.testing.assert_allclose(found, expected[:, :, None] * np.eye(n), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: monomial.flow([1, 1], 1, [0, 1], [1, 1.5]), "positive integers"),
        (lambda: theory.descend([3, 3, 3], 1, 1.0, 100), "diverged at step"),
        (lambda: theory.time_to_reach(0.5, 1, 0.5, 0.1), "degree"),
        (lambda: theory.max_learning_rate(1, -2), "degree"),
        (lambda: theory.time_from([1, -1], 1, 0.5), "positive"),
        (lambda: theory.time_from([2, 1], 1, 0.5), "below target"),
        (lambda: theory.time_from([0.5, 1], 1, 1), "below target"),
        (lambda: theory.time_from([1e-200] * 5, 1, 0.5), "range of floats"),
        (lambda: theory.weights_at([1, 0], 1), "positive"),
        (lambda: theory.pair([1, 1, 1], 1, [1]), r"\(2,\)"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
