"""What `train` is given, checked and brought into the form that the stacks take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lib.checks import Check, arrays, for_torch, instance, kind, numbers
from lib.networks import Network, Observe
from lib.networks.base import Parameters
from lib.training.descent import Data, Draw
from lib.training.losses import Loss, cross_entropy, half_squared_error

Rates = (
    float | Sequence[float] | Mapping[str, float | Sequence[float]]
)  # for all, for each member, or these for each parameter

# Names of what is recorded beside metrics and observables.
TAKEN = {"loss", "test_loss", "stopped", "diverged", "member", "step"}


def count_members(network: Network, parameters: Parameters) -> int:
    """Return the number of members, or raise unless the parameters are the network's."""
    first = next(iter(network.shapes()))
    members = len(parameters[first]) if first in parameters else 0
    for name, shape in network.shapes().items():
        found = tuple(parameters[name].shape) if name in parameters else None
        if members < 1 or found != (members, *shape):
            wanted = f"(members, *{shape}), as network.initialize returns it"
            raise ValueError(f"parameters[{name!r}] has shape {found}: want {wanted}")
    return members


def numbers_of(name: str, value: ArrayLike) -> tuple[float, ...]:
    """Return a tuple of numbers."""
    return tuple(np.atleast_1d(numbers(name, value)).tolist())


def losses(name: str, value: Loss) -> Loss:
    """Return a function of outputs and targets whose result is looked at: a number a member."""
    instance(Callable)(name, value)
    if value in (half_squared_error, cross_entropy):
        return value

    def checked(outputs: Tensor, targets: Tensor) -> Tensor:
        found = value(outputs, targets)
        if not isinstance(found, Tensor) or found.shape != outputs.shape[:1]:
            wanted = f"a tensor ({len(outputs)},), one number for each member"
            raise ValueError(f"{name} gives {_shown(found)}: want {wanted}")
        return found

    return checked


def metrics(name: str, value: Mapping[str, Loss]) -> dict[str, Loss]:
    """Return functions of outputs and targets by name, whose results are looked at."""
    _refuse_taken(name, kind(name, value, Mapping))
    return {key: losses(f"{name}[{key!r}]", one) for key, one in value.items()}


def observables(name: str, value: Observe) -> Observe:
    """Return a function whose observables are looked at: names, dimensions and shapes."""
    instance(Callable)(name, value)

    def checked(parameters: Parameters, outputs: Tensor, hidden: list[Tensor]) -> dict:
        found = value(parameters, outputs, hidden)
        _refuse_taken(name, kind(f"what {name} gives", found, Mapping))
        for key, one in found.items():
            _refuse_observable(f"{name}[{key!r}]", one, len(outputs))
        return found

    return checked


def _refuse_taken(name: str, names: Iterable[str]) -> None:
    """Raise if a name is that of something else that is recorded."""
    if taken := TAKEN & {*names}:
        raise ValueError(f"{name} has the name {min(taken)!r}, which is taken: want another")


def _refuse_observable(name: str, found: Any, members: int) -> None:
    """Raise unless this is names of dimensions and a tensor with these beside the member's."""
    dims, values = found if isinstance(found, tuple | list) and len(found) == 2 else ((), found)
    if not isinstance(values, Tensor) or values.shape[:1] != (members,):
        wanted = f"dimensions and a tensor ({members}, ...)"
        raise ValueError(f"{name} is {_shown(values)}: want {wanted}")
    if values.ndim != 1 + len(dims) or TAKEN & {*dims}:
        wanted = "a name of its own for each axis but the member's"
        raise ValueError(f"{name} has the shape {tuple(values.shape)} and {dims}: want {wanted}")


def _shown(found: Any) -> str:
    shape = f" of shape {tuple(found.shape)}" if hasattr(found, "shape") else ""
    return f"a {type(found).__name__}{shape}"


def draws(name: str, value: Draw) -> Draw:
    """Return a function of member and step that gives arrays, whatever form its numbers have."""
    instance(Callable)(name, value)

    def checked(member: int, step: int) -> Any:
        found = value(member, step)
        if isinstance(found, tuple) and len(found) == 2 and all(map(_is_native, found)):
            return found
        return pair(f"{name}({member}, {step})", found, partial(numbers, largest=np.inf))

    return checked


def _is_native(part: Any) -> bool:
    return type(part) is np.ndarray and part.dtype.char in "fdl"


def pair(name: str, value: Any, check: Check = for_torch) -> list:
    """Return inputs and targets as PyTorch takes them."""
    found = arrays(name, value, check)
    if len(found) != 2:
        raise ValueError(f"{name} has length {len(found)}: want two parts, inputs and targets")
    return found


def _tensor(name: str, value: Tensor | np.ndarray, like: Tensor) -> Tensor:
    """Return finite numbers as a tensor on the device of `like`."""
    try:
        found = torch.as_tensor(value, device=like.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{name} is of type {type(value).__name__}: want numbers, a tensor or an array"
        ) from None
    if not torch.isfinite(found).all():
        raise ValueError(f"{name} must be finite")
    return found


def points(
    network: Network,
    inputs: Tensor | np.ndarray,
    targets: Tensor | np.ndarray,
    members: int,
    like: Tensor,
    loss: Loss,
    part: str = "",
) -> Data:
    """Bring points and targets to the device of `like` and,
    unless they are tokens or labels, to its precision.
    """
    inputs = _tensor(f"{part}inputs", inputs, like)
    targets = _tensor(f"{part}targets", targets, like)
    targets = targets.to(like.dtype) if targets.is_floating_point() else targets
    own = inputs.ndim == len(network.point) + 2
    each = ", ".join(map(str, network.point))
    if (
        inputs.shape[1 + own :] != network.point
        or inputs.numel() == 0
        or (own and len(inputs) != members)
    ):
        given = f"{part}inputs have shape {tuple(inputs.shape)}"
        raise ValueError(
            f"{given}: want (n, {each}), or ({members}, n, {each}) with a set for each member"
        )
    if inputs.shape[: 1 + own] != targets.shape[: 1 + own]:
        given = f"{part}inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)}"
        raise ValueError(f"{given}: want as many targets as inputs")
    _check_targets(loss, targets, own, network.outputs, part)
    if network.tokens is None:
        return Data(inputs.to(like.dtype), targets, own)
    if inputs.is_floating_point() or inputs.min() < 0 or inputs.max() >= network.tokens:
        raise ValueError(
            f"{part}inputs are tokens: want whole numbers from 0 to {network.tokens - 1}"
        )
    return Data(inputs.long(), targets, own)


def _check_targets(loss: Loss, targets: Tensor, own: bool, outputs: int, part: str) -> None:
    """Refuse targets that the loss would take for something else."""
    found = tuple(targets.shape[own:])
    given = f"{part}targets are {found} for each member"
    count = found[0]
    if loss is half_squared_error and found != (count, outputs):
        raise ValueError(f"{given}: want ({count}, {outputs}), points and outputs")
    labels = (
        found == (count,)
        and not targets.is_floating_point()
        and targets.min() >= 0
        and targets.max() < outputs
    )
    if loss is cross_entropy and not labels:
        raise ValueError(
            f"{given}, of {targets.dtype}: want ({count},) labels, whole numbers from 0 to "
            f"{outputs - 1}"
        )


def by_parameter(
    name: str, given: ArrayLike | Mapping, shapes: Mapping[str, tuple], members: int, check: Check
) -> dict[str, np.ndarray]:
    """Return learning rates or weight decays (members,) of each parameter, by name."""
    given = given if isinstance(given, Mapping) else dict.fromkeys(shapes, given)
    if set(given) != set(shapes):
        raise ValueError(f"{name} by name must name each of the parameters {', '.join(shapes)}")
    found = {}
    for parameter, value in given.items():
        value = check(name, value)
        if value.shape not in ((), (members,)):
            raise ValueError(
                f"{name} is {value.tolist()}: want one number, or one for each of {members} members"
            )
        found[parameter] = np.broadcast_to(value, (members,))
    return found


def asked_to_stop(stop_when: Callable, seen: dict[str, np.ndarray]) -> np.ndarray:
    """Return the mask (members,) of those that `stop_when` tells to stop."""
    found = np.asarray(stop_when(seen))
    wanted = seen["loss"].shape
    if found.dtype != bool or found.shape != wanted:
        raise ValueError(
            f"stop_when gives {found.dtype} {found.shape}: want a mask {wanted}, true or false "
            "for each member"
        )
    return found
