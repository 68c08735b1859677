"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import numpy as np
import pytest
from references import same

from book.localization import theory


@pytest.mark.parametrize(
    "one, zero, ratio", [(1, 0, 1), (0, 1, 0), (1e-90, 1e-90, 0.5), (1e-12, 1, 1e-12 / (1 + 1e-12))]
)
def test_fixed_points_of_one_neuron(one, zero, ratio):
    found = theory.fixed_points(one * np.eye(3), zero * np.eye(3))
    same([found.ratio, found.loss], [[ratio] * 3, [0.25 - ratio / (4 * np.pi)] * 3])
