"""Training: what the experiments of the chapters do, step by step."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from evidence.speed import plain
from evidence.speed.case import Case, Pairs, Repeated, Training, affine, count, dense_operations, dense_products
from evidence.speed.timing import Loop
from lib import data
from lib.experiments import hierarchies, localization, piecewise_linear, two_point
from lib.networks import Committee, Dense, Transformer
from lib.training import fused, two_layer
from lib.training.descent import Data, Method, Stack
from lib.training.losses import cross_entropy, half_squared_error
from lib.training.schedules import cosine, warm_up


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

    def products() -> Pairs:
        h = torch.randn(members, width, points, device=device)
        return [(w, x.mT.contiguous()), (a, h), (h, x)]

    return Case(
        ours=ours,
        plain=reader,
        # The hidden errors are a times the residuals times 1 or 0: no product, and a can wait until after the sum over points,
        # from which its own slope follows.
        operations=members * 2 * points * (2 * dimension * width + width),
        read=count(parameters) + x.numel() + y.numel(),
        updated=count(parameters),
        apart=members if device == "cpu" else 1,
        products=products,
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

    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * 2 * points * width * (40 + 40 + 1),  # forward, backward to the weights and to the biases
        read=count(parameters) + members * points * 41,
        updated=count(parameters),
        products=lambda: affine(device, members, points, 40, width, first=True) + affine(device, members, points, 1, width)[1:2],
        parts={"drawing the batch": lambda: Repeated(stack()._batch).advance},
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

    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * dense_operations(widths, points),
        read=count(parameters) + members * points * (widths[0] + 1),
        updated=2 * count(parameters),  # weights and momentum
        products=lambda: dense_products(device, members, widths, points),
        parts=_parts(stack),
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

    def products() -> Pairs:
        sizes = [(99, width, width), (4 * 99, width, 2 * width), (points, width, width)]
        sizes += [(points, width, 4 * width), (points, 4 * width, width), (points, width, 99)]
        return [pair for rows, into, out in sizes for pair in affine(device, members, rows, into, out)]

    # Keys and values of each token in each place, or of each place of each string; then mixing, both layers of the MLP, readout.
    table, strings = 4 * min(99, points) * width * 2 * width, points * width * (width + 8 * width + 99)
    return Case(
        ours=lambda: Training([stack()]),
        plain=reader,
        operations=members * 3 * 2 * (table + strings),  # forward, and backward to weights and inputs
        read=count(parameters) + members * points * 5,
        updated=3 * count(parameters),  # weights and two moments
        products=products,
        parts=_parts(stack),
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


def _parts(make: Callable[[], Stack]) -> dict[str, Callable[[], Loop]]:
    """Return what else a step consists of beside the network: taking the batch, and the update from given gradients."""

    def batch() -> Loop:
        stack = make()
        stack._batch()  # draws the first order
        stack.step = 1
        return Repeated(stack._batch).advance

    def update() -> Loop:
        stack = make()
        stack.update.gradients.flat.normal_()
        return Repeated(lambda: stack.update.take(0)).advance

    return {"taking the batch": batch, "the optimizer": update}
