"""Distances, the observables of two points, classical scaling, localization and gates, against their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from book.gated_linear import theory
from book.practice import measures as practice_measures
from book.two_point import measures as two_point_measures
from lib import measures

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, shape=st.sampled_from([(1, 1), (4, 3), (2, 5, 2), (2, 3, 4, 5)]))
def test_squared_distances(seed, shape):
    points = np.random.default_rng(seed).normal(size=shape)
    found = two_point_measures.squared_distances(torch.from_numpy(points)).numpy()
    assert found.shape == (*shape[:-1], shape[-2])
    for index in np.ndindex(shape[:-2]):
        for i in range(shape[-2]):
            for j in range(shape[-2]):
                expected = np.linalg.norm(points[index][i] - points[index][j]) ** 2
                np.testing.assert_allclose(found[(*index, i, j)], expected, rtol=1e-12, atol=0)


def test_squared_distances_of_near_points_keep_their_digits():
    points = torch.tensor([[1e3, 1e3], [1e3 + 1e-6, 1e3]], dtype=torch.float64)
    np.testing.assert_allclose(two_point_measures.squared_distances(points)[0, 1], 1e-12, rtol=1e-6)


@given(seed=seeds, first=st.integers(0, 4), second=st.integers(0, 4), outputs=st.integers(1, 3))
def test_two_points_is_eq_8(seed, first, second, outputs):
    rng = np.random.default_rng(seed)
    targets, y = rng.normal(size=(5, outputs)), rng.normal(size=(2, 5, outputs))
    hidden = [rng.normal(size=(2, 5, width)) for width in (4, 6)]
    observe = two_point_measures.two_points(targets, first, second)
    found = observe({}, torch.from_numpy(y), [torch.from_numpy(h) for h in hidden])
    assert {name: dims for name, (dims, _) in found.items()} == {"dh2": ("layer",), "dy2": (), "w": ()}
    dy, wanted = y[:, second] - y[:, first], targets[second] - targets[first]
    np.testing.assert_allclose(found["dh2"][1], np.stack([np.sum((h[:, second] - h[:, first]) ** 2, 1) for h in hidden], 1))
    np.testing.assert_allclose(found["dy2"][1], np.sum(dy**2, 1))
    np.testing.assert_allclose(found["w"][1], np.sum(dy * (dy - wanted), 1), rtol=1e-9, atol=1e-12)


def test_geometry():
    rng = np.random.default_rng(0)
    outputs, hidden = torch.from_numpy(rng.normal(size=(2, 4, 3))), [torch.from_numpy(rng.normal(size=(2, 4, k))) for k in (5, 6)]
    found = two_point_measures.geometry({}, outputs, hidden)
    assert found["outputs"][0] == ("point", "output") and torch.equal(found["outputs"][1], outputs)
    dims, distances = found["distance2"]
    assert dims == ("layer", "point", "other") and distances.shape == (2, 2, 4, 4)
    for layer in range(2):
        np.testing.assert_allclose(distances[:, layer], torch.cdist(hidden[layer], hidden[layer]) ** 2, atol=1e-12)


def test_accuracy_is_the_share_of_points_that_are_right():
    outputs, labels = torch.randn(4, 6, 5), torch.randint(5, (4, 6))
    expected = [np.mean(np.argmax(mine, -1) == own) for mine, own in zip(outputs.numpy(), labels.numpy(), strict=True)]
    np.testing.assert_allclose(practice_measures.accuracy(outputs, labels), expected)
    np.testing.assert_allclose(practice_measures.accuracy(outputs, labels[0])[0], expected[0])  # labels that all members share


def squares(points):
    return np.sum((points[:, None] - points[None]) ** 2, -1)


@given(seed=seeds, n=st.integers(3, 9), d=st.integers(2, 6), dimensions=st.integers(1, 3))
def test_principal_axes_is_classical_scaling(seed, n, d, dimensions):
    """The leading eigenvectors of the double-centred matrix -½ J D J, each times the root of its eigenvalue."""
    points = np.random.default_rng(seed).normal(size=(n, d)) + 3
    dimensions = min(dimensions, d, n)
    plane = two_point_measures.principal_axes(points, dimensions)
    assert plane.shape == (n, dimensions)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ squares(points) @ centre)
    expected = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :dimensions]
    np.testing.assert_allclose(np.abs(plane), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-12)
    assert np.all(plane.max(axis=0) >= -plane.min(axis=0))  # of the largest entry the sign is positive
    np.testing.assert_allclose(squares(plane @ (plane.T @ expected)), squares(expected @ (expected.T @ expected)), atol=1e-6)


@given(seed=seeds, n=st.integers(1, 9))
def test_inverse_participation_ratio(seed, n):
    w = np.random.default_rng(seed).normal(size=(3, n)) ** 3
    found = measures.inverse_participation_ratio(w)
    expected = [sum(v**4) / sum(v**2) ** 2 for v in w]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    tensor = measures.inverse_participation_ratio(torch.from_numpy(w))
    assert torch.is_tensor(tensor)
    np.testing.assert_allclose(tensor, expected, rtol=1e-12)
    assert np.all(found >= 1 / n - 1e-12) and np.all(found <= 1 + 1e-12)


def test_inverse_participation_ratio_of_known_weights():
    assert measures.inverse_participation_ratio([0, 0, -7, 0]) == 1  # one site
    assert measures.inverse_participation_ratio([1, -1, 1, 1]) == 0.25  # all sites alike
    wave = np.cos(2 * np.pi * 3 * np.arange(40) / 40)
    np.testing.assert_allclose(measures.inverse_participation_ratio(wave), 1.5 / 40)  # a Fourier mode
    np.testing.assert_allclose(measures.inverse_participation_ratio(np.array([3e-200, 4e-200])), 337 / 625)  # no underflow
    random = np.random.default_rng(0).normal(size=(2000, 40))
    np.testing.assert_allclose(measures.inverse_participation_ratio(random).mean(), 3 / 42, rtol=0.01)


@given(seed=seeds, times=st.integers(2, 4), k=st.integers(1, 3))
def test_gate_agreement_is_eqs_78_and_79(seed, times, k):
    rng = np.random.default_rng(seed)
    path, inputs = rng.normal(size=(times, k, 3)), rng.normal(size=(20, 3))
    p, unif = theory.gate_agreement(path, inputs)
    assert p.shape == (times - 1, k) and unif.shape == (k,)
    for i in range(k):
        gates = [[bool(w @ x >= 0) for x in inputs] for w in path[:, i]]
        for t in range(times - 1):
            assert np.isclose(p[t, i], np.mean([a == b for a, b in zip(gates[t], gates[t + 1], strict=True)]))
        assert np.isclose(unif[i], np.mean([len(set(gate)) == 1 for gate in zip(*gates, strict=True)]))
    alone = theory.gate_agreement(path, inputs[:1])
    np.testing.assert_array_equal(alone[0].min(axis=0), alone[1])  # of one input: kept throughout if kept at each step


def plain_convolution(w, kernel):
    """Convolve one filter (k, k), zero outside, by its definition."""
    k, side = len(w), len(kernel)
    found = np.zeros((k + side - 1, k + side - 1))
    for r, c in np.ndindex(w.shape):
        found[r : r + side, c : c + side] += w[r, c] * kernel
    return found


@given(seed=seeds, size=st.integers(1, 5), side=st.integers(1, 4), scale=st.sampled_from([1e-8, 1.0, -1e8]))
def test_filter_laplacian_is_its_definition_whatever_the_scale(seed, size, side, scale):
    rng = np.random.default_rng(seed)
    w, kernel = rng.normal(size=(2, 3, size, size)), rng.normal(size=(side, side))
    found = practice_measures.filter_laplacian(scale * w, kernel)
    assert found.shape == (2, 3)
    for index in np.ndindex(2, 3):
        expected = np.sum(plain_convolution(w[index] / np.linalg.norm(w[index]), kernel) ** 2)
        np.testing.assert_allclose(found[index], expected, rtol=1e-9)


def gabor(side, length, width, wave, turn, phase, across, down):
    """Draw one Gabor function, by its definition."""
    made = np.zeros((side, side))
    for r, c in np.ndindex(side, side):
        right, below = c - (side - 1) / 2 - across, r - (side - 1) / 2 - down
        x = right * np.cos(turn) + below * np.sin(turn)
        y = below * np.cos(turn) - right * np.sin(turn)
        made[r, c] = np.exp(-(x**2) / (2 * length**2) - y**2 / (2 * width**2)) * np.cos(2 * np.pi * x / wave - phase)
    return made


@pytest.mark.parametrize("side", [5, 8, 15])
def test_gabor_functions_of_the_net_are_found(side):
    rng, made = np.random.default_rng(side), []
    for _ in range(20):
        (length, width), wave = 0.08 * 1.5 ** rng.integers(0, 5, 2), np.geomspace(0.28, 1.6, 8)[rng.integers(8)]
        centre = 0.4 / 3 * rng.integers(-3, 4, 2)
        turn, phase = np.pi / 12 * rng.integers(12), rng.uniform(0, 2 * np.pi)
        made.append(gabor(side, side * length, side * width, side * wave, turn, phase, *(side * centre)))
    scales = np.resize([1e-150, 1.0, -1e150], 20)[:, None, None]
    np.testing.assert_allclose(practice_measures.gabor_share(scales * np.array(made)), 1, atol=1e-4)


def test_other_gabor_functions_are_nearly_found_and_noise_is_not():
    rng, made = np.random.default_rng(0), []
    for _ in range(100):
        length, width, wave = rng.uniform([0.08, 0.08, 0.28], [0.41, 0.41, 1.6])
        centre = 15 * rng.uniform(-0.4, 0.4, 2)
        made.append(gabor(15, 15 * length, 15 * width, 15 * wave, *rng.uniform(0, [np.pi, 2 * np.pi]), *centre))
    found = practice_measures.gabor_share(np.array(made).reshape(2, 50, 15, 15))
    assert found.shape == (2, 50)
    assert np.quantile(found, 0.02) > 0.8
    np.testing.assert_allclose(np.median(found), 0.97, atol=0.01)
    np.testing.assert_allclose(np.median(practice_measures.gabor_share(rng.normal(size=(100, 15, 15)))), 0.07, atol=0.01)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: two_point_measures.principal_axes(np.ones((2, 5)), 3), r"dimensions 3: want at most min\(n, d\) dimensions"),
        (lambda: measures.inverse_participation_ratio([[1, 2], [0, 0]]), "zero weight vector"),
        (lambda: measures.inverse_participation_ratio(torch.tensor([1.0, np.nan])), "zero weight vector"),
        (lambda: theory.gate_agreement(np.ones((1, 2, 3)), np.ones((4, 3))), "do not fit"),
        (lambda: theory.gate_agreement(np.ones((2, 2, 3)), np.ones((4, 2))), "do not fit"),
        (
            lambda: practice_measures.filter_laplacian(np.zeros((3, 3)), [[1.0]]),
            "filters holds one that is zero: it has no shape",
        ),
        (lambda: practice_measures.gabor_share(np.eye(4)), "4 pixels a side: want 5 or more"),
        (lambda: practice_measures.gabor_share(np.zeros((5, 5))), "filters holds one that is zero"),
    ],
)
def test_what_has_no_measure_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
