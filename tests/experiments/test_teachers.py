"""Initial weights of two-layer networks have the scale and balance that were asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import balances, magnitudes, seeds

from lib.experiments import teachers

deltas = st.sampled_from([-1e6, -3.0, -1e-9, 0.0, 1e-9, 1.0, 1e6])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def balanced(rng, *shape):
    """Draw neurons of norm 1: w (..., h, d) and a (..., h)."""
    return unit(rng.normal(size=shape)), rng.choice([-1.0, 1.0], size=shape[:-1])


@given(
    seed=seeds,
    tau=st.one_of(st.sampled_from([1e-3, 1.0, 30.0]), magnitudes),
    delta=st.one_of(deltas, balances),
)
def test_scaled_neurons_have_the_wanted_tau_and_delta(seed, tau, delta):
    w, a = balanced(np.random.default_rng(seed), 5, 3)
    scaled_w, scaled_a = teachers.scale_initialization(w, a, tau, delta)
    sizes, norms = np.abs(scaled_a), np.hypot.reduce(scaled_w, axis=1)
    np.testing.assert_allclose(
        (sizes - norms) * (sizes + norms), delta, rtol=1e-12, atol=1e-14 * tau**2
    )
    np.testing.assert_allclose(sizes * norms, tau**2, rtol=1e-13)
    np.testing.assert_allclose(scaled_w / norms[:, None], w, rtol=1e-13)
    np.testing.assert_array_equal(np.sign(scaled_a), a)


def test_scaling_of_neurons_that_are_not_of_norm_one():
    w, a = teachers.scale_initialization([[3.0, 4.0], [0.0, 0.0]], [-5.0, 0.0], 0.5, 2.0)
    np.testing.assert_allclose(a**2 - np.sum(w**2, axis=1), [50.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("own", [False, True])
def test_scaling_broadcasts_over_members(own):
    tau, delta = np.array([0.1, 2.0, 0.1]), np.array([0.0, 0.0, -1.0])
    w, a = (
        balanced(np.random.default_rng(0), 3, 4, 2)
        if own
        else balanced(np.random.default_rng(0), 4, 2)
    )
    stack = teachers.scale_initialization(w, a, tau, delta)
    for m in range(3):
        one = teachers.scale_initialization(
            w[m] if own else w, a[m] if own else a, tau[m], delta[m]
        )
        np.testing.assert_array_equal(stack[0][m], one[0])
        np.testing.assert_array_equal(stack[1][m], one[1])
