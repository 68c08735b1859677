"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

from itertools import product

import numpy as np
import pytest
import references
from references import same

from book.synthesis import theory

BALANCES = (0, 1e-12, -1e-12, 1, -1, 1e6, -1e6, 1e90, -1e90)


@pytest.mark.parametrize("balance, size", list(product(BALANCES, (1e-90, 1e-6, 1, 1e6, 1e90))))
def test_how_far_kernels_turn(balance, size):
    for cosine in (0, 1, -1, 0.5):
        found = (
            theory.neuron_kernel_distance(balance, size, cosine),
            theory.twin_kernel_distance(balance, size),
        )
        # half the square of a difference that is right to 1e-16
        same(found, references.turned_kernels(balance, size, cosine), 1e-9, 1e-24)


@pytest.mark.parametrize(
    "a, w, target, expected",
    [
        (1e-160, [0, 1e-160], [3, 4], (0, 0, 0.8, 5)),
        (1e90, [1e90], [1e-50], (0, 1e230, 1, 1e-50)),
        (-1, [3e-200, 4e-200], [3e-200, 4e-200], (1e199, 1, -1, 5e-200)),
    ],
)
def test_coordinates_of_a_neuron(a, w, target, expected):
    same(
        theory.coordinates(theory.Neuron(a, np.array(w, float), np.array(target, float), 1, 1)),
        expected,
    )


@pytest.mark.parametrize(
    "balance, size, cosine, times",
    [
        (1e6, 1, 0, (0, 1e-6, 1)),
        (-1e6, 1, 0, (0, 1e-6, 1)),
        (0, 1e-90, 0.5, (0, 100, 300)),
        (1e80, 1e-80, 0, (0, 1e-81)),
    ],
)
def test_course_in_the_plane(balance, size, cosine, times):
    a, *w = references.neuron_start(size * np.array([cosine, np.sqrt(1 - cosine**2)]), 2 * balance)
    rows = references.neuron_path(a, w, [1, 0], times)
    same(theory.course(balance, size, cosine, times), rows[:, :1] * rows[:, 1:], 1e-10, 1e-280)


def test_coordinates_that_no_float_can_hold_are_refused():
    with pytest.raises(ValueError, match="range of floats"):
        theory.coordinates(theory.Neuron(1e90, np.array([1.0]), np.array([1e-300]), 1, 1))
