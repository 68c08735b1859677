"""What `train` is given, checked and brought into the form that the stacks take."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lib.checks import Check, arrays, for_torch
from lib.networks import Network
from lib.networks.base import Parameters
from lib.training.descent import Data
from lib.training.losses import Loss, cross_entropy, half_squared_error

Rates = (
    float | Sequence[float] | Mapping[str, float | Sequence[float]]
)  # for all, for each member, or these for each parameter


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


def pair(name: str, value: Any) -> list:
    """Return inputs and targets as PyTorch takes them."""
    found = arrays(name, value, for_torch)
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
        raise ValueError(f"{given}: want ({count},) labels, whole numbers from 0 to {outputs - 1}")


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
