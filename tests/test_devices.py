"""The code for a GPU on a machine without one: networks, losses, observables, kernels, optimizers,
experiments on another device.

The other device holds its numbers on the CPU and refuses what CUDA refuses (`elsewhere`).
"""

import importlib
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from elsewhere import There, elsewhere
from sample_networks import Normalized, Words

from book.piecewise_linear import tangent_kernels
from book.practice import measures as practice_measures
from book.practice import pictures
from book.two_point import measures as two_point_measures
from book.two_point.settings import Setting
from lib import kernels, measures
from lib.networks import Committee, Convolutional, Dense, LeNet
from lib.training import cross_entropy, half_squared_error, loop, train
from lib.training.schedules import warm_up

NETWORKS = {
    "Dense": Dense((3, 6, 6, 6, 2), "swish", skip=True),
    "dropout": Dense((3, 6, 2), "tanh", dropout=0.3),
    "two_layer": Dense((3, 6, 1), "relu", bias=False),
    "Committee": Committee(3, 4, "erf", bias=True),
    "Convolutional": Convolutional(
        3, 2, units=13, convolutions=3, channels=4, kernel=3, activation="elu"
    ),
    "LeNet": LeNet(3),
    "Normalized": Normalized(),
    "Words": Words(),
}
CLASSIFY = ("LeNet", "Normalized", "Words")
METHODS = {
    "descent": {"learning_rate": 0.05, "weight_decay": 0.1},
    "plain": {"learning_rate": [0.05, 0.03, 0.02, 0.04]},
    "momentum": {
        "learning_rate": 0.02,
        "momentum": 0.9,
        "nesterov": True,
        "batch_size": 4,
        "schedule": warm_up(3),
    },
    "adam": {
        "learning_rate": 0.01,
        "optimizer": "adam",
        "weight_decay": [0, 0.1, 1, 2],
        "batch_size": 5,
    },
}


CASES = [*zip(NETWORKS, 2 * [*METHODS], strict=True)]  # each network, each method


def in_this_thread(*args, **options):
    """Stand in for the pool of threads of `train`."""
    return nullcontext(SimpleNamespace(map=map))


@pytest.fixture
def there(monkeypatch):
    monkeypatch.setattr(loop, "ThreadPoolExecutor", in_this_thread)
    with elsewhere() as device:
        yield device


def points(name, *members):
    """Return inputs and targets, as arrays of NumPy."""
    rng, network = np.random.default_rng(0), NETWORKS[name]
    shape = (*members, 7, *network.point)
    inputs = (
        rng.normal(size=shape)
        if network.tokens is None
        else rng.integers(network.tokens, size=shape)
    )
    classes = rng.integers(network.outputs, size=(*members, 7))
    return inputs, classes if name in CLASSIFY else rng.normal(size=(*members, 7, network.outputs))


def observe(parameters, outputs, hidden):
    """Observe with all observers of `lib.measures`, and look at what they are given."""
    assert (
        all(isinstance(value, There) for value in (*parameters.values(), outputs, *hidden))
        or outputs.device.type == "cpu"
    )
    first = next(iter(parameters.values())).flatten(1)
    seen = (
        two_point_measures.geometry(parameters, outputs, hidden)
        if hidden[0].shape == hidden[-1].shape
        else {}
    )
    seen |= two_point_measures.two_points(np.eye(outputs.shape[-1])[[0, 0]])(
        parameters, outputs, hidden
    )
    return seen | {
        "ipr": ((), measures.inverse_participation_ratio(first)),
        "first": (("parameter",), first),
    }


def options(name, method):
    classify = name in CLASSIFY
    given = {
        "steps": 6,
        "record": [0, 2, 4, 6],
        "observe": observe,
        "layers": None,
        "loss": half_squared_error,
    } | METHODS[method]
    if classify:
        given |= {"loss": cross_entropy, "metrics": {"accuracy": practice_measures.accuracy}}
    return given


def assert_close(one, other, rtol=1e-9):
    assert {*one.data_vars} == {*other.data_vars}
    for key in one.data_vars:
        if one[key].dtype.kind in "fiub":
            np.testing.assert_allclose(
                one[key], other[key], rtol=rtol, atol=rtol * 1e-2, err_msg=key
            )


@pytest.mark.parametrize(
    ("name", "method"), [*CASES, ("Dense", "momentum"), ("two_layer", "plain"), ("dropout", "adam")]
)
def test_training_there_is_training_here(name, method, monkeypatch):
    """With data of each member's own but for one method; one
    member stops, so that it is taken out of the stack.
    """
    network, settings = NETWORKS[name], options(name, method)
    inputs, targets = points(name, *[4] * (method != "descent"))
    settings["test"] = inputs, targets
    here = network.initialize(0, 4, dtype=torch.float64)
    free = train(network, here, inputs, targets, **settings)
    middle = float(np.sort(free.loss[:, 1:].min("step"))[1]) * (1 + 1e-6)
    expected = train(network, here, inputs, targets, stop_below=middle, **settings)
    monkeypatch.setattr(loop, "ThreadPoolExecutor", in_this_thread)
    with elsewhere() as device:
        away = network.initialize(0, 4, dtype=torch.float64, device=device)
        found = train(network, away, inputs, targets, stop_below=middle, **settings)
    assert 0 < np.sum(found.stopped >= 0) < 4
    assert_close(found, expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_tangent_kernels(name, there):
    network, (inputs, _) = NETWORKS[name], points(name)
    here, away = (
        network.initialize(0, 2, dtype=torch.float64, device=device) for device in ("cpu", there)
    )
    for full in (False, True):
        found = kernels.ntk(network, away, inputs[:2], full=full)
        assert isinstance(found, There)
        np.testing.assert_allclose(
            found.cpu().numpy(),
            kernels.ntk(network, here, inputs[:2], full=full).numpy(),
            rtol=1e-9,
        )
    w, a, x = (torch.randn(*shape).double() for shape in ((2, 4, 3), (2, 4), (5, 3)))
    found = tangent_kernels.two_layer_ntk(w.to(there), a.to(there), x.to(there), 0.1)
    np.testing.assert_allclose(
        found.cpu().numpy(), tangent_kernels.two_layer_ntk(w, a, x, 0.1).numpy(), rtol=1e-12
    )


SMALL = {"setting": Setting(units=3, hidden_layers=2, epochs=2), "trials": 1}
EXPERIMENTS = {  # one of each module, with arguments that take no time
    "book.practice.clocks.lenet_clocks": dict(
        alpha=[1.0],
        seed=[0],
        images=2,
        batch_size=1,
        learning_rate=0.1,
        epochs=1,
        records=1,
        probe=1,
        looked_at=1,
    ),
    "book.gated_linear.experiments.gates_to_rest": dict(
        neurons=1, steps=400, cooling=1, batch=2, sites=4, trials=1, pairs=2
    ),
    "book.practice.levels.lenet_levels": dict(
        alpha=[1.0],
        seed=[0],
        levels=[100.0],
        steps=1,
        batch_size=1,
        learning_rate=0.1,
        probe=1,
        looked_at=1,
    ),
    "book.practice.grokking.transformer_clocks": dict(
        alpha=[1.0], tau=[1.0], seed=[0], steps=1, looks=1, p=3
    ),
    "book.practice.hierarchies.learning_curves": dict(
        points=[4], alpha=[1.0], seeds=[0], features=2, epochs=5, test=3
    ),
    "book.practice.images.photographs": dict(
        alpha=[1.0],
        seed=[0],
        images=64,
        channels=2,
        kernel=3,
        epochs=1,
        batch_size=32,
        looked_at=2,
        looks=2,
    ),
    "lib.experiments.ring.receptive_fields": dict(
        kind="nlgp",
        neurons=1,
        xi=(2, 1),
        gain=3.0,
        learning_rate=0.1,
        steps=1,
        batch=2,
        sites=4,
        trials=1,
    ),
    "book.piecewise_linear.experiments.distances": dict(
        tau=0.5, delta=0.1, seed=0, steps=1, record=[0, 1]
    ),
    "book.two_point.experiments.dynamics": SMALL | {"every": 1},
    "book.two_point.maps.assumption": SMALL | {"records": 1},
}


def few_digits(train=True):
    rng = np.random.default_rng(train)
    return rng.random((64, 784), dtype=np.float32), np.arange(64) % 10


def few_photographs(train=True):
    pixels = np.random.default_rng(train).integers(0, 256, (64, 3, 32, 32), np.uint8)
    return pictures.Pictures(pixels, np.arange(64) % 10, "standard")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_there_are_experiments_here(name, there, monkeypatch):
    monkeypatch.setattr("lib.data.images.mnist", few_digits)
    monkeypatch.setattr("book.practice.pictures.cifar10", few_photographs)
    module, _, function = name.rpartition(".")
    experiment = getattr(importlib.import_module(module), function)
    assert_close(
        *(experiment(**EXPERIMENTS[name], device=device) for device in ("cpu", there)), rtol=1e-3
    )
