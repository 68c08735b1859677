"""The kernel distance against its definition, where it is tiny, and on the numbers of the source's figure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from lib.kernels import kernel_distance
from lib.theory import single_neuron as neuron

seeds = st.integers(0, 2**32 - 1)


def kernels(rng, *shape):
    """Draw positive semidefinite kernels (..., n, n), of rank one more often than not."""
    features = rng.normal(size=(*shape, rng.integers(1, 3)))
    return features @ np.swapaxes(features, -1, -2)


def definition(k0, kt):
    return 1 - np.sum(k0 * kt) / np.sqrt(np.sum(k0**2) * np.sum(kt**2))


@given(seed=seeds, n=st.integers(1, 6), scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e5]))
def test_distance_is_the_definition(seed, n, scale):
    rng = np.random.default_rng(seed)
    k0, kt = kernels(rng, n), kernels(rng, n)
    distance = kernel_distance(k0, scale * kt)
    assert distance.shape == () and -1e-15 < distance < 1 + 1e-15
    np.testing.assert_allclose(distance, definition(k0, kt), atol=1e-14)


@given(seed=seeds, n=st.integers(1, 6), scale=st.floats(1e-200, 1e200))
def test_a_rescaled_kernel_is_at_distance_zero(seed, n, scale):
    kernel = kernels(np.random.default_rng(seed), n)
    np.testing.assert_allclose(kernel_distance(kernel, scale * kernel), 0, atol=1e-30)


def test_kernels_without_overlap_are_at_distance_one():
    np.testing.assert_allclose(kernel_distance(np.diag([3.0, 0.0]), np.diag([0.0, 1e-300])), 1, rtol=1e-15)
    np.testing.assert_allclose(kernel_distance(1e300 * np.eye(2), np.ones((2, 2))), 1 - np.sqrt(0.5), rtol=1e-14)


@given(seed=seeds, n=st.integers(2, 6), step=st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_tiny_distances_keep_their_digits(seed, n, step):
    rng = np.random.default_rng(seed)
    k0 = kernels(rng, n)
    kt = k0 + step * np.abs(k0).max() * rng.normal(size=(n, n))
    with mp.workdps(50):
        x, y = [mpf(v) for v in k0.ravel()], [mpf(v) for v in kt.ravel()]
        overlap, size_x, size_y = (sum(u * v for u, v in zip(*pair, strict=True)) for pair in ((x, y), (x, x), (y, y)))
        expected = float(1 - overlap / mp.sqrt(size_x * size_y))
    assert 0 < expected < 100 * n**2 * step**2
    np.testing.assert_allclose(kernel_distance(k0, kt), expected, rtol=1e-14 / step, atol=0)


def test_kernels_broadcast():
    rng = np.random.default_rng(0)
    start, path = kernels(rng, 2, 1, 4), kernels(rng, 3, 4)
    distances = kernel_distance(start, path)
    assert distances.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(distances[i, j], definition(start[i, 0], path[j]), rtol=1e-12)


@pytest.mark.parametrize(
    "delta, printed",
    [(-4, 0.8715), (-2, 0.7133), (-1, 0.4864), (0, 0.2000), (1, 0.0501), (2, 0.0124), (4, 0.0015)],
)
def test_the_single_neurons_distances(delta, printed):
    """White data, β from (-1, 0) to (0, 1): the kernel goes from diag(κ, a²) to diag(a², κ)."""
    kappa = np.sqrt(delta**2 + 4)
    a2 = (kappa + delta) / 2
    beta = neuron.trajectory(np.sqrt(a2), [-1 / np.sqrt(a2), 0.0], [0.0, 1.0], [0, 1, 20, 300]).beta
    turned = kernel_distance(neuron.preconditioner(beta[0], delta), neuron.preconditioner(beta, delta))
    np.testing.assert_allclose(beta[[0, 3]], [[-1, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(turned[3], (kappa - a2) ** 2 / (kappa**2 + a2**2), rtol=1e-12)
    np.testing.assert_allclose(turned[2], printed, atol=3e-4)  # of which .8715 is not yet at convergence
    assert turned[0] < 1e-15 < turned[1] < turned[3]


EYE = np.eye(2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: kernel_distance(np.ones((2, 3)), EYE), r"k0 has shape \(2, 3\): want \(\.\.\., n, n\)"),
        (lambda: kernel_distance(EYE, np.ones(4)), r"kt has shape \(4,\)"),
        (lambda: kernel_distance(1.0, EYE), r"k0 has shape \(\)"),
        (lambda: kernel_distance(EYE, np.ones((1, 1))), r"k0 is \(2, 2\) and kt is \(1, 1\): want .* same points"),
        (lambda: kernel_distance(EYE, np.eye(3)), "same points"),
        (lambda: kernel_distance(np.zeros((2, 2)), EYE), "k0 is zero or not finite"),
        (lambda: kernel_distance(EYE, np.stack([EYE, 0 * EYE])), "kt is zero"),
        (lambda: kernel_distance(EYE, [[1, np.nan], [0, 1]]), "kt is zero or not finite"),
        (lambda: kernel_distance([[1, -np.inf], [0, 1]], EYE), "k0 is zero or not finite"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
