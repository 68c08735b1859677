"""Single against double precision: training from the same start, small starts, what a kernel distance can be trusted to."""

import numpy as np
import pytest
import torch

from lib import training
from lib.kernels import kernel_distance, ntk
from lib.networks import Committee, Dense
from lib.training import train

EPS = float(np.finfo(np.float32).eps)
STEPS = 300
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(40, 20))
TARGETS = np.maximum(INPUTS @ RNG.normal(size=(20, 3)), 0).sum(axis=1, keepdims=True)  # of three teachers
ONES, LABELS = np.array([[-1.0], [0.4]]), np.array([[0.6], [1.2]])

WORKLOADS = {
    "compiled": (Dense((1, 30, 30, 1), "tanh"), (ONES, LABELS), {"learning_rate": 0.05}),
    "two layers": (Dense((20, 50, 1), "relu", bias=False), (INPUTS, TARGETS), {"learning_rate": 0.01}),
    "automatic": (Dense((20, 64, 64, 1), "tanh"), (INPUTS, TARGETS), {"learning_rate": 0.01}),
    "minibatches": (Committee(20, 10), (INPUTS, TARGETS), {"learning_rate": 0.1, "batch_size": 10}),
    "adam": (Committee(20, 10), (INPUTS, TARGETS), {"learning_rate": 0.001, "optimizer": "adam"}),
}


def observed(parameters, outputs, hidden):
    return {name: (tuple(f"{name}{i}" for i in range(value.ndim - 1)), value) for name, value in parameters.items()}


def trained(network, data, start, dtype, **options):
    parameters = {name: value.to(dtype) for name, value in start.items()}
    found = train(network, parameters, *data, steps=STEPS, record=[STEPS], observe=observed, **options)
    return {name: torch.tensor(found[name].values[:, 0]) for name in start}


def norm(parameters):
    return float(torch.sqrt(sum((value.double() ** 2).sum() for value in parameters.values())))


def difference(first, second):
    return {name: first[name].double() - second[name].double() for name in first}


@pytest.mark.parametrize("name", WORKLOADS)
def test_training_differs_by_the_rounding_of_its_steps(name):
    """Roundings add up as in a random walk, √steps of them; the kernel's distance from its start keeps six digits."""
    network, data, options = WORKLOADS[name]
    start = network.initialize(0)
    double, single = (trained(network, data, start, dtype, **options) for dtype in (torch.float64, torch.float32))
    assert single["weight1"].dtype == torch.float32
    moved = norm(difference(double, start))
    assert moved > 0.05 * norm(double)
    assert 1e-9 * norm(double) < norm(difference(double, single)) < EPS * np.sqrt(STEPS) * norm(double)
    points = torch.tensor(data[0][:8])
    first, *last = (
        ntk(network, {key: value.double() for key, value in parameters.items()}, points)[0]
        for parameters in (start, double, single)
    )
    distances = [float(kernel_distance(first, kernel)) for kernel in last]
    assert distances[0] > 1e-4
    np.testing.assert_allclose(distances[1], distances[0], rtol=1e-5)


@pytest.mark.parametrize("size", [1e-10, 1e-20, 1e-28])
def test_training_leaves_zero_from_small_starts(size):
    """Growth from a small start is the same in single precision, although products of such weights are zero there."""
    network, data, options = WORKLOADS["two layers"]
    start = network.initialize(0, gain=size)
    double, single = (trained(network, data, start, dtype, **options) for dtype in (torch.float64, torch.float32))
    assert norm(double) > 5 * norm(start)
    assert norm(difference(double, single)) < 10 * EPS * np.sqrt(STEPS) * norm(double)


@pytest.mark.parametrize("name", WORKLOADS)
def test_training_refuses_what_would_stay_at_zero(name):
    network, data, options = WORKLOADS[name]
    start = network.initialize(0, gain=1e-34)
    with pytest.raises(
        ValueError, match=r"parameters of a member are at most .* in size: want 0, or 9.9e-32 or more in torch.float32"
    ):
        trained(network, data, start, torch.float32, **options)
    zero = {key: torch.zeros_like(value) for key, value in start.items()}
    train(network, zero, *data, steps=1, **options)
    train(network, {key: value.double() for key, value in start.items()}, *data, steps=1, **options)


def test_without_the_check_single_precision_loses_its_steps(monkeypatch):
    """Why it is there: at 1e-37 most steps are below the normal range, where the training threads round to zero."""
    monkeypatch.setattr(training, "_check_parameters", lambda network, parameters: len(parameters["weight1"]))
    network, data, options = WORKLOADS["two layers"]
    start = network.initialize(0, gain=1e-37)
    double, single = (trained(network, data, start, dtype, **options) for dtype in (torch.float64, torch.float32))
    assert norm(difference(double, single)) > 0.5 * norm(double)


def test_kernel_distances_of_single_precision_have_a_floor_of_rounding_squared():
    """The same parameters in both precisions; then a change of known size."""
    network = WORKLOADS["automatic"][0]
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
    floor, distance = float(kernel_distance(double, single)), float(kernel_distance(double, moved))
    assert 0 < floor < 1e-13 < 1e-12 < distance < 1e-9
    np.testing.assert_allclose(float(kernel_distance(single, moved_single)), distance, rtol=3 * EPS / np.sqrt(distance))
