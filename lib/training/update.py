"""What a step does with gradients: the weights of all members, their rates and their moments, each in one buffer.

Each entry is computed by itself, by operations that round exactly, so that none depends on who stands beside it.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class Block:
    """Tensors that lie one after the other in one buffer, `flat`; `parts` are its views, by name."""

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        self.flat = torch.cat([value.flatten() for value in values.values()])
        parts = self.flat.split([value.numel() for value in values.values()])
        self.parts = {name: part.view(value.shape) for (name, value), part in zip(values.items(), parts, strict=True)}

    def rows(self, rows: Tensor) -> "Block":
        """Return a block of its own with these rows of each tensor."""
        return Block({name: value[rows] for name, value in self.parts.items()})


class Update:
    """The state of an optimizer: the parameters (members, ...), copied, and their rates and decays (members,), all by name."""

    def __init__(
        self, parameters: Mapping[str, Tensor], rates: Mapping[str, np.ndarray], decays: Mapping | None, method: object
    ) -> None:
        self.method, self.weights = method, Block(parameters)
        adam = method.optimizer == "adam"
        self.gradients, self.first, self.second = (
            wanted and Block({name: torch.zeros_like(value) for name, value in parameters.items()})
            for wanted in (True, adam or method.momentum > 0, adam)
        )
        self.rates, self.decays = (each and _spread(each, parameters) for each in (rates, decays))

    @property
    def parameters(self) -> dict[str, Tensor]:
        """The weights by name."""
        return self.weights.parts

    def keep(self, rows: Tensor) -> None:
        """Go on with the members in these rows."""
        for name in ("weights", "gradients", "first", "second", "rates", "decays"):
            block = getattr(self, name)
            setattr(self, name, block and block.rows(rows))

    @torch.no_grad()
    def take(self, step: int) -> None:
        """Take the step of this number, from 0."""
        method, (slow, slower) = self.method, self.method.betas
        change, first, second = (block and block.flat for block in (self.gradients, self.first, self.second))
        if method.optimizer == "adam":
            first.lerp_(change, 1 - slow)
            second.mul_(slower).addcmul_(change, change, value=1 - slower)
            torch.sqrt(second, out=change).div_((1 - slower ** (step + 1)) ** 0.5).add_(1e-8).mul_(1 - slow ** (step + 1))
            torch.div(first, change, out=change)
        elif method.momentum:
            first.mul_(method.momentum).add_(change)
            change = change.add_(first, alpha=method.momentum) if method.nesterov else change.copy_(first)
        change.mul_(self.rates.flat).mul_(method.factor(step))
        if self.decays:
            self.weights.flat.mul_(1 - self.rates.flat * self.decays.flat * method.factor(step))
        self.weights.flat.sub_(change)


def _spread(values: Mapping[str, np.ndarray], parameters: Mapping[str, Tensor]) -> Block:
    """Return the values (members,) by name, repeated for all entries of the parameters."""
    own = {name: torch.tensor(values[name]).to(value) for name, value in parameters.items()}
    return Block({name: own[name].view(-1, *[1] * (value.ndim - 1)).expand_as(value) for name, value in parameters.items()})
