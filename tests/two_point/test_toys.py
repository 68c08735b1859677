"""The toys against plain loops."""

import numpy as np
import pytest

from book.two_point import toys


def test_two_points_lie_at_the_given_distances():
    inputs, targets = toys.two_points(0.5, 1)
    np.testing.assert_array_equal(inputs, [[-1], [-0.5]])
    np.testing.assert_array_equal(targets, [[0.6], [1.6]])
    for array, start in zip(toys.two_points(0, 0), (-1, 0.6), strict=True):
        np.testing.assert_array_equal(array, [[start], [start]])


def test_exclusive_or_is_one_where_the_inputs_differ():
    inputs, targets = toys.xor()
    np.testing.assert_array_equal(inputs, [[0, 0], [1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(targets[:, 0], inputs[:, 0] != inputs[:, 1])


def test_blobs_have_thirty_places_and_five_pixels_an_axis():
    for usual, given in zip(toys.blobs(), toys.blobs(30, 5), strict=True):
        np.testing.assert_array_equal(usual, given)


@pytest.mark.parametrize("side, pixels", [(2, 2), (3, 5), (4, 2)])
def test_blobs_are_the_plain_loop(side, pixels):
    inputs, targets, features = toys.blobs(side, pixels)
    point = 0
    for context in (0, 1):
        for x in np.linspace(-1, 1, side):
            for y in np.linspace(-1, 1, side):
                image = [
                    np.exp(-((column - x) ** 2 + (row - y) ** 2) / 2)
                    for row in np.linspace(-1, 1, pixels)
                    for column in np.linspace(-1, 1, pixels)
                ]
                one_hot = [1, 0] if context == 0 else [0, 1]
                np.testing.assert_allclose(
                    inputs[point], [*(np.array(image) / sum(image)), *one_hot], rtol=1e-14
                )
                assert (features.x[point], features.y[point], features.context[point]) == (
                    x,
                    y,
                    context,
                )
                assert targets[point] == [x if context == 0 else y]
                point += 1
    assert (
        inputs.shape == (point, pixels**2 + 2)
        and targets.shape == (point, 1)
        and len(features.x) == point
    )
