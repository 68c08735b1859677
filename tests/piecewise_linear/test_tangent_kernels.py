"""The tangent kernel of two layers, and what turns it,
against plain gradients and the definition.
"""

import warnings
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_networks import TwoLayers

from book.piecewise_linear.tangent_kernels import kernel_turn, two_layer_ntk
from lib.kernels import ntk

seeds = st.integers(0, 2**32 - 1)


def formula(w, a, x, gamma, gating=None):
    """Write out K_ij = sum over k of c_ki x_i (a_k² I + w_k w_k)
    x_j c_kj, with gates c of the weights or of others.
    """
    n, kernel = len(x), np.zeros((len(x), len(x)))
    for w_k, a_k, g_k in zip(w, a, w if gating is None else gating, strict=True):
        c = [1.0 if g_k @ x_i > 0 else gamma for x_i in x]
        middle = a_k**2 * np.eye(len(w_k)) + np.outer(w_k, w_k)
        for i, j in product(range(n), range(n)):
            kernel[i, j] += c[i] * x[i] @ middle @ x[j] * c[j]
    return kernel


@given(
    seed=seeds,
    h=st.integers(1, 6),
    d=st.integers(1, 5),
    n=st.integers(1, 5),
    gamma=st.sampled_from([0.0, 0.1, 0.7]),
)
def test_two_layers_have_the_kernel_of_the_formula(seed, h, d, n, gamma):
    rng = np.random.default_rng(seed)
    w, a, x = rng.normal(size=(2, h, d)), rng.normal(size=(2, h)), rng.normal(size=(n, d))
    kernel = two_layer_ntk(w, a, x, gamma)
    empirical = ntk(
        TwoLayers(h, d, gamma), {"weight1": torch.tensor(w), "weight2": torch.tensor(a[:, None])}, x
    )
    for m in range(2):
        expected = formula(w[m], a[m], x, gamma)
        np.testing.assert_allclose(kernel[m], expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(empirical[m], expected, rtol=1e-10, atol=1e-12)


def test_two_layer_ntk_broadcasts_in_numpy_and_torch():
    rng = np.random.default_rng(0)
    w, a, x = rng.normal(size=(3, 2, 5, 4)), rng.normal(size=(3, 2, 5)), rng.normal(size=(2, 6, 4))
    kernel = two_layer_ntk(w, a, x, 0.1)
    assert kernel.shape == (3, 2, 6, 6) and kernel.dtype == float
    np.testing.assert_allclose(kernel[2, 1], formula(w[2, 1], a[2, 1], x[1], 0.1), rtol=1e-12)
    stack = two_layer_ntk(*(torch.tensor(v, dtype=torch.float32) for v in (w, a, x)), 0.1)
    assert stack.dtype == torch.float32
    np.testing.assert_allclose(stack, kernel, rtol=1e-4, atol=1e-4)


def test_an_overflow_is_an_error_without_a_warning():
    huge = np.full((2, 2), 1e200)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="not finite"):
        warnings.simplefilter("error")
        two_layer_ntk(huge * [[1], [-1]], huge[0], huge)


def definition(k0, kt):
    return 1 - np.sum(k0 * kt) / np.sqrt(np.sum(k0**2) * np.sum(kt**2))


@settings(max_examples=30, deadline=None)
@given(seed=seeds, h=st.integers(1, 5), d=st.integers(1, 4), gamma=st.sampled_from([0.0, 0.2]))
def test_a_turn_has_the_parts_of_exchanged_gates_and_weights(seed, h, d, gamma):
    rng = np.random.default_rng(seed)
    (w0, w), (a0, a), x = (
        rng.normal(size=(2, h, d)),
        rng.normal(size=(2, h)),
        rng.normal(size=(6, d)),
    )
    start = formula(w0, a0, x, gamma)
    others = formula(w0, a0, x, gamma, w), formula(w, a, x, gamma, w0), formula(w, a, x, gamma)
    if all(
        np.any(kernel) for kernel in (start, *others)
    ):  # else nobody is active, and there is no direction to compare
        turn = kernel_turn(w0, a0, w, a, x, gamma)
        found = turn.gates, turn.weights, sum(turn)
        np.testing.assert_allclose(
            found, [definition(start, kernel) for kernel in others], atol=1e-12
        )


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"w \(2, 2\), a \(3,\) and inputs \(2, 2\) do not fit"):
        two_layer_ntk(np.eye(2), np.ones(3), np.eye(2))
