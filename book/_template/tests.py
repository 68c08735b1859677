"""One weight in a parabola: the closed forms against an integrator, autograd and finite steps."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lib.theory import NAME

numbers = st.floats(-5, 5)
curvatures = st.floats(0.1, 5)


def loss_gradient(w, target, curvature):
    """Differentiate λ(w - w*)²/2 with autograd."""
    weight = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    (curvature * (weight - target) ** 2 / 2).backward()
    return weight.grad.item()


@given(start=numbers, target=numbers, curvature=curvatures)
def test_the_path_is_the_integrated_flow(start, target, curvature):
    times = [0.3, 1.0]
    ode = solve_ivp(
        lambda t, w: [-loss_gradient(w[0], target, curvature)], (0, 1), [start], "DOP853", times, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(NAME.path(start, target, curvature, times), ode.y[0], rtol=1e-7, atol=1e-9)


@given(start=numbers, target=numbers, curvature=curvatures)
def test_descend_takes_autograd_steps(start, target, curvature):
    before, after = NAME.descend(start, target, curvature, 0.1, 1)
    np.testing.assert_allclose(after, before - 0.1 * loss_gradient(before, target, curvature), rtol=1e-12, atol=1e-12)


@given(curvature=curvatures)
def test_half_of_the_distance_is_left_at_the_half_time(curvature):
    assert NAME.path(1, 0, curvature, NAME.half_time(curvature)) == pytest.approx(0.5)


@pytest.mark.parametrize("share, stable", [(0.99, True), (1.01, False)])
def test_the_largest_rate_is_the_edge_of_stability(share, stable):
    edge = share * NAME.max_learning_rate(3.0)
    assert (abs(NAME.descend(1, 0, 3.0, edge, 500)[-1]) < 1) == stable


@pytest.mark.parametrize("curvature", [0, -1, np.nan])
def test_a_curvature_that_is_not_positive_is_refused(curvature):
    for function in (NAME.half_time, NAME.max_learning_rate, lambda value: NAME.path(1, 0, value, 1)):
        with pytest.raises(ValueError, match="curvature"):
            function(curvature)


def test_a_negative_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="steps is -1"):
        NAME.descend(1, 0, 1, 0.1, -1)
