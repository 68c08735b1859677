"""Tangent kernels against autograd, finite differences and their
formula; their distance against its definition.
"""

from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from sample_networks import Normalized, TwoLayers

from lib.kernels import kernel_distance, ntk, tangent
from lib.networks import Committee, Convolutional, Dense, LeNet
from lib.theory import neuron

seeds = st.integers(0, 2**32 - 1)


def drawn(rng, network, members, dtype=torch.float64):
    """Draw parameters of a network, biases too, (members, ...)."""
    return {
        name: torch.tensor(rng.normal(size=(members, *shape)), dtype=dtype)
        for name, shape in network.shapes().items()
    }


def plain_jacobian(network, parameters, member, inputs):
    """Return all derivatives of one member's outputs, (n, c,
    all parameters), one backward pass for each.
    """
    one = {name: value[member].clone().requires_grad_() for name, value in parameters.items()}
    outputs = network(one, inputs, ())[0]
    rows = [
        torch.autograd.grad(output, list(one.values()), retain_graph=True)
        for output in outputs.flatten()
    ]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]).reshape(
        *outputs.shape, -1
    )


networks = st.sampled_from(
    [
        TwoLayers(3, 4),
        Dense((4, 5, 1), "relu"),
        Dense((4, 3, 5, 3), "tanh"),
        Dense((4, 3, 3, 3, 2), "swish", skip=True),
        Dense((4, 3, 2), "relu", bias=False),
        Committee(4, 3, "elu", bias=True),
        Convolutional(4, 2, units=9, convolutions=2, channels=2, kernel=3),
    ]
)


def test_ntk_takes_whole_numbers_and_single_parameters():
    def network(one, tokens, layers):
        return one["scale"] * one["table"][tokens], []

    scale, table, tokens = (
        torch.tensor([2.0, 3.0]),
        torch.tensor([[0.5, -1.0, 4.0]] * 2),
        torch.tensor([[0], [2], [0]]),
    )
    kernel = ntk(network, {"scale": scale, "table": table}, tokens)
    read = table[0, tokens]
    np.testing.assert_allclose(kernel, [read @ read.T + s**2 * (tokens == tokens.T) for s in scale])


@settings(max_examples=30)
@given(
    seed=seeds,
    network=networks,
    members=st.integers(1, 3),
    n=st.integers(1, 5),
    room=st.sampled_from([1, 400, 10**6]),
)
def test_ntk_is_the_gram_matrix_of_plain_gradients(seed, network, members, n, room):
    rng = np.random.default_rng(seed)
    parameters, inputs = drawn(rng, network, members), torch.tensor(rng.normal(size=(n, 4)))
    with patch.object(tangent, "BLOCK_BYTES", room):
        kernel, full = (ntk(network, parameters, inputs, full=full) for full in (False, True))
    for member in range(members):
        rows = plain_jacobian(network, parameters, member, inputs)
        c = rows.shape[1]
        expected = torch.einsum("icp,jdp->icjd", rows, rows)
        np.testing.assert_allclose(
            full[member], expected.reshape(n * c, n * c), rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(
            kernel[member], torch.einsum("icjc->ij", expected), rtol=1e-10, atol=1e-12
        )
    np.testing.assert_allclose(
        full, full.mT, rtol=1e-12, atol=1e-13
    )  # a product of matrices may round its halves differently


@pytest.mark.parametrize("full", [False, True])
def test_ntk_of_images_is_the_gram_matrix_of_plain_gradients(full, monkeypatch):
    rng, network = np.random.default_rng(0), LeNet(3)
    parameters, images = drawn(rng, network, 1), torch.tensor(rng.normal(size=(5, 1, 28, 28)))
    rows = plain_jacobian(network, parameters, 0, images)
    expected = torch.einsum("icp,jdp->icjd", rows, rows)
    expected = expected.reshape(15, 15) if full else torch.einsum("icjc->ij", expected)
    for room, gradients in ((tangent.BLOCK_BYTES, True), (1, False)):
        monkeypatch.setattr(tangent, "BLOCK_BYTES", room)
        with torch.set_grad_enabled(gradients):
            kernel = ntk(network, parameters, images, full=full)[0]
        np.testing.assert_allclose(kernel, expected, rtol=1e-12)


def test_points_that_would_see_each_other_pass_alone():
    rng, network = np.random.default_rng(0), Normalized()
    parameters, images = drawn(rng, network, 1), torch.tensor(rng.normal(size=(3, 1, 4, 4)))
    rows = torch.cat(
        [plain_jacobian(network, parameters, 0, image[None]) for image in images]
    ).flatten(1)
    np.testing.assert_allclose(ntk(network, parameters, images)[0], rows @ rows.T, rtol=1e-10)


def test_ntk_takes_each_members_own_inputs_in_its_own_precision():
    rng = np.random.default_rng(0)
    network = Dense((4, 3, 2), "relu")
    parameters, inputs = drawn(rng, network, 2, torch.float32), rng.normal(size=(2, 5, 4))
    kernel = ntk(network, parameters, inputs)
    assert kernel.dtype == torch.float32 and kernel.shape == (2, 5, 5) and not kernel.requires_grad
    for m in range(2):
        rows = plain_jacobian(
            network, parameters, m, torch.tensor(inputs[m], dtype=torch.float32)
        ).flatten(1)
        np.testing.assert_allclose(kernel[m], rows @ rows.T, rtol=1e-4, atol=1e-4)


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


def test_kernels_without_overlap_are_at_distance_one():
    np.testing.assert_allclose(
        kernel_distance(np.diag([3.0, 0.0]), np.diag([0.0, 1e-300])), 1, rtol=1e-15
    )
    np.testing.assert_allclose(
        kernel_distance(1e300 * np.eye(2), np.ones((2, 2))), 1 - np.sqrt(0.5), rtol=1e-14
    )


@given(seed=seeds, n=st.integers(2, 6), step=st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_tiny_distances_keep_their_digits(seed, n, step):
    rng = np.random.default_rng(seed)
    k0 = kernels(rng, n)
    kt = k0 + step * np.abs(k0).max() * rng.normal(size=(n, n))
    with mp.workdps(50):
        x, y = [mpf(v) for v in k0.ravel()], [mpf(v) for v in kt.ravel()]
        overlap, size_x, size_y = (
            sum(u * v for u, v in zip(*pair, strict=True)) for pair in ((x, y), (x, x), (y, y))
        )
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
            np.testing.assert_allclose(
                distances[i, j], definition(start[i, 0], path[j]), rtol=1e-12
            )


@pytest.mark.parametrize("delta", [-4, -1, 0, 2])
def test_the_single_neurons_distances(delta):
    """White data, β from (-1, 0) to (0, 1): the kernel goes from diag(κ, a²) to diag(a², κ)."""
    kappa = np.sqrt(delta**2 + 4)
    a2 = (kappa + delta) / 2
    beta = neuron.trajectory(np.sqrt(a2), [-1 / np.sqrt(a2), 0.0], [0.0, 1.0], [0, 1, 300]).beta
    turned = kernel_distance(
        neuron.preconditioner(beta[0], delta), neuron.preconditioner(beta, delta)
    )
    np.testing.assert_allclose(turned[2], (kappa - a2) ** 2 / (kappa**2 + a2**2), rtol=1e-12)
    assert turned[0] < 1e-15 < turned[1] < turned[2]
