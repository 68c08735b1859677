"""Members that stop or diverge: they are dropped from the
stack, and the others' numbers stay the same.
"""

import numpy as np
import pytest
import torch
from observing import everything

from lib.networks import Convolutional, Dense
from lib.training import train

RATES = np.array([0.02, 0.3, 0.1, 0.05, 0.2])


def data(points, *members):
    rng = np.random.default_rng(0)
    return rng.normal(size=(*members, points, 3)), rng.normal(size=(*members, points, 2))


def assert_stopped(found, free, stops, rtol=0.0):
    """Each member is as it was without stopping, until its stop, and then as it was there."""
    for m, end in enumerate(stops):
        assert found.stopped[m] == (-1 if end is None else free.step[end])
        last = free.sizes["step"] - 1 if end is None else end
        kept = free.isel(
            member=m, step=np.minimum(np.arange(free.sizes["step"]), last)
        ).assign_coords(step=free.step)
        for name in set(free.data_vars) - {"stopped", "diverged"}:
            np.testing.assert_allclose(
                found[name][m], kept[name], rtol=rtol, atol=rtol, err_msg=f"{name} of {m}"
            )


NETWORKS = {
    "dense": Dense((3, 7, 2), "tanh"),
    "dropout": Dense((3, 6, 2), "tanh", dropout=0.3),
    "convolutional": Convolutional(3, 2, 13, 3, 4, 3, "elu"),
}
METHODS = {
    "plain": {},
    "adam": {"optimizer": "adam", "weight_decay": 0.1},
    "batches": {"momentum": 0.5, "batch_size": 3, "weight_decay": [0, 0.1, 0.2, 0, 0.3]},
}


@pytest.mark.parametrize(
    "name, method, dtype, own",
    [  # each two of a network, a method, a precision and data of their own meet once
        ("dense", "plain", torch.float32, True),
        ("dense", "adam", torch.float64, False),
        ("dense", "batches", torch.float64, True),
        ("dropout", "plain", torch.float64, False),
        ("dropout", "adam", torch.float32, True),
        ("dropout", "batches", torch.float32, False),
        ("convolutional", "plain", torch.float64, True),
        ("convolutional", "adam", torch.float64, True),
        ("convolutional", "batches", torch.float32, False),
    ],
)
def test_who_goes_on_is_the_same_bitwise(name, method, dtype, own):
    network, method, (inputs, targets) = NETWORKS[name], METHODS[method], data(12, *[5] * own)
    parameters = network.initialize(0, 5, dtype=dtype)
    rates = RATES / (10 if "optimizer" in method else 3)
    settings = {"learning_rate": rates, "steps": 24, "record": np.arange(0, 25, 3)} | method
    settings |= {
        "test": (inputs[..., :9, :], targets[..., :9, :]),
        "metrics": {"far": lambda y, t: (y - t).abs().amax((-1, -2))},
    }
    settings |= {"observe": everything, "layers": None}
    free = train(network, parameters, inputs, targets, **settings)
    for leaving in (1, 3, 4):  # one of five goes on alone
        bound = float(np.sort(free.test_far.min("step"))[leaving])
        found = train(
            network,
            parameters,
            inputs,
            targets,
            stop_when=lambda seen, to=bound: seen["test_far"] < to,
            **settings,
        )
        below = free.test_far.values < bound
        # Adam's fused products and sums round the last few entries of an array another way.
        rtol = 0 if "optimizer" not in method else 1e-4 if dtype == torch.float32 else 1e-11
        assert_stopped(
            found, free, [int(row.argmax()) if row.any() else None for row in below], rtol
        )
        assert np.sum(found.stopped >= 0) == leaving
