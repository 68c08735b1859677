"""Architectures: frozen descriptions that draw parameters for many members and map one member's inputs to outputs.

A network is called with parameters and inputs; `lib.training` maps it over members. It returns the output and the hidden
representations, each after its nonlinearity. Hidden layers are counted from 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lib.checks import kind, number, numbers, one_of, sizes, whole

# Of torch's nonlinearities only these round an entry the same wherever it stands in an array; its elu, silu and sigmoid treat the
# last few entries in another way. So elu, swish, z/(1 + e^-z), and the sigmoid are written with
# expm1 and tanh.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda z: z,
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,  # slope .01 below zero
    "elu": lambda z: torch.where(z > 0, z, torch.expm1(z.clamp(max=0))),
    "tanh": torch.tanh,
    "swish": lambda z: z * (0.5 + 0.5 * torch.tanh(0.5 * z)),
    "sigmoid": lambda z: 0.5 + 0.5 * torch.tanh(0.5 * z),
    "erf": lambda z: torch.erf(z * 0.5**0.5),  # of z/√2
}


class Network:
    """What all architectures share: parameters from named shapes, a nonlinearity by name, hidden layers that can be asked for."""

    activation: str
    outputs: int
    tokens: int | None = None  # how many there are, if an input is made of tokens 0, 1, … instead of numbers
    broadcasts: ClassVar[bool] = False  # whether a call takes parameters and inputs of many members at once

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        raise NotImplementedError

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each parameter of one member, by name; biases are vectors, weights start with (out, in)."""
        raise NotImplementedError

    @property
    def point(self) -> tuple[int, ...]:
        """The shape of one input; by default the first layer's fan-in."""
        return (self.shapes()["weight1"][1],)

    @property
    def input_ndim(self) -> int:
        """The number of axes of the inputs of one member."""
        return 1 + len(self.point)

    def variance(self, shape: tuple[int, ...]) -> float:
        """Return the variance with which weights of this shape are drawn: Xavier's, 2 / (fan in + fan out)."""
        return 2 / ((shape[0] + shape[1]) * int(np.prod(shape[2:])))

    def layers(self, layers: int | tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the hidden layers asked for, counted from 0; None means all.

        Raises
        ------
        ValueError
            If there is no such layer.
        """
        asked = range(self.depth) if layers is None else np.atleast_1d(layers).tolist()
        wrong = [layer for layer in asked if layer not in range(self.depth)]
        if wrong:
            raise ValueError(f"layer {wrong[0]}: hidden layers are numbered 0 to {self.depth - 1}")
        return tuple(int(layer) for layer in asked)

    def initialize(
        self,
        seed: int = 0,
        members: int = 1,
        gain: float | np.ndarray = 1.0,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> dict[str, Tensor]:
        """Draw weights from normal distributions, with gain times the standard deviation that `variance` gives; biases are zero.

        Parameters
        ----------
        seed : with the member's number it determines what a member draws
        members : how many
        gain : > 0, one number or (members,)

        Returns
        -------
        by name, (members, ...)

        Raises
        ------
        ValueError
            If `members` or a gain is not positive, `seed` is negative, or there is no such device.
        """
        seed, members, gain = whole("seed", seed, 0), whole("members", members), numbers("gain", gain)
        if gain.shape not in ((), (members,)) or np.any(gain <= 0):
            raise ValueError(f"members {members} and gain {gain}: want a member or more, and one positive gain or one for each")
        check_device(device)
        gain = np.broadcast_to(gain, (members,))
        parameters = {name: torch.zeros((members, *shape), dtype=dtype) for name, shape in self.shapes().items()}
        for member in range(members):
            rng = np.random.default_rng((seed, member))
            for name, shape in self.shapes().items():
                if len(shape) > 1:
                    draw = rng.normal(scale=gain[member] * np.sqrt(self.variance(shape)), size=shape)
                    parameters[name][member] = torch.from_numpy(draw)
        return {name: value.to(device) for name, value in parameters.items()}

    def _sigma(self) -> Callable[[Tensor], Tensor]:
        return ACTIVATIONS[self.activation]


def check_device(device: str) -> None:
    """Raise ValueError unless torch can put numbers on this device."""
    kind("device", device, str, torch.device)
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch has no one error for it
        raise ValueError(f"device is {device!r}: want cpu, or cuda where there is a GPU ({error})") from None


def check_tensor(name: str, value: Tensor, ndim: int) -> None:
    """Raise TypeError unless `value` is a tensor, ValueError unless it has `ndim` axes or more and is not empty."""
    kind(name, value, Tensor)
    if value.ndim < ndim or value.numel() == 0:
        raise ValueError(f"{name} has shape {tuple(value.shape)}: want {ndim} axes or more, and at least one number")


@dataclass(frozen=True)
class Dense(Network):
    """A fully connected network, x → σ(W₁x + b₁) → … → W_L h + b_L; without biases if so asked.

    Attributes
    ----------
    widths : inputs, hidden units of each layer, outputs
    activation : a name in `ACTIVATIONS`
    skip : add to each hidden representation the one two layers below (from the third hidden layer on)
    dropout : probability with which each unit is dropped before each layer, while training
    bias : whether the layers have biases

    Source: van Rossem & Saxe, Appendix B.1, and the authors' code for what the text leaves out.
    """

    broadcasts: ClassVar[bool] = True

    widths: tuple[int, ...]
    activation: str = "leaky_relu"
    skip: bool = False
    dropout: float = 0.0
    bias: bool = True

    def __post_init__(self) -> None:
        kind("widths", self.widths, tuple, list)
        if len(self.widths) < 3:
            raise ValueError(f"widths {self.widths}: want inputs, at least one hidden layer, outputs")
        sizes(**{f"widths[{i}]": width for i, width in enumerate(self.widths)})
        one_of("activation", self.activation, ACTIVATIONS)
        if not 0 <= number("dropout", self.dropout) < 1:
            raise ValueError(f"dropout is {self.dropout}: want a probability below 1")
        if self.skip and len(set(self.widths[1:-1])) > 1:
            raise ValueError(f"widths {self.widths}: skip connections need hidden layers of one width")

    @property
    def depth(self) -> int:  # noqa: D102
        return len(self.widths) - 2

    @property
    def outputs(self) -> int:  # noqa: D102
        return self.widths[-1]

    def shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        shapes = {}
        for i, (out, into) in enumerate(zip(self.widths[1:], self.widths[:-1], strict=True), start=1):
            shapes[f"weight{i}"] = (out, into)
            if self.bias:
                shapes[f"bias{i}"] = (out,)
        return shapes

    def masks(self, rng: np.random.Generator, points: int) -> np.ndarray:
        """Draw which units stay in one step, scaled so that their mean is one: (points, all inputs of all layers) float32."""
        stay = rng.random((points, sum(self.widths[:-1])), dtype=np.float32) >= self.dropout
        return stay / np.float32(1 - self.dropout)

    def __call__(
        self, parameters: dict[str, Tensor], inputs: Tensor, layers: tuple[int, ...] | None = None, masks: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Map inputs (..., n, d) to outputs (..., n, c) and the representations (..., n, width) after the hidden `layers`.

        Leading axes, of members, broadcast; None means all hidden layers.
        """
        last = self.depth + 1
        hidden, h = [], inputs
        kept = [None] * last if masks is None else masks.split(self.widths[:-1], dim=-1)
        for i in range(1, last + 1):
            h = h if kept[i - 1] is None else h * kept[i - 1]
            h = h @ parameters[f"weight{i}"].mT
            h = h + parameters[f"bias{i}"].unsqueeze(-2) if self.bias else h
            if i < last:
                h = self._sigma()(h)
                hidden.append(h + hidden[i - 3] if self.skip and i > 2 else h)
                h = hidden[-1]
        return h, [hidden[layer] for layer in self.layers(layers)]


@dataclass(frozen=True)
class Committee(Network):
    """One hidden layer whose outputs are averaged, x → (1/K) Σ σ(w_k·x + b_k): only the first layer is trained.

    Attributes
    ----------
    inputs, units : dimension of x, and K
    activation : a name in `ACTIVATIONS`
    bias : whether there are biases

    Source: localization notes, section 1.
    """

    broadcasts: ClassVar[bool] = True
    depth: ClassVar[int] = 1
    outputs: ClassVar[int] = 1

    inputs: int
    units: int
    activation: str = "relu"
    bias: bool = False

    def __post_init__(self) -> None:
        sizes(inputs=self.inputs, units=self.units)
        one_of("activation", self.activation, ACTIVATIONS)

    def shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"weight1": (self.units, self.inputs)} | ({"bias1": (self.units,)} if self.bias else {})

    def __call__(
        self, parameters: dict[str, Tensor], inputs: Tensor, layers: tuple[int, ...] | None = None, masks: None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Map inputs (..., n, d) to outputs (..., n, 1) and, if layer 0 is asked for, the representation (..., n, units)."""
        z = inputs @ parameters["weight1"].mT
        hidden = self._sigma()(z + parameters["bias1"].unsqueeze(-2) if self.bias else z)
        return hidden.mean(-1, keepdim=True), [hidden for _ in self.layers(layers)]


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

    Source: the authors' code; van Rossem & Saxe, Appendix B.1, give channels and kernel.
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

    def shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        shapes = {"weight1": (self.units, self.inputs), "bias1": (self.units,)}
        for i in range(2, self.convolutions + 2):
            into = 1 if i == 2 else self.channels
            out = 1 if i == self.convolutions + 1 else self.channels
            shapes |= {f"weight{i}": (out, into, self.kernel), f"bias{i}": (out,)}
        left = self.units - self.convolutions * (self.kernel - 1)
        return shapes | {f"weight{i + 1}": (self.outputs, left), f"bias{i + 1}": (self.outputs,)}

    def __call__(
        self, parameters: dict[str, Tensor], inputs: Tensor, layers: tuple[int, ...] | None = None, masks: None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Map inputs (n, d) to outputs (n, c) and the representations (n, channels · length) after the hidden `layers`."""
        sigma, last = self._sigma(), self.convolutions + 2
        h = sigma(functional.linear(inputs, parameters["weight1"], parameters["bias1"]))
        hidden, line = [h], h.unsqueeze(1)
        for i in range(2, last):
            line = sigma(functional.conv1d(line, parameters[f"weight{i}"], parameters[f"bias{i}"]))
            hidden.append(line.flatten(1))
        output = functional.linear(hidden[-1], parameters[f"weight{last}"], parameters[f"bias{last}"])
        return output, [hidden[layer] for layer in self.layers(layers)]


def architecture(
    name: str, inputs: int = 1, outputs: int = 1, units: int = 500, hidden_layers: int = 20, activation: str = "leaky_relu"
):
    """Return an architecture of Table 1 by name.

    Parameters
    ----------
    name : "dense", "skip", "dropout" or "convolutional"; "shallow" and "narrow" in the paper are dense with other sizes
    hidden_layers : for "convolutional" the line of units is followed by one convolution more, as in the authors' code

    Raises
    ------
    ValueError
        If the name is unknown or a size is not a positive integer.
    """
    one_of("architecture name", name, ("dense", "skip", "dropout", "convolutional"))
    sizes(inputs=inputs, outputs=outputs, units=units, hidden_layers=hidden_layers)
    widths = (inputs, *[units] * hidden_layers, outputs)
    if name == "dense":
        return Dense(widths, activation)
    if name == "skip":
        return Dense(widths, activation, skip=True)
    if name == "dropout":
        return Dense(widths, activation, dropout=0.1)
    return Convolutional(inputs, outputs, units, hidden_layers + 1, activation=activation)
