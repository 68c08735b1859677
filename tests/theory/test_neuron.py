"""The flow of a neuron against a tight ODE solver, many digits, autograd and plain
linear algebra.
"""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from neurons import deltas, integrate, off, printed_potential, rates, start_with, white
from references import seeds, signs
from scipy.integrate import solve_ivp

from lib.theory import neuron


@settings(max_examples=40)
@given(
    seed=seeds,
    d=st.one_of(st.integers(1, 8), st.just(1000)),
    target=st.sampled_from([0, 1]),
    sign=signs,
    eta_a=rates,
    eta_w=rates,
)
def test_trajectory_matches_the_ode(seed, d, target, sign, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a0, w0, beta_star = (
        sign * rng.uniform(0, 2),
        rng.normal(size=d) / np.sqrt(d),
        target * rng.normal(size=d) / np.sqrt(d),
    )
    assume(target == 0 or np.linalg.norm(beta_star) > 0.05)
    times = [0, 0.2, 1, 3]
    path = neuron.trajectory(a0, w0, beta_star, times, eta_a, eta_w)
    assert off(path, integrate(a0, w0, white(beta_star), times, eta_a, eta_w)) < 1e-9
    np.testing.assert_allclose(path.beta, path.a[:, None] * path.w)


TARGET = np.array([0.6, -1.2, 0.3])


@pytest.mark.parametrize(
    "a0, w0",
    [
        (0.0, [0.5, 0.2, -0.1]),  # also: a leaves 0 with a slope of w·β*
        (0.0, [-0.5, -0.2, 0.1]),
        (0.7, [0.0, 0.0, 0.0]),
        (0.7, 0.9 * TARGET),
        (0.7, -0.2 * TARGET),  # antiparallel, upstream: a stays positive
        (0.7, -0.9 * TARGET),  # antiparallel, downstream: a changes sign
        (1.0, [0.6, 0.8, 0.0]),  # balanced
        (0.3, [-0.1, 0.9, 0.4]),  # a changes sign
        (-0.3, [0.1, -0.9, -0.4]),
        (np.sqrt(1001), [0.6, -0.8, 0.0]),  # δ = ±1000
        (-0.5, np.sqrt(1000.25) * np.array([0.6, 0.0, 0.8])),
        (0.5, np.sqrt(1000.25) * TARGET / np.linalg.norm(TARGET)),
        (
            2.0,
            1.4 / 1.89 * TARGET + np.sqrt((2 - 1.96 / 1.89) / 5) * np.array([2.0, 1.0, 0.0]),
        ),  # m = 0: ν stays
    ],
)
def test_trajectory_matches_the_ode_at_the_edges(a0, w0):
    times = np.array([0, 0.1, 0.5, 2, 6])
    assert (
        off(neuron.trajectory(a0, w0, TARGET, times), integrate(a0, w0, white(TARGET), times))
        < 1e-9
    )


@given(
    seed=seeds,
    delta=st.sampled_from([1e3, -1e3, 1.0, 0.0, -1.0]),
    sign=signs,
    eta_a=rates,
    eta_w=rates,
)
def test_trajectory_neither_overflows_nor_drifts(seed, delta, sign, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    beta_star = rng.normal(size=3)
    assume(np.linalg.norm(beta_star) > 0.3)
    a0, w0 = start_with(rng, 3, delta, sign)
    times = np.geomspace(1e-3, 1e6, 40)
    path = neuron.trajectory(
        a0 / np.sqrt(eta_w), w0 / np.sqrt(eta_a), beta_star, times, eta_a, eta_w
    )
    assert np.all(np.isfinite(path.a)) and np.all(np.isfinite(path.w))
    np.testing.assert_allclose(path.beta[-1], beta_star, rtol=1e-9, atol=1e-12)
    kept = neuron.conserved(path.a, path.w, eta_a, eta_w)
    np.testing.assert_allclose(kept, delta, rtol=1e-11, atol=1e-11)


def test_conserved_is_the_difference_of_scaled_squares():
    np.testing.assert_allclose(
        neuron.conserved([2.0, 1.0], [[1.0, 3.0], [0.0, 1.0]], eta_a=2.0, eta_w=5.0), [0.0, 3.0]
    )


@given(seed=seeds, d=st.integers(1, 5), size=st.floats(1e-6, 1e3), delta=deltas)
def test_initialize_computes_beta_with_the_wanted_delta(seed, d, size, delta):
    beta0 = size * np.random.default_rng(seed).normal(size=d)
    a0, w0 = neuron.initialize(beta0, delta)
    assert a0 > 0
    np.testing.assert_allclose(a0 * w0, beta0, rtol=1e-14)
    np.testing.assert_allclose(neuron.conserved(a0, w0), delta, rtol=1e-13, atol=1e-13 * a0**2)


@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 4), d=st.integers(1, 4), eta_a=rates, eta_w=rates)
def test_flow_follows_autograd(seed, n, d, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    x, y, w0, a0 = rng.normal(size=(n, d)) / 2, rng.normal(size=n), rng.normal(size=d), rng.normal()

    def velocity(_, state):
        a, w = (
            torch.tensor(state[:1], requires_grad=True),
            torch.tensor(state[1:], requires_grad=True),
        )
        (0.5 * torch.sum((torch.tensor(x) @ (a * w) - torch.tensor(y)) ** 2)).backward()
        return -np.append(eta_a * a.grad.numpy(), eta_w * w.grad.numpy())

    ode = solve_ivp(
        velocity, (0, 1), np.append(a0, w0), "DOP853", [0.4, 1.0], rtol=1e-9, atol=1e-11
    )
    assert off(neuron.flow(a0, w0, x.T @ x, x.T @ y, [0.4, 1.0], eta_a, eta_w), ode.y.T) < 1e-7


@pytest.mark.parametrize("size, times", [(1e-6, [10, 12, 14]), (1e-30, [40, 62, 80])])
def test_flow_follows_the_escape_from_a_small_start(size, times):
    start, beta_star = (size, size * np.array([2, -3])), np.array([1.0, 0.5])
    exact = neuron.trajectory(*start, beta_star, times)
    assert (
        off(neuron.flow(*start, np.eye(2), beta_star, times), np.column_stack([exact.a, exact.w]))
        < 1e-6
    )


@settings(max_examples=30)
@given(seed=seeds, near=st.floats(-8, -1), side=st.sampled_from([-1, 1]), size=st.floats(-6, 0.5))
def test_a_neuron_passes_its_saddle_on_the_right_side(seed, near, side, size):
    rng = np.random.default_rng(seed)
    beta = rng.normal(size=3)
    beta /= np.linalg.norm(beta)
    a0 = 10**size
    w0, times = -a0 * (1 + side * 10**near) * beta, [0, 1, 5, 10, 20, 100, 1e7]
    path, exact = (
        neuron.flow(a0, w0, np.eye(3), beta, times),
        neuron.trajectory(a0, w0, beta, times),
    )
    np.testing.assert_allclose(path.beta, exact.beta, atol=1e-11 / 10**near)
    assert np.sign(path.a[-1]) == -side


def test_flow_at_time_zero_is_the_start():
    path = neuron.flow(0.3, [0.4, -0.5], np.eye(2), [1.0, 1.0], [0.0])
    np.testing.assert_allclose(np.append(path.a, path.w), [0.3, 0.4, -0.5], rtol=1e-15)


@given(seed=seeds, d=st.integers(1, 6), size=st.floats(1e-3, 1e3), ratio=st.floats(1e-3, 1e3))
def test_preconditioner_is_the_tangent_kernel(seed, d, size, ratio):
    """∂β/∂(a, w) = (w, a I), so the kernel on white data is a² I + w wᵀ."""
    rng = np.random.default_rng(seed)
    a, w = rng.normal(size=4) * size, rng.normal(size=(4, d)) * size * ratio
    w[0] *= np.abs(a[0]) / np.linalg.norm(w[0])  # δ = 0
    for a_i, w_i in zip(a, w, strict=True):
        kernel = a_i**2 * np.eye(d) + np.outer(w_i, w_i)
        found = neuron.preconditioner(a_i * w_i, neuron.conserved(a_i, w_i))
        np.testing.assert_allclose(found, kernel, rtol=1e-11, atol=1e-12 * np.abs(kernel).max())


def test_preconditioner_at_zero():
    np.testing.assert_array_equal(neuron.preconditioner(np.zeros(3), 1.7), 1.7 * np.eye(3))
    np.testing.assert_array_equal(neuron.preconditioner(np.zeros(3), 0.0), np.zeros((3, 3)))
    for beta in (np.zeros(2), np.array([[1.0, 0.0], [0.0, 0.0]])):
        with pytest.raises(ValueError, match="no limit"):
            neuron.preconditioner(beta, -1e-9)


@given(seed=seeds, d=st.integers(1, 5), delta=deltas)
def test_the_hessian_of_the_potential_is_the_warped_inverse_kernel(seed, d, delta):
    beta = np.random.default_rng(seed).normal(size=d)
    assume(np.linalg.norm(beta) > 0.1)
    hessian = torch.autograd.functional.hessian(
        lambda b: printed_potential(b, delta), torch.tensor(beta)
    ).numpy()
    kappa = np.sqrt(delta**2 + 4 * beta @ beta)
    inverse = np.linalg.inv(neuron.preconditioner(beta, delta))
    np.testing.assert_allclose(hessian, np.sqrt(kappa + delta) * inverse, rtol=1e-8, atol=1e-9)


def test_the_map_may_underflow_under_the_callers_settings():
    with np.errstate(all="raise"):
        path = neuron.trajectory(1e-200, [1e-200, 0], [1, 0], [0, 1])
        assert path.beta[0, 0] == 0
