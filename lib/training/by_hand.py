"""Gradients of networks in layers, written out: forward and backward
in place, in arrays that stay from step to step.

The same numbers as automatic differentiation, to rounding, without its fresh arrays and its many
small calls.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from torch import Tensor

from lib.networks import Committee, Dense, Network
from lib.networks.base import Parameters, Shape
from lib.training.losses import SLOPES, Loss

_aten = torch.ops.aten
# By nonlinearity: replace z by σ(z), and errors by errors times σ', which these find in σ(z).
IN_PLACE: dict[
    str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor, Tensor], Tensor]]
] = {
    "linear": (lambda z: z, lambda errors, h, out: out.copy_(errors)),
    "relu": (
        torch.relu_,
        lambda errors, h, out: _aten.threshold_backward.grad_input(errors, h, 0, grad_input=out),
    ),
    "leaky_relu": (
        lambda z: torch.nn.functional.leaky_relu(z, inplace=True),
        lambda errors, h, out: _aten.leaky_relu_backward.grad_input(
            errors, h, 0.01, True, grad_input=out
        ),
    ),
    "tanh": (
        torch.tanh_,
        lambda errors, h, out: _aten.tanh_backward.grad_input(errors, h, grad_input=out),
    ),
}


def fits(network: Network, loss: Loss) -> TypeGuard[Dense | Committee]:
    """Say whether these gradients are written out."""
    dense = (
        type(network) is Dense
        and not (network.skip or network.dropout)
        and network.activation in IN_PLACE
    )
    return (
        dense or (type(network) is Committee and network.activation == "relu")
    ) and loss in SLOPES


class Gradients:
    """Gradients of the mean loss of a dense network or a committee, for all members."""

    def __init__(self, network: Dense | Committee, loss: Any) -> None:
        self.network = network
        self.slope = SLOPES[loss]
        self.arrays: dict[tuple, Tensor] = {}  # by name and shape
        self.forward, self.backward = IN_PLACE[network.activation]
        self.differentiate = self._dense if isinstance(network, Dense) else self._committee

    @torch.no_grad()
    def __call__(
        self, parameters: Parameters, inputs: Tensor, targets: Tensor, out: Parameters
    ) -> None:
        """Write the gradients of the parameters (members, ...) to
        `out`, by name; points are of (members or 1, n).
        """
        like = next(iter(parameters.values()))
        if len(like) == 1 and like.dtype == torch.float64:  # gets a twin, as in `descent.call`
            twins = {name: value.expand(2, *value.shape[1:]) for name, value in parameters.items()}
            both = {name: torch.empty_like(value) for name, value in twins.items()}
            self.differentiate(twins, inputs, targets, both)
            for name, value in out.items():
                value.copy_(both[name][:1])
        else:
            self.differentiate(parameters, inputs, targets, out)

    def _array(self, name: str, shape: Shape, like: Tensor) -> Tensor:
        """Return an array that is made once, with anything in it."""
        if (name, shape) not in self.arrays:
            self.arrays[name, shape] = like.new_empty(shape)
        return self.arrays[name, shape]

    def _committee(
        self, parameters: Parameters, inputs: Tensor, targets: Tensor, out: Parameters
    ) -> None:
        """Multiply the inputs by the errors, which all units
        share, then the units' slopes, 1 or 0, by both.
        """
        from lib.training import compiled  # numba is not needed elsewhere

        members, units, _ = parameters["weight1"].shape
        inputs, targets = (
            values.expand(members, *values.shape[1:]) for values in (inputs, targets)
        )
        slopes = self._affine(1, inputs, parameters, turned=False)
        outputs = self._array("outputs", (*slopes.shape[:-1], 1), slopes)
        compiled.rectify(slopes.view(-1, units).numpy(), outputs.view(-1).numpy())
        errors = self.slope(outputs, targets) / units
        torch.bmm(slopes.mT, errors * inputs, out=out["weight1"])
        if self.network.bias:
            torch.bmm(slopes.mT, errors, out=out["bias1"].unsqueeze(-1))

    def _dense(
        self, parameters: Parameters, inputs: Tensor, targets: Tensor, out: Parameters
    ) -> None:
        members, layers = (
            len(parameters["weight1"]),
            sum(name.startswith("weight") for name in parameters),
        )
        inputs, targets = (
            values.expand(members, *values.shape[1:]) for values in (inputs, targets)
        )
        hidden = [inputs]
        for i in range(1, layers + 1):
            z = self._affine(i, hidden[-1], parameters, turned=i == layers)
            hidden.append(self.forward(z) if i < layers else z)
        errors = self.slope(hidden[-1], targets)
        for i in range(layers, 0, -1):
            torch.bmm(errors.mT, hidden[i - 1], out=out[f"weight{i}"])
            if self.network.bias:
                torch.sum(errors, 1, out=out[f"bias{i}"])
            if i > 1:
                back = self._array("back", hidden[i - 1].shape, errors)
                torch.bmm(errors, parameters[f"weight{i}"], out=back)
                errors = self.backward(
                    back, hidden[i - 1], hidden[i - 1]
                )  # in place of what is no longer needed

    def _affine(self, i: int, h: Tensor, parameters: Parameters, turned: bool) -> Tensor:
        """Return W h + b (members, n, out) of the i-th layer;
        `turned` in memory, each output's points together.
        """
        w, (members, points, _) = parameters[f"weight{i}"], h.shape
        shape = (members, w.shape[1], points) if turned else (members, points, w.shape[1])
        z = self._array(f"hidden {i}", shape, w)
        left, right = (w, h.mT) if turned else (h, w.mT)
        if self.network.bias:
            torch.baddbmm(parameters[f"bias{i}"].unsqueeze(-1 if turned else 1), left, right, out=z)
        else:
            torch.bmm(left, right, out=z)
        return z.mT if turned else z
