"""The workloads: what chapters and stored runs compute, at any sizes, and the least that a machine must do for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from benchmarks import plain
from benchmarks.timing import Loop
from lib import data, fused, two_layer
from lib.convolutional import LeNet
from lib.descent import Data, Method, Stack, cross_entropy, half_squared_error
from lib.experiments import hierarchies, localization, piecewise_linear, two_point
from lib.kernels import ntk
from lib.networks import Committee, Dense
from lib.schedules import cosine, warm_up
from lib.theory import linear_networks, single_neuron
from lib.transformer import Transformer

Pairs = list[tuple[Tensor, Tensor]]  # matrices that are multiplied, with a leading axis


@dataclass(frozen=True)
class Case:
    """A workload at given sizes, ready to run.

    Attributes
    ----------
    ours : takes steps with all members
    plain : takes steps with the first `plain_members`, one by one
    states : what ours and the plain loop have come to, by name, to compare
    operations : the fewest that the matrix products of a step need, a multiplication and an addition counted as two
    read, updated : the fewest numbers that a step must read, and must read and write, beyond what a core may keep to itself
    products : draws matrices of the shapes that ours multiplies in a step
    parts : loops that do a part of ours
    dtype : of the numbers
    """

    ours: Loop
    plain: Loop
    states: Callable[[], tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]]
    operations: float
    read: int
    updated: int
    plain_members: int = 1
    products: Callable[[], Pairs] = list
    parts: Mapping[str, Loop] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True)
class Workload:
    """What is measured.

    Attributes
    ----------
    title, about : for the page
    build : from a device and sizes by axis, a case
    sizes : those of the book
    axes : by axis, the sizes from which a slope is taken
    cuda : sizes that differ on a GPU
    """

    title: str
    about: str
    build: Callable[..., Case]
    sizes: Mapping[str, int]
    axes: Mapping[str, Sequence[int]]
    cuda: Mapping[str, int] = field(default_factory=dict)


class Repeated:
    """A loop that computes the same anew at each step and keeps the last result."""

    def __init__(self, compute: Callable) -> None:
        self.compute, self.result = compute, None

    def __call__(self, steps: int) -> None:
        """Compute some times."""
        for _ in range(steps):
            self.result = self.compute()


# --- what a step needs ------------------------------------------------------------------------------------------------------


def dense_operations(widths: Sequence[int], points: int) -> int:
    """Count those of one network's step: forward, gradients of all weights, and of all representations."""
    weights = [out * into for into, out in zip(widths[:-1], widths[1:], strict=True)]
    return 2 * points * (3 * sum(weights) - weights[0])


def affine(device: str, members: int, points: int, into: int, out: int, first: bool = False) -> Pairs:
    """Return what a layer multiplies: forward, and backward to its weights and, unless it is the first, to its inputs."""
    h, w, error = (torch.randn(members, *shape, device=device) for shape in ((points, into), (out, into), (points, out)))
    return [(h, w.mT), (error.mT, h)] + ([] if first else [(error, w)])


def dense_products(device: str, members: int, widths: Sequence[int], points: int) -> Pairs:
    """Return what a dense network multiplies in a step."""
    sizes = zip(widths[:-1], widths[1:], strict=True)
    return [pair for i, (into, out) in enumerate(sizes) for pair in affine(device, members, points, into, out, first=i == 0)]


def count(parameters: Mapping[str, Tensor]) -> int:
    """Count the parameters of all members."""
    return sum(value.numel() for value in parameters.values())


def first(parameters: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Return the parameters of the first member."""
    return {name: value[0].detach().cpu().numpy() for name, value in parameters.items()}


# --- training ---------------------------------------------------------------------------------------------------------------


def two_points(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Two points, or more on a line: the networks of "When representations align", Table 1, default."""
    inputs = torch.linspace(-1, 0, points)[:, None]
    setting = two_point.TABLE_1["default"]
    return _few_points(device, setting, members, (1, *[width] * depth, 1), inputs, 0.6 + 0.7071 * (inputs + 1))


def xor(device: str, members: int, width: int, depth: int) -> Case:
    """Four points of two classes: Table 2, "low"."""
    inputs, targets = (torch.tensor(values, dtype=torch.float32) for values in data.xor())
    return _few_points(device, two_point.TABLE_2["xor low"], members, (2, *[width] * depth, 1), inputs, targets)


def _few_points(
    device: str, setting: two_point.Setting, members: int, widths: tuple[int, ...], inputs: Tensor, targets: Tensor
) -> Case:
    network, rate = Dense(widths, setting.activation), setting.learning_rate
    inputs, targets = inputs.to(device), targets.to(device)
    parameters = network.initialize(0, members, setting.gain, device=device)
    if device == "cpu":
        each = [{name: value[m] for name, value in parameters.items()} for m in range(members)]
        stacks = [fused.Stack(network, one, inputs, targets, dict.fromkeys(one, rate)) for one in each]
    else:
        method = Method("sgd", 0.0, False, (0.9, 0.999), None, None, None, half_squared_error, 0)
        rates = dict.fromkeys(parameters, np.full(members, rate))
        stacks = [Stack(network, parameters, Data(inputs, targets, False), rates, method)]
    model = plain.Layers(network, parameters)
    optimizer = torch.optim.SGD(model.parameters(), rate)
    loop = plain.Descent(model, optimizer, plain.half_mean_squared_error, lambda step: (inputs, targets))
    return Case(
        ours=_all(stacks),
        plain=loop,
        states=lambda: (first(stacks[0].look(())[1]), loop.state()),
        operations=members * dense_operations(widths, len(inputs)),
        read=count(parameters) + inputs.numel() + targets.numel(),
        updated=count(parameters),
    )


def teacher_student(device: str, members: int, width: int, points: int) -> Case:
    """Two-layer students of a teacher with three neurons: "Get rich quick", Figure 1(b)."""
    dimension = 100
    rngs = [np.random.default_rng((m, 0)) for m in range(members)]
    x = np.stack([piecewise_linear.sphere(rng, points, dimension) for rng in rngs])
    answers = [piecewise_linear.relu_network(*piecewise_linear.teacher(m, dimension), x[m]) for m in range(members)]
    w, a = (np.stack(part) for part in zip(*(piecewise_linear.balanced_student(rng, width, dimension) for rng in rngs), strict=True))
    x, y, w, a = (
        torch.tensor(value, dtype=torch.float32, device=device) for value in (x, np.stack(answers)[..., None], w, a[:, None])
    )
    parameters = {"weight1": w, "weight2": a}
    # On a CPU one by one, as `lib.training` does.
    groups = [slice(m, m + 1) for m in range(members)] if device == "cpu" else [slice(members)]
    stacks = [
        two_layer.Stack(
            {name: value[own] for name, value in parameters.items()},
            x[own],
            y[own],
            dict.fromkeys(parameters, np.full(members, 0.01)[own]),
        )
        for own in groups
    ]
    network = Dense((dimension, width, 1), "relu", bias=False)
    model = plain.Layers(network, parameters)
    optimizer = torch.optim.SGD(model.parameters(), 0.005)
    loop = plain.Descent(model, optimizer, torch.nn.functional.mse_loss, lambda step: (x[0], y[0]))

    def products() -> Pairs:
        h, residuals = (torch.randn(members, rows, points, device=device) for rows in (width, 1))
        return [(w, x.mT.contiguous()), (a, h), (h, x), (residuals, h.mT)]

    return Case(
        ours=_all(stacks),
        plain=loop,
        states=lambda: (first(stacks[0].look(())[1]), loop.state()),
        # The hidden errors are a times the residuals times 1 or 0: no product, and a can wait until after the sum over points.
        operations=members * 2 * points * (2 * dimension * width + 2 * width),
        read=count(parameters) + x.numel() + y.numel(),
        updated=count(parameters),
        products=products,
    )


def receptive_fields(device: str, members: int, width: int, points: int) -> Case:
    """Neurons on a ring of 40 sites that learn from a fresh batch at each step: the localization notes, with biases."""
    network, rate = Committee(40, width, "relu", bias=True), 10.0
    draw = localization.signals("nlgp", 40, (2.0, 1.0), 3.0, points, 0)
    parameters = network.initialize(0, members, device=device)
    method = Method("sgd", 0.0, False, (0.9, 0.999), None, None, draw, half_squared_error, 0)
    nothing = Data(torch.zeros(1, 40, device=device), torch.zeros(1, 1, device=device), False)
    stack = Stack(network, parameters, nothing, dict.fromkeys(parameters, np.full(members, 2 * rate)), method)
    model = plain.Average(network, parameters)

    def batch(step: int) -> tuple[Tensor, Tensor]:
        x, y = (torch.tensor(values, dtype=torch.float32, device=device) for values in draw(0, step))
        return x, y

    loop = plain.Descent(model, torch.optim.SGD(model.parameters(), rate), torch.nn.functional.mse_loss, batch)
    return Case(
        ours=stack.advance,
        plain=loop,
        states=lambda: (first(stack.parameters), loop.state()),
        operations=members * 2 * 2 * points * 40 * width,
        read=count(parameters) + members * points * 41,
        updated=count(parameters),
        products=lambda: affine(device, members, points, 40, width, first=True),
        parts={"drawing the batch": Repeated(stack._batch)},
    )


def hierarchy(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Dense networks that learn strings of the random hierarchy model: "Get rich quick", Figure 5(c)."""
    model = data.RandomHierarchy(features=3)
    drawn = [model.draw((m, 1), model.rules((m, 0)), 4096, 1)[0] for m in range(members)]
    strings, labels = (torch.from_numpy(np.stack(part)).to(device) for part in zip(*drawn, strict=True))
    widths = (strings.shape[-1], *[width] * depth, 8)
    network, schedule = Dense(widths, "relu", bias=False), cosine(8000, 0.8)
    parameters = {name: value.to(device) for name, value in hierarchies.initial_weights([1.0], range(members), network).items()}
    rates = dict.fromkeys(parameters, 0.1) | {f"weight{depth + 1}": 0.1 / width}
    method = Method("sgd", 0.9, False, (0.9, 0.999), schedule, points, None, cross_entropy, 0)
    every = {name: np.full(members, rate) for name, rate in rates.items()}
    stack = Stack(network, parameters, Data(strings, labels, True), every, method)
    layers = plain.Layers(network, parameters)
    groups = [{"params": [value], "lr": rates[name]} for name, value in layers.named().items()]
    batches = _Batches(strings[0], labels[0], points)
    loop = plain.Descent(
        layers, torch.optim.SGD(groups, momentum=0.9), torch.nn.functional.cross_entropy, batches, schedule
    )
    return Case(
        ours=stack.advance,
        plain=loop,
        states=lambda: (first(stack.parameters), loop.state()),
        operations=members * dense_operations(widths, points),
        read=count(parameters) + members * points * (widths[0] + 1),
        updated=2 * count(parameters),  # weights and momentum
        products=lambda: dense_products(device, members, widths, points),
        parts=_steps(stack),
    )


def grokking(device: str, members: int, width: int, points: int) -> Case:
    """Transformers of one layer that learn division modulo 97: "Get rich quick", Figure 5(d)."""
    network, (tokens, labels) = Transformer(99, width=width), data.modular(97)
    halves = np.stack([data.split((m, 0), len(tokens), len(tokens) // 2)[0] for m in range(members)])
    tokens, labels = (torch.from_numpy(part[halves]).to(device) for part in (tokens, labels))
    parameters, schedule = network.initialize(0, members, device=device), warm_up(10)
    method = Method("adam", 0.0, False, (0.9, 0.98), schedule, points, None, cross_entropy, 0)
    stack = Stack(network, parameters, Data(tokens, labels, True), dict.fromkeys(parameters, np.full(members, 1e-3)), method)
    model = plain.Decoder(network, parameters)
    loop = plain.Descent(
        model,
        torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98)),
        torch.nn.functional.cross_entropy,
        _Batches(tokens[0], labels[0], points),
        schedule,
    )
    # Forward and backward, keys and values of each token in each place; then mixing, both layers of the MLP, readout.
    table, strings = 4 * 99 * width * 2 * width, points * width * (width + 8 * width + 99)

    def products() -> Pairs:
        sizes = [(99, width, width), (4 * 99, width, 2 * width), (points, width, width)]
        sizes += [(points, width, 4 * width), (points, 4 * width, width), (points, width, 99)]
        return [pair for rows, into, out in sizes for pair in affine(device, members, rows, into, out)]

    return Case(
        ours=stack.advance,
        plain=loop,
        states=lambda: (first(stack.parameters), loop.state()),
        operations=members * 3 * 2 * (table + strings),
        read=count(parameters) + members * points * 5,
        updated=3 * count(parameters),  # weights and two moments
        products=products,
        parts=_steps(stack),
    )


class _Batches:
    """Batches from epochs in an order of the first member's own, as `lib.descent` draws it."""

    def __init__(self, x: Tensor, y: Tensor, size: int) -> None:
        self.x, self.y, self.size = x, y, size

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        epoch, number = divmod(step, -(-len(self.x) // self.size))
        if number == 0:
            order = np.random.default_rng((0, 0, epoch + 1)).permutation(len(self.x))
            self.order = torch.from_numpy(order).to(self.x.device)
        chosen = self.order[number * self.size : (number + 1) * self.size]
        return self.x[chosen], self.y[chosen]


def _all(stacks: Sequence) -> Loop:
    def loop(steps: int) -> None:
        for stack in stacks:
            stack.advance(steps)

    return loop


def _steps(stack: Stack) -> dict[str, Loop]:
    """Return the update alone, at rates of zero, so that nothing moves."""
    still = Stack(
        stack.network, stack.parameters, stack.data, {name: np.zeros(stack.members) for name in stack.parameters}, stack.method
    )
    gradients = {name: torch.randn_like(value) for name, value in stack.parameters.items()}
    return {"the optimizer": Repeated(lambda: still._update(gradients))}


# --- kernels and exact solutions -------------------------------------------------------------------------------------------


def lenet_kernel(device: str, members: int, points: int) -> Case:
    """The tangent kernel of LeNet-5 on images: "Get rich quick", Figure 5(a)."""
    network = LeNet()
    parameters = network.initialize(0, members, device=device)
    images = torch.from_numpy(np.random.default_rng(0).normal(size=(points, 1, 28, 28)).astype(np.float32)).to(device)
    # Multiplications of a point: the convolutions at each place, the dense layers.
    first_convolution, second, dense = 28 * 28 * 6 * 25, 10 * 10 * 16 * 150, 400 * 120 + 120 * 84 + 84 * 10
    filters = 6 * 26 + 16 * 151
    backward = 10 * (second + dense) + 10 * (first_convolution + second)  # to representations, to filters
    # A dense layer's part of the kernel is that of its errors times that of its inputs.
    pairs = points * (points + 1) // 2 * (10 * (filters + 120 + 84) + 400 + 120 + 84)
    shapes = [shape[:1] if len(shape) == 1 else (int(np.prod(shape)),) for shape in network.shapes().values()]
    return _kernel(
        network,
        parameters,
        images,
        plain.lenet(parameters),
        operations=members * 2 * (points * (first_convolution + second + dense + backward) + pairs),
        sizes=[10 * size for (size,) in shapes],
    )


def dense_kernel(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """The tangent kernel of dense networks of the same sizes as those that learn the random hierarchy model."""
    widths = (64, *[width] * depth, 8)
    network = Dense(widths, "relu", bias=False)
    parameters = network.initialize(0, members, device=device)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(points, 64)).astype(np.float32)).to(device)
    weights = [into * out for into, out in zip(widths[:-1], widths[1:], strict=True)]
    pairs = points * (points + 1) // 2 * (8 * sum(widths[1:-1]) + sum(widths[:-1]))
    return _kernel(
        network,
        parameters,
        x,
        plain.Layers(network, parameters),
        operations=members * 2 * (points * (sum(weights) + 8 * sum(weights[1:])) + pairs),
        sizes=[8 * size for size in weights],
    )


def _kernel(network, parameters: dict[str, Tensor], x: Tensor, model: torch.nn.Module, operations: float, sizes: list[int]) -> Case:
    """Return the case of a kernel; `sizes` are the columns of the Jacobian, by parameter."""
    members, points = len(next(iter(parameters.values()))), len(x)
    ours = Repeated(lambda: ntk(network, parameters, x))
    loop = Repeated(lambda: plain.tangent_kernel(model, x))

    def products() -> Pairs:
        rows = [torch.randn(1, points, size, device=x.device) for _ in range(members) for size in sizes]
        return [(row, row.mT) for row in rows]

    return Case(
        ours=ours,
        plain=loop,
        states=lambda: ({"kernel": ours.result[0].cpu().numpy()}, {"kernel": loop.result.detach().cpu().numpy()}),
        operations=operations,
        read=count(parameters) + x.numel(),
        updated=members * points**2,
        products=products,
    )


def exact_neuron(device: str, members: int, width: int, points: int) -> Case:
    """Trajectories of one linear neuron with `width` inputs, at `points` times, for balances δ from -4 to 4."""
    target, times = np.ones(width) / np.sqrt(width), np.linspace(0, 8, points)
    start = np.linspace(-0.2, 0.4, width)
    starts = [single_neuron.initialize(start, delta) for delta in np.linspace(-4, 4, members)]
    ours = Repeated(lambda: [single_neuron.trajectory(*one, target, times) for one in starts])
    loop = Repeated(lambda: [plain.neuron(*one, target, times) for one in starts])
    one_time = Repeated(lambda: [single_neuron.trajectory(*one, target, times[-1:]) for one in starts])

    def states() -> tuple[dict, dict]:
        found = {f"neuron {m}": np.column_stack([path.a, path.w]) for m, path in enumerate(ours.result)}
        return found, dict(zip(found, loop.result, strict=True))

    return Case(
        ours=ours,
        plain=loop,
        states=states,
        operations=0,
        read=members * (points + 2 * width),
        updated=members * points * (1 + width),
        plain_members=members,
        parts={"the same at a single time": one_time},
        dtype=torch.float64,
    )


def exact_modes(device: str, members: int, width: int, points: int) -> Case:
    """The `width` aligned modes of a two-layer linear network, at `points` times, for δ from 0 to 2."""
    times, targets, start = np.linspace(0, 6, points), np.linspace(0.6, 2, width), np.full(width, 0.01)
    deltas = np.linspace(0, 2, members)
    ours = Repeated(lambda: [linear_networks.singular_values(start, targets, delta, times) for delta in deltas])
    loop = Repeated(
        lambda: [np.stack([plain.mode(s, t, delta, times) for s, t in zip(start, targets, strict=True)], 1) for delta in deltas]
    )
    one_time = Repeated(lambda: [linear_networks.singular_values(start, targets, delta, times[-1:]) for delta in deltas])

    def states() -> tuple[dict, dict]:
        return tuple({f"δ = {delta:g}": found for delta, found in zip(deltas, each.result, strict=True)} for each in (ours, loop))

    return Case(
        ours=ours,
        plain=loop,
        states=states,
        operations=0,
        read=members * (points + 2 * width),
        updated=members * points * width,
        plain_members=members,
        parts={"the same at a single time": one_time},
        dtype=torch.float64,
    )


WORKLOADS = {
    "two_point": Workload(
        "two points",
        "a step of gradient descent; chapter 4, all rows of Table 1 that are dense",
        two_points,
        {"members": 1, "width": 500, "depth": 20, "points": 2},
        {"members": (1, 2, 4), "width": (250, 500, 1000), "depth": (10, 20, 40), "points": (2, 4, 8, 16)},
        {"members": 25},
    ),
    "xor": Workload(
        "XOR",
        "a step of gradient descent on four points",
        xor,
        {"members": 5, "width": 500, "depth": 20},
        {"members": (1, 2, 4), "width": (250, 500, 1000), "depth": (10, 20, 40)},
    ),
    "teacher_student": Workload(
        "teacher and student",
        "a step of gradient descent, 100 inputs",
        teacher_student,
        {"members": 1, "width": 50, "points": 1000},
        {"members": (1, 2, 4, 8), "width": (50, 100, 200, 400), "points": (500, 1000, 2000, 4000)},
        {"members": 289},
    ),
    "receptive_fields": Workload(
        "receptive fields",
        "a step of gradient descent on a fresh batch of the nonlinear Gaussian process, 40 sites",
        receptive_fields,
        {"members": 1, "width": 100, "points": 1000},
        {"members": (1, 2, 4), "width": (50, 100, 200, 400), "points": (500, 1000, 2000, 4000)},
    ),
    "hierarchy": Workload(
        "random hierarchy",
        "a step of descent with momentum on batches of `points` strings",
        hierarchy,
        {"members": 12, "width": 64, "depth": 3, "points": 128},
        {"members": (6, 12, 24), "width": (64, 128, 256), "depth": (3, 6, 12), "points": (128, 256, 512, 1024)},
        {"members": 36},
    ),
    "grokking": Workload(
        "transformer",
        "a step of Adam on batches of `points` strings",
        grokking,
        {"members": 6, "width": 128, "points": 512},
        {"members": (2, 4, 8), "width": (64, 128, 256), "points": (256, 512, 1024, 2048)},
        {"members": 125},
    ),
    "lenet_kernel": Workload(
        "kernel of LeNet-5",
        "the tangent kernel on `points` images, traced over 10 outputs",
        lenet_kernel,
        {"members": 1, "points": 64},
        {"members": (1, 2, 4), "points": (32, 64, 128)},
    ),
    "dense_kernel": Workload(
        "kernel of a dense network",
        "the tangent kernel on `points` points, traced over 8 outputs",
        dense_kernel,
        {"members": 1, "width": 64, "depth": 3, "points": 64},
        {"members": (1, 2, 4), "width": (64, 128, 256), "depth": (3, 6, 12), "points": (64, 128, 256)},
    ),
    "exact_neuron": Workload(
        "exact neuron",
        "trajectories at `points` times",
        exact_neuron,
        {"members": 7, "width": 2, "points": 400},
        {"members": (7, 14, 28), "width": (16, 64, 256), "points": (1000, 10_000, 100_000)},
    ),
    "exact_modes": Workload(
        "exact modes",
        "`width` aligned modes at `points` times",
        exact_modes,
        {"members": 2, "width": 4, "points": 200},
        {"members": (2, 4, 8), "width": (16, 64, 256), "points": (1000, 10_000, 100_000)},
    ),
}
