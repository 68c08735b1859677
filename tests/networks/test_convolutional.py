"""LeNet-5 against a torch.nn model that is built layer by layer, and what it draws."""

import numpy as np
import torch
from torch import nn
from torch_models import (
    assert_same_layers,
    assert_trains_alone_or_together,
    assert_variance_of_fan_in,
)

from lib.networks import LeNet

NETWORK = LeNet(outputs=4)


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
    assert_same_layers(NETWORK, model)


def test_lenet_trains_alone_or_together():
    assert_trains_alone_or_together(NETWORK)


def test_lenet_has_the_size_of_the_source():
    assert sum(np.prod(shape) for shape in LeNet().shapes().values()) == 61_706


def test_weights_of_lenet_have_the_variance_of_their_fan_in():
    assert_variance_of_fan_in(LeNet(), 2.0)
