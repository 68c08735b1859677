"""The parts of a kernel's turn against a plain sum over neurons and pairs of points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.kernels import kernel_distance, kernel_turn, two_layer_ntk


def brute(gating, w, a, x, gamma):
    """Sum over neurons and pairs of points, with the gates of the neurons `gating`."""
    kernel = np.zeros((len(x), len(x)))
    for i, xi in enumerate(x):
        for j, xj in enumerate(x):
            for g, v, b in zip(gating, w, a, strict=True):
                ci, cj = (1.0 if g @ point > 0 else gamma for point in (xi, xj))
                kernel[i, j] += ci * cj * (b**2 * xi @ xj + (v @ xi) * (v @ xj))
    return kernel


def distance(one, other):
    return 1 - np.sum(one * other) / np.linalg.norm(one) / np.linalg.norm(other)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.0, 0.2]))
def test_the_parts_are_those_of_exchanged_gates_and_weights(seed, units, dimension, gamma):
    rng = np.random.default_rng(seed)
    w0, w = rng.normal(size=(2, units, dimension))
    a0, a = rng.normal(size=(2, units))
    x = rng.normal(size=(6, dimension))
    start = brute(w0, w0, a0, x, gamma)
    kernels = [brute(*swap, x, gamma) for swap in ((w, w0, a0), (w0, w, a), (w, w, a))]
    if not all(np.any(kernel) for kernel in (start, *kernels)):
        return  # nobody is active, so that there is no direction to compare
    turn = kernel_turn(w0, a0, w, a, x, gamma)
    gates, weights, whole = (distance(start, kernel) for kernel in kernels)
    np.testing.assert_allclose([turn.gates, turn.weights], [gates, weights], atol=1e-12)
    np.testing.assert_allclose(sum(turn), whole, atol=1e-12)
    own = two_layer_ntk(w, a, x, gamma)
    np.testing.assert_allclose(sum(turn), kernel_distance(two_layer_ntk(w0, a0, x, gamma), own), atol=1e-12)


def test_each_part_alone():
    rng = np.random.default_rng(0)
    w, a, x = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=(10, 4))
    longer = kernel_turn(w, a, w * np.array([[2.0], [1.0], [0.5]]), a, x)
    assert longer.gates == 0 and longer.both == pytest.approx(0, abs=1e-15) and longer.weights > 0.001
    many = kernel_turn(*[np.stack([v, v]) for v in (w, a, w, a, x)])
    np.testing.assert_allclose(many, 0, atol=1e-15)
