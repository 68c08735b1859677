"""What leaves the range of floats is refused with one clear error."""

import pytest

from book.piecewise_linear import theory
from book.piecewise_linear.tangent_kernels import two_layer_ntk


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: theory.direction_rate(1e-310, 1), "range of floats"),
        (lambda: two_layer_ntk([[1e160]], [1e160], [[1.0]]), "range"),
    ],
)
def test_neurons_that_no_float_can_hold_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
