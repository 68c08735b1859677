"""Schedules at the points where they turn; `test_loop` has them in training."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lib.training.schedules import cosine, piecewise, warm_up


@given(steps=st.integers(1, 200), until=st.floats(0.01, 1))
def test_cosine_falls_from_one_to_zero_and_stays(steps, until):
    factors = [cosine(steps, until)(t) for t in range(steps + 5)]
    assert factors[0] == 1 and np.all(np.diff(factors) <= 0)
    assert np.all(np.array(factors[int(np.ceil(until * steps)) :]) == 0)
    np.testing.assert_allclose(cosine(steps, until)(until * steps / 2), 0.5)
    np.testing.assert_allclose(cosine(steps, until)(until * steps / 3), 0.75)


def test_piecewise_runs_straight_and_stays_before_and_after():
    assert [piecewise([3], [2])(t) for t in (0, 3, 9)] == [2, 2, 2]
    assert [piecewise([2, 4], [3, 1])(t) for t in (0, 3, 9)] == [3, 2, 1]
    assert [warm_up(10)(t) for t in (0, 1, 10, 20)] == [0, 0.1, 1, 1]
