"""A small residual network for photographs."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, linear, max_pool2d

from lib.checks import sizes
from lib.networks.base import Answer, Layers, Network, Parameters, Shape


@dataclass(frozen=True)
class SmallResNet(Network):
    r"""A small residual network with large filters in its first layer.

    A block is a convolution that keeps the size, a normalization and a rectifier. Block 1 has the
    large filters and c channels. Then, again and again, a block doubles the channels and is pooled;
    after the first and the third of these two blocks more add their result to their input. The
    largest value of each channel enters a readout without bias, times 1/8.

    A channel is normalized with mean and variance over the images *of this call* and all positions,
    then scaled by :math:`1 + g` and shifted: in training over the mini-batch, elsewhere over all
    images that are looked at together. There are no running averages. Weights have the variance 1 /
    3 fan in, PyTorch's default.

    Attributes
    ----------
    channels : c; 64 in the source
    kernel : side of the first layer's filters, odd; the others are 3 × 3
    doublings : of the channels; 3 in the source
    point : shape of an image: colours, height, width; sides of at least 2 to the power of the
        doublings
    outputs : classes

    Source: Kunin et al. (2024), appendix, Figure 5 (b), and the network for the DAWN benchmark that
    it builds on.
    """

    channels: int = 64
    kernel: int = 15
    point: Shape = (3, 32, 32)
    outputs: int = 10
    doublings: int = 3

    def __post_init__(self) -> None:
        sizes(
            channels=self.channels,
            kernel=self.kernel,
            outputs=self.outputs,
            doublings=self.doublings,
        )
        if self.kernel % 2 == 0:
            raise ValueError(
                f"kernel is {self.kernel}: want an odd side, so that a filter has a middle"
            )
        least = 2**self.doublings
        if len(self.point) != 3 or min(self.point[1:]) < least:
            raise ValueError(
                f"point is {self.point}: want colours, height and width, with sides of at least "
                f"{least}"
            )

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
            shapes |= {
                f"weight{i}": (out, into, side, side),
                f"gain{i}": (out,),
                f"bias{i}": (out,),
            }
        return shapes | {"readout": (self.outputs, widths[-1])}

    def variance(self, shape: Shape) -> float:  # noqa: D102
        return 1 / (3 * prod(shape[1:]))

    def __call__(self, parameters: Parameters, inputs: Tensor, layers: Layers = None) -> Answer:
        """Map images (n, *point) to outputs (n, c) and the
        activations (n, units) of the blocks `layers`.
        """
        hidden = []

        def block(h: Tensor) -> Tensor:
            i = len(hidden) + 1
            weight = parameters[f"weight{i}"]
            z = conv2d(h, weight, padding=weight.shape[-1] // 2)
            h = batch_norm(
                z, None, None, 1 + parameters[f"gain{i}"], parameters[f"bias{i}"], training=True
            ).relu()
            hidden.append(h)
            return h

        h = block(inputs)
        for i in range(self.doublings):
            h = max_pool2d(block(h), 2)
            h = h if i % 2 else h + block(block(h))
        return linear(h.amax((-2, -1)), parameters["readout"]) / 8, [
            hidden[layer].flatten(1) for layer in self.layers(layers)
        ]
