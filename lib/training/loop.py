"""The loop that trains all members from record to record.

`train` runs a stack of *members*, networks of one architecture that differ in their parameters,
learning rates or data, and records observables at chosen steps. Dense networks on few points take a
compiled path (`fused`), two-layer ReLU networks without biases one that works in place
(`two_layer`), everything else one torch program for all members (`descent`).

A member's result does not depend on who trains beside it: bitwise on the first two paths and in
float64 on the CPU; elsewhere, and in the last bits with Adam, to rounding. Members that stop or
diverge are dropped from the stack (`active`). The numbers of the others stay what they were,
bitwise on a CPU but for Adam, which rounds the last few entries of an array in another way.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from os import cpu_count
from threading import Event
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from lib.checks import (
    flag,
    for_torch,
    instance,
    limit,
    non_negatives,
    number,
    optional,
    positives,
    seeds,
    size,
    takes,
    tensors,
    vector,
    whole,
)
from lib.networks import Dense, Network, Observe
from lib.networks.base import Layers, Parameters
from lib.progress import bar as progress_bar
from lib.training import descent, preparation
from lib.training.active import ActiveSet, Stack
from lib.training.descent import Data, Draw, Method, Schedule
from lib.training.losses import Loss, half_squared_error
from lib.training.preparation import Rates, draws, losses, metrics, numbers_of, observables, pair

StopWhen = Callable[[dict[str, np.ndarray]], np.ndarray]
# beyond this, matrix products beat the compiled path in the deep networks of 500 units
MOST_FUSED_POINTS = 16


@takes(steps=size, count=size)
def log_steps(steps: int, count: int) -> np.ndarray:
    """Return step 0 and about `count` steps from 1 to
    `steps`, evenly spaced on a logarithmic scale.

    >>> log_steps(1000, 7)
    array([   0,    1,    3,   10,   32,  100,  316, 1000])
    """
    return np.unique(np.concatenate([[0], np.geomspace(1, steps, count).round()]).astype(int))


function = optional(instance(Callable))


@takes(
    network=instance(Network),
    parameters=tensors,
    inputs=for_torch,
    targets=for_torch,
    test=optional(pair),
    steps=partial(whole, most=2**53),
    momentum=number,
    nesterov=flag,
    betas=numbers_of,
    schedule=function,
    batch_size=optional(whole),
    draw=optional(draws),
    loss=losses,
    metrics=optional(metrics),
    record=optional(vector),
    observe=optional(observables),
    stop_below=limit,
    stop_when=function,
    seed=seeds,
    progress=flag,
)
def train(
    network: Network,
    parameters: Parameters,
    inputs: Tensor | ArrayLike,
    targets: Tensor | ArrayLike,
    *,
    learning_rate: Rates | np.ndarray,
    steps: int,
    optimizer: str = "sgd",
    momentum: float = 0.0,
    nesterov: bool = False,
    betas: tuple[float, float] = (0.9, 0.999),
    weight_decay: Rates = 0.0,
    schedule: Schedule | None = None,
    batch_size: int | None = None,
    draw: Draw | None = None,
    loss: Loss = half_squared_error,
    metrics: Mapping[str, Loss] | None = None,
    test: Sequence[Tensor | ArrayLike] | None = None,
    record: ArrayLike | None = None,
    observe: Observe | None = None,
    layers: int | Sequence[int] | None = (),
    stop_below: float = -np.inf,
    stop_when: StopWhen | None = None,
    seed: int | Sequence[int] = 0,
    progress: bool = False,
) -> xr.Dataset:
    """Train every member of a stack by gradient descent, on the
    device and in the precision of its parameters.

    Parameters
    ----------
    network : the architecture
    parameters : by name, (members, ...), as `network.initialize` returns them, all in float32 or
        all in float64; left as they are
    inputs, targets : one data set for all members, (n, ...), or one for each, (members, n, ...): a
        tensor, or what NumPy makes an array of, such as lists and tables; labels are whole numbers
    learning_rate : > 0; one number, or (members,), or one of these for each parameter by name
    steps : number of updates, at least 1
    optimizer : "sgd" or "adam" (with ε = 1e-8)
    momentum, nesterov : of "sgd", the former in [0, 1)
    betas : of "adam", in [0, 1)
    weight_decay : λ ≥ 0, given like the learning rate: each update first multiplies the weights by
        1 − λ · learning rate. This decay is decoupled from gradient and momentum; "adam" with it is
        AdamW (Loshchilov & Hutter, 2019)
    schedule : maps the number of an update, from 0, to a factor, at least 0, of all learning rates
        (see `lib.training.schedules`)
    batch_size : None for all points at once; else each epoch passes through the points in an order
        of the member's own
    draw : instead, a fresh batch for each step: maps (member, step) to inputs (b, ...) and targets
        (b, ...); `inputs` and `targets` are then those at which it is recorded
    loss : maps outputs (members, n, ...) and targets, which may lack the member axis, to (members,)
    metrics : further functions of the same kind, by name, that are recorded beside the loss
    test : inputs and targets, for all members or for each, at which loss and metrics are recorded,
        too
    record : steps at which to record, ascending from 0 (before the first update) to at most
        `steps`; by default all of them
    observe : maps (parameters, outputs, hidden), tensors that start with a member axis, to
        observables: by name, their further dimensions and a tensor (members, ...)
    layers : hidden layers, counted from 0, whose representations `observe` gets; None for all
    stop_below : a member whose recorded loss falls below this stops there
    stop_when : maps what was recorded at a step, by name, arrays (members, ...), to a mask
        (members,) of those that stop there; like `observe` it is given one member at a time where
        the path trains them apart
    seed : with the member's number it determines the order of points and the units that drop out;
        or (members,), so that members of one seed share them
    progress : show a bar

    Returns
    -------
    Dataset over (member, step): `loss` and the metrics over all points, with a test set `test_loss`
    and so on, and the observables; over member: `stopped` and `diverged`, the recorded step at
    which that happened, or -1. From there on the member is no longer computed, and its last state
    is repeated
    """
    members = preparation.count_members(network, parameters)
    shapes = network.shapes()
    parameters = {name: parameters[name].detach() for name in shapes}
    like = next(iter(parameters.values()))
    data = preparation.points(network, inputs, targets, members, like, loss)
    tests = (
        None if test is None else preparation.points(network, *test, members, like, loss, "test ")
    )
    rates = preparation.by_parameter(
        "learning_rate", learning_rate, shapes, members, partial(positives, least=0)
    )
    decays = preparation.by_parameter("weight_decay", weight_decay, shapes, members, non_negatives)
    decays = decays if any(decay.any() for decay in decays.values()) else None
    method = Method(optimizer, momentum, nesterov, betas, schedule, batch_size, draw, loss, seed)
    method.check(members, data.points)
    record = np.arange(steps + 1) if record is None else record
    if np.any(record % 1) or record[0] < 0 or record[-1] > steps or np.any(np.diff(record) <= 0):
        raise ValueError(
            f"record must be whole steps that ascend, from 0 to {steps} at most: there is "
            "nothing beyond the run"
        )
    layers = network.layers(layers)

    def stops(seen: dict[str, np.ndarray]) -> np.ndarray:
        below = seen["loss"] < stop_below
        return below if stop_when is None else below | preparation.asked_to_stop(stop_when, seen)

    measures = {"loss": loss, **(metrics or {})}
    sets = []
    start = 0
    for stack in _stacks(network, parameters, data, rates, method, decays):
        own = slice(start, start + stack.members)
        sets.append(
            ActiveSet(stack, network, data.part(own), tests and tests.part(own), measures, observe)
        )
        start = own.stop
    bar = progress_bar(members * int(record[-1]), "training", "step", show=progress)
    threads = min(len(sets), cpu_count() or 1)
    # Arithmetic on numbers below the normal range is a hundred
    # times slower, so each thread rounds them to zero.
    pace = _Pace(bar)
    with (
        bar,
        ThreadPoolExecutor(threads, initializer=torch.set_flush_denormal, initargs=(True,)) as pool,
    ):
        try:
            runs = list(
                pool.map(
                    lambda members: _run(members, record.astype(int), layers, stops, pace), sets
                )
            )
        except BaseException:  # also Ctrl-C
            pace.stop.set()
            raise
    return xr.concat(runs, "member").assign_coords(member=np.arange(members))


def _run(
    members: ActiveSet, record: np.ndarray, layers: Layers, stops: StopWhen, pace: "_Pace"
) -> xr.Dataset:
    """Train a stack from record to record and collect what is seen."""
    stopped = np.full(len(members.active), -1)
    diverged = stopped.copy()
    seen = []
    done = 0
    for step in record.tolist():
        inside = 0
        if members.active.any():
            inside = members.stack.members
            pace.advance(members.stack, step - done)
            frame = members.measure(layers)
            values = {name: value for name, (_, value) in frame.items()}
            diverged[members.active & ~np.isfinite(values["loss"])] = step
            stopped[members.active & stops(values)] = step
            members.keep((stopped < 0) & (diverged < 0))
        pace.bar.update(
            (len(members.active) - inside) * (step - done)
        )  # for those that were dropped
        seen.append(frame)
        done = step
    variables = {}
    for name, (dims, _) in frame.items():
        variables[name] = (
            ("member", "step", *dims),
            np.stack([one[name][1] for one in seen], axis=1),
        )
    # ty: ignore[unsupported-operator] one dimension instead of several
    variables |= {"stopped": ("member", stopped), "diverged": ("member", diverged)}
    return xr.Dataset(variables, {"step": record})


class _Pace:
    """Lets stacks advance in chunks of about half a second, so that
    `stop` ends them all soon; chunks change no number.
    """

    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.stop = Event()
        self.chunk = 1

    def advance(self, stack: Stack, steps: int) -> None:
        """Take some steps, or raise CancelledError when it is time to stop."""
        while (
            True
        ):  # once at least: a compiled stack is looked at only after it was asked to advance
            if self.stop.is_set():
                raise CancelledError
            part = min(self.chunk, steps)
            start = time.perf_counter()
            stack.advance(part)
            spent = time.perf_counter() - start
            self.bar.update(stack.members * part)
            self.chunk = max(1, int(part * 0.5 / spent))
            steps -= part
            if not steps:
                return


def _stacks(
    network: Network,
    parameters: Parameters,
    data: Data,
    rates: Mapping[str, np.ndarray],
    method: Method,
    decays: Mapping[str, np.ndarray] | None,
) -> list[Any]:
    """Choose how to compute: in place where network and method
    are plain, else by automatic differentiation.
    """
    like = next(iter(parameters.values()))
    plain = isinstance(network, Dense) and method.plain(data.points) and decays is None
    if plain and like.device.type == "cpu":
        from lib.training import fused, two_layer  # numba is not needed elsewhere

        for path, most in ((fused, MOST_FUSED_POINTS), (two_layer, np.inf)):
            if path.fits(network) and data.points <= most:
                return [
                    path.Stack(network, _member(parameters, m), *data.member(m), _member(rates, m))
                    for m in range(len(like))
                ]
    return [descent.Stack(network, parameters, data, rates, method, decays)]


def _member(values: Mapping[str, Tensor | np.ndarray], m: int) -> dict:
    return {name: value[m] for name, value in values.items()}
