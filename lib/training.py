"""Train many networks at once and record what they do.

`train` runs a stack of *members*, networks of one architecture that differ in their parameters, learning rates or data, and
records observables at chosen steps. Dense networks on few points take a compiled path (`lib.fused`), two-layer ReLU networks
without biases one that works in place (`lib.two_layer`), everything else one torch program for all members. A member's result
does not depend on who trains beside it: bitwise on the first two paths and in float64 on the CPU, elsewhere to rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Protocol

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.func import vmap
from tqdm import tqdm

from lib.networks import Dense, Network

MOST_FUSED_POINTS = 16  # beyond this, matrix products beat the compiled path

Loss = Callable[[Tensor, Tensor], Tensor]
Observe = Callable[[dict[str, Tensor], Tensor, list[Tensor]], dict[str, tuple[tuple[str, ...], Tensor]]]
Draw = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
Schedule = Callable[[int], float]


def half_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return ½ mean over points of ‖output − target‖², for outputs and targets (..., n, c); shape (...)."""
    return ((outputs - targets) ** 2).sum(-1).mean(-1) / 2


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the mean of −ln softmax(output)[label] over points, for outputs (..., n, c) and labels (n,) or (..., n); (...)."""
    own = labels.expand(outputs.shape[:-1]).unsqueeze(-1)
    return -outputs.log_softmax(-1).gather(-1, own).squeeze(-1).mean(-1)


def log_steps(steps: int, count: int) -> np.ndarray:
    """Return step 0 and about `count` steps from 1 to `steps`, evenly spaced on a logarithmic scale."""
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
    ValueError
        If an argument is malformed; the message says what is allowed.
    """
    members = _check_parameters(network, parameters)
    parameters = {name: parameters[name].detach() for name in network.shapes()}
    like = next(iter(parameters.values()))
    data = _data(network, inputs, targets, members, like)
    rates = _learning_rates(learning_rate, network.shapes(), members)
    method = _Method(optimizer, momentum, nesterov, betas, schedule, batch_size, draw, loss, seed)
    method.check(members, data.points)
    tested = None if test is None else _data(network, *test, members, like)
    for each in (data, tested):
        _check_targets(loss, each, network.outputs)
    if not (steps >= 1 and steps % 1 == 0):
        raise ValueError(f"steps is {steps}: want a positive integer")
    record = np.arange(steps + 1) if record is None else np.asarray(record)
    whole = record.ndim == 1 and record.size > 0 and np.all(record % 1 == 0)
    if not whole or record[0] < 0 or record[-1] > steps or np.any(np.diff(record) <= 0):
        raise ValueError(f"record must be whole steps that ascend, from 0 to {steps} at most: there is nothing beyond the run")
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
class _Data:
    """Points and targets, with a leading member axis if each member has its own."""

    inputs: Tensor
    targets: Tensor
    own: bool

    @property
    def points(self) -> int:
        return self.inputs.shape[int(self.own)]

    def member(self, m: int | slice) -> tuple[Tensor, Tensor]:
        return (self.inputs[m], self.targets[m]) if self.own else (self.inputs, self.targets)

    def part(self, members: slice) -> "_Data":
        return _Data(*self.member(members), self.own)

    def batch(self, index: Tensor) -> "_Data":
        """Take the points `index` (members, batch)."""
        if not self.own:
            return _Data(self.inputs[index], self.targets[index], True)
        rows = torch.arange(len(index), device=index.device)[:, None]
        return _Data(self.inputs[rows, index], self.targets[rows, index], True)


@dataclass(frozen=True)
class _View:
    """What is read off a stack beside its loss."""

    network: Network
    data: _Data
    test: _Data | None
    loss: Loss
    metrics: Mapping[str, Loss]
    observer: Observe | None

    def observe(self, parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        frame = {name: ((), metric(outputs, self.data.targets)) for name, metric in self.metrics.items()}
        if self.test is not None:
            with torch.no_grad():
                answers, _ = _call(self.network, parameters, self.test, ())
            measures = {"loss": self.loss, **self.metrics}
            frame |= {f"test_{name}": ((), metric(answers, self.test.targets)) for name, metric in measures.items()}
        return frame | (self.observer(parameters, outputs, hidden) if self.observer else {})


@dataclass(frozen=True)
class _Method:
    """How the members descend."""

    optimizer: str
    momentum: float
    nesterov: bool
    betas: tuple[float, float]
    schedule: Schedule | None
    batch_size: int | None
    draw: Draw | None
    loss: Loss
    seed: int | Sequence[int]

    def check(self, members: int, points: int) -> None:
        if self.optimizer not in ("sgd", "adam"):
            raise ValueError(f"optimizer {self.optimizer!r}: want sgd or adam")
        if not 0 <= self.momentum < 1 or (self.momentum and self.optimizer != "sgd"):
            raise ValueError(f"momentum is {self.momentum}: want a number in [0, 1), with sgd only")
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov: want momentum, too")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are {self.betas}: want two numbers in [0, 1)")
        if np.shape(self.seed) not in ((), (members,)):
            raise ValueError(f"seed is {self.seed}: want one number, or one for each of {members} members")
        size = self.batch_size
        if size is not None and not (size % 1 == 0 and 1 <= size <= points):
            raise ValueError(f"batch_size is {size}: want 1 to {points}, the number of points, or None for all")
        if size is not None and self.draw is not None:
            raise ValueError("batch_size and draw: want one of them")

    def key(self, m: int) -> tuple[int, int]:
        """Return what a member's random numbers start from."""
        return (self.seed, m) if np.ndim(self.seed) == 0 else (self.seed[m], 0)

    def plain(self, points: int) -> bool:
        """Say whether this is full-batch gradient descent on the half squared error, at a constant rate."""
        full = self.batch_size in (None, points) and self.draw is None
        constant = self.optimizer == "sgd" and not self.momentum and self.schedule is None
        return constant and full and self.loss is half_squared_error

    def factor(self, step: int) -> float:
        """Return the factor of the learning rates at an update."""
        factor = 1.0 if self.schedule is None else float(self.schedule(step))
        if not 0 <= factor < np.inf:
            raise ValueError(f"schedule gives {factor} at update {step}: want a number of at least 0")
        return factor


def _stacks(
    network: Network, parameters: Mapping[str, Tensor], data: _Data, rates: Mapping[str, np.ndarray], method: _Method
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
    from lib import two_layer  # which imports from here

    if plain and two_layer.fits(network):
        each = [slice(m, m + 1) for m in range(members)] if on_cpu else [slice(members)]
        return [two_layer.Stack(_member(parameters, m), *data.member(m), _member(rates, m)) for m in each]
    return [_TorchStack(network, parameters, data, rates, method)]


class _TorchStack:
    """All members in one torch program."""

    def __init__(
        self, network: Network, parameters: Mapping[str, Tensor], data: _Data, rates: Mapping[str, np.ndarray], method: _Method
    ) -> None:
        self.network, self.data, self.method = network, data, method
        self.parameters = {name: value.clone() for name, value in parameters.items()}
        self.members, self.step = len(next(iter(parameters.values()))), 0
        self.rates = {
            name: torch.tensor(rates[name]).to(value).view(-1, *[1] * (value.ndim - 1)) for name, value in self.parameters.items()
        }
        self.first, self.second = ({name: torch.zeros_like(p) for name, p in self.parameters.items()} for _ in range(2))

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._update(self._gradients())
            self.step += 1

    def _gradients(self) -> dict[str, Tensor]:
        data = self._batch()
        leaves = {name: value.requires_grad_() for name, value in self.parameters.items()}
        outputs, _ = _call(self.network, leaves, data, (), self._masks(data.points))
        total = self.method.loss(outputs, data.targets).sum()  # members do not mix: each gets its own gradient
        gradients = torch.autograd.grad(total, list(leaves.values()))
        return dict(zip(leaves, gradients, strict=True))

    def _batch(self) -> _Data:
        size, points = self.method.batch_size, self.data.points
        if self.method.draw is not None:
            return self._drawn()
        if size in (None, points):
            return self.data
        epoch, number = divmod(self.step, -(-points // size))
        if number == 0:
            orders = [np.random.default_rng((*self.method.key(m), epoch + 1)).permutation(points) for m in range(self.members)]
            self.orders = torch.from_numpy(np.stack(orders)).to(self.data.inputs.device)
        return self.data.batch(self.orders[:, number * size : (number + 1) * size])

    def _drawn(self) -> _Data:
        pairs = zip(*(self.method.draw(m, self.step) for m in range(self.members)), strict=True)
        inputs, targets = (torch.from_numpy(np.stack(values)).to(self.data.inputs.device) for values in pairs)
        return _Data(inputs.to(self.data.inputs.dtype), targets.to(self.data.targets.dtype), True)

    def _masks(self, points: int) -> Tensor | None:
        """Draw which units stay, for each member from a stream of its own."""
        if not getattr(self.network, "dropout", 0):
            return None
        streams = [np.random.default_rng((*self.method.key(m), self.step, 1)) for m in range(self.members)]
        masks = np.stack([self.network.masks(rng, points) for rng in streams])
        return torch.from_numpy(masks).to(next(iter(self.parameters.values())))

    @torch.no_grad()
    def _update(self, gradients: dict[str, Tensor]) -> None:
        method, (slow, slower), factor = self.method, self.method.betas, self.method.factor(self.step)
        for name, parameter in self.parameters.items():
            gradient, first, second, rate = gradients[name], self.first[name], self.second[name], factor * self.rates[name]
            if method.optimizer == "adam":
                first.lerp_(gradient, 1 - slow)
                second.mul_(slower).addcmul_(gradient, gradient, value=1 - slower)
                spread = second.sqrt().div_((1 - slower ** (self.step + 1)) ** 0.5).add_(1e-8)
                gradient = first.div(spread.mul_(1 - slow ** (self.step + 1)))
            elif method.momentum:
                first.mul_(method.momentum).add_(gradient)
                gradient = gradient + method.momentum * first if method.nesterov else first
            parameter.sub_(rate * gradient)

    @torch.no_grad()
    def look(self, layers: tuple[int, ...]) -> tuple[Tensor, dict[str, Tensor], Tensor, list[Tensor]]:
        outputs, hidden = _call(self.network, self.parameters, self.data, layers)
        return self.method.loss(outputs, self.data.targets), self.parameters, outputs, hidden

    def freeze(self, members: np.ndarray) -> None:
        if members.any():
            for rate in self.rates.values():
                rate[torch.from_numpy(members).to(rate.device)] = 0


def _call(
    network: Network, parameters: dict[str, Tensor], data: _Data, layers: tuple[int, ...], masks: Tensor | None = None
) -> tuple[Tensor, list[Tensor]]:
    """Return the outputs and the representations of all members."""
    like = next(iter(parameters.values()))
    members, on_cpu = len(like), like.device.type == "cpu"
    if network.broadcasts:
        # A CPU multiplies a single matrix in another order than each of many, so a member alone gets a twin that has no effect.
        if members == 1 and on_cpu and like.dtype == torch.float64:
            parameters = {name: value.expand(2, *value.shape[1:]) for name, value in parameters.items()}
        outputs, hidden = network(parameters, data.inputs, layers, masks)
        return outputs[:members], [h[:members] for h in hidden]
    if not on_cpu:
        return _mapped(network, parameters, data, layers, masks)
    # One by one: the CPU's convolutions round in another way for many members than for one.
    inputs = data.inputs if data.own else [data.inputs] * members
    masks = [None] * members if masks is None else masks
    each = zip(*(value.unbind() for value in parameters.values()), strict=True)
    calls = [
        network(dict(zip(parameters, values, strict=True)), x, layers, stay)
        for values, x, stay in zip(each, inputs, masks, strict=True)
    ]
    outputs, hidden = zip(*calls, strict=True)
    return torch.stack(outputs), [torch.stack(h) for h in zip(*hidden, strict=True)]


def _mapped(
    network: Network, parameters: dict[str, Tensor], data: _Data, layers: tuple[int, ...], masks: Tensor | None
) -> tuple[Tensor, list[Tensor]]:
    axes = (0, 0 if data.own else None, None if masks is None else 0)
    return vmap(lambda p, x, m: network(p, x, layers, m), axes)(parameters, data.inputs, masks)


def _check_parameters(network: Network, parameters: Mapping[str, Tensor]) -> int:
    """Return the number of members."""
    first = next(iter(network.shapes()))
    members = len(parameters[first]) if first in parameters else 0
    for name, shape in network.shapes().items():
        found = tuple(parameters[name].shape) if name in parameters else None
        if members < 1 or found != (members, *shape):
            raise ValueError(
                f"parameters[{name!r}] has shape {found}: want (members, *{shape}), as network.initialize returns it"
            )
    return members


def _data(network: Network, inputs: Tensor | np.ndarray, targets: Tensor | np.ndarray, members: int, like: Tensor) -> _Data:
    """Bring points and targets to the device of `like` and, where they are no tokens or labels, to its precision."""
    inputs, targets = torch.as_tensor(inputs, device=like.device), torch.as_tensor(targets, device=like.device)
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
        return _Data(inputs.to(like.dtype), targets, own)
    if inputs.is_floating_point() or inputs.min() < 0 or inputs.max() >= network.tokens:
        raise ValueError(f"inputs are tokens: want whole numbers from 0 to {network.tokens - 1}")
    return _Data(inputs.long(), targets, own)


def _check_targets(loss: Loss, data: _Data | None, outputs: int) -> None:
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
        rate = np.asarray(rate, float)
        if rate.shape not in ((), (members,)) or not np.all((rate > 0) & np.isfinite(rate)):
            raise ValueError(f"learning_rate is {rate.tolist()}: want one positive number, or one for each of {members} members")
        rates[name] = np.broadcast_to(rate, (members,))
    return rates


def _member(values: Mapping[str, Tensor | np.ndarray], m: int | slice) -> dict:
    return {name: value[m] for name, value in values.items()}
