"""The factors of a tangent kernel, layer by layer: what enters a layer, and the slopes of the outputs in what leaves it.

The derivative of an output in a dense layer's weights is an outer product, slope × input. So that layer's part of the kernel is
the product of two small kernels, and its Jacobian is never formed. A convolution is such a layer at each place, and its Jacobian
is the sum over places. Source: Novak et al. (2022), "Fast finite width neural tangent kernel".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

VIEWS = [(Tensor.mT.__get__, ["own"]), (Tensor.unsqueeze, ["own", ""])]  # of weights before a product, of biases before a sum
Factor = Callable[[Tensor], "Outer | Whole"]  # what slopes (n, c, ...) of the outputs in what leaves a layer make of it


class UnknownUse(Exception):
    """A parameter is used in a way that has no factors here."""


class Outer(NamedTuple):
    """Derivatives of c outputs that are outer products: of slopes (n, c, out) and of what enters (n, in)."""

    slopes: Tensor
    entering: Tensor

    def tile(self, other: "Outer", full: bool) -> Tensor:
        """Return the part of the kernel of these points (n) and the others (m): (n, m), or if `full` (n·c, m·c)."""
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
        u, v = (part.derivatives.flatten(0, 1) if full else part.derivatives for part in (self, other))
        return u.flatten(1) @ v.flatten(1).mT


def factors(network: Callable, parameters: Mapping[str, Tensor], points: Tensor) -> list[Outer | Whole]:
    """Return the derivatives of one member's outputs at points (n, ...), which the network must treat each by itself.

    UnknownUse says that a parameter enters anything but a dense layer or a convolution of images, or more than one of them.
    """
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    with torch.enable_grad():
        with Watch(leaves) as watch:
            outputs = network(leaves, points, ())[0]
        left, made = zip(*watch.layers, strict=True)
        one_each = torch.eye(outputs.shape[1]).to(outputs)[:, None].expand(-1, *outputs.shape)  # (c, n, c)
        slopes = torch.autograd.grad(outputs, left, one_each, is_grads_batched=True, materialize_grads=True)
    return [factor(of.transpose(0, 1).contiguous()) for factor, of in zip(made, slopes, strict=True)]


class Watch(TorchFunctionMode):
    """Notes the layers of one member while the network is called: what leaves each, and its factor."""

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.known = {id(value): (name, "own", value) for name, value in parameters.items()}  # and their views, by id
        self.acted: set[str] = set()
        self.layers: list[tuple[Tensor, Factor]] = []

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Carry out a function of torch; if parameters are among its arguments, note what they do."""
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        names = {self.known[id(value)][0] for value in _leaves((*args, *kwargs.values())) if id(value) in self.known}
        if names:
            roles = [self.known.get(id(value), (None, "", None))[1] for value in args]
            if (func, roles) in VIEWS:
                self.known[id(found)] = names.pop(), "view", found
            elif names & self.acted:
                raise UnknownUse(f"{', '.join(names)}: enters more than one layer")
            else:
                self.acted |= names
                self.layers.append((found, _factor(func, roles, args, kwargs)))
        return found


def _leaves(values: Iterable) -> Iterator[Any]:
    """Yield arguments of a function, and what lists and tuples among them hold."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _leaves(value)
        else:
            yield value


def _factor(func: Callable, roles: list[str], args: tuple, kwargs: dict[str, Any]) -> Factor:
    """Return what the slopes in what leaves a layer make of it."""
    if roles[:1] != [""] or not isinstance(args[0], Tensor):
        raise UnknownUse(f"{func} of {roles}")
    entering = args[0].detach()
    if func == Tensor.matmul and roles == ["", "view"] and entering.ndim == 2:
        return partial(Outer, entering=entering)
    if func == Tensor.add and roles == ["", "view"] and args[1].shape == (1, *entering.shape[1:]):
        return partial(Outer, entering=entering.new_ones(len(entering), 1))
    if func == functional.linear and roles in (["", "own"], ["", "own", "own"]) and entering.ndim == 2:
        return partial(Outer, entering=functional.pad(entering, (0, len(roles) - 2), value=1))
    if func == torch.conv2d and roles in (["", "own"], ["", "own", "own"]) and set(kwargs) <= {"padding"}:
        patches = functional.unfold(entering, args[1].shape[2:], padding=kwargs.get("padding", 0))
        return partial(_convolution, patches=functional.pad(patches.mT, (0, len(roles) - 2), value=1))
    raise UnknownUse(f"{func} of {roles}")


def _convolution(slopes: Tensor, patches: Tensor) -> Whole:
    """Sum over places, from slopes (n, c, out, height, width) and what the filters meet (n, places, in · filter)."""
    return Whole((slopes.flatten(3).flatten(1, 2) @ patches).unflatten(1, slopes.shape[1:3]))
