"""Formulas of the paper that no claim of the chapter needs, as printed or as they should be."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from neurons import start_with
from references import seeds, signs

from book.single_neuron import theory
from lib.kernels import kernel_distance
from lib.theory import neuron
from lib.theory.common import orthogonal

STEP = 1e-5
unbalanced = st.sampled_from([-2.0, -0.3, 0.4, 2.0])


def slope(values):
    """Differentiate three values at neighbouring times."""
    return (values[2] - values[0]) / (2 * STEP)


def around(t, a0, w0, target):
    return neuron.trajectory(a0, w0, target, [t - STEP, t, t + STEP])


@given(seed=seeds, sign=signs)
def test_the_angle_of_a_balanced_neuron_is_a_tanh(seed, sign):
    rng = np.random.default_rng(seed)
    w0, target = rng.normal(size=(2, 3))
    s = np.linalg.norm(target)
    path = neuron.trajectory(sign * np.linalg.norm(w0), w0, target, np.linspace(0, 2, 9))
    cosine = path.w @ target / np.linalg.norm(path.w, axis=1) / s
    expected = np.tanh(np.arctanh(cosine[0]) + sign * s * path.times)
    np.testing.assert_allclose(cosine, expected, atol=1e-9)


@given(seed=seeds)
def test_the_equation_of_omega_has_the_target_s_length(seed):
    rng = np.random.default_rng(seed)
    w0, target = rng.normal(size=(2, 3))
    path = around(0.5, rng.normal(), w0, target)
    omega = path.w @ target
    assume(np.all(np.abs(omega) > 0.1))
    upsilon = path.a[1] / omega[1]
    right = omega[1] * (upsilon * target @ target - upsilon**2 * omega[1] ** 2)
    np.testing.assert_allclose(slope(omega), right, rtol=1e-6, atol=1e-6)


@given(seed=seeds, sign=signs, delta=unbalanced)
def test_size_and_angle_give_the_weights_back(seed, sign, delta):
    rng = np.random.default_rng(seed)
    a0, w0 = start_with(rng, 3, delta, sign)
    target = rng.normal(size=3)
    path = neuron.trajectory(a0, w0, target, np.linspace(0, 4, 9))
    unit, length = target / np.linalg.norm(target), np.linalg.norm(path.w, axis=1)
    mu, phi = path.a * length, path.w @ unit / length
    kappa = np.hypot(delta, 2 * mu)
    np.testing.assert_allclose(np.sign(mu) * np.sqrt((kappa + delta) / 2), path.a, atol=1e-8)
    across = w0 - w0 @ unit * unit
    assume(np.linalg.norm(across) > 0.1)
    sine = np.sqrt(1 - np.minimum(phi**2, 1))
    direction = np.outer(phi, unit) + np.outer(sine, across / np.linalg.norm(across))
    found = np.sqrt((kappa - delta) / 2)[:, None] * direction
    np.testing.assert_allclose(found, path.w, atol=1e-6)


@given(seed=seeds, delta=st.floats(-3, 3))
def test_the_kernel_s_velocity_has_two_terms(seed, delta):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=3)
    path = around(1.0, *neuron.initialize(rng.normal(size=3), delta), target)
    norm = np.linalg.norm(path.beta, axis=1)
    assume(norm.min() > 0.1)
    outer = path.beta[:, :, None] * path.beta[:, None, :] / norm[:, None, None] ** 2
    kappa = np.sqrt(delta**2 + 4 * norm[1] ** 2)
    growth = 2 * norm[1] / kappa * (np.eye(3) + outer[1]) * slope(norm)
    turn = (kappa - delta) / 2 * slope(outer)
    m = path.a[:, None, None] ** 2 * np.eye(3) + path.w[:, :, None] * path.w[:, None, :]
    np.testing.assert_allclose(growth + turn, slope(m), atol=1e-6)


@settings(max_examples=10)
@given(seed=seeds, delta=st.sampled_from([-1.0, 0.0, 1.0]))
def test_the_multiplier_of_the_mirror_flow_has_a_minus_sign(seed, delta):
    rng = np.random.default_rng(seed)
    x, start = rng.normal(size=(3, 5)) / 2, rng.normal(size=5)
    y, times = x @ (start + 0.5 * rng.normal(size=5)), np.linspace(0, 5, 5001)
    beta = neuron.flow(*neuron.initialize(start, delta), x.T @ x, x.T @ y, times).beta
    assume(np.linalg.norm(beta, axis=1).min() > 0.1)
    kappa = np.sqrt(delta**2 + 4 * np.sum(beta**2, axis=1, keepdims=True))
    multiplier = -np.trapezoid(np.sqrt(kappa + delta) * (beta @ x.T - y), times, axis=0)
    moved = theory.potential_gradient(beta[-1], delta) - theory.potential_gradient(beta[0], delta)
    np.testing.assert_allclose(moved, x.T @ multiplier, atol=1e-4)


@given(seed=seeds, share=st.sampled_from([0.5, 1.0, 2.0]), delta=st.floats(-5, 5))
def test_the_end_lies_between_nearest_and_same_angle(seed, share, delta):
    rng = np.random.default_rng(seed)
    q = orthogonal(5, rng)
    xtx = q[:, :2] @ q[:, :2].T
    base, seen = (q[:, :2] @ rng.normal(size=(2, 2))).T
    seen *= np.sign(seen @ base) * share * np.linalg.norm(base) / np.linalg.norm(seen)
    hidden = q[:, 2:] @ rng.normal(size=3)
    end = theory.interpolator(xtx, base, *neuron.initialize(seen + hidden, delta))
    rho = (end - base) @ hidden / (hidden @ hidden)
    np.testing.assert_allclose(end, base + rho * hidden, atol=1e-9)
    assert min(1, 1 / share) - 1e-9 <= rho <= max(1, 1 / share) + 1e-9


@pytest.mark.parametrize("delta, end", [(-6.0, -0.5), (0.0, 0.5), (6.0, 0.5)])
def test_a_change_of_sign_leads_to_the_other_side(delta, end):
    weights = neuron.initialize([-1.0, 0.5], delta)
    found = theory.interpolator(np.diag([1.0, 0.0]), [1.0, 0.0], *weights)
    np.testing.assert_allclose(found, [1.0, end], rtol=1e-12)


@pytest.mark.parametrize("d", [2, 5, 50])
def test_a_smaller_balance_turns_the_kernel_farther(d):
    first, target = -np.eye(d)[0], np.eye(d)[1]
    distances = []
    for delta in np.linspace(-8, 8, 33):
        kernels = neuron.preconditioner(np.array([first, target]), delta)
        distances.append(kernel_distance(*kernels))
    assert np.all(np.diff(distances) < 0)
