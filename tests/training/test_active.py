"""Members that stop or diverge: they are dropped from the stack, and the others' numbers stay the same."""

import numpy as np
import pytest
import torch

from lib.networks import Convolutional, Dense
from lib.training import descent, half_squared_error, train

RATES = np.array([0.02, 0.3, 0.1, 0.05, 0.2])


def weights(parameters, outputs, hidden):
    seen = parameters | {"outputs": outputs} | {f"hidden{i}": h for i, h in enumerate(hidden)}
    return {name: (tuple(f"{name}{axis}" for axis in range(1, each.ndim)), each) for name, each in seen.items()}


def data(points, *members):
    rng = np.random.default_rng(0)
    return rng.normal(size=(*members, points, 3)), rng.normal(size=(*members, points, 2))


def assert_stopped(found, free, stops, rtol=0.0):
    """Each member is as it was without stopping, until its stop, and then as it was there."""
    for m, end in enumerate(stops):
        assert found.stopped[m] == (-1 if end is None else free.step[end])
        last = free.sizes["step"] - 1 if end is None else end
        kept = free.isel(member=m, step=np.minimum(np.arange(free.sizes["step"]), last)).assign_coords(step=free.step)
        for name in set(free.data_vars) - {"stopped", "diverged"}:
            np.testing.assert_allclose(found[name][m], kept[name], rtol=rtol, atol=rtol, err_msg=f"{name} of {m}")


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
def test_who_goes_on_is_the_same_on_a_cpu_bitwise_without_adam(name, method, dtype, own):
    network, method, (inputs, targets) = NETWORKS[name], METHODS[method], data(12, *[5] * own)
    parameters = network.initialize(0, 5, dtype=dtype)
    rates = RATES / (10 if "optimizer" in method else 3)
    settings = {"learning_rate": rates, "steps": 24, "record": np.arange(0, 25, 3), "observe": weights, "layers": None} | method
    settings |= {"test": (inputs[..., :9, :], targets[..., :9, :]), "metrics": {"far": lambda y, t: (y - t).abs().amax((-1, -2))}}
    free = train(network, parameters, inputs, targets, **settings)
    for leaving in (1, 3, 4):  # one of five goes on alone
        bound = float(np.sort(free.test_far.min("step"))[leaving])
        found = train(network, parameters, inputs, targets, stop_when=lambda seen, to=bound: seen["test_far"] < to, **settings)
        below = free.test_far.values < bound
        # Adam's fused products and sums round the last few entries of an array another way.
        rtol = 0 if "optimizer" not in method else 1e-4 if dtype == torch.float32 else 1e-11
        assert_stopped(found, free, [int(row.argmax()) if row.any() else None for row in below], rtol)
        assert np.sum(found.stopped >= 0) == leaving


def test_losses_may_know_members_by_their_places():
    """As in f = τ · network: with the τ of each member."""
    network, (inputs, targets) = Dense((3, 7, 2), "tanh"), data(7)
    scale = torch.tensor([1.0, 2.0, 3.0, 0.5]).view(-1, 1, 1).double()

    def loss(outputs, targets):
        return half_squared_error(scale * outputs, targets)

    settings = {"learning_rate": 0.05, "optimizer": "adam", "steps": 20, "loss": loss}
    parameters = network.initialize(0, 4, dtype=torch.float64)
    free = train(network, parameters, inputs, targets, **settings)
    bound = float(np.sort(free.loss.min("step"))[2])
    found = train(network, parameters, inputs, targets, stop_below=bound, **settings)
    below = free.loss.values < bound
    assert_stopped(found, free, [int(row.argmax()) if row.any() else None for row in below], 1e-11)


def test_nothing_is_computed_for_those_who_have_left(monkeypatch):
    network, (inputs, targets) = Dense((3, 7, 2), "tanh"), data(7, 5)
    sizes, drawn, before = [], [], descent.call

    def call(network, parameters, data, *rest):
        sizes.append((len(parameters["weight1"]), len(data.inputs)))
        return before(network, parameters, data, *rest)

    monkeypatch.setattr(descent, "call", call)

    def draw(member, step):
        drawn.append((step, member))
        return np.ones((2, 3)), np.ones((2, 2))

    at = {2: [1], 4: [4], 6: [0, 3]}

    def stop_when(seen):
        return np.isin(np.arange(5), at.get(next(steps), []))

    steps = iter(range(0, 10))
    rates = [0.1, 0.1, 0.1, 0.1, 0.1]
    found = train(
        network, network.initialize(0, 5), inputs, targets, learning_rate=rates, steps=9, draw=draw, stop_when=stop_when
    )
    assert found.stopped.values.tolist() == [6, 2, -1, 6, 4]
    inside = {step: {m for s, m in drawn if s == step} for step in range(9)}
    assert [inside[step] for step in (1, 2, 4)] == [{0, 1, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3}]
    assert all(len(inside[step]) == 2 and 2 in inside[step] for step in (6, 7, 8))  # with one that has stopped
    assert all(members == own for members, own in sizes[1::2])  # while looking, at data of their own
    assert sizes[-1] == (2, 2)


@pytest.mark.parametrize(
    "stop_when, message",
    [
        (lambda seen: seen["accuracy"] > 0.9, "stop_when asks for 'accuracy': recorded are loss"),
        (lambda seen: seen["loss"], r"stop_when gives float32 \(2,\): want a mask \(2,\)"),
    ],
)
def test_bad_conditions_are_refused(stop_when, message):
    network, (inputs, targets) = Dense((3, 4, 2), "erf"), data(5)
    with pytest.raises(ValueError, match=message):
        train(network, network.initialize(0, 2), inputs, targets, learning_rate=0.1, steps=2, stop_when=stop_when)
