"""Edges at which a changed formula once went unnoticed."""

import numpy as np
import pytest

from lib.kernels import two_layer_ntk


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_has_the_precision_of_its_network(dtype):
    w, a, inputs = np.array([[1.0, 2.0]], dtype), np.array([0.5], dtype), np.array([[1.0, 1.0]], dtype)
    kernel = two_layer_ntk(w, a, inputs)
    assert kernel.dtype == dtype and kernel[0, 0] == 0.25 * 2 + 9
