"""Train many networks at once and record what they do.

`train` runs a stack of *members*, networks of one architecture that differ in their parameters, learning rates or data, and
records observables at chosen steps. Dense networks on few points take a compiled path (`lib.fused`), two-layer ReLU networks
without biases one that works in place (`lib.two_layer`), everything else one torch program for all members (`lib.descent`). A
member's result does not depend on who trains beside it: bitwise on the first two paths and in float64 on the CPU, elsewhere to
rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from types import NoneType
from typing import Protocol

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from tqdm import tqdm

from lib import descent, two_layer
from lib.checks import kind, number, numbers, sizes, whole
from lib.descent import Data, Draw, Loss, Method, Schedule, call, cross_entropy, half_squared_error
from lib.networks import Dense, Network

MOST_FUSED_POINTS = 16  # beyond this, matrix products beat the compiled path

Observe = Callable[[dict[str, Tensor], Tensor, list[Tensor]], dict[str, tuple[tuple[str, ...], Tensor]]]


def log_steps(steps: int, count: int) -> np.ndarray:
    """Return step 0 and about `count` steps from 1 to `steps`, evenly spaced on a logarithmic scale."""
    sizes(steps=steps, count=count)
    return np.unique(np.concatenate([[0], np.geomspace(1, steps, count).round()]).astype(int))


def train(
    network: Network,
    parameters: Mapping[str, Tensor],
    inputs: Tensor | np.ndarray,
    targets: Tensor | np.ndarray,
    *,
    learning_rate: float | Sequence[float] | Mapping[str, float | Sequence[float]],
    steps: int,
    optimizer: str = "sgd",
    momentum: float = 0.0,
    nesterov: bool = False,
    betas: tuple[float, float] = (0.9, 0.999),
    schedule: Schedule | None = None,
    batch_size: int | None = None,
    draw: Draw | None = None,
    loss: Loss = half_squared_error,
    metrics: Mapping[str, Loss] | None = None,
    test: tuple[Tensor | np.ndarray, Tensor | np.ndarray] | None = None,
    record: Sequence[int] | None = None,
    observe: Observe | None = None,
    layers: int | Sequence[int] | None = (),
    stop_below: float = -np.inf,
    seed: int | Sequence[int] = 0,
    progress: bool = False,
) -> xr.Dataset:
    """Train every member of a stack by gradient descent, on the device and in the precision of its parameters.

    Parameters
    ----------
    network : the architecture
    parameters : by name, (members, ...), as `network.initialize` returns them; left as they are
    inputs, targets : one data set for all members, (n, ...), or one for each, (members, n, ...)
    learning_rate : > 0; one number, or (members,), or one of these for each parameter by name
    steps : number of updates, at least 1
    optimizer : "sgd" or "adam" (with ε = 1e-8)
    momentum, nesterov : of "sgd", the former in [0, 1)
    betas : of "adam", in [0, 1)
    schedule : maps the number of an update, from 0, to a factor, at least 0, of all learning rates (see `lib.schedules`)
    batch_size : None for all points at once; else each epoch passes through the points in an order of the member's own
    draw : instead, a fresh batch for each step: maps (member, step) to inputs (b, ...) and targets (b, ...); `inputs` and
        `targets` are then those at which it is recorded
    loss : maps outputs (members, n, ...) and targets, which may lack the member axis, to (members,)
    metrics : further functions of the same kind, by name, that are recorded beside the loss
    test : inputs and targets, for all members or for each, at which loss and metrics are recorded, too
    record : steps at which to record, ascending from 0 (before the first update) to at most `steps`; by default all of them
    observe : maps (parameters, outputs, hidden), tensors that start with a member axis, to observables: by name, their further
        dimensions and a tensor (members, ...)
    layers : hidden layers, counted from 0, whose representations `observe` gets; None for all
    stop_below : a member whose recorded loss falls below this stops there, and its last state is repeated
    seed : with the member's number it determines the order of points and the units that drop out; or (members,), so that
        members of one seed share them
    progress : show a bar

    Returns
    -------
    Dataset over (member, step): `loss` and the metrics over all points, with a test set `test_loss` and so on, and the
    observables; over member: `stopped` and `diverged`, the recorded step at which that happened, or -1

    Raises
    ------
    ValueError, TypeError
        If an argument is malformed; the message says what is allowed.
    """
    kind("network", network, Network)
    kind("loss", loss, Callable)
    kind("metrics", metrics or {}, Mapping)
    for name, given in (("schedule", schedule), ("draw", draw), ("observe", observe)):
        kind(name, given, Callable, NoneType)
    members = _check_parameters(network, parameters)
    parameters = {name: parameters[name].detach() for name in network.shapes()}
    like = next(iter(parameters.values()))
    data = _data(network, inputs, targets, members, like)
    rates = _learning_rates(learning_rate, network.shapes(), members)
    method = Method(optimizer, momentum, nesterov, betas, schedule, batch_size, draw, loss, seed)
    method.check(members, data.points)
    tested = _tested(network, test, members, like)
    for each in (data, tested):
        _check_targets(loss, each, network.outputs)
    steps = whole("steps", steps)
    record = np.arange(steps + 1) if record is None else numbers("record", record)
    if record.ndim != 1 or np.any(record % 1) or record[0] < 0 or record[-1] > steps or np.any(np.diff(record) <= 0):
        raise ValueError(f"record must be whole steps that ascend, from 0 to {steps} at most: there is nothing beyond the run")
    if stop_below != -np.inf:
        number("stop_below", stop_below)
    layers = network.layers(layers)

    stacks = _stacks(network, parameters, data, rates, method)
    ends = np.cumsum([stack.members for stack in stacks])
    views = [
        _View(network, data.part(own), tested and tested.part(own), loss, metrics or {}, observe)
        for own in (slice(end - stack.members, end) for stack, end in zip(stacks, ends, strict=True))
    ]
    bar = tqdm(total=members * int(record[-1]), desc="training", unit="step", disable=None if progress else True)
    threads = min(len(stacks), cpu_count() or 1)
    # Arithmetic on numbers below the normal range is a hundred times slower, so each thread rounds them to zero.
    with bar, ThreadPoolExecutor(threads, initializer=torch.set_flush_denormal, initargs=(True,)) as pool:
        runs = list(pool.map(lambda *pair: _run(*pair, record.astype(int), layers, stop_below, bar), stacks, views))
    joined = runs[0] if len(runs) == 1 else xr.concat(runs, "member")
    return joined.assign_coords(member=np.arange(members))


class _Stack(Protocol):
    """What `_run` needs: members that advance together."""

    members: int

    def advance(self, steps: int) -> None:
        """Take some steps."""

    def look(self, layers: tuple[int, ...]) -> tuple[Tensor, dict[str, Tensor], Tensor, list[Tensor]]:
        """Return the losses (members,), the parameters, the outputs and the representations, all with a member axis."""

    def freeze(self, members: np.ndarray) -> None:
        """Stop the members marked in a mask (members,)."""


def _run(stack: _Stack, view: "_View", record: np.ndarray, layers: tuple[int, ...], stop_below: float, bar: tqdm) -> xr.Dataset:
    """Train a stack from record to record and collect what is seen."""
    stopped, diverged = (np.full(stack.members, -1) for _ in range(2))
    seen, done = [], 0
    for step in record:
        if np.any(stopped < 0):
            stack.advance(int(step) - done)
            losses, parameters, outputs, hidden = stack.look(layers)
            frame = {"loss": ((), losses)} | view.observe(parameters, outputs, hidden)
            frame = {name: (dims, value.detach().cpu().numpy().copy()) for name, (dims, value) in frame.items()}
            losses = frame["loss"][1]
            diverged[(diverged < 0) & ~np.isfinite(losses)] = step
            stopped[(stopped < 0) & (losses < stop_below)] = step
            stack.freeze(stopped >= 0)
        seen.append(frame)
        bar.update(stack.members * (int(step) - done))
        done = int(step)
    variables = {
        name: (("member", "step", *dims), np.stack([frame[name][1] for frame in seen], axis=1))
        for name, (dims, _) in seen[0].items()
    }
    return xr.Dataset(variables | {"stopped": ("member", stopped), "diverged": ("member", diverged)}, {"step": record})


@dataclass(frozen=True)
class _View:
    """What is read off a stack beside its loss."""

    network: Network
    data: Data
    test: Data | None
    loss: Loss
    metrics: Mapping[str, Loss]
    observer: Observe | None

    def observe(self, parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        frame = {name: ((), metric(outputs, self.data.targets)) for name, metric in self.metrics.items()}
        if self.test is not None:
            with torch.no_grad():
                answers, _ = call(self.network, parameters, self.test, ())
            measures = {"loss": self.loss, **self.metrics}
            frame |= {f"test_{name}": ((), metric(answers, self.test.targets)) for name, metric in measures.items()}
        return frame | (self.observer(parameters, outputs, hidden) if self.observer else {})


def _stacks(
    network: Network, parameters: Mapping[str, Tensor], data: Data, rates: Mapping[str, np.ndarray], method: Method
) -> list[_Stack]:
    """Choose how to compute: in place where network and method are plain, else by automatic differentiation."""
    like = next(iter(parameters.values()))
    members, on_cpu = len(like), like.device.type == "cpu"
    plain = isinstance(network, Dense) and method.plain(data.points)
    if plain and on_cpu and data.points <= MOST_FUSED_POINTS:
        from lib import fused  # numba is not needed elsewhere

        if fused.fits(network):
            each = range(members)
            return [fused.Stack(network, _member(parameters, m), *data.member(m), _member(rates, m)) for m in each]
    if plain and two_layer.fits(network):
        each = [slice(m, m + 1) for m in range(members)] if on_cpu else [slice(members)]
        return [two_layer.Stack(_member(parameters, m), *data.member(m), _member(rates, m)) for m in each]
    return [descent.Stack(network, parameters, data, rates, method)]


def _check_parameters(network: Network, parameters: Mapping[str, Tensor]) -> int:
    """Return the number of members."""
    kind("parameters", parameters, Mapping)
    for name, value in parameters.items():
        kind(f"parameters[{name!r}]", value, Tensor)
    first = next(iter(network.shapes()))
    members = len(parameters[first]) if first in parameters else 0
    for name, shape in network.shapes().items():
        found = tuple(parameters[name].shape) if name in parameters else None
        if members < 1 or found != (members, *shape):
            raise ValueError(
                f"parameters[{name!r}] has shape {found}: want (members, *{shape}), as network.initialize returns it"
            )
    sizes = torch.stack([parameters[name].detach().abs().flatten(1).amax(1) for name in network.shapes()])
    largest, limits = sizes.amax(0), torch.finfo(sizes.dtype)
    least = limits.tiny / limits.eps  # steps of smaller weights would lie below the normal range and be rounded to zero
    if ((largest > 0) & (largest < least)).any():
        raise ValueError(
            f"parameters of a member are at most {largest[largest > 0].min():.1e} in size: want 0, or {least:.1e} or more in"
            f" {sizes.dtype}, since steps of smaller ones are rounded to zero"
        )
    return members


def _tested(network: Network, test: tuple | None, members: int, like: Tensor) -> Data | None:
    if test is None:
        return None
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise ValueError(f"test is {type(test).__name__}: want inputs and targets, two arrays")
    try:
        return _data(network, *test, members, like)
    except (TypeError, ValueError) as error:
        raise ValueError(f"test: {error}") from None


def _tensor(name: str, value: Tensor | np.ndarray, like: Tensor) -> Tensor:
    try:
        return torch.as_tensor(value, device=like.device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is of type {type(value).__name__}: want numbers, a tensor or an array") from None


def _data(network: Network, inputs: Tensor | np.ndarray, targets: Tensor | np.ndarray, members: int, like: Tensor) -> Data:
    """Bring points and targets to the device of `like` and, where they are no tokens or labels, to its precision."""
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
    if network.tokens is None:
        return Data(inputs.to(like.dtype), targets, own)
    if inputs.is_floating_point() or inputs.min() < 0 or inputs.max() >= network.tokens:
        raise ValueError(f"inputs are tokens: want whole numbers from 0 to {network.tokens - 1}")
    return Data(inputs.long(), targets, own)


def _check_targets(loss: Loss, data: Data | None, outputs: int) -> None:
    """Refuse targets that the loss would take for something else."""
    if data is None:
        return
    found, points = tuple(data.targets.shape[data.own :]), data.points
    if loss is half_squared_error and found != (points, outputs):
        raise ValueError(f"targets are {found} for each member: want ({points}, {outputs}), points and outputs")
    if loss is cross_entropy:
        labels = data.targets
        if found != (points,) or labels.is_floating_point() or labels.min() < 0 or labels.max() >= outputs:
            raise ValueError(
                f"targets are {found} for each member: want ({points},) labels, whole numbers from 0 to {outputs - 1}"
            )


def _learning_rates(
    given: float | Sequence[float] | Mapping[str, float | Sequence[float]], shapes: Mapping[str, tuple], members: int
) -> dict[str, np.ndarray]:
    """Return the learning rates (members,) of each parameter, by name."""
    given = given if isinstance(given, Mapping) else dict.fromkeys(shapes, given)
    if set(given) != set(shapes):
        raise ValueError(f"learning_rate by name must name each of the parameters {', '.join(shapes)}")
    rates = {}
    for name, rate in given.items():
        rate = numbers("learning_rate", rate)
        if rate.shape not in ((), (members,)) or np.any(rate <= 0):
            raise ValueError(f"learning_rate is {rate.tolist()}: want one positive number, or one for each of {members} members")
        rates[name] = np.broadcast_to(rate, (members,))
    return rates


def _member(values: Mapping[str, Tensor | np.ndarray], m: int | slice) -> dict:
    return {name: value[m] for name, value in values.items()}
