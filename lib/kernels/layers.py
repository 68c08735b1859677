"""The factors of a tangent kernel, layer by layer: what enters a
layer, and the slopes of the outputs in what leaves it.

The derivative of an output in a dense layer's weights is an outer product, slope × input. So that
layer's part of the kernel is the product of two small kernels, and its Jacobian is never formed. A
convolution is such a layer at each place, and its Jacobian is the sum over places. Source: Novak et
al. (2022), "Fast finite width neural tangent kernel".
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Outer(NamedTuple):
    """Derivatives of c outputs that are outer products: of
    slopes (n, c, out) and of what enters (n, in).
    """

    slopes: Tensor
    entering: Tensor

    def tile(self, other: "Outer", full: bool) -> Tensor:
        """Return the part of the kernel of these points (n) and
        the others (m): (n, m), or if `full` (n·c, m·c).
        """
        alike = self.entering @ other.entering.mT
        if not full:
            return alike * (self.slopes.flatten(1) @ other.slopes.flatten(1).mT)
        c = self.slopes.shape[1]
        leaving = self.slopes.flatten(0, 1) @ other.slopes.flatten(0, 1).mT
        return alike.repeat_interleave(c, 0).repeat_interleave(c, 1) * leaving


class Whole(NamedTuple):
    """Derivatives (n, c, ...) of c outputs, written out."""

    derivatives: Tensor

    def tile(self, other: "Whole", full: bool) -> Tensor:
        """Return what `Outer.tile` does."""
        u, v = (
            part.derivatives.flatten(0, 1) if full else part.derivatives for part in (self, other)
        )
        return u.flatten(1) @ v.flatten(1).mT


def factors(
    network: Callable, parameters: Mapping[str, Tensor], points: Tensor
) -> list[Outer | Whole]:
    """Return the derivatives of one member's outputs at points
    (n, ...), for a network that is `by_layer`.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    passed: list = []  # of `lib.networks.base.Layer`
    with torch.enable_grad():
        outputs = network(leaves, points, (), passed=passed)[0]  # (n, c)
        one_each = (
            torch.eye(outputs.shape[1]).to(outputs)[:, None].expand(-1, *outputs.shape)
        )  # (c, n, c)
        leaving = [layer.leaving for layer in passed]
        slopes = torch.autograd.grad(
            outputs, leaving, one_each, is_grads_batched=True, materialize_grads=True
        )
    return [
        _factor(layer, of.transpose(0, 1).contiguous())
        for layer, of in zip(passed, slopes, strict=True)
    ]


def _factor(layer: Any, slopes: Tensor) -> Outer | Whole:
    """Return what slopes (n, c, ...) of the outputs in what leaves a
    layer make of it; a bias is a weight of an input 1.
    """
    entering = layer.entering.detach()
    if entering.ndim == 2:
        return Outer(slopes, functional.pad(entering, (0, layer.bias), value=1))
    side = entering.shape[-1] + 2 * layer.margin - slopes.shape[-1] + 1
    patches = functional.unfold(
        entering, side, padding=layer.margin
    ).mT  # what filters meet: (n, places, in · side²)
    patches = functional.pad(patches, (0, layer.bias), value=1)
    over_places = slopes.flatten(3).flatten(1, 2) @ patches  # (n, c · out, in · side² + 1)
    return Whole(over_places.unflatten(1, slopes.shape[1:3]))
