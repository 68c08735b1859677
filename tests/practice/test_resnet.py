"""The small residual network against a torch.nn model that
is built layer by layer, and what it draws.
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch_models import (
    assert_same_layers,
    assert_trains_alone_or_together,
    assert_variance_of_fan_in,
)

from book.practice.resnet import SmallResNet

NETWORK = SmallResNet(channels=3, kernel=5, point=(2, 8, 8), outputs=4)


class Block(nn.Module):
    def __init__(self, into, out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(into, out, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(out, dtype=torch.float64)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def model(parameters):
    """Return a function of the images that gives outputs and activations."""
    widths = [2, *(NETWORK.channels * np.array([1, 2, 2, 2, 4, 8, 8, 8])).tolist()]
    blocks = [
        Block(into, out, 5 if i == 0 else 3) for i, (into, out) in enumerate(pairwise(widths))
    ]
    for i, block in enumerate(blocks, start=1):
        block.train()
        block.conv.weight.data = parameters[f"weight{i}"]
        block.norm.weight.data, block.norm.bias.data = (
            1 + parameters[f"gain{i}"],
            parameters[f"bias{i}"],
        )

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


def test_the_network_is_layer_by_layer_that_of_torch():
    assert_same_layers(NETWORK, model)


def test_the_network_trains_alone_or_together():
    assert_trains_alone_or_together(NETWORK)


@pytest.mark.parametrize(
    "wrong, message",
    [({"kernel": 4}, "kernel is 4: want an odd side"), ({"point": (3, 7, 32)}, "at least 8")],
)
def test_unfit_sizes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        SmallResNet(**wrong)


def test_sizes_of_the_source():
    assert SmallResNet().shapes()["weight1"] == (64, 3, 15, 15) and SmallResNet().shapes()[
        "readout"
    ] == (10, 512)
    assert SmallResNet(doublings=2).depth == 5 and SmallResNet(doublings=2).shapes()["readout"] == (
        10,
        256,
    )


def test_filters_have_the_variance_of_their_fan_in():
    assert_variance_of_fan_in(SmallResNet(), 1 / 3)
