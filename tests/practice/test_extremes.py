"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

from itertools import product

import pytest
from mpmath import mp
from references import same

from book.practice import theory


@pytest.mark.parametrize(
    "kernel, waves",
    list(product((theory.LAPLACIAN, theory.PRINTED_LAPLACIAN), ((1e-8, 0), (1e-12, 1e-10)))),
)
def test_power_of_long_waves(kernel, waves):
    with mp.workdps(100):
        across, down = map(mp.cos, map(mp.mpf, waves))
        expected = float((mp.mpf(kernel[1, 1]) - across - down - across * down) ** 2)
    same(theory.power_response(kernel, *waves), expected)
