"""LeNet-5 and the small residual network against torch.nn models that are built layer by layer, and what they draw."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import vmap

from lib.kernels import ntk
from lib.measures import accuracy
from lib.networks.convolutional import LeNet, SmallResNet
from lib.training import cross_entropy, train

SMALL = dict(channels=3, kernel=5, point=(2, 8, 8), outputs=4)
NETWORKS = {
    "lenet": LeNet(outputs=4),
    "resnet": SmallResNet(**SMALL),
}
every = pytest.mark.parametrize("name", NETWORKS)


def drawn(network, members=2):
    """Draw float64 parameters, biases and gains, too: where they are zero they hide mistakes."""
    parameters = network.initialize(1, members, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    return {n: v if v.ndim > 2 else 0.3 * torch.randn(v.shape, generator=rng, dtype=v.dtype) for n, v in parameters.items()}


def member(parameters, m):
    return {name: value[m] for name, value in parameters.items()}


def images(network, count=5):
    return torch.from_numpy(np.random.default_rng(0).normal(size=(count, *network.point)))


def lenet_model(parameters):
    sizes = (nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 4))
    for i, layer in enumerate(sizes, start=1):
        layer.weight.data, layer.bias.data = parameters[f"weight{i}"], parameters[f"bias{i}"]
    first, second, third, fourth, last = sizes
    pool, relu = nn.MaxPool2d(2), nn.ReLU()
    return nn.Sequential(first, relu, pool, second, relu, pool, nn.Flatten(), third, relu, fourth, relu, last), (1, 4, 8, 10)


class Block(nn.Module):
    def __init__(self, into, out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(into, out, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(out, dtype=torch.float64)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def resnet_model(network, parameters):
    """Return a function of the images that gives outputs and activations."""
    widths = [2, *(network.channels * np.array([1, 2, 2, 2, 4, 8, 8, 8])).tolist()]
    blocks = [Block(into, out, 5 if i == 0 else 3) for i, (into, out) in enumerate(pairwise(widths))]
    for i, block in enumerate(blocks, start=1):
        block.train()
        block.conv.weight.data = parameters[f"weight{i}"]
        block.norm.weight.data, block.norm.bias.data = 1 + parameters[f"gain{i}"], parameters[f"bias{i}"]

    def forward(x):
        first = blocks[0](x)
        second = blocks[1](first)
        small = nn.functional.max_pool2d(second, 2)
        third = blocks[2](small)
        fourth = blocks[3](third)
        fifth = blocks[4](small + fourth)
        sixth = blocks[5](nn.functional.max_pool2d(fifth, 2))
        smallest = nn.functional.max_pool2d(sixth, 2)
        seventh = blocks[6](smallest)
        eighth = blocks[7](seventh)
        features = nn.functional.adaptive_max_pool2d(smallest + eighth, 1).flatten(1)
        seen = (first, second, third, fourth, fifth, sixth, seventh, eighth)
        return 0.125 * features @ parameters["readout"].T, [h.flatten(1) for h in seen]

    return forward


def test_lenet_is_layer_by_layer():
    network, parameters = NETWORKS["lenet"], drawn(NETWORKS["lenet"])
    x = images(network)
    model, where = lenet_model(member(parameters, 1))
    outputs, hidden = network(member(parameters, 1), x)
    h, seen = x, []
    for number, layer in enumerate(model):
        h = layer(h)
        if number in where:
            seen.append(h.flatten(1))
    torch.testing.assert_close(outputs, h)
    for found, expected in zip(hidden, seen, strict=True):
        torch.testing.assert_close(found, expected)


def test_the_residual_network_is_block_by_block():
    network, parameters = NETWORKS["resnet"], drawn(NETWORKS["resnet"])
    x = images(network)
    outputs, hidden = network(member(parameters, 0), x)
    expected, seen = resnet_model(network, member(parameters, 0))(x)
    torch.testing.assert_close(outputs, expected)
    for found, wanted in zip(hidden, seen, strict=True):
        torch.testing.assert_close(found, wanted)


@every
def test_hidden_layers_that_are_asked_for(name):
    network, parameters = NETWORKS[name], member(drawn(NETWORKS[name]), 0)
    _, all_layers = network(parameters, images(network))
    assert len(all_layers) == network.depth
    _, chosen = network(parameters, images(network), (2, 0))
    torch.testing.assert_close(chosen, [all_layers[2], all_layers[0]])
    assert network(parameters, images(network), ())[1] == []


@every
def test_many_members_in_one_program(name):
    network, parameters = NETWORKS[name], drawn(NETWORKS[name])
    x = images(network)
    together = vmap(lambda p: network(p, x, ())[0])(parameters)
    for m in range(2):
        torch.testing.assert_close(together[m], network(member(parameters, m), x)[0])


def test_sizes_of_the_source():
    assert sum(np.prod(shape) for shape in LeNet().shapes().values()) == 61_706
    assert SmallResNet().shapes()["weight1"] == (64, 3, 15, 15) and SmallResNet().shapes()["readout"] == (10, 512)
    assert SmallResNet(doublings=2).depth == 5 and SmallResNet(doublings=2).shapes()["readout"] == (10, 256)


@pytest.mark.parametrize("network, factor", [(LeNet(), 2.0), (SmallResNet(), 1 / 3)])
def test_weights_have_the_variance_of_their_fan_in_and_the_rest_is_zero(network, factor):
    for name, value in network.initialize(3, 1).items():
        if value.ndim == 2:
            assert not name.startswith("weight") and not value.any()
        else:
            fan_in = np.prod(value.shape[2:])
            spread = 5 * np.sqrt(2 / value.numel())
            np.testing.assert_allclose(value.var().item() * fan_in, factor, rtol=spread)


@every
def test_what_a_member_draws_depends_on_seed_and_member_only(name):
    network = NETWORKS[name]
    few, many = network.initialize(5, 1), network.initialize(5, 3)
    assert all(torch.equal(few[n][0], many[n][0]) for n in few)
    assert not torch.equal(many["weight1"][0], many["weight1"][1])
    assert not torch.equal(network.initialize(6, 1)["weight1"], few["weight1"])


def test_lenet_without_biases_is_homogeneous_in_each_layer():
    network = NETWORKS["lenet"]
    parameters = member(network.initialize(0, 1, dtype=torch.float64), 0)
    x = images(network)
    before = network(parameters, x)[0]
    for n in ("weight1", "weight5"):
        torch.testing.assert_close(network({**parameters, n: 3 * parameters[n]}, x)[0], 3 * before)


def test_normalization_hides_the_scale_of_the_first_layer():
    network, parameters = NETWORKS["resnet"], member(drawn(NETWORKS["resnet"]), 0)
    x = images(network)
    scaled = network({**parameters, "weight1": 30 * parameters["weight1"]}, x)[0]
    torch.testing.assert_close(scaled, network(parameters, x)[0], rtol=0, atol=1e-3)
    assert not torch.allclose(
        network(parameters, x)[0][:2], network(parameters, x[:2])[0]
    )  # its statistics are those of the call


@every
def test_they_train_in_the_engine_alone_or_together(name):
    network = NETWORKS[name]
    x, labels = images(network, 12).float(), torch.arange(12) % 4
    options = dict(learning_rate=0.02, steps=8, batch_size=6, loss=cross_entropy, metrics={"accuracy": accuracy}, record=[0, 8])
    both = train(network, network.initialize(0, 2), x, labels, **options)
    alone = train(network, network.initialize(0, 1), x, labels, **options)
    assert np.all(both.loss[:, 1] < both.loss[:, 0])
    np.testing.assert_allclose(both.loss[0], alone.loss[0], rtol=1e-5)


def test_the_tangent_kernel_of_lenet_is_that_of_its_gradients():
    network = LeNet(outputs=3)
    parameters, x = drawn(network, 1), images(network, 4)
    leaves = {name: value[0].requires_grad_() for name, value in parameters.items()}
    rows = []
    for output in network(leaves, x, ())[0].flatten():
        gradients = torch.autograd.grad(output, list(leaves.values()), retain_graph=True)
        rows.append(torch.cat([g.flatten() for g in gradients]))
    full = torch.stack(rows) @ torch.stack(rows).T  # (points · outputs)²
    expected = full.view(4, 3, 4, 3).diagonal(dim1=1, dim2=3).sum(-1)
    torch.testing.assert_close(ntk(network, parameters, x)[0], expected.detach())


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: SmallResNet(kernel=4), "kernel is 4: want an odd side"),
        (lambda: SmallResNet(point=(3, 7, 32)), "at least 8"),
        (lambda: SmallResNet(point=(32, 32)), "want colours"),
        (lambda: LeNet()(member(LeNet().initialize(), 0), torch.zeros(1, 1, 28, 28), (4,)), "layer 4"),
    ],
    ids=["kernel", "sides", "axes", "layer"],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
