"""The compiled path against plain autograd, and when it is taken."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from lib.networks import Convolutional, Dense
from lib.training import descent, fused, half_squared_error, loop, train

MODULES = {
    "linear": nn.Identity,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "swish": nn.SiLU,
}


class Plain(nn.Module):
    def __init__(self, network, parameters):
        super().__init__()
        self.sigma, self.skip, self.linears = MODULES[network.activation](), network.skip, nn.ModuleList()
        for i, (into, out) in enumerate(zip(network.widths[:-1], network.widths[1:], strict=True), start=1):
            linear = nn.Linear(into, out)
            linear.weight.data, linear.bias.data = parameters[f"weight{i}"].clone(), parameters[f"bias{i}"].clone()
            self.linears.append(linear)

    def forward(self, h):
        hidden = []
        for i, linear in enumerate(self.linears[:-1]):
            h = self.sigma(linear(h))
            hidden.append(h + hidden[i - 2] if self.skip and i >= 2 else h)
            h = hidden[-1]
        return self.linears[-1](h), hidden


def assert_plain(network, points, dtype, steps, rtol, seed=0, learning_rate=0.005):
    rng = np.random.default_rng(seed)
    inputs = torch.from_numpy(rng.normal(size=(points, network.widths[0]))).to(dtype)
    targets = torch.from_numpy(rng.normal(size=(points, network.widths[-1]))).to(dtype)
    parameters = {name: value[0] for name, value in network.initialize(seed, dtype=dtype).items()}
    parameters = {n: v if v.ndim > 1 else torch.from_numpy(rng.normal(size=v.shape)).to(dtype) / 4 for n, v in parameters.items()}
    rates = {name: learning_rate * (1 + 0.1 * i) for i, name in enumerate(parameters)}
    model = Plain(network, parameters)
    leaves = [p for linear in model.linears for p in (linear.weight, linear.bias)]
    method = torch.optim.SGD([{"params": [leaf], "lr": rate} for leaf, rate in zip(leaves, rates.values(), strict=True)])
    stack = fused.Stack(network, parameters, inputs, targets, rates)
    for _ in range(steps):
        method.zero_grad()
        (((model(inputs)[0] - targets) ** 2).sum() / (2 * points)).backward()
        method.step()
    stack.advance(steps // 3)
    stack.advance(steps - steps // 3)
    loss, found, outputs, hidden = stack.look(tuple(range(network.depth)))
    expected, representations = model(inputs)
    for ours, theirs in zip(
        [loss, outputs, *hidden, *found.values()],
        [half_squared_error(expected, targets), expected, *representations, *leaves],
        strict=True,
    ):
        ours, theirs = ours[0].numpy(), theirs.detach().numpy()
        assert ours.dtype == theirs.dtype and np.all(np.isfinite(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * max(1, np.abs(theirs).max()))
    assert list(found) == list(parameters)


@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 1e-4), (torch.float64, 1e-10)])
@pytest.mark.parametrize("points", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("activation", MODULES)
def test_a_hundred_steps_are_those_of_autograd(activation, skip, points, dtype, rtol):
    assert_plain(Dense((3, 13, 13, 13, 13, 1 + points % 3), activation, skip=skip), points, dtype, 100, rtol)


@given(
    seed=st.integers(0, 10_000),
    inputs=st.integers(1, 4),
    widths=st.lists(st.integers(1, 11), min_size=1, max_size=4),
    outputs=st.integers(1, 5),
    points=st.integers(1, 7),
    activation=st.sampled_from(list(MODULES)),
)
@example(seed=0, inputs=1, widths=[1], outputs=1, points=1, activation="relu")
@example(seed=0, inputs=9, widths=[2], outputs=3, points=2, activation="swish")
@settings(max_examples=40)
def test_layers_of_any_width(seed, inputs, widths, outputs, points, activation):
    assert_plain(Dense((inputs, *widths, outputs), activation), points, torch.float64, 20, 1e-10, seed, 0.01)


def test_the_papers_width():
    assert_plain(Dense((1, 500, 500, 1)), 2, torch.float32, 100, 1e-4, learning_rate=0.005)


def test_rows_beyond_the_first_block_and_several_pairs_of_points():
    widths = (3, 2 * fused.ROWS, 2 * fused.ROWS + 5, 2)
    assert_plain(Dense(widths, "tanh"), 5, torch.float64, 30, 1e-10, learning_rate=0.05)


def test_a_stack_leaves_what_it_is_given():
    network, points = Dense((2, 5, 1), "tanh"), torch.ones(2, 2)
    parameters = {name: value[0] for name, value in network.initialize(0).items()}
    before = {name: value.clone() for name, value in parameters.items()}
    stack = fused.Stack(network, parameters, points, torch.ones(2, 1), dict.fromkeys(parameters, 0.1))
    stack.advance(3)
    assert all(torch.equal(value, before[name]) for name, value in parameters.items())


SGD = {"optimizer": "sgd"}


@pytest.mark.parametrize(
    "network, points, method, fast",
    [
        (Dense((1, 4, 1)), 2, SGD, True),
        (Dense((1, 4, 4, 4, 1), skip=True), 2, SGD, True),
        (Dense((1, 4, 1)), loop.MOST_FUSED_POINTS, SGD, True),
        (Dense((1, 4, 1)), loop.MOST_FUSED_POINTS + 1, SGD, False),
        (Dense((1, 4, 1)), 3, {"batch_size": 3}, True),
        (Dense((1, 4, 1)), 3, {"batch_size": 2}, False),
        (Dense((1, 4, 1)), 2, {"momentum": 0.5}, False),
        (Dense((1, 4, 1)), 2, {"optimizer": "adam"}, False),
        (Dense((1, 4, 1)), 2, {"loss": lambda outputs, targets: half_squared_error(outputs, targets)}, False),
        (Dense((1, 4, 1), dropout=0.1), 2, SGD, False),
        (Dense((1, 4, 1), "erf"), 2, SGD, False),
        (Dense((1, 4, 1), bias=False), 2, SGD, False),
        (Dense((1, 4, 1)), 2, {"draw": lambda member, step: (np.ones((2, 1)), np.ones((2, 1)))}, False),
        (Convolutional(1, 1, 9, 2, 3, 3), 2, SGD, False),
    ],
)
def test_which_path_is_taken(network, points, method, fast, monkeypatch):
    taken = []
    for name, stack in (("fused", fused.Stack), ("torch", descent.Stack)):
        before = stack.__init__
        monkeypatch.setattr(stack, "__init__", lambda self, *a, n=name, b=before: (taken.append(n), b(self, *a))[1])
    inputs, targets = np.linspace(-1, 1, points)[:, None], np.linspace(0, 1, points)[:, None]
    train(network, network.initialize(0, 3), inputs, targets, learning_rate=0.1, steps=1, **method)
    assert taken == (["fused"] * 3 if fast else ["torch"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("path", ["fused", "torch"])
def test_denormal_numbers_are_flushed(dtype, path, monkeypatch):
    monkeypatch.setattr(loop, "MOST_FUSED_POINTS", 16 if path == "fused" else 0)
    smallest = torch.finfo(dtype).tiny
    network = Dense((1, 9, 9, 9, 1), "linear")
    parameters = network.initialize(0, 2, smallest**0.45, dtype=dtype)  # the third representation is below the normal range
    for i, name in enumerate(("weight2", "weight4")):
        parameters[name][:, 0] = smallest / 2 ** (i + 3)

    def observe(parameters, outputs, hidden):
        seen = parameters | {"outputs": outputs} | {f"hidden{i}": h for i, h in enumerate(hidden)}
        return {name: (tuple(f"{name}{axis}" for axis in range(1, each.ndim)), each) for name, each in seen.items()}

    inputs, targets = np.array([[-1.0], [1.0]]), np.array([[smallest**0.3], [0.0]])
    settings = {"learning_rate": 0.1, "steps": 5, "observe": observe, "layers": None, "record": [1, 5]}
    found = train(network, parameters, inputs, targets, **settings)
    for name, values in found.data_vars.items():
        assert not np.any((values != 0) & (np.abs(values) < smallest)), name
    assert np.any(found.hidden0 != 0) and not np.any(found.hidden2)
    assert torch.tensor(smallest, dtype=dtype) / 2 > 0  # the caller's own arithmetic stays as it was


SCRIPT = """
import numpy as np
from lib.networks import Dense
from lib.training import train

network = Dense((1, *[100] * 10, 1), "leaky_relu")
inputs, targets = np.array([[-1.0], [-0.5]]), np.array([[0.6], [1.6]])
print(float(train(network, network.initialize(0), inputs, targets, learning_rate=0.001, steps=300).loss[0, -1]).hex())
"""


@pytest.mark.slow
def test_the_process_that_compiles_gets_the_numbers_of_those_that_find_it_compiled(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", SCRIPT]
    said = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said[0] == said[1] != ""
    assert list(tmp_path.rglob("*.nbc"))
