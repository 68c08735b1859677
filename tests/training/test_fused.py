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
from observing import everything

from lib.networks import Convolutional, Dense
from lib.training import descent, fused, half_squared_error, loop, train, two_layer


def assert_plain(network, points, dtype, steps, rtol, seed=0, learning_rate=0.005):
    rng = np.random.default_rng(seed)
    inputs = torch.from_numpy(rng.normal(size=(points, network.widths[0]))).to(dtype)
    targets = torch.from_numpy(rng.normal(size=(points, network.widths[-1]))).to(dtype)
    parameters = {name: value[0] for name, value in network.initialize(seed, dtype=dtype).items()}
    parameters = {n: v if v.ndim > 1 else torch.from_numpy(rng.normal(size=v.shape)).to(dtype) / 4 for n, v in parameters.items()}
    rates = {name: learning_rate * (1 + 0.1 * i) for i, name in enumerate(parameters)}
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    method = torch.optim.SGD([{"params": [leaf], "lr": rates[name]} for name, leaf in leaves.items()])
    stack = fused.Stack(network, parameters, inputs, targets, rates)
    for _ in range(steps):
        method.zero_grad()
        (((network(leaves, inputs)[0] - targets) ** 2).sum() / (2 * points)).backward()
        method.step()
    stack.advance(steps // 3)
    stack.advance(steps - steps // 3)
    loss, found, outputs, hidden = stack.look(tuple(range(network.depth)))
    expected, representations = network(leaves, inputs, None)
    for ours, theirs in zip(
        [loss, outputs, *hidden, *found.values()],
        [half_squared_error(expected, targets), expected, *representations, *leaves.values()],
        strict=True,
    ):
        ours, theirs = ours[0].numpy(), theirs.detach().numpy()
        assert ours.dtype == theirs.dtype and np.all(np.isfinite(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * max(1, np.abs(theirs).max()))
    assert list(found) == list(parameters)


@pytest.mark.parametrize("dtype, rtol", [(torch.float32, 1e-4), (torch.float64, 1e-10)])
@pytest.mark.parametrize("points, skip", [(1, True), (2, False), (3, True), (4, False), (5, True)])
@pytest.mark.parametrize("activation", fused._KINDS)
def test_a_hundred_steps_are_those_of_autograd(activation, points, skip, dtype, rtol):
    assert_plain(Dense((3, 13, 13, 13, 13, 1 + points % 3), activation, skip=skip), points, dtype, 100, rtol)


@given(
    seed=st.integers(0, 10_000),
    inputs=st.integers(1, 4),
    widths=st.lists(st.integers(1, 11), min_size=1, max_size=4),
    outputs=st.integers(1, 5),
    points=st.integers(1, 7),
    activation=st.sampled_from(list(fused._KINDS)),
)
@example(seed=0, inputs=1, widths=[1], outputs=1, points=1, activation="relu")
@example(seed=0, inputs=9, widths=[2], outputs=3, points=2, activation="swish")
@settings(max_examples=40)
def test_layers_of_any_width(seed, inputs, widths, outputs, points, activation):
    assert_plain(Dense((inputs, *widths, outputs), activation), points, torch.float64, 20, 1e-10, seed, 0.01)


def test_rows_beyond_the_first_block_and_several_pairs_of_points():
    widths = (3, 2 * fused.ROWS, 2 * fused.ROWS + 5, 2)
    assert_plain(Dense(widths, "tanh"), 5, torch.float64, 30, 1e-10, learning_rate=0.05)


@pytest.mark.parametrize(
    "network, points, method, path",
    [
        (Dense((1, 4, 4, 4, 1), skip=True), 2, {}, fused),
        (Dense((1, 4, 1)), loop.MOST_FUSED_POINTS + 1, {}, descent),
        (Dense((1, 4, 1)), 3, {"batch_size": 3}, fused),
        (Dense((1, 4, 1)), 3, {"batch_size": 2}, descent),
        (Dense((1, 4, 1)), 2, {"momentum": 0.5}, descent),
        (Dense((1, 4, 1)), 2, {"optimizer": "adam"}, descent),
        (Dense((1, 4, 1)), 2, {"schedule": lambda step: 0.5}, descent),
        (Dense((1, 4, 1)), 2, {"weight_decay": 0.5}, descent),
        (Dense((1, 4, 1)), 2, {"loss": lambda outputs, targets: half_squared_error(outputs, targets)}, descent),
        (Dense((1, 4, 1), dropout=0.1), 2, {}, descent),
        (Dense((1, 4, 1), "erf"), 2, {}, descent),
        (Dense((1, 4, 1)), 2, {"draw": lambda member, step: (np.ones((2, 1)), np.ones((2, 1)))}, descent),
        (Convolutional(1, 1, 9, 2, 3, 3), 2, {}, descent),
        (Dense((1, 4, 1), "relu", bias=False), 40, {}, two_layer),
        (Dense((1, 4, 2), "relu", bias=False), 2, {}, descent),
        (Dense((1, 4, 4, 1), "relu", bias=False), 2, {}, descent),
        (Dense((1, 4, 1), "relu", dropout=0.1, bias=False), 2, {}, descent),
    ],
)
def test_which_path_is_taken(network, points, method, path, monkeypatch):
    taken = []
    for module in (fused, two_layer, descent):
        before = module.Stack.__init__
        monkeypatch.setattr(module.Stack, "__init__", lambda self, *a, m=module, b=before: (taken.append(m), b(self, *a))[1])
    inputs, targets = np.linspace(-1, 1, points)[:, None], np.ones((points, network.outputs))
    train(network, network.initialize(0, 3), inputs, targets, learning_rate=0.1, steps=1, **method)
    assert taken == [path] * (1 if path is descent else 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("path", ["fused", "torch"])
def test_denormal_numbers_are_flushed(dtype, path, monkeypatch):
    monkeypatch.setattr(loop, "MOST_FUSED_POINTS", 16 if path == "fused" else 0)
    smallest = torch.finfo(dtype).tiny
    network = Dense((1, 9, 9, 9, 1), "linear")
    parameters = network.initialize(0, 2, smallest**0.45, dtype=dtype)  # the third representation is below the normal range
    for i, name in enumerate(("weight2", "weight4")):
        parameters[name][:, 0] = smallest / 2 ** (i + 3)

    inputs, targets = np.array([[-1.0], [1.0]]), np.array([[smallest**0.3], [0.0]])
    settings = {"learning_rate": 0.1, "steps": 5, "observe": everything, "layers": None, "record": [1, 5]}
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
