"""A workload at given sizes: what runs, and the least that a machine must do for a step of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from evidence.speed.timing import Loop
from lib.training.descent import Stack

Pairs = list[tuple[Tensor, Tensor]]  # matrices that are multiplied, with a leading axis


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
    products : draws matrices of the shapes that ours multiplies in a step
    parts : make loops that do a part of ours, by name
    dtype : of the numbers
    """

    ours: Callable[[], Run]
    plain: Callable[[], Run]
    operations: float
    read: int
    updated: int
    apart: int = 1
    plain_members: int = 1
    products: Callable[[], Pairs] = list
    parts: Mapping[str, Callable[[], Loop]] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32


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


def affine(device: str, members: int, points: int, into: int, out: int, first: bool = False) -> Pairs:
    """Return what a layer multiplies: forward, and backward to its weights and, unless it is the first, to its inputs."""
    h, w, error = (torch.randn(members, *shape, device=device) for shape in ((points, into), (out, into), (points, out)))
    return [(h, w.mT), (error.mT, h)] + ([] if first else [(error, w)])


def dense_products(device: str, members: int, widths: Sequence[int], points: int) -> Pairs:
    """Return what a dense network multiplies in a step."""
    sizes = pairwise(widths)
    return [pair for i, (into, out) in enumerate(sizes) for pair in affine(device, members, points, into, out, first=i == 0)]


def count(parameters: Mapping[str, Tensor]) -> int:
    """Count the parameters of all members."""
    return sum(value.numel() for value in parameters.values())
