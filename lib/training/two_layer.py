"""Gradient descent for two-layer ReLU networks without biases, on many points and in place.

A step is two matrix products, W·X and (slopes ∘ residuals)·Xᵀ; the rest passes over the (units, points) arrays and allocates
nothing. On a GPU all members go through one batched product.
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
    """Members x ↦ a·relu(W x) and their training points.

    Parameters
    ----------
    parameters : weight1 (members, h, d) and weight2 (members, 1, h); copied
    inputs, targets : (n, d) and (n, 1), or with a leading member axis
    rates : learning rates (members,), by name
    """

    least = 1  # members that must be inside

    def __init__(
        self, parameters: Mapping[str, Tensor], inputs: Tensor, targets: Tensor, rates: Mapping[str, np.ndarray]
    ) -> None:
        self.w, self.a = parameters["weight1"].clone(), parameters["weight2"].clone()
        self.members, units, _ = self.w.shape
        points = inputs.shape[-2]
        self.points, self.across = inputs.contiguous(), inputs.mT.contiguous()  # both layouts, so that no product has to turn one
        self.targets = targets.mT.to(self.w).contiguous()
        self.hidden, self.errors = (self.w.new_empty(self.members, units, points) for _ in range(2))
        self.residuals, self.pull = self.w.new_empty(self.members, 1, points), torch.empty_like(self.w)
        scale = {name: torch.as_tensor(np.array(rate)).to(self.w).view(-1, 1, 1) / points for name, rate in rates.items()}
        self.rate_w, self.rate_a = scale["weight1"], scale["weight2"]

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        """Take some steps: ẇ = −a Σ 1{w·x > 0} x ρ and ȧ = −Σ relu(w·x) ρ, with residuals ρ over the number of points."""
        for _ in range(steps):
            self._forward()
            torch.sign(self.hidden, out=self.errors).mul_(self.residuals)
            torch.matmul(self.errors, self.points, out=self.pull)
            change = self.residuals @ self.hidden.mT
            self.w.addcmul_(self.pull, self.a.mT * self.rate_w, value=-1)
            self.a.addcmul_(change, self.rate_a, value=-1)

    def _forward(self) -> None:
        torch.matmul(self.w, self.across, out=self.hidden).relu_()
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
        own = ("points", "across", "targets") if self.points.ndim == 3 else ()
        for name in ("w", "a", "hidden", "errors", "residuals", "pull", "rate_w", "rate_a", *own):
            setattr(self, name, getattr(self, name)[rows])
        self.members = len(rows)
