"""The architectures against torch.nn models that are built layer by layer, and what they draw."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lib.networks import ACTIVATIONS, Committee, Convolutional, Dense, LeNet


class Erf(nn.Module):
    def forward(self, z):
        return torch.erf(z / 2**0.5)


MODULES = {
    "linear": nn.Identity,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "swish": nn.SiLU,
    "sigmoid": nn.Sigmoid,
    "erf": Erf,
}
seeds = st.integers(0, 2**32 - 1)


def drawn(network, members=2, gain=1.3):
    """Draw float64 parameters, and biases too, which would hide mistakes if they were zero."""
    parameters = network.initialize(1, members, gain, torch.float64)
    rng = torch.Generator().manual_seed(0)
    return {
        n: v if v.ndim > 2 else torch.randn(v.shape, generator=rng, dtype=v.dtype)
        for n, v in parameters.items()
    }


def member(parameters, m):
    return {name: value[m] for name, value in parameters.items()}


def dense_model(network, parameters, inputs, drop=None):
    """Apply nn.Linear and a nonlinearity by turns; `drop`
    holds a mask for the input of each layer.
    """
    sigma, h, hidden = MODULES[network.activation](), inputs, []
    for i, (into, out) in enumerate(
        zip(network.widths[:-1], network.widths[1:], strict=True), start=1
    ):
        linear = nn.Linear(into, out, dtype=inputs.dtype)
        linear.weight.data, linear.bias.data = parameters[f"weight{i}"], parameters[f"bias{i}"]
        h = linear(h if drop is None else h * drop[i - 1])
        if i < len(network.widths) - 1:
            h = sigma(h)
            if network.skip and i >= 3:
                h = h + hidden[-2]
            hidden.append(h)
    return h, hidden


def convolutional_model(network, parameters, inputs):
    sigma, hidden = MODULES[network.activation](), []
    h = sigma(inputs @ parameters["weight1"].T + parameters["bias1"])
    hidden.append(h)
    h = h.reshape(len(inputs), 1, network.units)
    for i in range(2, network.convolutions + 2):
        layer = nn.Conv1d(
            h.shape[1],
            network.channels if i < network.convolutions + 1 else 1,
            network.kernel,
            dtype=h.dtype,
        )
        layer.weight.data, layer.bias.data = parameters[f"weight{i}"], parameters[f"bias{i}"]
        h = sigma(layer(h))
        hidden.append(h.reshape(len(inputs), -1))
    last = network.convolutions + 2
    return hidden[-1] @ parameters[f"weight{last}"].T + parameters[f"bias{last}"], hidden


def assert_same(found, expected):
    (output, hidden), (wanted, layers) = found, expected
    torch.testing.assert_close(output, wanted, rtol=1e-12, atol=1e-12)
    assert len(hidden) == len(layers)
    for h, layer in zip(hidden, layers, strict=True):
        torch.testing.assert_close(h, layer, rtol=1e-12, atol=1e-12)


@given(
    seed=seeds,
    widths=st.lists(st.integers(1, 6), min_size=3, max_size=6),
    activation=st.sampled_from(list(ACTIVATIONS)),
    skip=st.booleans(),
)
@settings(max_examples=60)
def test_dense_is_linear_layers_and_a_nonlinearity(seed, widths, activation, skip):
    """With inputs of each member's own, or with those that all share."""
    hidden = [widths[1]] * (len(widths) - 2) if skip else widths[1:-1]
    network = Dense((widths[0], *hidden, widths[-1]), activation, skip=skip)
    parameters, inputs = (
        drawn(network),
        torch.from_numpy(np.random.default_rng(seed).normal(size=(2, 3, widths[0]))),
    )
    own, shared = network(parameters, inputs), network(parameters, inputs[0])
    for m in range(2):
        for (outputs, layers), x in ((own, inputs[m]), (shared, inputs[0])):
            expected = dense_model(network, member(parameters, m), x)
            assert_same((outputs[m], [h[m] for h in layers]), expected)
            assert_same(network(member(parameters, m), x), expected)  # one member needs no axis


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_activations_are_torchs(activation):
    z = torch.tensor(
        [-40.0, -3.0, -0.5, 0.0, 1e-3, 2.0, 40.0], dtype=torch.float64, requires_grad=True
    )
    ours, theirs = ACTIVATIONS[activation](z), MODULES[activation]()(z)
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-15)
    torch.testing.assert_close(
        torch.autograd.grad(ours.sum(), z)[0],
        torch.autograd.grad(theirs.sum(), z)[0],
        rtol=1e-13,
        atol=1e-15,
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", [3, 17])
def test_an_activation_rounds_an_entry_the_same_wherever_it_stands(activation, size):
    """Torch's own elu and silu do not, and a member's
    result would depend on who trains beside it.
    """
    for dtype in (torch.float32, torch.float64):
        z = torch.randn(
            7 * size, generator=torch.Generator().manual_seed(0), dtype=dtype
        ).requires_grad_()
        together = ACTIVATIONS[activation](z)
        slopes = torch.autograd.grad(together.sum(), z)[0]
        for i in range(0, 7 * size, size):
            part = z.detach()[i : i + size].clone().requires_grad_()
            alone = ACTIVATIONS[activation](part)
            assert torch.equal(alone, together[i : i + size])
            assert torch.equal(torch.autograd.grad(alone.sum(), part)[0], slopes[i : i + size])


def test_dropout_masks_scale_what_stays_before_each_layer():
    network = Dense((3, 50, 60, 2), "tanh", dropout=0.25)
    masks = network.masks(np.random.default_rng(0), 40)
    assert masks.shape == (40, 3 + 50 + 60) and masks.dtype == np.float32
    assert set(np.unique(masks)) == {0, np.float32(1 / 0.75)}
    assert abs(np.mean(masks == 0) - 0.25) < 0.02
    assert (
        np.ptp(np.mean(masks == 0, axis=0)) > 0 and np.ptp(np.mean(masks == 0, axis=1)) > 0
    )  # points and units apart
    parameters, inputs = drawn(network), torch.randn(40, 3, dtype=torch.float64)
    stay = torch.from_numpy(masks).double()
    drop = [stay[:, :3], stay[:, 3:53], stay[:, 53:]]
    outputs, hidden = network(parameters, inputs, None, stay.expand(2, -1, -1))
    for m in range(2):
        assert_same(
            (outputs[m], [h[m] for h in hidden]),
            dense_model(network, member(parameters, m), inputs, drop),
        )
    assert_same(
        network(member(parameters, 1), inputs), dense_model(network, member(parameters, 1), inputs)
    )  # none, none dropped


def test_convolutional_is_conv1d():
    network = Convolutional(2, 3, units=14, convolutions=3, channels=4, kernel=3, activation="elu")
    parameters, inputs = member(drawn(network), 1), torch.randn(5, 2, dtype=torch.float64)
    outputs, hidden = network(parameters, inputs)
    assert outputs.shape == (5, 3) and [h.shape for h in hidden] == [
        (5, 14),
        (5, 4 * 12),
        (5, 4 * 10),
        (5, 8),
    ]
    assert_same((outputs, hidden), convolutional_model(network, parameters, inputs))


@pytest.mark.parametrize(("activation", "bias"), [("relu", False), ("erf", True)])
def test_a_committee_is_the_mean_of_its_neurons(activation, bias):
    network = Committee(4, 3, activation, bias)
    parameters, inputs = drawn(network), torch.randn(5, 4, dtype=torch.float64)
    outputs, (hidden,) = network(parameters, inputs)
    assert outputs.shape == (2, 5, 1) and network.outputs == network.depth == 1
    for m, k in np.ndindex(2, 3):
        z = inputs @ parameters["weight1"][m, k] + (parameters["bias1"][m, k] if bias else 0)
        torch.testing.assert_close(
            hidden[m, :, k], MODULES[activation]()(z), rtol=1e-12, atol=1e-12
        )
    torch.testing.assert_close(outputs[..., 0], hidden.mean(-1))
    assert network(parameters, inputs, ())[1] == []
    assert set(network.shapes()) == {"weight1", "bias1"} if bias else {"weight1"}


@pytest.mark.parametrize("network", [Dense((2, 4, 5, 6, 1)), Convolutional(2, 1, 9, 2, 3, 3)])
def test_hidden_layers_that_are_asked_for(network):
    parameters, inputs = member(drawn(network), 0), torch.randn(3, 2, dtype=torch.float64)
    everything = network(parameters, inputs)[1]
    assert network.depth == len(everything) == 3
    for asked in (0, 2, (2, 0), (), None, np.int64(1), [1]):
        expected = range(3) if asked is None else np.atleast_1d(np.array(asked, int))
        hidden = network(parameters, inputs, asked)[1]
        assert len(hidden) == len(expected)
        assert all(
            torch.equal(h, everything[layer]) for h, layer in zip(hidden, expected, strict=True)
        )


@pytest.mark.parametrize(
    "network",
    [Dense((2, 3, 1)), Convolutional(1, 1, 30, 2), Committee(4, 3, bias=True), LeNet(4)],
    ids=lambda network: type(network).__name__,
)
def test_what_a_member_draws_depends_on_seed_and_member_only(network):
    few, many, double = (
        network.initialize(5, 1),
        network.initialize(5, 3),
        network.initialize(5, 1, dtype=torch.float64),
    )
    for name, value in few.items():
        assert torch.equal(value[0], many[name][0])
        assert (
            value.dtype == torch.float32
            and double[name].dtype == torch.float64
            and torch.equal(value, double[name].float())
        )
    name = next(iter(few))
    assert not torch.equal(many[name][0], many[name][1]) and not torch.equal(
        network.initialize(6, 1)[name], few[name]
    )


def test_weights_have_xaviers_variance_and_biases_are_zero():
    gain = np.array([0.3, 2.0])
    for network in (Dense((60, 90, 120, 50)), Convolutional(40, 30, 230, 3, 20, 11)):
        parameters = network.initialize(0, 2, gain)
        for name, value in parameters.items():
            if name.startswith("bias"):
                assert not value.any()
                continue
            fans = nn.init._calculate_fan_in_and_fan_out(value[0])
            for m in range(2):
                z = value[m].double() / (gain[m] * np.sqrt(2 / sum(fans)))
                error = 4.5 / np.sqrt(z.numel())
                assert abs(z.mean()) < error and abs(z.var() - 1) < 2**0.5 * error
                assert abs((z**4).mean() - 3) < 96**0.5 * error  # normal
