"""Fully connected networks, and a hidden layer whose outputs are averaged."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from lib.checks import kind, number, one_of, sizes
from lib.networks.base import ACTIVATIONS, Answer, Layer, Layers, Network, Parameters, Shape, note


@dataclass(frozen=True)
class Dense(Network):
    """A fully connected network, x → σ(W₁x + b₁) → … → W_L h + b_L; without biases if so asked.

    Attributes
    ----------
    widths : inputs, hidden units of each layer, outputs
    activation : a name in `ACTIVATIONS`
    skip : add to each hidden representation the one two layers below (from the third hidden layer
        on)
    dropout : probability with which each unit is dropped before each layer, while training
    bias : whether the layers have biases

    Source: van Rossem & Saxe, Appendix B.1, and loekvanrossem/universality for what the text leaves
    out.
    """

    broadcasts: ClassVar[bool] = True
    by_layer: ClassVar[bool] = True

    widths: tuple[int, ...]
    activation: str = "leaky_relu"
    skip: bool = False
    dropout: float = 0.0
    bias: bool = True

    def __post_init__(self) -> None:
        if len(kind("widths", self.widths, tuple, list)) < 3:
            raise ValueError(
                f"widths {self.widths}: want inputs, at least one hidden layer, outputs"
            )
        sizes(**{f"widths[{i}]": width for i, width in enumerate(self.widths)})
        one_of("activation", self.activation, ACTIVATIONS)
        if not 0 <= number("dropout", self.dropout) < 1:
            raise ValueError(f"dropout is {self.dropout}: want a probability below 1")
        if self.skip and len(set(self.widths[1:-1])) > 1:
            raise ValueError(
                f"widths {self.widths}: skip connections need hidden layers of one width"
            )

    @property
    def depth(self) -> int:  # noqa: D102
        return len(self.widths) - 2

    @property
    def outputs(self) -> int:  # noqa: D102
        return self.widths[-1]

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        shapes = {}
        for i, (out, into) in enumerate(
            zip(self.widths[1:], self.widths[:-1], strict=True), start=1
        ):
            shapes[f"weight{i}"] = (out, into)
            if self.bias:
                shapes[f"bias{i}"] = (out,)
        return shapes

    def masks(self, rng: np.random.Generator, points: int) -> np.ndarray:
        """Draw which units stay in one step, scaled so that their mean
        is one: (points, all inputs of all layers) float32.
        """
        stay = rng.random((points, sum(self.widths[:-1])), dtype=np.float32) >= self.dropout
        return stay / np.float32(1 - self.dropout)

    def __call__(
        self,
        parameters: Parameters,
        inputs: Tensor,
        layers: Layers = None,
        masks: Tensor | None = None,
        passed: list[Layer] | None = None,
    ) -> Answer:
        """Map inputs (..., n, d) to outputs (..., n, c) and
        representations (..., n, width); members' axes broadcast.
        """
        last = self.depth + 1
        hidden, h = [], inputs
        kept = None if masks is None else masks.split(self.widths[:-1], dim=-1)
        for i in range(1, last + 1):
            h = h if kept is None else h * kept[i - 1]
            z = h @ parameters[f"weight{i}"].mT
            z = z + parameters[f"bias{i}"].unsqueeze(-2) if self.bias else z
            note(passed, Layer(h, z, self.bias))
            if i < last:
                h = self._sigma()(z)
                h = h + hidden[i - 3] if self.skip and i > 2 else h
                hidden.append(h)
        return z, [hidden[layer] for layer in self.layers(layers)]


@dataclass(frozen=True)
class Committee(Network):
    """One hidden layer whose outputs are averaged, x → (1/K) Σ
    σ(w_k·x + b_k): only the first layer is trained.

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

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        return {"weight1": (self.units, self.inputs)} | (
            {"bias1": (self.units,)} if self.bias else {}
        )

    def __call__(self, parameters: Parameters, inputs: Tensor, layers: Layers = None) -> Answer:
        """Map inputs (..., n, d) to outputs (..., n, 1) and, if layer 0 is asked for, the
        representation (..., n, units).
        """
        z = inputs @ parameters["weight1"].mT
        hidden = self._sigma()(z + parameters["bias1"].unsqueeze(-2) if self.bias else z)
        return hidden.mean(-1, keepdim=True), [hidden for _ in self.layers(layers)]
