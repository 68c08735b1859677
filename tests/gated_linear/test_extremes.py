"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import numpy as np
import pytest
from references import same

from book.gated_linear import theory


@pytest.mark.parametrize("size", [1, 1e-90, 1e90])
def test_gated_networks_at_the_latest_times(size):
    a, b = size * np.diag([2.0, 1e-6, 0]), size * np.array([1, 1e-6, 0])
    path = theory.gdln_trajectory([[1, 2, 3]], a, b, [0, 1e307, 1.7e308])[:, 0]
    same(path, [[1, 2, 3], [0.5, 1, 3], [0.5, 1, 3]])
    same(theory.gdln_limit([[1, 2, 3]], a, b), path[1:2])


def test_gated_networks_at_the_earliest_times():
    times = np.array([1e-300, 1e-12, 1, 1e7])
    found = theory.gdln_trajectory([[0, 0]], np.diag([2.0, 1e-6]), np.array([1, 1e-6]), times)[:, 0]
    same(found, np.stack([0.5 * -np.expm1(-2 * times), -np.expm1(-1e-6 * times)], axis=1))
    same(theory.gdln_trajectory([[0]], [[1e-160]], [1], [1e-160, 1e-90])[:, 0, 0], [1e-160, 1e-90])
