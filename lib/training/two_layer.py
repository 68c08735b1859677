"""Gradient descent for two-layer ReLU networks without biases, on many points and in place.

A step is two matrix products, X·Wᵀ and (slopes ∘ residuals)ᵀ·X; the rest passes over the arrays between them. On a CPU compiled
code takes a tile of points through both before it turns to the next one. On a GPU all members go through one batched product.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from lib.networks import Dense
from lib.training.losses import half_squared_error


def fits(network: Dense) -> bool:
    """Say whether this is a ReLU network with one hidden layer, one output and no biases."""
    plain = not (network.bias or network.dropout)
    return plain and network.depth == 1 and network.widths[-1] == 1 and network.activation == "relu"


class Stack:
    """Members x ↦ a·relu(W x), with W (members, h, d) and a (members, 1, h), which are copied, and their training points."""

    least = 1  # members that must be inside

    def __init__(
        self, parameters: Mapping[str, Tensor], inputs: Tensor, targets: Tensor, rates: Mapping[str, np.ndarray]
    ) -> None:
        self.w, self.a = parameters["weight1"].clone(), parameters["weight2"].clone()
        self.members, units, _ = self.w.shape
        points = inputs.shape[-2]
        self.points = inputs.contiguous()
        self.targets = targets.mT.to(self.w).contiguous()
        self.hidden, self.residuals = (self.w.new_empty(self.members, rows, points) for rows in (units, 1))
        scale = {name: torch.as_tensor(np.array(rate)).to(self.w).view(-1, 1, 1) / points for name, rate in rates.items()}
        self.rate_w, self.rate_a = scale["weight1"], scale["weight2"]

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        """Take some steps: with p = Σ 1{w·x > 0} x ρ, residuals ρ over the number of points, ẇ = −a p and ȧ = −w·p."""
        if self.w.device.type == "cpu":
            self._advance_compiled(steps)
        else:
            self._advance_batched(steps)

    def _advance_batched(self, steps: int) -> None:
        for _ in range(steps):
            self._forward()
            pull = self.hidden.sign_().mul_(self.residuals) @ self.points
            change = (self.w * pull).sum(-1).unsqueeze(1)
            self.w.addcmul_(pull, self.a.mT * self.rate_w, value=-1)
            self.a.addcmul_(change, self.rate_a, value=-1)

    def _advance_compiled(self, steps: int) -> None:
        from lib.training import compiled  # numba is not needed elsewhere

        for m in range(self.members):
            points, targets = (values[m if values.ndim == 3 else ...] for values in (self.points, self.targets))
            state = (value.numpy() for value in (self.w[m], self.a[m, 0], points, targets[0]))
            compiled.descend_two_layers(*state, *(rate[m].numpy()[0, 0] for rate in (self.rate_w, self.rate_a)), steps)

    def _forward(self) -> None:
        torch.matmul(self.w, self.points.mT, out=self.hidden).relu_()
        torch.matmul(self.a, self.hidden, out=self.residuals).sub_(self.targets)

    @torch.no_grad()
    def look(self, layers: tuple[int, ...]) -> tuple[Tensor, dict[str, Tensor], Tensor, list[Tensor]]:
        """Return the losses, the parameters, the outputs and the representations asked for, all with a member axis."""
        self._forward()
        outputs = (self.residuals + self.targets).mT
        parameters = {"weight1": self.w, "weight2": self.a}
        return half_squared_error(outputs, self.targets.mT), parameters, outputs, [self.hidden.mT for _ in layers]

    def keep(self, rows: Tensor) -> None:
        """Go on with the members in these rows (k,) alone; what `look` has shown stays as it was."""
        own = ("points", "targets") if self.points.ndim == 3 else ()
        for name in ("w", "a", "hidden", "residuals", "rate_w", "rate_a", *own):
            setattr(self, name, getattr(self, name)[rows])
        self.members = len(rows)
