"""Each way to compute against the plain loop, and which is taken:
few points, two layers, gradients by hand, autograd.
"""

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
from plain_training import assert_plain

from lib.networks import Committee, Convolutional, Dense
from lib.training import (
    by_hand,
    cross_entropy,
    descent,
    fused,
    half_squared_error,
    loop,
    train,
    two_layer,
)


def data(network, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*shape, *network.point)), rng.normal(size=(*shape, network.outputs))


# --- few points -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, steps, rtol", [(torch.float32, 30, 1e-3), (torch.float64, 100, 1e-10)]
)
@pytest.mark.parametrize("points, skip", [(1, True), (2, False), (3, True), (4, False), (5, True)])
@pytest.mark.parametrize("activation", fused._KINDS)
def test_few_points(activation, points, skip, dtype, steps, rtol):
    network = Dense((3, 13, 13, 13, 13, 1 + points % 3), activation, skip=skip)
    parameters = network.initialize(0, 2, dtype=dtype)
    rates = {name: 0.005 * (1 + 0.1 * i) for i, name in enumerate(parameters)}
    assert_plain(
        network, parameters, *data(network, points), learning_rate=rates, steps=steps, rtol=rtol
    )


@given(
    seed=st.integers(0, 10_000),
    widths=st.lists(st.integers(1, 11), min_size=3, max_size=6),
    points=st.integers(1, 7),
    activation=st.sampled_from(list(fused._KINDS)),
)
@example(0, [3, 2 * fused.ROWS, 2 * fused.ROWS + 5, 2], 5, "tanh")  # rows beyond the first block
@example(seed=0, widths=[1, 1, 1], points=1, activation="relu")
@settings(max_examples=40)
def test_few_points_and_layers_of_any_width(seed, widths, points, activation):
    network = Dense(tuple(widths), activation)
    parameters = network.initialize(seed, dtype=torch.float64)
    assert_plain(
        network, parameters, *data(network, points, seed=seed), learning_rate=0.01, steps=20
    )


# --- two layers -----------------------------------------------------------------------------------


@given(
    st.integers(0, 99),
    st.integers(1, 3),
    st.integers(17, 40),
    st.integers(1, 6),
    st.integers(1, 9),
    st.booleans(),
)
@example(5, 1, 250, 100, 50, False)  # more points than a tile of 104
@settings(max_examples=25, deadline=None)
def test_two_layers_of_any_size(seed, members, points, d, h, own):
    network = Dense((d, h, 1), "relu", bias=False)
    parameters = network.initialize(seed, members, dtype=torch.float64)
    parameters["weight1"][0, 0] = 0  # a neuron at its kink rests
    rates = {
        "weight1": np.linspace(0.02, 0.05, members),
        "weight2": np.linspace(0.06, 0.03, members),
    }
    inputs, targets = data(network, *[members] * own, points, seed=seed)

    def each(m):
        return {"learning_rate": {name: rate[m] for name, rate in rates.items()}}

    found = assert_plain(
        network, parameters, inputs, targets, own, each, learning_rate=rates, steps=7
    )
    assert np.all(found.weight1[0, :, 0] == 0)


# --- gradients by hand ----------------------------------------------------------------------------


@pytest.mark.parametrize("members, own", [(1, False), (3, False), (3, True)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [*by_hand.IN_PLACE, "committee"])
def test_gradients_by_hand(activation, bias, own, members):
    committee = activation == "committee"
    network = (
        Committee(4, 7, "relu", bias) if committee else Dense((4, 7, 6, 3), activation, bias=bias)
    )
    inputs, targets = data(network, *[members] * own, 5)
    parameters = network.initialize(0, members, dtype=torch.float64)
    settings = {"learning_rate": 0.1, "momentum": 0.5, "steps": 3}
    assert by_hand.fits(network, half_squared_error)
    assert_plain(network, parameters, inputs, targets, own, **settings)
    if not committee:
        assert_plain(
            network, parameters, inputs, targets.argmax(-1), own, loss=cross_entropy, **settings
        )


def test_what_is_not_written_out_goes_another_way():
    class Other(Dense):
        """May answer differently."""

    fits = [
        by_hand.fits(network, half_squared_error)
        for network in (Other((4, 7, 3)), Dense((4, 7, 3), "swish"))
    ]
    assert not any(fits) and not by_hand.fits(
        Dense((4, 7, 3)), lambda outputs, targets: half_squared_error(outputs, targets)
    )


# --- which is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "network, points, method, path",
    [
        (Dense((1, 4, 4, 4, 1), skip=True), 2, {}, fused),
        (Dense((1, 4, 1)), loop.MOST_FUSED_POINTS + 1, {}, descent),
        (Dense((1, 4, 1)), 3, {"batch_size": 3}, fused),
        (Dense((1, 4, 1)), 3, {"batch_size": 2}, descent),
        (Dense((1, 4, 1)), 2, {"momentum": 0.5}, descent),
        (Dense((1, 4, 1)), 2, {"schedule": lambda step: 0.5}, descent),
        (Dense((1, 4, 1)), 2, {"weight_decay": 0.5}, descent),
        (
            Dense((1, 4, 1)),
            2,
            {"loss": lambda outputs, targets: half_squared_error(outputs, targets)},
            descent,
        ),
        (Dense((1, 4, 1), dropout=0.1), 2, {}, descent),
        (Dense((1, 4, 1), "erf"), 2, {}, descent),
        (
            Dense((1, 4, 1)),
            2,
            {"draw": lambda member, step: (np.ones((2, 1)), np.ones((2, 1)))},
            descent,
        ),
        (Convolutional(1, 1, 9, 2, 3, 3), 2, {}, descent),
        (Dense((1, 4, 1), "relu", bias=False), 40, {}, two_layer),
        (Dense((1, 4, 2), "relu", bias=False), 2, {}, descent),
        (Dense((1, 4, 4, 1), "relu", bias=False), 2, {}, descent),
    ],
)
def test_which_path_is_taken(network, points, method, path, monkeypatch):
    taken = []
    for module in (fused, two_layer, descent):
        before = module.Stack.__init__
        monkeypatch.setattr(
            module.Stack,
            "__init__",
            lambda self, *a, m=module, b=before: (taken.append(m), b(self, *a))[1],
        )
    inputs, targets = np.linspace(-1, 1, points)[:, None], np.ones((points, network.outputs))
    train(network, network.initialize(0, 3), inputs, targets, learning_rate=0.1, steps=1, **method)
    assert taken == [path] * (1 if path is descent else 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("most", [16, 0])
def test_denormal_numbers_are_flushed(dtype, most, monkeypatch):
    monkeypatch.setattr(loop, "MOST_FUSED_POINTS", most)
    smallest = torch.finfo(dtype).tiny
    network = Dense((1, 9, 9, 9, 1), "linear")
    parameters = network.initialize(
        0, 2, smallest**0.45, dtype=dtype
    )  # the third representation is below the normal range
    for i, name in enumerate(("weight2", "weight4")):
        parameters[name][:, 0] = smallest / 2 ** (i + 3)

    inputs, targets = np.array([[-1.0], [1.0]]), np.array([[smallest**0.3], [0.0]])
    settings = {
        "learning_rate": 0.1,
        "steps": 5,
        "observe": everything,
        "layers": None,
        "record": [1, 5],
    }
    found = train(network, parameters, inputs, targets, **settings)
    for name, values in found.data_vars.items():
        assert not np.any((values != 0) & (np.abs(values) < smallest)), name
    assert np.any(found.hidden0 != 0) and not np.any(found.hidden2)
    assert (
        torch.tensor(smallest, dtype=dtype) / 2 > 0
    )  # the caller's own arithmetic stays as it was


SCRIPT = """
import numpy as np
from lib.networks import Dense
from lib.training import train

network = Dense((1, *[100] * 10, 1), "leaky_relu")
inputs, targets = np.array([[-1.0], [-0.5]]), np.array([[0.6], [1.6]])
print(float(train(network, network.initialize(0), inputs, targets, learning_rate=0.001, steps=300).loss[0, -1]).hex())
"""


@pytest.mark.slow
def test_numbers_do_not_depend_on_who_compiles(tmp_path):
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-c", SCRIPT]
    said = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1] != ""
    assert list(tmp_path.rglob("*.nbc"))
