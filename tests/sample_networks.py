"""Small networks for tests: of kinds that only chapters have, and two layers of leaky units."""

from dataclasses import dataclass

import torch
from torch.nn.functional import batch_norm, conv2d

from lib.networks import Network


class Normalized(Network):
    """A convolution whose channels are normalized over the
    images of a call, rectified and summed.
    """

    depth, outputs, point = 1, 2, (1, 4, 4)

    def shapes(self):
        return {"weight1": (3, 1, 3, 3), "gain1": (3,), "weight2": (2, 3)}

    def __call__(self, parameters, inputs, layers=None):
        z = conv2d(inputs, parameters["weight1"], padding=1)
        hidden = batch_norm(z, None, None, 1 + parameters["gain1"], training=True).relu()
        outputs = hidden.sum((-2, -1)) @ parameters["weight2"].mT
        return outputs, [hidden.flatten(1) for _ in self.layers(layers)]


class Words(Network):
    """The mean embedding of three of five tokens, and a readout."""

    depth, tokens, outputs, point = 1, 5, 5, (3,)

    def shapes(self):
        return {"embedding": (5, 8), "readout": (5, 8)}

    def __call__(self, parameters, inputs, layers=None):
        hidden = parameters["embedding"][inputs].mean(-2).tanh()
        return hidden @ parameters["readout"].mT, [hidden for _ in self.layers(layers)]


@dataclass(frozen=True)
class TwoLayers:
    """Two layers of leaky units without biases."""

    h: int
    d: int
    gamma: float = 0.0

    def shapes(self):
        return {"weight1": (self.h, self.d), "weight2": (1, self.h)}

    def __call__(self, parameters, inputs, layers=None):
        z = inputs @ parameters["weight1"].mT
        hidden = torch.where(z > 0, z, self.gamma * z)
        return hidden @ parameters["weight2"].mT, [hidden]
