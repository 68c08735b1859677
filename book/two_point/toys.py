"""Toys: two points on a line, exclusive or, and blobs with a context."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lib.checks import non_negative, takes, whole


@takes(input_distance=non_negative, target_distance=non_negative)
def two_points(input_distance: float, target_distance: float) -> tuple[NDArray, NDArray]:
    """Two points on a line: inputs x = (-1, -1 + dx) and targets y = (.6, .6 + dy), (2, 1) each.

    The distances dx and dy are at least 0, and not squared.

    Source: van Rossem & Saxe (2024), App. B.1, where dx = .5 and dy = 1; the authors' code,
    loekvanrossem/universality, has dx² = 1 and dy² = .5.
    """
    return np.array([[-1.0], [-1.0 + input_distance]]), np.array([[0.6], [0.6 + target_distance]])


def xor() -> tuple[NDArray, NDArray]:
    """Exclusive or: inputs (4, 2) in the order (0, 0), (1, 0), (0, 1), (1, 1), and targets (4, 1).

    Source: van Rossem & Saxe (2024), App. B.2.
    """
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array(
        [[0.0], [1.0], [1.0], [0.0]]
    )


class Features(NamedTuple):
    """What varies among the blobs: position x (N,) and y
    (N,) of the mean, and context (N,), 0 or 1.
    """

    x: NDArray
    y: NDArray
    context: NDArray


@takes(side=partial(whole, least=2), pixels=partial(whole, least=2))
def blobs(side: int = 30, pixels: int = 5) -> tuple[NDArray, NDArray, Features]:
    r"""Images of Gaussian blobs, and a context that says
    whether to report their x or their y position.

    The pixels lie on a grid over :math:`[-1,1]^2`, the means on another; an image is
    :math:`e^{-r^2/2}`, with r the distance from the mean, divided by its sum. Row-major pixels (one
    row, one y), then the context one-hot. The points are ordered by context, then x, then y, so
    that a column reshapes to (2, side, side).

    Parameters
    ----------
    side : means along each axis, at least 2
    pixels : pixels along each axis, at least 2

    Returns
    -------
    inputs (N, pixels² + 2), targets (N, 1), features, for N = 2 side²; the target is x in context 0
    and y in context 1

    Source: van Rossem & Saxe (2024), App. B.3; width and normalization from
    loekvanrossem/universality.
    """
    means, grid = np.linspace(-1, 1, side), np.linspace(-1, 1, pixels)
    context, x, y = (axis.ravel() for axis in np.meshgrid([0, 1], means, means, indexing="ij"))
    squared = (grid[:, None] - y[:, None, None]) ** 2 + (
        grid - x[:, None, None]
    ) ** 2  # (N, rows, columns)
    images = np.exp(-squared / 2).reshape(len(x), -1)
    images /= images.sum(axis=1, keepdims=True)
    return (
        np.hstack([images, np.eye(2)[context]]),
        np.where(context == 0, x, y)[:, None],
        Features(x, y, context),
    )
