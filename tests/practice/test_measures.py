"""Accuracy and roughness against sums that are written out."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from book.practice import measures

seeds = st.integers(0, 2**32 - 1)


def test_accuracy_is_the_share_of_points_that_are_right():
    outputs, labels = torch.randn(4, 6, 5), torch.randint(5, (4, 6))
    expected = [
        np.mean(np.argmax(mine, -1) == own)
        for mine, own in zip(outputs.numpy(), labels.numpy(), strict=True)
    ]
    np.testing.assert_allclose(measures.accuracy(outputs, labels), expected)
    np.testing.assert_allclose(
        measures.accuracy(outputs, labels[0])[0], expected[0]
    )  # labels that all members share


def plain_convolution(w, kernel):
    """Convolve one filter (k, k), zero outside, by its definition."""
    k, side = len(w), len(kernel)
    found = np.zeros((k + side - 1, k + side - 1))
    for r, c in np.ndindex(w.shape):
        found[r : r + side, c : c + side] += w[r, c] * kernel
    return found


@given(
    seed=seeds,
    size=st.integers(1, 5),
    side=st.integers(1, 4),
    scale=st.sampled_from([1e-8, 1.0, -1e8]),
)
def test_filter_laplacian_is_its_definition_whatever_the_scale(seed, size, side, scale):
    rng = np.random.default_rng(seed)
    w, kernel = rng.normal(size=(2, 3, size, size)), rng.normal(size=(side, side))
    found = measures.filter_laplacian(scale * w, kernel)
    assert found.shape == (2, 3)
    for index in np.ndindex(2, 3):
        expected = np.sum(plain_convolution(w[index] / np.linalg.norm(w[index]), kernel) ** 2)
        np.testing.assert_allclose(found[index], expected, rtol=1e-9)


def test_filters_without_a_shape_are_refused():
    with pytest.raises(ValueError, match="filters holds one that is zero: it has no shape"):
        measures.filter_laplacian(np.zeros((3, 3)), [[1.0]])
