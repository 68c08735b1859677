"""What a step does with gradients: the weights of all members,
their rates and their moments, each in one buffer.

Each entry is computed by itself, by operations that round exactly, so that none depends on who
stands beside it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lib.networks.base import Parameters

if TYPE_CHECKING:
    from lib.training.descent import Method


class Block:
    """Tensors that lie one after the other in one buffer, `flat`; `parts` are its
    views, by name.
    """

    def __init__(self, values: Parameters) -> None:
        self.flat = torch.cat([value.flatten() for value in values.values()])
        parts = self.flat.split([value.numel() for value in values.values()])
        self.parts = {
            name: part.view(value.shape)
            for (name, value), part in zip(values.items(), parts, strict=True)
        }

    def rows(self, rows: Tensor) -> "Block":
        """Return a block of its own with these rows of each tensor."""
        return Block({name: value[rows] for name, value in self.parts.items()})


class Update:
    """The state of an optimizer: the parameters (members, ...), copied,
    and their rates and decays (members,), all by name.
    """

    def __init__(
        self,
        parameters: Parameters,
        rates: Mapping[str, np.ndarray],
        decays: Mapping | None,
        method: "Method",
    ) -> None:
        self.method = method
        zeros = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self.blocks = {
            "weights": Block(parameters),
            "gradients": Block(zeros),
            "rates": _spread(rates, parameters),
        }
        if decays:
            self.blocks["decays"] = _spread(decays, parameters)
        if method.optimizer == "adam" or method.momentum:
            self.blocks["first"] = Block(zeros)
        if method.optimizer == "adam":
            self.blocks["second"] = Block(zeros)

    @property
    def parameters(self) -> Parameters:
        """The weights by name."""
        return self.blocks["weights"].parts

    @property
    def gradients(self) -> Block:
        """Where the gradients of the next step are put."""
        return self.blocks["gradients"]

    def keep(self, rows: Tensor) -> None:
        """Go on with the members in these rows."""
        self.blocks = {name: block.rows(rows) for name, block in self.blocks.items()}

    @torch.no_grad()
    def take(self, step: int) -> None:
        """Take the step of this number, from 0."""
        method = self.method
        flat = {name: block.flat for name, block in self.blocks.items()}
        change = flat["gradients"]
        if method.optimizer == "adam":
            slow, slower = method.betas
            first = flat["first"].lerp_(change, 1 - slow)
            second = flat["second"].mul_(slower).addcmul_(change, change, value=1 - slower)
            scale = (
                torch.sqrt(second, out=change).div_((1 - slower ** (step + 1)) ** 0.5).add_(1e-8)
            )
            torch.div(first, scale.mul_(1 - slow ** (step + 1)), out=change)
        elif method.momentum:
            velocity = flat["first"].mul_(method.momentum).add_(change)
            if method.nesterov:
                change.add_(velocity, alpha=method.momentum)
            else:
                change.copy_(velocity)
        factor = method.factor(step)
        change.mul_(flat["rates"]).mul_(factor)
        if "decays" in flat:
            flat["weights"].mul_(1 - flat["rates"] * flat["decays"] * factor)
        flat["weights"].sub_(change)


def _spread(values: Mapping[str, np.ndarray], parameters: Parameters) -> Block:
    """Return the values (members,) by name, repeated for all entries of the parameters."""
    spread = {}
    for name, value in parameters.items():
        own = torch.tensor(values[name]).to(value)
        spread[name] = own.view(-1, *[1] * (value.ndim - 1)).expand_as(value)
    return Block(spread)
