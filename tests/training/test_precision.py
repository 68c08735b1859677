"""Single against double precision: training from the same start,
small starts, what a kernel distance can be trusted to.
"""

import numpy as np
import pytest
import torch
from observing import everything

from lib.kernels import kernel_distance, ntk
from lib.networks import Committee, Dense
from lib.training import train

EPS = float(np.finfo(np.float32).eps)
STEPS = 300
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(40, 20))
TARGETS = np.maximum(INPUTS @ RNG.normal(size=(20, 3)), 0).sum(
    axis=1, keepdims=True
)  # of three teachers
ONES, LABELS = np.array([[-1.0], [0.4]]), np.array([[0.6], [1.2]])

WORKLOADS = {
    "tanh on two points, compiled": (
        Dense((1, 30, 30, 1), "tanh"),
        (ONES, LABELS),
        {"learning_rate": 0.05},
    ),
    "two layers of rectifiers": (
        Dense((20, 50, 1), "relu", bias=False),
        (INPUTS, TARGETS),
        {"learning_rate": 0.01},
    ),
    "three layers of tanh": (
        Dense((20, 64, 64, 1), "tanh"),
        (INPUTS, TARGETS),
        {"learning_rate": 0.01},
    ),
    "committee, small batches": (
        Committee(20, 10),
        (INPUTS, TARGETS),
        {"learning_rate": 0.1, "batch_size": 10},
    ),
    "committee, Adam": (
        Committee(20, 10),
        (INPUTS, TARGETS),
        {"learning_rate": 0.001, "optimizer": "adam"},
    ),
}


def compare(name, gain=1.0):
    """Train in both precisions; return what double precision has moved and how far single precision
    is from it, both relative to its length, and the kernel's distance from its start in both.
    """
    network, data, _ = WORKLOADS[name]
    start = network.initialize(0, gain=gain)
    double, single = (trained(name, start, dtype) for dtype in (torch.float64, torch.float32))
    points = torch.tensor(data[0][:8])
    first, *last = (
        ntk(network, {key: value.double() for key, value in parameters.items()}, points)[0]
        for parameters in (start, double, single)
    )
    return {
        "moved": distance(double, start) / length(double),
        "apart": distance(double, single) / length(double),
        "kernels": [float(kernel_distance(first, kernel)) for kernel in last],
    }


def trained(name, start, dtype):
    """Return the parameters after `STEPS` steps from a start."""
    network, data, options = WORKLOADS[name]
    parameters = {key: value.to(dtype) for key, value in start.items()}
    found = train(
        network, parameters, *data, steps=STEPS, record=[STEPS], observe=everything, **options
    )
    return {key: torch.tensor(found[key].values[:, 0]) for key in start}


def length(parameters):
    """Return the length of all parameters together."""
    return float(torch.sqrt(sum((value.double() ** 2).sum() for value in parameters.values())))


def distance(first, second):
    """Return how far two sets of parameters are apart."""
    return length({name: first[name].double() - second[name].double() for name in first})


@pytest.mark.parametrize("name", WORKLOADS)
def test_training_differs_by_the_rounding_of_its_steps(name):
    """Roundings add up as in a random walk, √steps of them; the
    kernel's distance from its start keeps six digits.
    """
    found = compare(name)
    assert found["moved"] > 0.05
    assert 1e-9 < found["apart"] < EPS * np.sqrt(STEPS)
    double, single = found["kernels"]
    assert double > 1e-4
    np.testing.assert_allclose(single, double, rtol=1e-5)


def test_training_leaves_zero_from_small_starts():
    """Growth from a small start is the same in single precision,
    although products of such weights are zero there.
    """
    found = compare("two layers of rectifiers", gain=1e-28)
    assert found["moved"] > 0.8
    assert found["apart"] < 10 * EPS * np.sqrt(STEPS)
