"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from references import same

from book.products import theory


@pytest.mark.parametrize(
    "p, s, d, p0",
    [
        *((0.5, 1, d, 1e-300) for d in (1, 1 + 1e-12, 1.5, 2 - 1e-6, 2, 2 + 1e-12, 3, 1e6)),
        *((0.5 * (1 + step), 1, d, 0.5) for step in (1e-12, -1e-9) for d in (1, 2, 3, 1e6)),
        *((1 - 2.0**-53, 1, d, 0.5) for d in (1, 2, 5)),
        *((0.5 * s, s, d, 0.1 * s) for s in (1e90, 1e-90) for d in (1, 2, 3)),
        (0.5, 1, 1e90, 0.1),
        (1e-300, 1, 3, 1e-301),
        (0.5, 1, 3, 0.5),
    ],
)
def test_time_to_reach(p, s, d, p0):
    same(theory.time_to_reach(p, s, d, p0), references.time_to_reach(p, s, d, p0))


@given(
    start=st.floats(1e-12, 1 - 1e-12),
    way=st.floats(-14, 0),
    degree=st.sampled_from([1, 1.5, 2, 2.5, 3, 10, 1e8, 1e15]),
)
@settings(max_examples=40)
def test_time_to_reach_over_any_way(start, way, degree):
    p = start + (1 - start) * 10**way * 0.999
    same(
        theory.time_to_reach(p, 1, degree, start),
        references.time_to_reach(p, 1, degree, start),
        1e-11,
    )


def test_conserved_and_depth_of_products():
    same(theory.conserved([1 + 1e-12, 1]), [(float(1 + 1e-12) - 1) * (2 + 1e-12)])
    same(theory.conserved([1e90, 1e-90], (1, 3)), [1e180])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: theory.time_to_reach(5e-311, 1e-310, 3, 1e-311), "range of floats"),
        (lambda: theory.max_learning_rate(1e-99, 1e-3), "range"),
    ],
)
def test_products_that_no_float_can_hold_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
