"""What the authors' code draws for figure 1 of "Get rich quick",
number by number: teachers, students and points.

Their code seeds torch's generator and draws in single precision. It makes layers whose first
weights it then replaces; these draws count, too.

Source: allanraventos/getrichquick, the public code of Kunin et al. (2024), for two-layer networks.
"""

from typing import NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from lib.checks import optional, seed, size, takes

FRESH = 201  # the seed of their test points


class Problem(NamedTuple):
    """A training set, a balanced student before it is scaled, and its teacher."""

    x: NDArray  # (n, d)
    y: NDArray  # (n,)
    w: NDArray  # (h, d)
    a: NDArray  # (h,)
    teacher_w: NDArray  # (k, d)
    teacher_a: NDArray  # (k,)


@takes(
    seed=seed, dimension=size, units=size, teachers=size, points=size, teacher_seed=optional(seed)
)
def problem(
    seed: int,
    dimension: int = 100,
    units: int = 50,
    teachers: int = 3,
    points: int = 1000,
    *,
    teacher_seed: int | None = None,
) -> Problem:
    """Draw what goes with a seed, 100 to 115 in figure 1(b).

    Parameters
    ----------
    units : of the student, an even number; the second half repeats the first with opposite a
    teacher_seed : of a teacher that is drawn apart, as in figure 1(a) (15 there, and 100 for the
        rest)
    """
    if units % 2:
        raise ValueError(f"units is {units}: want an even number, since each neuron has a twin")
    stream = torch.Generator().manual_seed(seed)
    apart = stream if teacher_seed is None else torch.Generator().manual_seed(teacher_seed)
    teacher_w, teacher_a = _neurons(apart, dimension, teachers, teachers)
    w, a = _neurons(stream, dimension, units, units // 2)
    x = _on_sphere(stream, points, dimension)
    y = torch.relu(x @ teacher_w.T) @ teacher_a
    drawn = x, y, torch.cat([w, w]), torch.cat([a, -a]), teacher_w, teacher_a
    return Problem(*(values.double().numpy() for values in drawn))


def fresh(points: int = 10_000, dimension: int = 100) -> NDArray:
    """Draw the test points (points, dimension), the same for all seeds."""
    return _on_sphere(torch.Generator().manual_seed(FRESH), points, dimension).double().numpy()


def _neurons(
    stream: torch.Generator, dimension: int, units: int, drawn: int
) -> tuple[Tensor, Tensor]:
    """Make two layers of `units`, whose weights nobody reads,
    then draw neurons on the sphere with readouts ±1.
    """
    for layer in (units * dimension, units):
        torch.empty(layer).uniform_(generator=stream)
    return _on_sphere(stream, drawn, dimension), torch.sign(torch.randn(drawn, generator=stream))


def _on_sphere(stream: torch.Generator, count: int, dimension: int) -> Tensor:
    points = torch.randn(count, dimension, generator=stream)
    return points / torch.norm(points, dim=1, keepdim=True)
