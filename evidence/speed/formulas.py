"""Tangent kernels and exact solutions."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from evidence.speed import plain
from evidence.speed.case import Case, Pairs, Repeated, count
from lib.kernels import ntk
from lib.networks import Dense, LeNet, Network
from lib.theory import linear_networks, single_neuron


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
    return _kernel(network, parameters, images, plain.lenet, each, pair)


def dense_kernel(device: str, members: int, width: int, depth: int, points: int) -> Case:
    """Compute the tangent kernel of the dense networks that learn the random hierarchy model, on random points."""
    widths = (64, *[width] * depth, 8)
    network = Dense(widths, "relu", bias=False)
    parameters = network.initialize(0, members, device=device)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(points, 64)).astype(np.float32)).to(device)
    weights = [into * out for into, out in pairwise(widths)]
    each, pair = sum(weights) + 8 * sum(weights[1:]), 8 * sum(widths[1:-1]) + sum(widths[:-1])
    return _kernel(network, parameters, x, lambda p: plain.Layers(network, p), each, pair)


def _kernel(network: Network, parameters: dict[str, Tensor], x: Tensor, model: Callable, each: int, pair: int) -> Case:
    """Return the case of a kernel that takes so many multiplications for each point, and for each pair of points."""
    members, points = len(next(iter(parameters.values()))), len(x)

    def reader() -> Repeated:
        one = model(parameters)
        return Repeated(lambda: plain.tangent_kernel(one, x), lambda k: {"kernel": k.detach().cpu().numpy()})

    def products() -> Pairs:
        """Return each parameter's part of the Jacobian, by itself."""
        columns = [network.outputs * value[0].numel() for value in parameters.values()]
        rows = [torch.randn(1, points, size, device=x.device) for _ in range(members) for size in columns]
        return [(row, row.mT) for row in rows]

    return Case(
        ours=lambda: Repeated(lambda: ntk(network, parameters, x), lambda k: {"kernel": k[0].cpu().numpy()}),
        plain=reader,
        operations=members * 2 * (points * each + points * (points + 1) // 2 * pair),
        read=count(parameters) + x.numel(),
        updated=members * points**2,
        products=products,
    )


def exact_neuron(device: str, members: int, width: int, points: int) -> Case:
    """Solve for one linear neuron with `width` inputs, at `points` times, for balances δ from -4 to 4."""
    target, times = np.ones(width) / np.sqrt(width), np.linspace(0, 8, points)
    starts = [single_neuron.initialize(np.linspace(-0.2, 0.4, width), delta) for delta in np.linspace(-4, 4, members)]

    def exact(times: np.ndarray) -> Repeated:
        return Repeated(
            lambda: [single_neuron.trajectory(*one, target, times) for one in starts],
            lambda paths: {f"neuron {m}": np.column_stack([path.a, path.w]) for m, path in enumerate(paths)},
        )

    return Case(
        ours=lambda: exact(times),
        plain=lambda: Repeated(
            lambda: [plain.neuron(*one, target, times) for one in starts],
            lambda paths: {f"neuron {m}": path for m, path in enumerate(paths)},
        ),
        operations=0,
        read=members * (points + 2 * width),
        updated=members * points * (1 + width),
        plain_members=members,
        parts={"the same at a single time": lambda: exact(times[-1:]).advance},
        dtype=torch.float64,
    )


def exact_modes(device: str, members: int, width: int, points: int) -> Case:
    """Solve for the `width` aligned modes of two-layer linear networks, at `points` times, for δ from 0 to 2."""
    times, targets, start = np.linspace(0, 6, points), np.linspace(0.6, 2, width), np.full(width, 0.01)
    deltas = np.linspace(0, 2, members)

    def reader() -> list[np.ndarray]:
        pairs = list(zip(start, targets, strict=True))
        return [np.stack([plain.mode(*pair, delta, times) for pair in pairs], axis=1) for delta in deltas]

    def exact(times: np.ndarray) -> Repeated:
        return Repeated(lambda: [linear_networks.singular_values(start, targets, delta, times) for delta in deltas], named)

    def named(paths: list[np.ndarray]) -> dict[str, np.ndarray]:
        return {f"δ = {delta:g}": path for delta, path in zip(deltas, paths, strict=True)}

    return Case(
        ours=lambda: exact(times),
        plain=lambda: Repeated(reader, named),
        operations=0,
        read=members * (points + 2 * width),
        updated=members * points * width,
        plain_members=members,
        parts={"the same at a single time": lambda: exact(times[-1:]).advance},
        dtype=torch.float64,
    )
