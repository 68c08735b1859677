"""Initial weights and interpolators of linear networks against
their definitions, autograd and a second solver.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import balances, magnitudes, seeds
from scipy.linalg import null_space

from book.linear_networks import theory
from lib.theory import linear

sizes = st.integers(1, 6)


depths = st.integers(1, 3)


small = st.one_of(st.just(0.0), st.floats(0.05, 1), st.floats(-1, -0.05))


def data(rng, d, c, n=None):
    x = rng.normal(size=(n or d + 1, d)) / np.sqrt(d)
    return x, rng.normal(size=(len(x), c))


def deep_map(a, *ws):
    """β with f(x) = aᵀ W_L⋯W_1 x."""
    for w in ws[::-1]:
        a = w.T @ a
    return a


@given(seed=seeds, d=sizes, c=sizes, h=sizes, delta=balances, scale=magnitudes)
def test_unbalanced_neurons_have_the_delta_and_scale_asked_for(seed, d, c, h, delta, scale):
    a, w = theory.unbalanced_initialization(d, c, h, delta, scale, seed)
    assert a.shape == (h, c) and w.shape == (h, d)
    a, w = np.hypot.reduce(a, axis=1), np.hypot.reduce(w, axis=1)
    np.testing.assert_allclose((a - w) * (a + w), delta, atol=1e-12 * np.max(a * a))
    np.testing.assert_allclose(a * w, scale, rtol=1e-12)


def test_unbalanced_neurons_point_everywhere():
    a, w = theory.unbalanced_initialization(2, 3, 4000, 0.0, 1.0, 0)
    for layer in (a, w):
        np.testing.assert_allclose(
            layer.T @ layer / 4000, np.eye(layer.shape[1]) / layer.shape[1], atol=0.03
        )
        np.testing.assert_allclose(layer.mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose(a.T @ w / 4000, 0, atol=0.04)
    again, _ = theory.unbalanced_initialization(2, 3, 4000, 0.0, 1.0, 0)
    np.testing.assert_array_equal(a, again)


def deep_case(seed, d, depth, delta):
    """Return isotropic parameters, data, and δ, which more
    than one dimension forbids to be positive.
    """
    rng = np.random.default_rng(seed)
    delta = delta if d == 1 else -abs(delta)
    a, ws = theory.deep_isotropic_initialization(
        d, depth, np.sqrt(max(delta, 0)) + rng.uniform(0.1, 1), delta, seed
    )
    return (a, ws), data(rng, d, 1), delta


@given(seed=seeds, d=st.integers(1, 5), depth=depths, delta=small)
def test_deep_isotropic_initialization_is_definition_12(seed, d, depth, delta):
    (a, ws), _, delta = deep_case(seed, d, depth, delta)
    assert a.shape == (d,) and ws.shape == (depth, d, d)
    np.testing.assert_allclose(np.outer(a, a) - ws[-1] @ ws[-1].T, delta * np.eye(d), atol=1e-12)
    for lower, upper in pairwise(ws):
        np.testing.assert_allclose(upper.T @ upper, lower @ lower.T, atol=1e-12)


def test_deep_isotropic_initialization_contains_the_example_of_the_paper():
    a, ws = theory.deep_isotropic_initialization(3, 2, 0.0, -0.49, 4)
    np.testing.assert_array_equal(a, 0)
    for w in ws:
        np.testing.assert_allclose(w @ w.T, 0.49 * np.eye(3), atol=1e-14)
    assert np.abs(ws[0] - ws[1]).max() > 0.1
    assert np.abs(ws - theory.deep_isotropic_initialization(3, 2, 0.0, -0.49, 5)[1]).max() > 0.1
    assert np.linalg.norm(
        theory.deep_isotropic_initialization(3, 2, 0.7, -0.49, 4)[0]
    ) == pytest.approx(0.7)


def test_one_dimension_allows_a_positive_delta():
    a, ws = theory.deep_isotropic_initialization(1, 2, 2.0, 3.0, 0)
    np.testing.assert_allclose([a[0] ** 2, *ws.ravel() ** 2], [4, 1, 1])
    assert not theory.deep_isotropic_initialization(1, 2, 2.0, 4.0, 0)[1].any()


@settings(max_examples=20)
@given(seed=seeds, d=st.integers(2, 5), depth=depths)
def test_the_deep_interpolator_minimizes_the_bias_of_theorem_15(seed, d, depth):
    rng = np.random.default_rng(seed)
    x, y = data(rng, d, 1, n=rng.integers(1, d))
    xtx, xty, beta0, power = x.T @ x, x.T @ y[:, 0], rng.normal(size=d), depth / (depth + 1)

    def bias_slope(beta):
        return beta / np.linalg.norm(beta) ** power - beta0 / np.linalg.norm(beta0) ** power

    found = theory.deep_interpolator(xtx, xty, beta0, depth)
    np.testing.assert_allclose(xtx @ found, xty, atol=1e-9)
    # The bias is convex: it is least where its slope has no part along what the data leave free.
    np.testing.assert_allclose(null_space(x).T @ bias_slope(found), 0, atol=1e-9)


def test_the_deep_interpolator_at_the_edges():
    np.testing.assert_allclose(
        theory.deep_interpolator(2 * np.eye(2), [2.0, 4.0], [1.0, 0.0], 2), [1, 2]
    )  # no choice
    np.testing.assert_array_equal(
        theory.deep_interpolator([[1, 0], [0, 0]], [0, 0], [1.0, 0.0], 2), 0
    )  # nothing to keep
    np.testing.assert_allclose(
        theory.deep_interpolator(np.zeros((2, 2)), [0, 0], [3.0, 4.0], 3), [3, 4]
    )  # no data
    shrunk = theory.deep_interpolator([[1, 0], [0, 0]], [0, 0], [1.0, 0.1], 1)  # y = √(y/|β0|) / 10
    np.testing.assert_allclose(shrunk, [0, 0.01 / np.hypot(1, 0.1)], rtol=1e-12)
    for size in (
        1e-9,
        1e9,
    ):  # L = 1: y² = 1 + size y / √2 has the positive root that the quadratic formula gives
        k2 = size / np.sqrt(2) / np.sqrt(2) / np.sqrt(2)
        norm = k2 / 2 + np.sqrt(k2**2 / 4 + 1)
        end = theory.deep_interpolator([[1, 0], [0, 0]], [1, 0], np.full(2, size / 2), 1)
        np.testing.assert_allclose(
            end, [1, np.sqrt(norm * np.sqrt(2) / size) * size / 2], rtol=1e-10
        )


@settings(max_examples=12)
@given(seed=seeds, d=st.integers(2, 4), depth=depths, delta=st.sampled_from([0.0, -1e-14]))
def test_theorem_15_the_flow_ends_in_the_interpolator(seed, d, depth, delta):
    rng = np.random.default_rng(seed)
    x = np.linalg.qr(rng.normal(size=(d, d)))[0][: rng.integers(1, d)]
    y = rng.normal(size=len(x))
    a, ws = theory.deep_isotropic_initialization(d, depth, rng.uniform(0.7, 1.2), delta, seed)
    end = linear.deep_flow(a, ws, x.T @ x, x.T @ y, [300.0]).beta[0]
    assume(np.linalg.norm(x @ end - y) < 1e-9)
    beta0 = deep_map(a, *ws)
    # δ < 0 lets β pass where the limit δ → 0 stops; its own error is of the order of √|δ|
    np.testing.assert_allclose(
        end,
        theory.deep_interpolator(x.T @ x, x.T @ y, beta0, depth),
        atol=1e-8 if delta == 0 else 1e-4,
    )


EYE, ONE = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: linear.isotropic_initialization(np.ones((3, 2)), 1, 3, 0),
            "must not exceed c = 2",
        ),
        (
            lambda: linear.isotropic_initialization(np.ones((2, 3)), -1, 3, 0),
            "must not exceed d = 2",
        ),
        (lambda: linear.isotropic_initialization(EYE, 1, 1, 0), "rank above hidden 1"),
        (
            lambda: linear.flow(1e90 * EYE, 1e90 * EYE, EYE, EYE, [1]),
            "can be followed only to 0 of 1",
        ),
        (
            lambda: linear.solve(np.ones((2, 3)), np.eye(2), np.ones((2, 3)), [1]),
            "away from .* want layers",
        ),
        (lambda: linear.course(np.diag([1, 1 + 1e-6]), EYE, EYE, [1]), "want layers"),
        (lambda: theory.deep_isotropic_initialization(2, 1, 2, 1, 0), "want delta <= 0"),
        (lambda: theory.deep_isotropic_initialization(1, 1, 0.5, 0.4, 0), "at most the square"),
        (lambda: theory.deep_isotropic_initialization(1, 1, 2, 5, 0), "at most the square"),
        (lambda: theory.deep_interpolator([[1, 0], [0, 0]], [0, 1], ONE, 1), "not in the range"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("angle", [0.0, 0.8])
def test_descent_keeps_balance_for_plane_targets_of_equal_modes(angle):
    """With the wrong sign of the determinant even gradient descent loses the mode."""
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    begin = 0.3 * np.random.default_rng(3).normal(size=(2, 2))
    begin[0] *= -np.sign(np.linalg.det(begin))
    unlearned = {}
    for name, target in (("equal", 2 * rotation), ("unequal", rotation @ np.diag([2, 1.5]))):
        a, w = linear.isotropic_initialization(begin, 0.0, 2, 1)
        for _ in range(500):  # later rounding brings the mode back
            error = w.T @ a - target
            a, w = a - 0.02 * w @ error, w - 0.02 * a @ error.T
        unlearned[name] = np.sum((w.T @ a - target) ** 2) / 2
    np.testing.assert_allclose(unlearned["equal"], 2.0, rtol=1e-4)
    assert unlearned["unequal"] < 1e-3
