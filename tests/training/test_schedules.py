"""Schedules against torch's own where it has them, and at the points where they turn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.training.schedules import cosine, piecewise, warm_up


def rates(scheduler, count, **settings):
    """Return what torch's scheduler makes of a learning rate of 1."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1.0)
    made, found = scheduler(optimizer, **settings), []
    for _ in range(count):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        made.step()
    return found


@given(steps=st.integers(1, 200), until=st.floats(0.01, 1))
def test_cosine_falls_from_one_to_zero_and_stays(steps, until):
    factors = [cosine(steps, until)(t) for t in range(steps + 5)]
    assert factors[0] == 1 and np.all(np.diff(factors) <= 0)
    assert np.all(np.array(factors[int(np.ceil(until * steps)) :]) == 0)
    np.testing.assert_allclose(cosine(steps, until)(until * steps / 2), 0.5)
    np.testing.assert_allclose(cosine(steps, until)(until * steps / 3), 0.75)


def test_cosine_is_torchs():
    expected = rates(torch.optim.lr_scheduler.CosineAnnealingLR, 20, T_max=20)
    np.testing.assert_allclose([cosine(20)(t) for t in range(20)], expected, atol=1e-12)


def test_piecewise_is_a_triangle():
    factors = [piecewise([0, 4, 20], [0, 1, 0])(t) for t in (0, 1, 4, 12, 20, 30)]
    assert factors == [0, 0.25, 1, 0.5, 0, 0]
    assert [piecewise([3], [2])(t) for t in (0, 3, 9)] == [2, 2, 2]
    assert [piecewise([2, 4], [3, 1])(t) for t in (0, 3, 9)] == [3, 2, 1]


def test_warm_up_rises_to_one():
    expected = rates(torch.optim.lr_scheduler.LambdaLR, 20, lr_lambda=lambda t: 1 if t > 10 else t / 10)
    np.testing.assert_allclose([warm_up(10)(t) for t in range(20)], expected)


@pytest.mark.parametrize("steps, factors", [([0, 1], [1]), ([1, 0], [0, 1]), ([0, 0], [0, 1])])
def test_steps_must_ascend_with_a_factor_each(steps, factors):
    with pytest.raises(ValueError, match="want equally many, and steps that ascend"):
        piecewise(steps, factors)
