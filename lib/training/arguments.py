"""What `train` is given, checked and brought into the form that the stacks take."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from lib.checks import Check
from lib.networks import Network
from lib.training.descent import Data
from lib.training.losses import Loss, cross_entropy, half_squared_error

Rates = float | Sequence[float] | Mapping[str, float | Sequence[float]]  # for all, for each member, or these for each parameter


def count_members(network: Network, parameters: Mapping[str, Tensor]) -> int:
    """Return the number of members, or raise unless the parameters are the network's and large enough to train."""
    first = next(iter(network.shapes()))
    members = len(parameters[first]) if first in parameters else 0
    for name, shape in network.shapes().items():
        found = tuple(parameters[name].shape) if name in parameters else None
        if members < 1 or found != (members, *shape):
            wanted = f"(members, *{shape}), as network.initialize returns it"
            raise ValueError(f"parameters[{name!r}] has shape {found}: want {wanted}")
    largest = torch.stack([parameters[name].detach().abs().flatten(1).amax(1) for name in network.shapes()]).amax(0)
    limits = torch.finfo(largest.dtype)
    least = limits.tiny / limits.eps  # steps of smaller weights would lie below the normal range and be rounded to zero
    if ((largest > 0) & (largest < least)).any():
        raise ValueError(
            f"parameters of a member are at most {largest[largest > 0].min():.1e} in size: want 0, or {least:.1e} or more in"
            f" {largest.dtype}, since steps of smaller ones are rounded to zero"
        )
    return members


def test_points(network: Network, test: tuple | None, members: int, like: Tensor, loss: Loss) -> Data | None:
    """Return the points at which the members are tested, or None."""
    if test is None:
        return None
    try:
        inputs, targets = test
        return points(network, inputs, targets, members, like, loss)
    except (TypeError, ValueError) as error:
        raise ValueError(f"test: {error}") from None


def _tensor(name: str, value: Tensor | np.ndarray, like: Tensor) -> Tensor:
    try:
        return torch.as_tensor(value, device=like.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is of type {type(value).__name__}: want numbers, a tensor or an array") from None


def points(
    network: Network, inputs: Tensor | np.ndarray, targets: Tensor | np.ndarray, members: int, like: Tensor, loss: Loss
) -> Data:
    """Bring points and targets to the device of `like` and, unless they are tokens or labels, to its precision."""
    inputs, targets = _tensor("inputs", inputs, like), _tensor("targets", targets, like)
    point = network.point
    own = inputs.ndim == len(point) + 2
    if inputs.ndim - own != len(point) + 1 or inputs.numel() == 0 or (own and len(inputs) != members):
        raise ValueError(
            f"inputs have shape {tuple(inputs.shape)}: want (n, ...), or ({members}, n, ...) with a set for each member"
        )
    if inputs.shape[: 1 + own] != targets.shape[: 1 + own]:
        raise ValueError(f"inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)} must be equally many")
    if inputs.shape[1 + own :] != point:
        wanted = " × ".join(map(str, point))
        raise ValueError(f"inputs have shape {tuple(inputs.shape)}: want {wanted} numbers for each point, as the network does")
    targets = targets.to(like.dtype) if targets.is_floating_point() else targets
    for name, data in (("inputs", inputs), ("targets", targets)):
        if not torch.isfinite(data).all():
            raise ValueError(f"{name} must be finite")
    _check_targets(loss, targets, own, network.outputs)
    if network.tokens is None:
        return Data(inputs.to(like.dtype), targets, own)
    if inputs.is_floating_point() or inputs.min() < 0 or inputs.max() >= network.tokens:
        raise ValueError(f"inputs are tokens: want whole numbers from 0 to {network.tokens - 1}")
    return Data(inputs.long(), targets, own)


def _check_targets(loss: Loss, targets: Tensor, own: bool, outputs: int) -> None:
    """Refuse targets that the loss would take for something else."""
    found = tuple(targets.shape[own:])
    said, count = f"targets are {found} for each member", found[0]
    if loss is half_squared_error and found != (count, outputs):
        raise ValueError(f"{said}: want ({count}, {outputs}), points and outputs")
    labels = found == (count,) and not targets.is_floating_point() and targets.min() >= 0 and targets.max() < outputs
    if loss is cross_entropy and not labels:
        raise ValueError(f"{said}: want ({count},) labels, whole numbers from 0 to {outputs - 1}")


def by_parameter(name: str, given: Rates, shapes: Mapping[str, tuple], members: int, check: Check) -> dict[str, np.ndarray]:
    """Return learning rates or weight decays (members,) of each parameter, by name."""
    given = given if isinstance(given, Mapping) else dict.fromkeys(shapes, given)
    if set(given) != set(shapes):
        raise ValueError(f"{name} by name must name each of the parameters {', '.join(shapes)}")
    found = {parameter: check(name, value) for parameter, value in given.items()}
    for value in found.values():
        if value.shape not in ((), (members,)):
            raise ValueError(f"{name} is {value.tolist()}: want one number, or one for each of {members} members")
    return {parameter: np.broadcast_to(value, (members,)) for parameter, value in found.items()}


def asked_to_stop(stop_when: Callable | None, seen: dict[str, np.ndarray]) -> np.ndarray:
    """Return the mask (members,) of those that `stop_when` tells to stop."""
    none = np.zeros(len(seen["loss"]), bool)
    if stop_when is None:
        return none
    try:
        found = np.asarray(stop_when(seen))
    except KeyError as error:
        raise ValueError(f"stop_when asks for {error}: recorded are {', '.join(seen)}") from None
    if found.dtype != bool or found.shape != none.shape:
        raise ValueError(f"stop_when gives {found.dtype} {found.shape}: want a mask {none.shape}, true or false for each member")
    return found
