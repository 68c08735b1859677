"""LeNet-5 against a torch.nn model that is built layer by layer, and what it draws."""

import numpy as np
import torch
from torch import nn

from lib.networks import LeNet
from lib.training import cross_entropy, train

NETWORK = LeNet(outputs=4)


def drawn(members=2):
    """Draw float64 parameters, biases and gains, too: where they are zero they hide mistakes."""
    parameters = NETWORK.initialize(1, members, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    return {
        n: v if v.ndim > 2 else 0.3 * torch.randn(v.shape, generator=rng, dtype=v.dtype)
        for n, v in parameters.items()
    }


def member(parameters, m):
    return {name: value[m] for name, value in parameters.items()}


def images(count=5):
    return torch.from_numpy(np.random.default_rng(0).normal(size=(count, *NETWORK.point)))


def model(parameters):
    """Return a function of the images that gives outputs and activations."""
    sizes = (
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Conv2d(6, 16, 5),
        nn.Linear(400, 120),
        nn.Linear(120, 84),
        nn.Linear(84, 4),
    )
    for i, layer in enumerate(sizes, start=1):
        layer.weight.data, layer.bias.data = parameters[f"weight{i}"], parameters[f"bias{i}"]
    first, second, third, fourth, last = sizes

    def forward(x):
        maps = [torch.relu(first(x))]
        maps.append(torch.relu(second(nn.functional.max_pool2d(maps[0], 2))))
        units = [torch.relu(third(nn.functional.max_pool2d(maps[1], 2).flatten(1)))]
        units.append(torch.relu(fourth(units[0])))
        return last(units[1]), [*(h.flatten(1) for h in maps), *units]

    return forward


def test_lenet_is_layer_by_layer_that_of_torch():
    parameters, x = drawn(), images()
    for m in range(2):
        outputs, hidden = NETWORK(member(parameters, m), x)
        expected, seen = model(member(parameters, m))(x)
        torch.testing.assert_close([outputs, *hidden], [expected, *seen])
        assert len(hidden) == NETWORK.depth
        torch.testing.assert_close(NETWORK(member(parameters, m), x, (2, 0))[1], [seen[2], seen[0]])


def test_lenet_trains_alone_or_together():
    x, labels = images(12).float(), torch.arange(12) % 4
    options = dict(learning_rate=0.02, steps=8, batch_size=6, loss=cross_entropy, record=[0, 8])
    both = train(NETWORK, NETWORK.initialize(0, 2), x, labels, **options)
    alone = train(NETWORK, NETWORK.initialize(0, 1), x, labels, **options)
    assert np.all(both.loss[:, 1] < both.loss[:, 0])
    np.testing.assert_allclose(both.loss[0], alone.loss[0], rtol=1e-5)


def test_lenet_has_the_size_of_the_source():
    assert sum(np.prod(shape) for shape in LeNet().shapes().values()) == 61_706


def test_weights_of_lenet_have_the_variance_of_their_fan_in():
    for name, value in LeNet().initialize(3, 1).items():
        if value.ndim == 2:
            assert not name.startswith("weight") and not value.any()
        else:
            fan_in = np.prod(value.shape[2:])
            spread = 5 * np.sqrt(2 / value.numel())
            np.testing.assert_allclose(value.var().item() * fan_in, 2.0, rtol=spread)
