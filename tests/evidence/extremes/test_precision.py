"""Single against double precision: training from the same start, small starts, what a kernel distance can be trusted to."""

import numpy as np
import pytest
import torch

from evidence.extremes.precision import EPS, GROWS, INPUTS, STEPS, TINY, WORKLOADS, compare, distance, length, trained
from lib.kernels import kernel_distance, ntk
from lib.training import arguments, train


@pytest.mark.parametrize("name", WORKLOADS)
def test_training_differs_by_the_rounding_of_its_steps(name):
    """Roundings add up as in a random walk, √steps of them; the kernel's distance from its start keeps six digits."""
    found = compare(name)
    assert found["moved"] > 0.05
    assert 1e-9 < found["apart"] < EPS * np.sqrt(STEPS)
    double, single = found["kernels"]
    assert double > 1e-4
    np.testing.assert_allclose(single, double, rtol=1e-5)


def test_both_precisions_are_what_they_are_called():
    start = WORKLOADS["tanh on two points, compiled"][0].initialize(0)
    for dtype in (torch.float32, torch.float64):
        assert all(value.dtype == dtype for value in trained("tanh on two points, compiled", start, dtype).values())


@pytest.mark.parametrize("gain", TINY)
def test_training_leaves_zero_from_small_starts(gain):
    """Growth from a small start is the same in single precision, although products of such weights are zero there."""
    found = compare(GROWS, gain)
    assert found["moved"] > 0.8
    assert found["apart"] < 10 * EPS * np.sqrt(STEPS)


@pytest.mark.parametrize("name", WORKLOADS)
def test_training_refuses_what_would_stay_at_zero(name):
    network, data, options = WORKLOADS[name]
    start = network.initialize(0, gain=1e-34)
    with pytest.raises(
        ValueError, match=r"parameters of a member are at most .* in size: want 0, or 9.9e-32 or more in torch.float32"
    ):
        trained(name, start, torch.float32)
    zero = {key: torch.zeros_like(value) for key, value in start.items()}
    train(network, zero, *data, steps=1, **options)
    train(network, {key: value.double() for key, value in start.items()}, *data, steps=1, **options)


def test_without_the_check_single_precision_loses_its_steps(monkeypatch):
    """Why it is there: at 1e-37 most steps are below the normal range, where the training threads round to zero."""
    monkeypatch.setattr(arguments, "count_members", lambda network, parameters: len(parameters["weight1"]))
    start = WORKLOADS[GROWS][0].initialize(0, gain=1e-37)
    double, single = (trained(GROWS, start, dtype) for dtype in (torch.float64, torch.float32))
    assert distance(double, single) > 0.5 * length(double)


def test_kernel_distances_of_single_precision_have_a_floor_of_rounding_squared():
    """The same parameters in both precisions; then a change of known size."""
    network = WORKLOADS["three layers of tanh"][0]
    start, points = network.initialize(0, dtype=torch.float64), torch.tensor(INPUTS[:16])
    near = {
        name: value * (1 + 1e-5 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1)))
        for name, value in start.items()
    }
    double, moved = (ntk(network, parameters, points)[0] for parameters in (start, near))
    single, moved_single = (
        ntk(network, {name: value.float() for name, value in parameters.items()}, points)[0] for parameters in (start, near)
    )
    assert single.dtype == torch.float32
    floor, apart = float(kernel_distance(double, single)), float(kernel_distance(double, moved))
    assert 0 < floor < 1e-13 < 1e-12 < apart < 1e-9
    np.testing.assert_allclose(float(kernel_distance(single, moved_single)), apart, rtol=3 * EPS / np.sqrt(apart))
