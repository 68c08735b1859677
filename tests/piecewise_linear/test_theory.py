"""Flow and alignment of piecewise linear neurons against autograd and brute force on a grid."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from references import balances, seeds, signs

from book.piecewise_linear import theory
from lib.experiments import teachers

rates = st.floats(0.2, 5)


slopes = st.sampled_from([0.0, 0.1, 0.7])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def balanced(rng, *shape):
    """Draw neurons of norm 1: w (..., h, d) and a (..., h)."""
    return unit(rng.normal(size=shape)), rng.choice([-1.0, 1.0], size=shape[:-1])


def sigma(z, gamma):
    return np.maximum(z, gamma * z)


def angle_of(directions):
    return np.arctan2(directions[..., 1], directions[..., 0]) % (2 * np.pi)


def apart(angle, other):
    """Return the distance of two angles on the circle."""
    return np.abs((angle - other + np.pi) % (2 * np.pi) - np.pi)


@given(
    seed=seeds,
    d=st.integers(1, 6),
    size=st.floats(1e-3, 1e3),
    ratio=st.floats(1e-4, 1e4),
    eta_a=rates,
    eta_w=rates,
)
def test_neuron_flow_is_that_of_its_parameters(seed, d, size, ratio, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    w, xi, a = (
        size * rng.normal(size=(4, d)),
        rng.normal(size=(4, d)),
        size * ratio * rng.normal(size=4),
    )
    norm = np.linalg.norm(w, axis=1)
    a[0] = np.sqrt(eta_a / eta_w) * norm[0]  # δ = 0
    w_dot, a_dot = -eta_w * a[:, None] * xi, -eta_a * np.sum(w * xi, axis=1)
    along = np.sum(w * w_dot, axis=1) / norm  # of ‖w‖
    expected = a_dot * norm + a * along, (w_dot - along[:, None] * unit(w)) / norm[:, None]
    found = theory.neuron_flow(a * norm, unit(w), xi, eta_w * a**2 - eta_a * norm**2, eta_a, eta_w)
    sizes = (
        eta_w * a**2 + eta_a * norm**2,
        np.abs(eta_w * a / norm)[:, None],
    )  # of the velocities, for ‖ξ‖ = 1
    for velocity, exact, size in zip(found, expected, sizes, strict=True):
        np.testing.assert_allclose(velocity / size, exact / size, atol=1e-10 * np.linalg.norm(xi))


@given(
    mu=st.floats(-12, 90).map(lambda power: 10**power),
    sign=signs,
    delta=balances,
    eta_a=rates,
    eta_w=rates,
)
def test_direction_rate_keeps_its_digits(mu, sign, delta, eta_a, eta_w):
    with mp.workdps(300):
        root = mp.sqrt(mpf(delta) ** 2 + 4 * mpf(eta_a) * mpf(eta_w) * mpf(mu) ** 2)
        expected = sign * float((root + mpf(delta)) / (2 * mpf(mu)))
    np.testing.assert_allclose(
        theory.direction_rate(sign * mu, delta, eta_a, eta_w), expected, rtol=1e-14, atol=0
    )


@given(seed=seeds, gamma=slopes)
def test_networks_without_biases_are_linear_plus_even(seed, gamma):
    rng = np.random.default_rng(seed)
    w, a, x = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=(9, 3))
    odd = sigma(x @ w.T, gamma) @ a - sigma(-x @ w.T, gamma) @ a
    np.testing.assert_allclose(odd, (1 + gamma) * x @ (a @ w), atol=1e-12)


@given(seed=seeds, gamma=slopes, eta_a=rates, eta_w=rates)
def test_each_neuron_conserves_its_own_delta(seed, gamma, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    w, a = torch.tensor(rng.normal(size=(6, 3))), torch.tensor(rng.normal(size=6))
    x, y = torch.tensor(rng.normal(size=(9, 3))), torch.tensor(rng.normal(size=9))
    w.requires_grad_()
    a.requires_grad_()
    outputs = torch.nn.functional.leaky_relu(x @ w.T, gamma) @ a
    loss = torch.sum((outputs - y) ** 2) / 2
    by_w, by_a = torch.autograd.grad(loss, (w, a))
    change = eta_w * a * eta_a * by_a - eta_a * torch.sum(w * eta_w * by_w, dim=1)
    np.testing.assert_allclose(change.detach(), 0, atol=1e-9)


def test_learning_rates_are_one_unless_given():
    assert theory.direction_rate(2.0, 3.0) == 2  # (√(9 + 16) + 3) / 4
    mu_dot, direction_dot = theory.neuron_flow(2.0, [1.0, 0.0], [1.0, 1.0], 3.0)
    assert mu_dot == -5
    np.testing.assert_array_equal(direction_dot, [0, -2])


def test_a_downstream_neuron_without_output_only_grows():
    mu_dot, direction_dot = theory.neuron_flow(0.0, [0.6, 0.8], [1.0, 2.0], -3.0)
    np.testing.assert_allclose(mu_dot, -3.0 * 2.2)
    np.testing.assert_array_equal(direction_dot, 0)


def turns(angles, x, y, gamma):
    """Return the speed at which directions at some angles turn
    for a > 0, point by point from the definition.
    """
    d, tangent = (np.stack([np.cos(t), np.sin(t)], -1) for t in (angles, angles + np.pi / 2))
    return sum(
        np.where(d @ x_i > 0, 1, gamma) * y_i * (tangent @ x_i)
        for x_i, y_i in zip(x, y, strict=True)
    )


@settings(max_examples=100)
@given(seed=seeds, n=st.integers(1, 8), gamma=slopes, signs=st.sampled_from([-1, 0, 1]))
def test_aligned_directions_are_where_the_turn_changes_sign(seed, n, gamma, signs):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    y = y if signs == 0 else signs * np.abs(y)
    found, stability, growth = theory.aligned_directions(x, y, gamma)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    np.testing.assert_allclose(
        growth, sigma(found @ x.T, gamma) @ y, atol=1e-9
    )  # d·x_i = 0 on a line, whatever its c_i
    angles = angle_of(found)
    assert np.all(np.diff(angles) > 0)
    grid = np.linspace(0, 2 * np.pi, 20_001)[:-1] + 1e-5
    step = grid[1] - grid[0]
    assume(len(angles) == 1 or np.diff(angles, append=angles[0] + 2 * np.pi).min() > 4 * step)
    speed = turns(grid, x, y, gamma)
    sign = np.where(np.abs(speed) < 1e-12, 0, np.sign(speed))
    for kind in (1, -1):
        falls = np.flatnonzero((sign == kind) & (np.roll(sign, -1) == -kind))
        expected = (grid[falls] + step / 2) % (2 * np.pi)
        assert len(expected) == np.sum(stability == kind)
        assert np.all(apart(np.sort(expected), angles[stability == kind]) < step)
    dead = np.flatnonzero((sign == 0) != (np.roll(sign, -1) == 0))  # edges of sectors without drive
    assert len(dead) == np.sum(stability == 0)
    assert np.all(
        apart(np.sort((grid[dead] + step / 2) % (2 * np.pi)), angles[stability == 0]) < step
    )


@pytest.mark.parametrize(
    "x, y, gamma, degrees, stability",
    [
        ([[1, 0]], [2.0], 0.0, [0, 90, 270], [1, 0, 0]),  # the left half plane is dead
        ([[1, 0]], [2.0], 0.5, [0, 180], [1, -1]),
        ([[1, 0], [-3, 0]], [1.0, 1.0], 0.0, [0, 90, 180, 270], [1, -1, 1, -1]),
        (
            [[1, 0], [-3, 0]],
            [-1.0, -1.0],
            0.0,
            [0, 90, 180, 270],
            [-1, 1, -1, 1],
        ),  # attracted by the line orthogonal to x
        (
            [[1, 0], [0, 1]],
            [1.0, 1.0],
            0.0,
            [0, 45, 90, 180, 270],
            [0, 1, 0, 0, 0],
        ),  # 0 and 90: reached from one side, left on the other
        (
            [[1, 0], [7, 7]],
            [1.0, 0.0],
            0.0,
            [0, 90, 270],
            [1, 0, 0],
        ),  # a point without a target does not count
    ],
)
def test_aligned_directions_by_hand(x, y, gamma, degrees, stability):
    found = theory.aligned_directions(x, y, gamma) if gamma else theory.aligned_directions(x, y)
    order = np.argsort(np.round(np.degrees(angle_of(found.directions)), 6) % 360)
    np.testing.assert_allclose(np.degrees(angle_of(found.directions[order])), degrees, atol=1e-9)
    np.testing.assert_array_equal(found.stability[order], stability)


EYE, ONES = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: teachers.scale_initialization(EYE, 2 * ONES, 1, 0),
            r"not balanced: want \|a\| = \|w\|",
        ),
        (lambda: teachers.scale_initialization(1e-10 * EYE, 2e-10 * ONES, 1, 0), "not balanced"),
        (
            lambda: theory.direction_rate(0.0, 0.0),
            "mu is 0 and delta not negative: then w = 0, which has no direction",
        ),
        (lambda: theory.aligned_directions(EYE, 0 * ONES), "at least one point with both"),
        (lambda: theory.aligned_directions(EYE, ONES, 1), r"gamma is 1: want a slope in \[0, 1\)"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
