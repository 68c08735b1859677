"""Distances, geometry and axes of representations against their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from book.two_point import measures

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, shape=st.sampled_from([(1, 1), (4, 3), (2, 5, 2), (2, 3, 4, 5)]))
def test_squared_distances(seed, shape):
    points = np.random.default_rng(seed).normal(size=shape)
    found = measures.squared_distances(torch.from_numpy(points)).numpy()
    assert found.shape == (*shape[:-1], shape[-2])
    for index in np.ndindex(shape[:-2]):
        for i in range(shape[-2]):
            for j in range(shape[-2]):
                expected = np.linalg.norm(points[index][i] - points[index][j]) ** 2
                np.testing.assert_allclose(found[(*index, i, j)], expected, rtol=1e-12, atol=0)


def test_squared_distances_of_near_points_keep_their_digits():
    points = torch.tensor([[1e3, 1e3], [1e3 + 1e-6, 1e3]], dtype=torch.float64)
    np.testing.assert_allclose(measures.squared_distances(points)[0, 1], 1e-12, rtol=1e-6)


@given(seed=seeds, first=st.integers(0, 4), second=st.integers(0, 4), outputs=st.integers(1, 3))
def test_two_points_is_eq_8(seed, first, second, outputs):
    rng = np.random.default_rng(seed)
    targets, y = rng.normal(size=(5, outputs)), rng.normal(size=(2, 5, outputs))
    hidden = [rng.normal(size=(2, 5, width)) for width in (4, 6)]
    observe = measures.two_points(targets, first, second)
    found = observe({}, torch.from_numpy(y), [torch.from_numpy(h) for h in hidden])
    assert {name: dims for name, (dims, _) in found.items()} == {
        "dh2": ("layer",),
        "dy2": (),
        "w": (),
    }
    dy, wanted = y[:, second] - y[:, first], targets[second] - targets[first]
    np.testing.assert_allclose(
        found["dh2"][1], np.stack([np.sum((h[:, second] - h[:, first]) ** 2, 1) for h in hidden], 1)
    )
    np.testing.assert_allclose(found["dy2"][1], np.sum(dy**2, 1))
    np.testing.assert_allclose(found["w"][1], np.sum(dy * (dy - wanted), 1), rtol=1e-9, atol=1e-12)


def test_two_points_are_the_first_and_the_second():
    targets, y = torch.eye(3), torch.tensor([[[0.0], [2.0], [7.0]]])
    found = measures.two_points(targets)({}, y, [y])
    assert found["dy2"][1] == 4


def test_geometry():
    rng = np.random.default_rng(0)
    outputs, hidden = (
        torch.from_numpy(rng.normal(size=(2, 4, 3))),
        [torch.from_numpy(rng.normal(size=(2, 4, k))) for k in (5, 6)],
    )
    found = measures.geometry({}, outputs, hidden)
    assert found["outputs"][0] == ("point", "output") and torch.equal(found["outputs"][1], outputs)
    dims, distances = found["distance2"]
    assert dims == ("layer", "point", "other") and distances.shape == (2, 2, 4, 4)
    for layer in range(2):
        np.testing.assert_allclose(
            distances[:, layer], torch.cdist(hidden[layer], hidden[layer]) ** 2, atol=1e-12
        )


def squares(points):
    return np.sum((points[:, None] - points[None]) ** 2, -1)


@given(seed=seeds, n=st.integers(3, 9), d=st.integers(2, 6), dimensions=st.integers(1, 3))
def test_principal_axes_is_classical_scaling(seed, n, d, dimensions):
    """The leading eigenvectors of the double-centred matrix -½
    J D J, each times the root of its eigenvalue.
    """
    points = np.random.default_rng(seed).normal(size=(n, d)) + 3
    dimensions = min(dimensions, d, n)
    plane = measures.principal_axes(points, dimensions)
    assert plane.shape == (n, dimensions)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ squares(points) @ centre)
    expected = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :dimensions]
    np.testing.assert_allclose(np.abs(plane), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-12)
    assert np.all(
        plane.max(axis=0) >= -plane.min(axis=0)
    )  # of the largest entry the sign is positive
    np.testing.assert_allclose(
        squares(plane @ (plane.T @ expected)),
        squares(expected @ (expected.T @ expected)),
        atol=1e-6,
    )


def test_more_axes_than_there_are_are_refused():
    with pytest.raises(ValueError, match=r"dimensions 3: want at most min\(n, d\) dimensions"):
        measures.principal_axes(np.ones((2, 5)), 3)
