"""What `bench.py` times: steps of what the chapters compute, the plain loop beside them, and the
least that a machine must do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from book.practice import arithmetic, hierarchies, random_hierarchy
from book.practice.transformer import Transformer
from book.two_point import toys
from book.two_point.settings import TABLE_1, TABLE_2, Setting
from lib.experiments import teachers
from lib.experiments.signal_batches import signals
from lib.kernels import ntk
from lib.networks import Committee, Dense, LeNet, Network
from lib.training import fused, two_layer
from lib.training.descent import Data, Method, Stack
from lib.training.losses import cross_entropy, half_squared_error
from lib.training.schedules import cosine, warm_up
from tests.tools import plain


@dataclass(frozen=True)
class Case:
    """What a workload runs: objects that `advance` some steps
    and have a `state`, arrays by name, to compare.

    They are made when asked for, so that nothing else lies in memory.
    """

    ours: Callable  # makes what takes steps with all members
    plain: Callable  # with the first member
    # the fewest that the matrix products of a step need, a
    # multiplication and an addition counted as two
    operations: float
    read: int  # the fewest numbers that a step must read, beyond what a core may keep to itself
    updated: int  # and that it must read and write
    apart: int = 1  # how many members run one after the other, each with its share of these numbers
    # the relative distance, at most, of two results after three steps, in single precision; None
    # where each draws random numbers of its own
    close: float | None = 1e-6
    jax: Callable | None = (
        # makes what takes steps with all members, of the
        # module `jaxed`, imported only if JAX is there
        None
    )


class Workload(NamedTuple):
    """What is measured: its title and what a step of it is, for the page; its sizes; and what
    builds it of them, on a device.
    """

    title: str
    step: str
    sizes: Mapping[str, int]
    build: Callable[..., Case]


WORKLOADS = {}
ON_GPU = {
    "two_point": 25,
    "teacher_student": 289,
    "hierarchy": 36,
    "grokking": 125,
}  # members there, where they are others


def workload(title: str, step: str, **sizes: int) -> Callable:
    """List the function that builds a workload, under its name."""

    def listed(build: Callable) -> Callable:
        WORKLOADS[build.__name__] = Workload(title, step, sizes, build)
        return build

    return listed


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
        parameters = stack.look(())[0]
        return {name: value[0].detach().cpu().numpy() for name, value in parameters.items()}


class Repeated:
    """Computes a kernel anew at each step."""

    def __init__(self, compute: Callable) -> None:
        self.compute, self.result = compute, None

    def advance(self, steps: int) -> None:
        """Compute some times."""
        for _ in range(steps):
            self.result = self.compute()

    def state(self) -> dict[str, np.ndarray]:
        """Return the last kernel."""
        return {
            "kernel": np.asarray(
                self.result.cpu() if isinstance(self.result, Tensor) else self.result
            )
        }


def dense_operations(widths: Sequence[int], points: int) -> int:
    """Count those of one network's step: forward, gradients
    of all weights, and of all representations.
    """
    weights = [out * into for into, out in pairwise(widths)]
    return 2 * points * (3 * sum(weights) - weights[0])


def count(parameters: Mapping[str, Tensor]) -> int:
    """Count the parameters of all members."""
    return sum(value.numel() for value in parameters.values())


def stack(
    network: Network,
    parameters: Mapping[str, Tensor],
    points: Data,
    rates: Mapping[str, float],
    **settings,
) -> Training:
    """Return all members in one torch program of ours."""
    none = {
        "momentum": 0.0,
        "betas": (0.9, 0.999),
        "schedule": None,
        "batch_size": None,
        "draw": None,
    }
    method = Method(**{"optimizer": "sgd", "nesterov": False, "seed": 0} | none | settings)
    each = {name: np.full(len(value), rates[name]) for name, value in parameters.items()}
    return Training([Stack(network, parameters, points, each, method)])


def _few_points(
    setting: Setting,
    members: int,
    widths: tuple[int, ...],
    inputs: Tensor,
    targets: Tensor,
    device: str,
) -> Case:
    network, inputs, targets = (
        Dense(widths, setting.activation),
        inputs.to(device),
        targets.to(device),
    )
    parameters = network.initialize(0, members, setting.gain, device=device)
    rates = dict.fromkeys(parameters, setting.learning_rate)

    def ours() -> Training:
        if device != "cpu":
            return stack(
                network, parameters, Data(inputs, targets, False), rates, loss=half_squared_error
            )
        each = [{name: value[m] for name, value in parameters.items()} for m in range(members)]
        return Training([fused.Stack(network, one, inputs, targets, rates) for one in each])

    return Case(
        ours=ours,
        plain=lambda: plain.Descent(
            plain.dense(network),
            parameters,
            rates,
            plain.half_error,
            lambda step: (inputs, targets),
        ),
        operations=members * dense_operations(widths, len(inputs)),
        read=count(parameters) + inputs.numel() + targets.numel(),
        updated=count(parameters),
        apart=members if device == "cpu" else 1,
        jax=lambda jaxed: jaxed.Descent(
            jaxed.few_points(plain.SLOPES[setting.activation]),
            parameters,
            jaxed.plainly(rates),
            jaxed.all_points,
            [(inputs.numpy(), targets.numpy())],
        ),
    )


@workload(
    "two points",
    "a step of gradient descent on all points",
    members=1,
    width=500,
    depth=20,
    points=2,
)
def two_point(members: int, width: int, depth: int, points: int, device: str = "cpu") -> Case:
    """Descend on two points, or more on a line: the networks of
    "When representations align", Table 1, default.
    """
    inputs = torch.linspace(-1, 0, points)[:, None]
    return _few_points(
        TABLE_1["default"],
        members,
        (1, *[width] * depth, 1),
        inputs,
        0.6 + 0.7071 * (inputs + 1),
        device,
    )


@workload("XOR", "a step of gradient descent on the four points", members=5, width=500, depth=20)
def xor(members: int, width: int, depth: int, device: str = "cpu") -> Case:
    """Descend on four points of two classes: Table 2, "low"."""
    inputs, targets = (torch.tensor(values, dtype=torch.float32) for values in toys.xor())
    return _few_points(
        TABLE_2["xor low"], members, (2, *[width] * depth, 1), inputs, targets, device
    )


@workload(
    "teacher and student",
    "a step of gradient descent on all points, which have 100 coordinates",
    members=1,
    width=50,
    points=1000,
)
def teacher_student(members: int, width: int, points: int, device: str = "cpu") -> Case:
    """Train two-layer students, each of a teacher with
    three neurons: "Get rich quick", Figure 1(b).
    """
    d = 100

    def drawn(m: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng((m, 0))
        x = teachers.sphere(rng, points, d)
        w, a = teachers.balanced_student(rng, width, d)
        return x, teachers.relu_network(*teachers.teacher(m, d), x)[:, None], w, a[None]

    stacked = map(np.stack, zip(*map(drawn, range(members)), strict=True))
    x, y, w, a = (torch.tensor(values, dtype=torch.float32, device=device) for values in stacked)
    parameters, rates = {"weight1": w, "weight2": a}, {"weight1": 0.005, "weight2": 0.005}
    doubled = {name: 2 * rate for name, rate in rates.items()}  # our loss is half of torch's
    network = Dense((d, width, 1), "relu", bias=False)

    def ours() -> Training:
        if device != "cpu":
            return stack(network, parameters, Data(x, y, True), doubled, loss=half_squared_error)
        each = [{name: value[m] for name, value in parameters.items()} for m in range(members)]
        return Training(
            [two_layer.Stack(network, one, x[m], y[m], doubled) for m, one in enumerate(each)]
        )

    return Case(
        ours=ours,
        plain=lambda: plain.Descent(
            plain.dense(network),
            parameters,
            rates,
            nn.functional.mse_loss,
            lambda step: (x[0], y[0]),
        ),
        # The hidden errors are a times the residuals times 1 or 0: no product, and a can wait until
        # after the sum over points, from which its own slope follows.
        operations=members * 2 * points * (2 * d * width + width),
        read=count(parameters) + x.numel() + y.numel(),
        updated=count(parameters),
        jax=lambda jaxed: jaxed.Descent(
            jaxed.two_layers,
            parameters,
            jaxed.plainly(rates),
            jaxed.all_points,
            [
                (one, np.ascontiguousarray(one.T), two)
                for one, two in zip(x.numpy(), y.numpy(), strict=True)
            ],
        ),
    )


@workload(
    "receptive fields",
    "a step of gradient descent on a fresh batch of the nonlinear Gaussian process on 40 sites",
    members=1,
    width=100,
    points=1000,
)
def receptive_fields(members: int, width: int, points: int, device: str = "cpu") -> Case:
    """Train neurons on a ring of 40 sites on a fresh batch at
    each step: the localization notes, with biases.
    """
    process = 40, (2.0, 1.0), 3.0
    network, draw = (
        Committee(40, width, "relu", bias=True),
        signals("nlgp", *process, points, 0, dtype="float32"),
    )
    parameters = network.initialize(0, members, device=device)
    nothing = Data(torch.zeros(1, 40, device=device), torch.zeros(1, 1, device=device), False)
    rates, doubled = (
        dict.fromkeys(parameters, rate) for rate in (10.0, 20.0)
    )  # our loss is half of torch's
    batch = plain.signals(*process, points, device)
    return Case(
        ours=lambda: stack(
            network, parameters, nothing, doubled, loss=half_squared_error, draw=draw
        ),
        plain=lambda: plain.Descent(
            plain.Committee(40, width), parameters, rates, nn.functional.mse_loss, batch
        ),
        operations=members
        * 2
        * points
        * width
        * (40 + 40 + 1),  # forward, backward to the weights and to the biases
        read=count(parameters) + members * points * 41,
        updated=count(parameters),
        close=None,
        jax=lambda jaxed: jaxed.Descent(
            jaxed.committee,
            parameters,
            jaxed.plainly(rates),
            jaxed.signals(*process, points),
            [()],
        ),
    )


@workload(
    "random hierarchy",
    "a step of descent with momentum on a batch of strings",
    members=12,
    width=64,
    depth=3,
    points=128,
)
def hierarchy(members: int, width: int, depth: int, points: int, device: str = "cpu") -> Case:
    """Train dense networks on strings of the random
    hierarchy model: "Get rich quick", Figure 5(c).
    """
    model = random_hierarchy.RandomHierarchy(features=3)
    drawn = [model.draw((m, 1), model.rules((m, 0)), 4096, 1)[0] for m in range(members)]
    strings, labels = (
        torch.from_numpy(np.stack(part)).to(device) for part in zip(*drawn, strict=True)
    )
    widths = (strings.shape[-1], *[width] * depth, 8)
    network, descent = (
        Dense(widths, "relu", bias=False),
        {"momentum": 0.9, "schedule": cosine(8000, 0.8)},
    )
    weights = hierarchies.initial_weights(np.ones(1), range(members), network)
    parameters = {name: value.to(device) for name, value in weights.items()}
    rates = dict.fromkeys(parameters, 0.1) | {f"weight{depth + 1}": 0.1 / width}
    batches = plain.batches(strings[0], labels[0], points)

    def in_jax(jaxed: ModuleType) -> object:
        order = np.random.default_rng((0, 0, 1)).permutation(4096)
        data = [jaxed.batched(*own, order, points) for own in zip(strings, labels, strict=True)]
        update = jaxed.with_momentum(rates, **descent)
        slopes = jaxed.cross_entropy(jaxed.dense)
        return jaxed.Descent(slopes, parameters, update, jaxed.in_order, data, moments=1)

    return Case(
        ours=lambda: stack(
            network,
            parameters,
            Data(strings, labels, True),
            rates,
            loss=cross_entropy,
            batch_size=points,
            **descent,
        ),
        plain=lambda: plain.Descent(
            plain.dense(network), parameters, rates, nn.functional.cross_entropy, batches, **descent
        ),
        operations=members * dense_operations(widths, points),
        read=count(parameters) + members * points * (widths[0] + 1),
        updated=2 * count(parameters),  # weights and momentum
        jax=in_jax,
    )


@workload("transformer", "a step of Adam on a batch of strings", members=6, width=128, points=512)
def grokking(members: int, width: int, points: int, device: str = "cpu") -> Case:
    """Train transformers of one layer on division modulo 97: "Get rich quick", Figure 5(d)."""
    network, (tokens, labels) = Transformer(99, width=width), arithmetic.modular(97)
    halves = np.stack(
        [arithmetic.split((m, 0), len(tokens), len(tokens) // 2)[0] for m in range(members)]
    )
    tokens, labels = (torch.from_numpy(part[halves]).to(device) for part in (tokens, labels))
    parameters, adam = (
        network.initialize(0, members, device=device),
        {"betas": (0.9, 0.98), "schedule": warm_up(10)},
    )
    rates, batches = dict.fromkeys(parameters, 1e-3), plain.batches(tokens[0], labels[0], points)
    of_ours = {"loss": cross_entropy, "optimizer": "adam", "batch_size": points} | adam
    of_torch = {
        "loss": nn.functional.cross_entropy,
        "optimizer": torch.optim.Adam,
        "batch": batches,
    } | adam
    # Keys and values of each token in each place, or of each place of each string; then mixing,
    # both layers of the MLP, readout.
    table, strings = (
        4 * min(99, points) * width * 2 * width,
        points * width * (width + 8 * width + 99),
    )

    def in_jax(jaxed: ModuleType) -> object:
        order = np.random.default_rng((0, 0, 1)).permutation(tokens.shape[1])
        data = [jaxed.batched(*own, order, points) for own in zip(tokens, labels, strict=True)]
        slopes = jaxed.cross_entropy(jaxed.decoder(network.heads, network.tokens, network.length))
        update = jaxed.adam(rates, **adam)
        return jaxed.Descent(slopes, parameters, update, jaxed.in_order, data, moments=2)

    return Case(
        ours=lambda: stack(network, parameters, Data(tokens, labels, True), rates, **of_ours),
        plain=lambda: plain.Descent(plain.Decoder(network), parameters, rates, **of_torch),
        operations=members
        * 3
        * 2
        * (table + strings),  # forward, and backward to weights and inputs
        read=count(parameters) + members * points * 5,
        updated=3 * count(parameters),  # weights and two moments
        jax=in_jax,
    )


@workload("tangent kernel of LeNet-5", "one kernel, traced over 10 outputs", members=1, points=64)
def lenet_kernel(members: int, points: int, device: str = "cpu") -> Case:
    """Compute the tangent kernel of LeNet-5 on images: "Get rich quick", Figure 5(a)."""
    # Multiplications of a point: the convolutions at each place, the dense layers; then for each
    # output backward, first to the representations, then to the filters. A dense layer's part of
    # the kernel is that of its errors times that of its inputs.
    first, second, dense = 28 * 28 * 6 * 25, 10 * 10 * 16 * 150, 400 * 120 + 120 * 84 + 84 * 10
    each = first + second + dense + 10 * (second + dense) + 10 * (first + second)
    pair = 10 * (6 * 26 + 16 * 151 + 120 + 84) + 400 + 120 + 84
    network = LeNet()
    parameters = network.initialize(0, members, device=device)
    x = torch.from_numpy(
        np.random.default_rng(0).normal(size=(points, 1, 28, 28)).astype(np.float32)
    ).to(device)

    def reader() -> Repeated:
        model = plain.start(plain.lenet(), parameters)
        return Repeated(lambda: plain.tangent_kernel(model, x).detach())

    return Case(
        ours=lambda: Repeated(lambda: ntk(network, parameters, x)[0]),
        plain=reader,
        operations=members * 2 * (points * each + points * (points + 1) // 2 * pair),
        read=count(parameters) + x.numel(),
        updated=members * points**2,
        jax=lambda jaxed: Repeated(jaxed.lenet_kernel(parameters, x)),
    )
