"""The path for two-layer ReLU networks without biases against plain autograd, and when it is taken."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.networks import Dense
from lib.training import half_squared_error, train


def plain_loop(parameters, inputs, targets, rate_w, rate_a, steps):
    """One member, written as a reader would."""
    w, a = parameters["weight1"].clone().requires_grad_(), parameters["weight2"].clone().requires_grad_()
    for _ in range(steps):
        loss = ((torch.relu(inputs @ w.T) @ a.T - targets) ** 2).mean() / 2
        at_w, at_a = torch.autograd.grad(loss, (w, a))
        with torch.no_grad():
            w -= rate_w * at_w
            a -= rate_a * at_a
    return w.detach(), a.detach()


def problem(seed, members, points, d, h, own):
    generator = torch.Generator().manual_seed(seed)
    lead = (members,) if own else ()
    inputs = torch.randn(*lead, points, d, generator=generator, dtype=torch.float64)
    targets = torch.randn(*lead, points, 1, generator=generator, dtype=torch.float64)
    network = Dense((d, h, 1), "relu", bias=False)
    return network, network.initialize(seed, members, dtype=torch.float64), inputs, targets


def final(parameters, outputs, hidden):
    return {"w": (("unit", "input"), parameters["weight1"]), "a": (("unit",), parameters["weight2"][:, 0])}


@given(st.integers(0, 99), st.integers(1, 3), st.integers(1, 40), st.integers(1, 6), st.integers(1, 9), st.booleans())
@settings(max_examples=25, deadline=None)
def test_same_as_plain_autograd(seed, members, points, d, h, own):
    network, parameters, inputs, targets = problem(seed, members, points, d, h, own)
    rate_w, rate_a = np.linspace(0.02, 0.05, members), np.linspace(0.06, 0.03, members)
    rates = {"weight1": rate_w, "weight2": rate_a}
    found = train(network, parameters, inputs, targets, learning_rate=rates, steps=7, record=[0, 7], observe=final)
    for m in range(members):
        mine = {name: value[m] for name, value in parameters.items()}
        data = (inputs[m], targets[m]) if own else (inputs, targets)
        w, a = plain_loop(mine, *data, rate_w[m], rate_a[m], 7)
        np.testing.assert_allclose(found.w[m, -1], w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.a[m, -1], a[0], rtol=1e-9, atol=1e-12)
        outputs = torch.relu(data[0] @ w.T) @ a.T
        np.testing.assert_allclose(found.loss[m, -1], half_squared_error(outputs, data[1]), rtol=1e-9)
        np.testing.assert_array_equal(found.w[m, 0], mine["weight1"])


@pytest.mark.parametrize("points", [1, 104, 105, 250])
def test_points_go_in_tiles(points):
    """At these sizes a tile has 104 points."""
    network, parameters, inputs, targets = problem(5, 1, points, 100, 50, False)
    found = train(network, parameters, inputs, targets, learning_rate=0.1, steps=3, record=[3], observe=final)
    w, a = plain_loop({name: value[0] for name, value in parameters.items()}, inputs, targets, 0.1, 0.1, 3)
    np.testing.assert_allclose(found.w[0, 0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.a[0, 0], a[0], rtol=1e-9, atol=1e-12)


def test_a_neuron_at_its_kink_rests():
    network, parameters, inputs, targets = problem(1, 1, 20, 3, 4, False)
    parameters["weight1"][0, 2] = 0
    found = train(network, parameters, inputs, targets, learning_rate=0.1, steps=5, record=[5], observe=final)
    np.testing.assert_array_equal(found.w[0, 0, 2], 0)
    assert found.a[0, 0, 2] == parameters["weight2"][0, 0, 2]
    w, _ = plain_loop({name: value[0] for name, value in parameters.items()}, inputs, targets, 0.1, 0.1, 5)
    np.testing.assert_allclose(found.w[0, 0], w, rtol=1e-9, atol=1e-12)
