"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import numpy as np
import pytest
import references
from references import same

from book.piecewise_linear import theory
from book.piecewise_linear.tangent_kernels import two_layer_ntk


@pytest.mark.parametrize(
    "w, a, drive, times",
    [
        ([1, 0], 1, [1, 0], (0, 1e-300, 1e-9, 1, 700)),
        ([1, 2], -1 + 1e-12, [1, 0], (20, 30)),
        ([1e-200, 0], 1e-200, [0, 1], (1, 460)),
        ([1, 1], 1, [1e-310, 0], (0, 1)),
        ([1e90, 1], 1, [1e90, 0], (0, 1e-90)),
    ],
)
def test_alignment(w, a, drive, times):
    found = theory.alignment_phase(np.array(w, float), float(a), np.array(drive, float), times)
    same(np.column_stack(found), references.aligning(w, a, drive, times))


def test_a_neuron_that_shrinks_does_so_for_ever():
    times = np.array([0, 30, 100, 700, 1e300])
    w, a = theory.alignment_phase(np.array([1.0, 2.0]), -1.0, np.array([1.0, 0.0]), times)
    same(
        np.column_stack([w, a]),
        np.stack([np.exp(-times), np.full(5, 2), -np.exp(-times)], axis=1),
        atol=1e-15,
    )


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: theory.direction_rate(1e-310, 1), "range of floats"),
        (lambda: theory.alignment_phase(np.ones(2), 1.0, np.eye(2)[0], [711]), "range of floats"),
        (lambda: two_layer_ntk([[1e160]], [1e160], [[1.0]]), "range"),
    ],
)
def test_neurons_that_no_float_can_hold_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
