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
        found = theory.neuron_kernel_distance(balance, size, cosine)
        # half the square of a difference that is right to 1e-16
        same(found, references.turned_kernel(balance, size, cosine), 1e-9, 1e-24)


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
