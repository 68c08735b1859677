"""What all architectures share: nonlinearities, parameters drawn for
many members, hidden layers that can be asked for.

A network is called with parameters and inputs; `lib.training` maps it over members. It returns the
output and the hidden representations, each after its nonlinearity. Hidden layers are counted from
0.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lib.checks import kind, positives, seed, takes, whole

# Of torch's nonlinearities only these round an entry the same wherever it stands in an array; its
# elu, silu and sigmoid treat the last few entries in another way. So elu, swish, z/(1 + e^-z), and
# the sigmoid are written with expm1 and tanh.
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

Shape = tuple[int, ...]
Parameters = dict[str, Tensor]  # by name, of one member or (members, ...)
Layers = tuple[int, ...] | None  # hidden layers, counted from 0; None means all
Answer = tuple[
    Tensor, list[Tensor]
]  # outputs, and the representations after the hidden layers asked for


class Layer(NamedTuple):
    """A dense layer, or a convolution of images, as inputs
    passed it: its derivatives follow from that.
    """

    entering: Tensor  # (n, in) or (n, in, height, width)
    leaving: Tensor  # before the nonlinearity
    bias: bool = True
    margin: int = 0  # of zeros around an image


# What is read off networks: (parameters, outputs, hidden) to observables by name, with their
# dimensions beyond the member's.
Observe = Callable[[Parameters, Tensor, list[Tensor]], dict[str, tuple[tuple[str, ...], Tensor]]]


def check_device(name: str, value: str) -> str:
    """Return a device on which torch can put numbers."""
    kind(name, value, str, torch.device)
    try:
        torch.empty(0, device=value)
    except (RuntimeError, AssertionError) as error:  # torch has no one error for it
        raise ValueError(
            f"{name} is {value!r}: want cpu, or cuda where there is a GPU ({error})"
        ) from None
    return value


def check_precision(name: str, value: torch.dtype) -> torch.dtype:
    """Return the precision of parameters."""
    if value not in (torch.float32, torch.float64):
        raise ValueError(f"{name} is {value!r}: want torch.float32 or torch.float64")
    return value


def check_tensor(name: str, value: Tensor, ndim: int) -> Tensor:
    """Return a tensor that has `ndim` axes or more and is not empty."""
    kind(name, value, Tensor)
    if value.ndim < ndim or value.numel() == 0:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}: want {ndim} axes or more, and at least one "
            "number"
        )
    return value


def check_labels(outputs: Tensor, labels: Tensor) -> None:
    """Raise unless there is a label, in `labels` (n,) or (...,
    n), for each point of `outputs` (..., n, c).
    """
    check_tensor("outputs", outputs, 2)
    check_tensor("labels", labels, 1)
    if labels.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"labels are of {labels.dtype}: want torch.int64")
    if labels.shape != outputs.shape[-1 - labels.ndim : -1]:
        shapes = f"outputs {tuple(outputs.shape)} and labels {tuple(labels.shape)}"
        raise ValueError(f"{shapes} do not fit: want (..., n, c) and (..., n)")


def note(passed: list[Layer] | None, layer: Layer) -> None:
    """Add a layer to the list of those passed, if there is one."""
    if passed is not None:
        passed.append(layer)


class Network:
    """What all architectures share: parameters from named shapes, a nonlinearity by name, hidden
    layers that can be asked for.
    """

    activation: str  # of networks that take any
    depth: int  # the number of hidden layers
    outputs: int
    # how many there are, if an input is made of tokens 0, 1, … instead of numbers
    tokens: int | None = None
    # whether a call takes parameters and inputs of many members at once
    broadcasts: ClassVar[bool] = False
    # whether a call can note the layers that the inputs pass, in a list `passed`
    by_layer: ClassVar[bool] = False

    def shapes(self) -> dict[str, Shape]:
        """Return the shape of each parameter of one member, by name;
        biases are vectors, weights start with (out, in).
        """
        raise NotImplementedError

    @property
    def point(self) -> Shape:
        """The shape of one input; by default the first layer's fan-in."""
        return (self.shapes()["weight1"][1],)

    def variance(self, shape: Shape) -> float:
        """Return the variance with which weights of this shape
        are drawn: Xavier's, 2 / (fan in + fan out).
        """
        return 2 / ((shape[0] + shape[1]) * int(np.prod(shape[2:])))

    def layers(self, layers: int | Sequence[int] | None) -> tuple[int, ...]:
        """Return the hidden layers asked for, counted from 0; None means all."""
        asked = range(self.depth) if layers is None else np.atleast_1d(layers).tolist()
        wrong = [layer for layer in asked if layer not in range(self.depth)]
        if wrong:
            raise ValueError(f"layer {wrong[0]}: hidden layers are numbered 0 to {self.depth - 1}")
        return tuple(int(layer) for layer in asked)

    @takes(
        seed=seed,
        members=whole,
        gain=partial(positives, least=0),
        dtype=check_precision,
        device=check_device,
    )
    def initialize(
        self,
        seed: int = 0,
        members: int = 1,
        gain: float | np.ndarray = 1.0,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> Parameters:
        """Draw weights from normal distributions, with gain times the standard deviation that
        `variance` gives; biases are zero.

        Parameters
        ----------
        seed : with the member's number it determines what a member draws
        members : how many
        gain : > 0, one number or (members,)

        Returns
        -------
        by name, (members, ...)
        """
        if np.shape(gain) not in ((), (members,)):
            raise ValueError(
                f"members {members} and gain {gain}: want one positive gain or one for each"
            )
        gain = np.broadcast_to(gain, (members,))
        parameters = {
            name: torch.zeros((members, *shape), dtype=dtype)
            for name, shape in self.shapes().items()
        }
        for member in range(members):
            rng = np.random.default_rng((seed, member))
            for name, shape in self.shapes().items():
                if len(shape) > 1:
                    draw = rng.normal(
                        scale=gain[member] * np.sqrt(self.variance(shape)), size=shape
                    )
                    parameters[name][member] = torch.from_numpy(draw)
        return {name: value.to(device) for name, value in parameters.items()}

    def _sigma(self) -> Callable[[Tensor], Tensor]:
        return ACTIVATIONS[self.activation]
