"""What a caller has set for torch or NumPy changes no number, and stays set."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
import xarray as xr

from book.practice.grokking import transformer_clocks
from book.two_point.measures import two_points
from lib.checks import for_torch
from lib.kernels import ntk
from lib.networks import Committee, Dense, LeNet
from lib.training import cross_entropy, train

RNG = np.random.default_rng(0)
X, Y, LABELS = RNG.normal(size=(20, 4)), RNG.normal(size=(20, 2)), RNG.integers(0, 2, 20)


@contextmanager
def default(set_default, value, usual):
    set_default(value)
    try:
        yield
    finally:
        set_default(usual)


CALLERS = {
    "a default device without numbers": lambda: default(torch.set_default_device, "meta", None),
    "a device without numbers for a while": lambda: torch.device("meta"),
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "a default precision": lambda: default(torch.set_default_dtype, torch.float16, torch.float32),
    "deterministic": lambda: default(torch.use_deterministic_algorithms, True, False),
    "reduced products": lambda: torch.autocast("cpu", torch.bfloat16),
    "errors of floats": lambda: np.errstate(all="raise"),
    "options of xarray": lambda: xr.set_options(arithmetic_join="exact", keep_attrs=True),
}
PATHS = {
    "fused": (Dense((4, 6, 1), "tanh"), X[:5], Y[:5, :1], {}),
    "two_layer": (Dense((4, 6, 1), "relu", bias=False), X, Y[:, :1], {}),
    "by_hand": (Dense((4, 6, 2), "tanh"), X, Y, {"momentum": 0.9, "batch_size": 5}),
    "classes": (Dense((4, 6, 2)), X, LABELS, {"loss": cross_entropy, "optimizer": "adam"}),
    "differentiated": (Committee(4, 3, "erf"), X, Y[:, :1], {"weight_decay": 0.1}),
}


def trained(network, inputs, targets, options):
    """Return the losses, and the kernels that the networks begin with."""
    start = network.initialize(0, 3, dtype=torch.float64)
    given = {"learning_rate": 0.01, "steps": 3, "test": (inputs, targets)}
    run = train(network, start, inputs, targets, **given, **options)
    return run.loss.values, run.test_loss.values, ntk(network, start, inputs).numpy()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("caller", CALLERS)
def test_training_and_kernels_are_the_same_for_any_caller(caller, path):
    wanted = trained(*PATHS[path])
    with CALLERS[caller]():
        before = torch.empty(0).device, torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        found = trained(*PATHS[path])
        after = torch.empty(0).device, torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    assert all(map(np.array_equal, found, wanted))
    assert after == before


def test_kernels_in_single_precision_are_the_same_for_any_caller():
    network = LeNet()
    start, images = network.initialize(), RNG.normal(size=(2, *network.point))
    wanted = ntk(network, start, images)
    for precision in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", precision):
            assert torch.equal(ntk(network, start, images), wanted)
            assert torch.is_autocast_enabled("cpu")


def test_tensors_of_inference_are_points_and_parameters():
    network, inputs, targets, options = PATHS["differentiated"]
    start = network.initialize(0, 3, dtype=torch.float64)
    with torch.inference_mode():
        theirs = {name: value.clone() for name, value in start.items()}
        points = torch.tensor(inputs)
    runs = [
        train(network, begin, x, targets, learning_rate=0.01, steps=3, **options)
        for begin, x in ((start, inputs), (theirs, points))
    ]
    assert runs[0].equals(runs[1])
    assert torch.equal(ntk(network, theirs, points), ntk(network, start, inputs))
    assert not for_torch("points", points).is_inference()


def test_experiments_are_the_same_for_any_caller():
    given = {"alpha": [1.0], "tau": [1.0], "seed": [0], "steps": 1, "looks": 1, "p": 3}
    wanted = transformer_clocks(**given)
    with torch.device("meta"):
        assert transformer_clocks(**given).equals(wanted)
        observe = two_points(np.eye(2))
    hidden = torch.ones(1, 2, 3)
    assert observe({}, torch.ones(1, 2, 2), [hidden])["w"][1].device.type == "cpu"
