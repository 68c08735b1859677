"""Edges at which a changed formula once went unnoticed."""

import numpy as np
import pytest

from lib.kernels import two_layer_ntk
from lib.theory import localization, piecewise_linear, products, synthesis, two_point


def test_a_descent_has_a_row_for_each_step_and_its_start():
    assert products.descend([0.5, 0.4], 1.0, 0.1, steps=3).shape == (4, 2)


@pytest.mark.parametrize("size", [1e-12, 1, 1e12])
def test_an_angle_is_the_same_for_covariances_of_any_size(size):
    sigma = size * np.array([[2.0, 1.0], [1.0, 2.0]])
    assert localization.angle([1, 0], [0, 1], sigma) == pytest.approx(np.pi / 3)
    with pytest.raises(ValueError, match="wk"):
        localization.angle([1, 0], [1, -1], size * np.ones((2, 2)))


def test_inactive_neurons_add_nothing_unless_they_leak():
    np.testing.assert_array_equal(piecewise_linear.predictor([False, True], [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]), [3, 4])


def test_a_difference_of_outputs_that_no_vector_has_is_refused():
    constants = two_point.Pair(x=1.0, y=1.0, tau_h=1.0, tau_y=1.0)
    with pytest.raises(ValueError, match="no dy has dy2"):
        synthesis.two_points_as_neuron(1.0, 1.0, 1 - 1.2, constants)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_has_the_precision_of_its_network(dtype):
    w, a, inputs = np.array([[1.0, 2.0]], dtype), np.array([0.5], dtype), np.array([[1.0, 1.0]], dtype)
    kernel = two_layer_ntk(w, a, inputs)
    assert kernel.dtype == dtype and kernel[0, 0] == 0.25 * 2 + 9
