"""Convolutional networks: LeNet-5, a small residual network whose
first filters are large, and convolutions along a line.
"""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import conv1d, conv2d, linear, max_pool2d

from lib.checks import one_of, sizes
from lib.networks.base import ACTIVATIONS, Answer, Layer, Layers, Network, Parameters, Shape, note


@dataclass(frozen=True)
class LeNet(Network):
    """LeNet-5 with rectifiers and maxima: two convolutions, each
    with pooling, two dense layers and a readout.

    6 and 16 channels of 5 × 5 filters, the first ones with a margin of 2, then 120 and 84 units.
    Weights have He's variance, 2 / fan in; biases are zero. The outputs are classes.

    Source: Kunin et al. (2024), appendix, Figure 5 (a); LeCun et al. (1998) for the sizes, with
    full connections between the convolutions.
    """

    by_layer: ClassVar[bool] = True
    point: ClassVar[Shape] = (1, 28, 28)
    depth: ClassVar[int] = 4

    outputs: int = 10

    def __post_init__(self) -> None:
        sizes(outputs=self.outputs)

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        weights = (6, 1, 5, 5), (16, 6, 5, 5), (120, 400), (84, 120), (self.outputs, 84)
        shapes = {}
        for i, shape in enumerate(weights, start=1):
            shapes |= {f"weight{i}": shape, f"bias{i}": shape[:1]}
        return shapes

    def variance(self, shape: Shape) -> float:  # noqa: D102
        return 2 / prod(shape[1:])

    def __call__(
        self,
        parameters: Parameters,
        inputs: Tensor,
        layers: Layers = None,
        passed: list[Layer] | None = None,
    ) -> Answer:
        """Map images (n, 1, 28, 28) to outputs (n, c) and the activations (n, units), before
        pooling, of the hidden `layers`.
        """
        hidden = []
        h = inputs
        for i, margin in ((1, 2), (2, 0)):
            z = conv2d(h, parameters[f"weight{i}"], parameters[f"bias{i}"], padding=margin)
            note(passed, Layer(h, z, margin=margin))
            hidden.append(z.relu())
            h = max_pool2d(hidden[-1], 2)
        h = h.flatten(1)
        for i in (3, 4):
            z = linear(h, parameters[f"weight{i}"], parameters[f"bias{i}"])
            note(passed, Layer(h, z))
            h = z.relu()
            hidden.append(h)
        outputs = linear(h, parameters["weight5"], parameters["bias5"])
        note(passed, Layer(h, outputs))
        return outputs, [hidden[layer].flatten(1) for layer in self.layers(layers)]


@dataclass(frozen=True)
class Convolutional(Network):
    """A linear map onto a line of units, convolutions along
    it without padding, and a linear readout.

    The first convolution opens the channels, the last closes them; each is followed by the
    nonlinearity.

    Attributes
    ----------
    inputs, outputs : dimensions
    units : length of the line
    convolutions, channels, kernel : how many, how wide, how long
    activation : a name in `ACTIVATIONS`

    Source: loekvanrossem/universality; van Rossem & Saxe, Appendix B.1, give channels and kernel.
    """

    inputs: int = 1
    outputs: int = 1
    units: int = 500
    convolutions: int = 11
    channels: int = 20
    kernel: int = 11
    activation: str = "leaky_relu"

    def __post_init__(self) -> None:
        sizes(**{name: value for name, value in vars(self).items() if name != "activation"})
        one_of("activation", self.activation, ACTIVATIONS)
        if self.convolutions < 2 or self.units <= self.convolutions * (self.kernel - 1):
            raise ValueError(
                f"units {self.units}, convolutions {self.convolutions}, kernel {self.kernel}: "
                "want at least 2 convolutions"
                " and units > convolutions · (kernel - 1), since each shortens the line by "
                "kernel - 1"
            )

    @property
    def depth(self) -> int:  # noqa: D102
        return self.convolutions + 1

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        shapes = {"weight1": (self.units, self.inputs), "bias1": (self.units,)}
        for i in range(2, self.convolutions + 2):
            into = 1 if i == 2 else self.channels
            out = 1 if i == self.convolutions + 1 else self.channels
            shapes |= {f"weight{i}": (out, into, self.kernel), f"bias{i}": (out,)}
        left = self.units - self.convolutions * (self.kernel - 1)
        return shapes | {f"weight{i + 1}": (self.outputs, left), f"bias{i + 1}": (self.outputs,)}

    def __call__(self, parameters: Parameters, inputs: Tensor, layers: Layers = None) -> Answer:
        """Map inputs (n, d) to outputs (n, c) and the representations
        (n, channels · length) after the hidden `layers`.
        """
        sigma, last = self._sigma(), self.convolutions + 2
        h = sigma(linear(inputs, parameters["weight1"], parameters["bias1"]))
        hidden, line = [h], h.unsqueeze(1)
        for i in range(2, last):
            line = sigma(conv1d(line, parameters[f"weight{i}"], parameters[f"bias{i}"]))
            hidden.append(line.flatten(1))
        output = linear(hidden[-1], parameters[f"weight{last}"], parameters[f"bias{last}"])
        return output, [hidden[layer] for layer in self.layers(layers)]
