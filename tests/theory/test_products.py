"""The product's closed forms against quadrature, the full d-weight flow, autograd and finite steps."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.special import hyp2f1

from lib.theory import products

seeds = st.integers(0, 2**32 - 1)
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
    path = products.descend(w, target, 1e-4, 2, k)
    for before, after in pairwise(path):
        np.testing.assert_allclose(after, before - 1e-4 * loss_gradient(before, target, k), rtol=1e-12, atol=1e-15)


@given(seed=seeds, d=st.integers(1, 4))
def test_flow_follows_autograd_through_another_solver(seed, d):
    rng = np.random.default_rng(seed)
    w, k, target = rng.uniform(-1.2, 1.2, size=d), rng.integers(1, 4, size=d), rng.normal()
    times = [0.3, 1.0]
    ode = solve_ivp(lambda t, v: -loss_gradient(v, target, k), (0, 1), w, "DOP853", times, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(products.flow(w, target, times, k), ode.y.T, rtol=1e-7, atol=1e-9)


@given(seed=seeds, d=st.integers(2, 5))
def test_flow_conserves(seed, d):
    rng = np.random.default_rng(seed)
    w, k = rng.uniform(-1.2, 1.2, size=d), rng.integers(1, 4, size=d)
    kept = products.conserved(products.flow(w, 1.5, np.linspace(0, 20, 7), k), k)
    assert kept.shape == (7, d - 1)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-8)


def test_conserved_is_the_difference_of_scaled_squares():
    np.testing.assert_allclose(products.conserved([3.0, 2.0, 1.0], [1, 2, 4]), [9 - 2, 2 - 0.25])


@given(seed=seeds, d=st.sampled_from([1, 2, 3, 5]), target=st.floats(0.3, 4), start=st.floats(1e-3, 0.9))
def test_the_full_flow_arrives_at_the_closed_form_time(seed, d, target, start):
    fraction = np.random.default_rng(seed).uniform(0.05, 0.999)
    p0, p1 = sorted([start * target, fraction * target])
    time = products.time_to_reach(p1, target, d, p0)
    weights = products.flow(np.full(d, p0 ** (1 / d)), target, [0.0, time])[-1]
    np.testing.assert_allclose(np.prod(weights), p1, rtol=1e-7)


@given(target=targets, d=st.one_of(st.floats(1, 12), st.sampled_from([1, 1.5, 2, 2 + 1e-12, 3])), x0=fractions, x1=fractions)
def test_time_to_reach_is_the_integral(target, d, x0, x1):
    """T = ∫ dp / (d (s-p) p^(2-2/d)), in the variable u with p = s/(1+e^-u), which removes both singular ends."""

    def integrand(u):
        x = 1 / (1 + np.exp(-u))
        return (x * target) ** (2 / d - 2) * x / d

    u0, u1 = np.log(x0 / (1 - x0)), np.log(x1 / (1 - x1))
    expected, _ = quad(integrand, u0, u1, limit=400, epsabs=0, epsrel=1e-10)
    time = products.time_to_reach(x1 * target, target, d, x0 * target)
    np.testing.assert_allclose(time, expected, rtol=1e-6, atol=1e-9 * abs(integrand(u0)))


@pytest.mark.parametrize("d", [3, 4, 7])
def test_time_to_reach_is_the_hypergeometric_form(d):
    s, p0, p1 = 1.7, 0.01, 0.6
    a = 2 / d - 1

    def big_f(x):
        return x**a / a * hyp2f1(1, a, a + 1, x)

    np.testing.assert_allclose(
        products.time_to_reach(p1, s, d, p0), s ** (-2 + 2 / d) / d * (big_f(p1 / s) - big_f(p0 / s)), rtol=1e-12
    )


def test_time_to_reach_in_the_two_elementary_cases_and_close_to_the_target():
    near = 1 - 1e-12
    np.testing.assert_allclose(products.time_to_reach(near, 1, 1, 0.5), np.log(0.5 / (1 - near)), rtol=1e-13)
    np.testing.assert_allclose(products.time_to_reach(0.7, 1, 2, 1e-9), np.log(0.7 / 0.3 * (1 - 1e-9) / 1e-9) / 2, rtol=1e-13)
    # d = 3/2, where SciPy's hyp2f1 goes wrong near 1
    np.testing.assert_allclose(products.time_to_reach(near, 1, 1.5, 0.5), 18.2484935, rtol=1e-7)


def test_time_to_reach_takes_arrays():
    times = products.time_to_reach(0.5, 1.0, np.array([1, 2, 3])[:, None], np.array([1e-3, 1e-2]))
    assert times.shape == (3, 2)
    np.testing.assert_allclose(times[1, 0], products.time_to_reach(0.5, 1.0, 2, 1e-3))


@pytest.mark.parametrize("product, start", [(0, 0.1), (1, 0.1), (0.5, 0), (0.5, 1), (0.5, -0.1), (np.nan, 0.5), (2, 0.5)])
def test_time_to_reach_refuses_what_is_never_reached(product, start):
    with pytest.raises(ValueError, match=r"product|start"):
        products.time_to_reach(product, 1.0, 2, start)


@given(target=st.floats(0.2, 5), d=st.integers(3, 6), start=st.floats(1e-4, 1e-2))
def test_hyperbolic_growth(target, d, start):
    """Early on the flow follows p = [(d-2)s(t0-t)]^(-d/(d-2)), up to the factor 1 - p/s."""
    t0 = products.blow_up_time(target, d, start)
    times = np.array([0, 0.3, 0.6]) * t0
    law = ((d - 2) * target * (t0 - times)) ** (-d / (d - 2))
    weights = products.flow(np.full(d, start ** (1 / d)), target, times)
    np.testing.assert_allclose(law[0], start, rtol=1e-12)
    np.testing.assert_allclose(weights.prod(axis=1), law, rtol=0, atol=20 * law[-1] ** 2 / target)


@given(target=st.floats(0.1, 10), d=st.integers(1, 8))
def test_max_learning_rate_is_two_over_the_curvature(target, d):
    w = torch.full((d,), target ** (1 / d), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda v: 0.5 * (torch.prod(v) - target) ** 2, w).numpy()
    curvatures = np.linalg.eigvalsh(hessian)
    np.testing.assert_allclose(products.max_learning_rate(target, d), 2 / curvatures[-1], rtol=1e-9)
    np.testing.assert_allclose(products.approach_rate(target, d), curvatures[-1], rtol=1e-9)
    np.testing.assert_allclose(curvatures[:-1], 0, atol=1e-9 * curvatures[-1])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_max_learning_rate_separates_convergence_from_none(d):
    start = np.full(d, 0.999 * 1.3 ** (1 / d))
    edge = products.max_learning_rate(1.3, d)

    def last(factor):
        try:
            return abs(np.prod(products.descend(start, 1.3, factor * edge, 4000)[-1]) - 1.3)
        except ValueError:
            return np.inf

    assert last(0.98) < 1e-9 < 1e-3 < last(1.02)


@given(w1=st.floats(0.01, 4), w2=st.floats(0.01, 4), target=st.floats(0.2, 4))
def test_final_pair_is_where_the_flow_ends(w1, w2, target):
    end = products.flow([w1, w2], target, [0, 60 / target])[-1]
    np.testing.assert_allclose(products.final_pair([w1, w2], target), end, rtol=1e-6)


@given(seed=seeds, n=st.integers(1, 4))
def test_effective_depth_gives_the_rate_of_a_balanced_monomial(seed, n):
    rng = np.random.default_rng(seed)
    k, target, u = rng.integers(1, 4, size=n), rng.uniform(0.5, 2), rng.uniform(0.3, 0.9)
    weights = np.sqrt(k) * u
    depth, constant = products.effective_depth(k)
    p = np.prod(weights**k)
    rate = np.sum(-loss_gradient(weights, target, k) * k * p / weights)
    np.testing.assert_allclose(rate, constant * depth * (target - p) * p ** (2 - 2 / depth), rtol=1e-9)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: products.flow([1, 1], 1, [1, 0]), "ascend"),
        (lambda: products.flow([1, 1], 1, [-1, 0]), "ascend"),
        (lambda: products.flow([1, 1], 1, [0, 1], [1]), "do not fit"),
        (lambda: products.flow([1, 1], 1, [0, 1], [1, 0]), "positive integers"),
        (lambda: products.flow([1, 1], 1, [0, 1], [1, 1.5]), "positive integers"),
        (lambda: products.descend([1, 1], 1, 0, 5), "learning_rate"),
        (lambda: products.descend([1, 1], 1, 0.1, 0), "steps"),
        (lambda: products.descend([3, 3, 3], 1, 1.0, 100), "diverged at step"),
        (lambda: products.time_to_reach(0.5, 1, 0.5, 0.1), "degree"),
        (lambda: products.blow_up_time(1, 2, 0.1), "hyperbolic"),
        (lambda: products.blow_up_time(1, 3, 0), "start"),
        (lambda: products.max_learning_rate(0, 2), "target"),
        (lambda: products.max_learning_rate(1, -2), "degree"),
        (lambda: products.final_pair([1, -1], 1), "positive"),
        (lambda: products.final_pair([1, 1, 1], 1), r"\(\.\.\., 2\)"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_flow_at_time_zero_is_the_start():
    np.testing.assert_array_equal(products.flow([0.3, 0.4], 1.0, [0.0]), [[0.3, 0.4]])
