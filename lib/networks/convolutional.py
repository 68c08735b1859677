"""Convolutional networks: LeNet-5, a small residual network whose first filters are large, and convolutions along a line."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import batch_norm, conv1d, conv2d, linear, max_pool2d

from lib.checks import one_of, sizes
from lib.networks.base import ACTIVATIONS, Answer, Layer, Layers, Network, Parameters, Shape, note


@dataclass(frozen=True)
class LeNet(Network):
    """LeNet-5 with rectifiers and maxima: two convolutions, each with pooling, two dense layers and a readout.

    6 and 16 channels of 5 × 5 filters, the first ones with a margin of 2, then 120 and 84 units. Weights have He's variance,
    2 / fan in; biases are zero. The outputs are classes.

    Source: Kunin et al. (2024), appendix, Figure 5 (a); LeCun et al. (1998) for the sizes, with full connections between the
    convolutions.
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
        """Map images (n, 1, 28, 28) to outputs (n, c) and the activations (n, units), before pooling, of the hidden `layers`."""
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
class SmallResNet(Network):
    r"""A small residual network with large filters in its first layer.

    A block is a convolution that keeps the size, a normalization and a rectifier. Block 1 has the large filters and c channels.
    Then, again and again, a block doubles the channels and is pooled; after the first and the third of these two blocks more add
    their result to their input. The largest value of each channel enters a readout without bias, times 1/8.

    A channel is normalized with mean and variance over the images *of this call* and all positions, then scaled by
    :math:`1 + g` and shifted: in training over the mini-batch, elsewhere over all images that are looked at together. There are
    no running averages. Weights have the variance 1 / 3 fan in, PyTorch's default.

    Attributes
    ----------
    channels : c; 64 in the source
    kernel : side of the first layer's filters, odd; the others are 3 × 3
    doublings : of the channels; 3 in the source
    point : shape of an image: colours, height, width; sides of at least 2 to the power of the doublings
    outputs : classes

    Source: Kunin et al. (2024), appendix, Figure 5 (b), and the network for the DAWN benchmark that it builds on.
    """

    channels: int = 64
    kernel: int = 15
    point: Shape = (3, 32, 32)
    outputs: int = 10
    doublings: int = 3

    def __post_init__(self) -> None:
        sizes(channels=self.channels, kernel=self.kernel, outputs=self.outputs, doublings=self.doublings)
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel is {self.kernel}: want an odd side, so that a filter has a middle")
        least = 2**self.doublings
        if len(self.point) != 3 or min(self.point[1:]) < least:
            raise ValueError(f"point is {self.point}: want colours, height and width, with sides of at least {least}")

    @property
    def depth(self) -> int:  # noqa: D102
        return len(self._widths())

    def _widths(self) -> list[int]:
        """Return the channels of each block."""
        widths = [self.channels]
        for i in range(self.doublings):
            widths += [2 * widths[-1]] * (1 if i % 2 else 3)
        return widths

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        widths, shapes = [self.point[0], *self._widths()], {}
        for i, (into, out) in enumerate(pairwise(widths), start=1):
            side = self.kernel if i == 1 else 3
            shapes |= {f"weight{i}": (out, into, side, side), f"gain{i}": (out,), f"bias{i}": (out,)}
        return shapes | {"readout": (self.outputs, widths[-1])}

    def variance(self, shape: Shape) -> float:  # noqa: D102
        return 1 / (3 * prod(shape[1:]))

    def __call__(self, parameters: Parameters, inputs: Tensor, layers: Layers = None) -> Answer:
        """Map images (n, *point) to outputs (n, c) and the activations (n, units) of the blocks `layers`."""
        hidden = []

        def block(h: Tensor) -> Tensor:
            i = len(hidden) + 1
            weight = parameters[f"weight{i}"]
            z = conv2d(h, weight, padding=weight.shape[-1] // 2)
            h = batch_norm(z, None, None, 1 + parameters[f"gain{i}"], parameters[f"bias{i}"], training=True).relu()
            hidden.append(h)
            return h

        h = block(inputs)
        for i in range(self.doublings):
            h = max_pool2d(block(h), 2)
            h = h if i % 2 else h + block(block(h))
        return linear(h.amax((-2, -1)), parameters["readout"]) / 8, [hidden[layer].flatten(1) for layer in self.layers(layers)]


@dataclass(frozen=True)
class Convolutional(Network):
    """A linear map onto a line of units, convolutions along it without padding, and a linear readout.

    The first convolution opens the channels, the last closes them; each is followed by the nonlinearity.

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
                f"units {self.units}, convolutions {self.convolutions}, kernel {self.kernel}: want at least 2 convolutions"
                " and units > convolutions · (kernel - 1), since each shortens the line by kernel - 1"
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
        """Map inputs (n, d) to outputs (n, c) and the representations (n, channels · length) after the hidden `layers`."""
        sigma, last = self._sigma(), self.convolutions + 2
        h = sigma(linear(inputs, parameters["weight1"], parameters["bias1"]))
        hidden, line = [h], h.unsqueeze(1)
        for i in range(2, last):
            line = sigma(conv1d(line, parameters[f"weight{i}"], parameters[f"bias{i}"]))
            hidden.append(line.flatten(1))
        output = linear(hidden[-1], parameters[f"weight{last}"], parameters[f"bias{last}"])
        return output, [hidden[layer] for layer in self.layers(layers)]
