"""What `bench.py` times: steps of what the chapters compute, the plain loop beside them, and the least that a machine must do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from lib import data
from lib.experiments import hierarchies, localization, piecewise_linear, two_point
from lib.kernels import ntk
from lib.networks import Committee, Dense, LeNet, Network, Transformer
from lib.training import fused, two_layer
from lib.training.descent import Data, Method, Stack
from lib.training.losses import cross_entropy, half_squared_error
from lib.training.schedules import cosine, warm_up
from tests.tools import plain


class Run(Protocol):
    """Something that takes steps and comes to something."""

    def advance(self, steps: int) -> None:
        """Take some steps."""

    def state(self) -> Mapping[str, np.ndarray]:
        """Return what it has come to, by name, to compare."""


@dataclass(frozen=True)
class Case:
    """A workload at given sizes. What it runs is made when asked for, so that nothing else lies in memory.

    Attributes
    ----------
    ours : makes what takes steps with all members
    plain : makes what takes steps with the first `plain_members`, one by one
    operations : the fewest that the matrix products of a step need, a multiplication and an addition counted as two
    read, updated : the fewest numbers that a step must read, and must read and write, beyond what a core may keep to itself
    apart : how many members run one after the other, each with its share of these numbers
    dtype : of the numbers
    comparable : whether both draw the same random numbers, so that they come to the same
    jax : makes what takes steps with all members in JAX, of a module that is imported only if it is there
    """

    ours: Callable[[], Run]
    plain: Callable[[], Run]
    operations: float
    read: int
    updated: int
    apart: int = 1
    plain_members: int = 1
    dtype: torch.dtype = torch.float32
    comparable: bool = True
    jax: Callable[[ModuleType], Run] | None = None


@dataclass
class Training:
    """Stacks that descend one after another; the state is that of the first member."""

    stacks: Sequence

    def advance(self, steps: int) -> None:
        """Take some steps with all."""
        for stack in self.stacks:
            stack.advance(steps)

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters by name."""
        stack = self.stacks[0]
        parameters = stack.parameters if isinstance(stack, Stack) else stack.look(())[1]
        return {name: value[0].detach().cpu().numpy() for name, value in parameters.items()}


class Repeated:
    """Computes the same anew at each step; the state is the last result."""

    def __init__(self, compute: Callable, name: Callable = dict) -> None:
        self.compute, self.name, self.result = compute, name, None

    def advance(self, steps: int) -> None:
        """Compute some times."""
        for _ in range(steps):
            self.result = self.compute()

    def state(self) -> Mapping[str, np.ndarray]:
        """Return the last result by name."""
        return self.name(self.result)


def dense_operations(widths: Sequence[int], points: int) -> int:
    """Count those of one network's step: forward, gradients of all weights, and of all representations."""
    weights = [out * into for into, out in pairwise(widths)]
    return 2 * points * (3 * sum(weights) - weights[0])


def count(parameters: Mapping[str, Tensor]) -> int:
    """Count the parameters of all members."""
    return sum(value.numel() for value in parameters.values())


def two_points(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Descend on two points, or more on a line: the networks of "When representations align", Table 1, default."""
    inputs = torch.linspace(-1, 0, points)[:, None]
    setting = two_point.TABLE_1["default"]
    return _few_points(device, setting, members, (1, *[width] * depth, 1), inputs, 0.6 + 0.7071 * (inputs + 1))


def xor(device: str, members: int, width: int, depth: int) -> Case:
    """Descend on four points of two classes: Table 2, "low"."""
    inputs, targets = (torch.tensor(values, dtype=torch.float32) for values in data.xor())
    return _few_points(device, two_point.TABLE_2["xor low"], members, (2, *[width] * depth, 1), inputs, targets)


def _few_points(
    device: str, setting: two_point.Setting, members: int, widths: tuple[int, ...], inputs: Tensor, targets: Tensor
) -> Case:
    network, rate = Dense(widths, setting.activation), setting.learning_rate
    inputs, targets = inputs.to(device), targets.to(device)
    parameters = network.initialize(0, members, setting.gain, device=device)

    def ours() -> Training:
        if device == "cpu":
            each = ({name: value[m] for name, value in parameters.items()} for m in range(members))
            return Training([fused.Stack(network, one, inputs, targets, dict.fromkeys(one, rate)) for one in each])
        points = Data(inputs, targets, False)
        return Training([Stack(network, parameters, points, _rates(parameters, rate), _method(half_squared_error))])

    def reader() -> plain.Descent:
        model = plain.Layers(network, parameters)
        optimizer = torch.optim.SGD(model.parameters(), rate)
        return plain.Descent(model, optimizer, plain.half_mean_squared_error, lambda step: (inputs, targets))

    return Case(
        ours=ours,
        plain=reader,
        operations=members * dense_operations(widths, len(inputs)),
        read=count(parameters) + inputs.numel() + targets.numel(),
        updated=count(parameters),
        apart=members if device == "cpu" else 1,
        jax=lambda jaxed: jaxed.Descent(
            jaxed.squares(jaxed.dense(setting.activation)), parameters, rate, jaxed.fixed(inputs, targets)
        ),
    )


def teacher_student(device: str, members: int, width: int, points: int) -> Case:
    """Train two-layer students of a teacher with three neurons: "Get rich quick", Figure 1(b)."""
    dimension = 100
    rngs = [np.random.default_rng((m, 0)) for m in range(members)]
    x = np.stack([piecewise_linear.sphere(rng, points, dimension) for rng in rngs])
    y = np.stack([piecewise_linear.relu_network(*piecewise_linear.teacher(m, dimension), x[m]) for m in range(members)])
    students = [piecewise_linear.balanced_student(rng, width, dimension) for rng in rngs]
    w, a = (np.stack(part) for part in zip(*students, strict=True))
    x, y, w, a = (torch.tensor(value, dtype=torch.float32, device=device) for value in (x, y[..., None], w, a[:, None]))
    parameters, rate = {"weight1": w, "weight2": a}, 0.005

    def ours() -> Training:
        # On a CPU one by one, as `lib.training` does.
        groups = [slice(m, m + 1) for m in range(members)] if device == "cpu" else [slice(members)]
        parts = [{name: value[own] for name, value in parameters.items()} for own in groups]
        stacks = [two_layer.Stack(p, x[own], y[own], _rates(p, 2 * rate)) for p, own in zip(parts, groups, strict=True)]
        return Training(stacks)

    def reader() -> plain.Descent:
        model = plain.Layers(Dense((dimension, width, 1), "relu", bias=False), parameters)
        optimizer = torch.optim.SGD(model.parameters(), rate)
        return plain.Descent(model, optimizer, torch.nn.functional.mse_loss, lambda step: (x[0], y[0]))

    return Case(
        ours=ours,
        plain=reader,
        # The hidden errors are a times the residuals times 1 or 0: no product, and a can wait until after the sum over points,
        # from which its own slope follows.
        operations=members * 2 * points * (2 * dimension * width + width),
        read=count(parameters) + x.numel() + y.numel(),
        updated=count(parameters),
        apart=members if device == "cpu" else 1,
        jax=(lambda jaxed: jaxed.Descent(jaxed.squares(jaxed.dense("relu"), 1.0), parameters, rate, jaxed.fixed(x[0], y[0])))
        if members == 1
        else None,
    )


def receptive_fields(device: str, members: int, width: int, points: int) -> Case:
    """Train neurons on a ring of 40 sites on a fresh batch at each step: the localization notes, with biases."""
    network, rate = Committee(40, width, "relu", bias=True), 10.0
    draw = localization.signals("nlgp", 40, (2.0, 1.0), 3.0, points, 0, dtype="float32")
    parameters = network.initialize(0, members, device=device)

    def stack() -> Stack:
        nothing = Data(torch.zeros(1, 40, device=device), torch.zeros(1, 1, device=device), False)
        return Stack(network, parameters, nothing, _rates(parameters, 2 * rate), _method(half_squared_error, draw=draw))

    def reader() -> plain.Descent:
        signals = plain.Signals(40, (2.0, 1.0), 3.0)

        def batch(step: int) -> tuple[Tensor, Tensor]:
            x, y = (torch.tensor(values, dtype=torch.float32, device=device) for values in signals.draw((0, 0, step), points))
            return x, y

        model = plain.Average(network, parameters)
        return plain.Descent(model, torch.optim.SGD(model.parameters(), rate), torch.nn.functional.mse_loss, batch)

    def in_jax(jaxed: ModuleType) -> Run:
        process = plain.Signals(40, (2.0, 1.0), 3.0)
        batch = jaxed.signals(process.roots[::-1], process.gain, process.scale, points)
        return jaxed.Descent(jaxed.squares(jaxed.committee, 1.0), parameters, rate, batch)

    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * 2 * points * width * (40 + 40 + 1),  # forward, backward to the weights and to the biases
        read=count(parameters) + members * points * 41,
        updated=count(parameters),
        comparable=False,
        jax=in_jax,
    )


def hierarchy(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Train dense networks on strings of the random hierarchy model: "Get rich quick", Figure 5(c)."""
    model = data.RandomHierarchy(features=3)
    drawn = [model.draw((m, 1), model.rules((m, 0)), 4096, 1)[0] for m in range(members)]
    strings, labels = (torch.from_numpy(np.stack(part)).to(device) for part in zip(*drawn, strict=True))
    widths = (strings.shape[-1], *[width] * depth, 8)
    network, schedule = Dense(widths, "relu", bias=False), cosine(8000, 0.8)
    parameters = {name: value.to(device) for name, value in hierarchies.initial_weights([1.0], range(members), network).items()}
    rates = dict.fromkeys(parameters, 0.1) | {f"weight{depth + 1}": 0.1 / width}

    def stack() -> Stack:
        method = _method(cross_entropy, momentum=0.9, schedule=schedule, batch_size=points)
        every = {name: np.full(members, rate) for name, rate in rates.items()}
        return Stack(network, parameters, Data(strings, labels, True), every, method)

    def reader() -> plain.Descent:
        model = plain.Layers(network, parameters)
        groups = [{"params": [value], "lr": rates[name]} for name, value in model.named().items()]
        optimizer, batches = torch.optim.SGD(groups, momentum=0.9), _Batches(strings[0], labels[0], points)
        return plain.Descent(model, optimizer, torch.nn.functional.cross_entropy, batches, schedule)

    def in_jax(jaxed: ModuleType) -> Run:
        order = np.random.default_rng((0, 0, 1)).permutation(4096)[None]
        loss = jaxed.cross_entropy(jaxed.dense("relu"))
        return jaxed.Momentum(loss, parameters, rates, (strings, labels), order, points)

    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * dense_operations(widths, points),
        read=count(parameters) + members * points * (widths[0] + 1),
        updated=2 * count(parameters),  # weights and momentum
        jax=in_jax,
    )


def grokking(device: str, members: int, width: int, points: int) -> Case:
    """Train transformers of one layer on division modulo 97: "Get rich quick", Figure 5(d)."""
    network, (tokens, labels) = Transformer(99, width=width), data.modular(97)
    halves = np.stack([data.split((m, 0), len(tokens), len(tokens) // 2)[0] for m in range(members)])
    tokens, labels = (torch.from_numpy(part[halves]).to(device) for part in (tokens, labels))
    parameters, schedule, betas = network.initialize(0, members, device=device), warm_up(10), (0.9, 0.98)

    def stack() -> Stack:
        method = _method(cross_entropy, "adam", betas=betas, schedule=schedule, batch_size=points)
        return Stack(network, parameters, Data(tokens, labels, True), _rates(parameters, 1e-3), method)

    def reader() -> plain.Descent:
        model = plain.Decoder(network, parameters)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=betas)
        batches = _Batches(tokens[0], labels[0], points)
        return plain.Descent(model, optimizer, torch.nn.functional.cross_entropy, batches, schedule)

    # Keys and values of each token in each place, or of each place of each string; then mixing, both layers of the MLP, readout.
    table, strings = 4 * min(99, points) * width * 2 * width, points * width * (width + 8 * width + 99)
    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * 3 * 2 * (table + strings),  # forward, and backward to weights and inputs
        read=count(parameters) + members * points * 5,
        updated=3 * count(parameters),  # weights and two moments
    )


class _Batches:
    """Batches from epochs in an order of the first member's own, as `lib.training.descent` draws it."""

    def __init__(self, x: Tensor, y: Tensor, size: int) -> None:
        self.x, self.y, self.size = x, y, size

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        epoch, number = divmod(step, -(-len(self.x) // self.size))
        if number == 0:
            order = np.random.default_rng((0, 0, epoch + 1)).permutation(len(self.x))
            self.order = torch.from_numpy(order).to(self.x.device)
        chosen = self.order[number * self.size : (number + 1) * self.size]
        return self.x[chosen], self.y[chosen]


def _rates(parameters: Mapping[str, Tensor], rate: float) -> dict[str, np.ndarray]:
    return {name: np.full(len(value), rate) for name, value in parameters.items()}


def _method(loss: Callable, optimizer: str = "sgd", **settings) -> Method:
    none = {"momentum": 0.0, "betas": (0.9, 0.999), "schedule": None, "batch_size": None, "draw": None}
    return Method(optimizer, nesterov=False, loss=loss, seed=0, **(none | settings))


def lenet_kernel(device: str, members: int, points: int) -> Case:
    """Compute the tangent kernel of LeNet-5 on images: "Get rich quick", Figure 5(a)."""
    network = LeNet()
    parameters = network.initialize(0, members, device=device)
    images = torch.from_numpy(np.random.default_rng(0).normal(size=(points, 1, 28, 28)).astype(np.float32)).to(device)
    # Multiplications of a point: the convolutions at each place, the dense layers; then for each output backward, first to the
    # representations, then to the filters. A dense layer's part of the kernel is that of its errors times that of its inputs.
    first, second, dense = 28 * 28 * 6 * 25, 10 * 10 * 16 * 150, 400 * 120 + 120 * 84 + 84 * 10
    filters = 6 * 26 + 16 * 151
    each = first + second + dense + 10 * (second + dense) + 10 * (first + second)
    pair = 10 * (filters + 120 + 84) + 400 + 120 + 84
    return _kernel(network, parameters, images, plain.lenet, lambda jaxed: jaxed.lenet, each, pair)


def dense_kernel(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Compute the tangent kernel of the dense networks that learn the random hierarchy model, on random points."""
    widths = (64, *[width] * depth, 8)
    network = Dense(widths, "relu", bias=False)
    parameters = network.initialize(0, members, device=device)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(points, 64)).astype(np.float32)).to(device)
    weights = [into * out for into, out in pairwise(widths)]
    each, pair = sum(weights) + 8 * sum(weights[1:]), 8 * sum(widths[1:-1]) + sum(widths[:-1])
    return _kernel(network, parameters, x, lambda p: plain.Layers(network, p), lambda jaxed: jaxed.dense("relu"), each, pair)


def _kernel(
    network: Network, parameters: dict[str, Tensor], x: Tensor, model: Callable, in_jax: Callable, each: int, pair: int
) -> Case:
    """Return the case of a kernel that takes so many multiplications for each point, and for each pair of points."""
    members, points = len(next(iter(parameters.values()))), len(x)

    def reader() -> Repeated:
        one = model(parameters)
        return Repeated(lambda: plain.tangent_kernel(one, x), lambda k: {"kernel": k.detach().cpu().numpy()})

    return Case(
        ours=lambda: Repeated(lambda: ntk(network, parameters, x), lambda k: {"kernel": k[0].cpu().numpy()}),
        plain=reader,
        operations=members * 2 * (points * each + points * (points + 1) // 2 * pair),
        read=count(parameters) + x.numel(),
        updated=members * points**2,
        jax=lambda jaxed: jaxed.Kernel(in_jax(jaxed), parameters, x),
    )


@dataclass(frozen=True)
class Workload:
    """What is measured.

    Attributes
    ----------
    title, step : what is computed, and what a step of it is, for the page
    build : from a device and sizes by axis, a case
    sizes : those of the book
    cuda : sizes that differ on a GPU
    """

    title: str
    step: str
    build: Callable[..., Case]
    sizes: Mapping[str, int]
    cuda: Mapping[str, int] | None = None


WORKLOADS = {
    "two_point": Workload(
        "two points",
        "a step of gradient descent on all points",
        two_points,
        {"members": 1, "width": 500, "depth": 20, "points": 2},
        {"members": 25},
    ),
    "xor": Workload(
        "XOR",
        "a step of gradient descent on the four points",
        xor,
        {"members": 5, "width": 500, "depth": 20},
    ),
    "teacher_student": Workload(
        "teacher and student",
        "a step of gradient descent on all points, which have 100 coordinates",
        teacher_student,
        {"members": 1, "width": 50, "points": 1000},
        {"members": 289},
    ),
    "receptive_fields": Workload(
        "receptive fields",
        "a step of gradient descent on a fresh batch of the nonlinear Gaussian process on 40 sites",
        receptive_fields,
        {"members": 1, "width": 100, "points": 1000},
    ),
    "hierarchy": Workload(
        "random hierarchy",
        "a step of descent with momentum on a batch of strings",
        hierarchy,
        {"members": 12, "width": 64, "depth": 3, "points": 128},
        {"members": 36},
    ),
    "grokking": Workload(
        "transformer",
        "a step of Adam on a batch of strings",
        grokking,
        {"members": 6, "width": 128, "points": 512},
        {"members": 125},
    ),
    "lenet_kernel": Workload(
        "tangent kernel of LeNet-5",
        "one kernel, traced over 10 outputs",
        lenet_kernel,
        {"members": 1, "points": 64},
    ),
    "dense_kernel": Workload(
        "tangent kernel of a dense network",
        "one kernel, traced over 8 outputs",
        dense_kernel,
        {"members": 1, "width": 64, "depth": 3, "points": 64},
    ),
}
