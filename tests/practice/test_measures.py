"""Accuracy, roughness and Gabor shares against sums that are written out."""

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


def gabor(side, length, width, wave, turn, phase, across, down):
    """Draw one Gabor function, by its definition."""
    made = np.zeros((side, side))
    for r, c in np.ndindex(side, side):
        right, below = c - (side - 1) / 2 - across, r - (side - 1) / 2 - down
        x = right * np.cos(turn) + below * np.sin(turn)
        y = below * np.cos(turn) - right * np.sin(turn)
        made[r, c] = np.exp(-(x**2) / (2 * length**2) - y**2 / (2 * width**2)) * np.cos(
            2 * np.pi * x / wave - phase
        )
    return made


@pytest.mark.parametrize("side", [5, 8, 15])
def test_gabor_functions_of_the_net_are_found(side):
    rng, made = np.random.default_rng(side), []
    for _ in range(20):
        (length, width), wave = (
            0.08 * 1.5 ** rng.integers(0, 5, 2),
            np.geomspace(0.28, 1.6, 8)[rng.integers(8)],
        )
        centre = 0.4 / 3 * rng.integers(-3, 4, 2)
        turn, phase = np.pi / 12 * rng.integers(12), rng.uniform(0, 2 * np.pi)
        made.append(
            gabor(side, side * length, side * width, side * wave, turn, phase, *(side * centre))
        )
    scales = np.resize([1e-150, 1.0, -1e150], 20)[:, None, None]
    np.testing.assert_allclose(measures.gabor_share(scales * np.array(made)), 1, atol=1e-4)


def test_other_gabor_functions_are_nearly_found_and_noise_is_not():
    rng, made = np.random.default_rng(0), []
    for _ in range(100):
        length, width, wave = rng.uniform([0.08, 0.08, 0.28], [0.41, 0.41, 1.6])
        centre = 15 * rng.uniform(-0.4, 0.4, 2)
        made.append(
            gabor(
                15, 15 * length, 15 * width, 15 * wave, *rng.uniform(0, [np.pi, 2 * np.pi]), *centre
            )
        )
    found = measures.gabor_share(np.array(made).reshape(2, 50, 15, 15))
    assert found.shape == (2, 50)
    assert np.quantile(found, 0.02) > 0.8
    np.testing.assert_allclose(np.median(found), 0.97, atol=0.01)
    np.testing.assert_allclose(
        np.median(measures.gabor_share(rng.normal(size=(100, 15, 15)))), 0.07, atol=0.01
    )


@pytest.mark.parametrize(
    "call, says",
    [
        (
            lambda: measures.filter_laplacian(np.zeros((3, 3)), [[1.0]]),
            "filters holds one that is zero: it has no shape",
        ),
        (lambda: measures.gabor_share(np.eye(4)), "4 pixels a side: want 5 or more"),
        (lambda: measures.gabor_share(np.zeros((5, 5))), "filters holds one that is zero"),
    ],
)
def test_filters_without_a_shape_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
