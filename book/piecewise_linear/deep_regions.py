r"""The activation regions of a deep piecewise linear network in
the plane, and its linear map in each of them.

Source: Kunin et al. (2024), "Get rich quick", appendix C, "Surface of a piecewise linear network".
Within a region of the first l layers the preactivations of layer l + 1 are affine, so that each of
its neurons cuts the region along a straight line.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from book.piecewise_linear.regions import ANY_SIZE, TIED, _check_chain, slope
from lib.checks import (
    arrays,
    binary,
    matrix,
    optional,
    positive,
    shaped,
    takes,
    vector,
)


class Region(NamedTuple):
    """A region of the plane in which the same neurons are active."""

    polygon: NDArray  # (v, 2) corners, counter-clockwise
    pattern: NDArray  # (h,) bool, which neurons are active
    color: int  # 0 or 1, another one across each boundary that is of one neuron alone


@takes(
    weights=partial(arrays, check=ANY_SIZE),
    biases=optional(partial(arrays, check=vector)),
    bound=positive,
    gamma=slope,
)
def deep_regions(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike] | None = None,
    bound: float = 1.0,
    gamma: float = 0.0,
) -> list[Region]:
    """Cut the square [-bound, bound]² into the activation regions of a deep network.

    Parameters
    ----------
    weights : of each hidden layer, (h₁, 2), (h₂, h₁), …
    biases : of each hidden layer, (h₁,), (h₂,), …, or None
    bound : half of the square's side
    gamma : slope below zero, in [0, 1)

    Regions narrower than 1e-9 of the square are left out. The patterns number the neurons through
    the layers; the color is the parity of the number of active neurons. Source: Definition 16 and
    Proposition 17.
    """
    shaped("(h₁, d), (d,)", **{"weights[0]": weights[0]}, plane=np.zeros(2))
    biases = _check_chain(weights, biases)
    corners = bound * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    found = [
        (corners, np.eye(2), np.zeros(2), np.zeros(0, bool))
    ]  # polygon, the map into the layer, pattern
    for weight, bias in zip(weights, biases, strict=True):
        found = [
            part
            for region in found
            for part in _cut_by_layer(*region, weight, bias, TIED * bound, gamma)
        ]
    return [Region(polygon, pattern, int(pattern.sum() % 2)) for polygon, _, _, pattern in found]


def _cut_by_layer(
    polygon: NDArray,
    slopes: NDArray,
    offset: NDArray,
    pattern: NDArray,
    weight: NDArray,
    bias: NDArray,
    tied: float,
    gamma: float,
) -> list[tuple[NDArray, NDArray, NDArray, NDArray]]:
    """Cut a region, in which the layer's input is slopes·x +
    offset, by the lines of the layer's neurons.
    """
    z_slopes, z_offset = weight @ slopes, weight @ offset + bias
    pieces = [polygon]
    for normal, shift in zip(z_slopes, z_offset, strict=True):
        norm = np.linalg.norm(normal)
        if norm > 0:
            pieces = [
                half
                for piece in pieces
                for half in _halves(piece, (piece @ normal + shift) / norm, tied)
            ]
    found = []
    for piece in pieces:
        active = z_slopes @ piece.mean(axis=0) + z_offset > 0
        passed = np.where(active, 1.0, gamma)
        found.append(
            (piece, passed[:, None] * z_slopes, passed * z_offset, np.append(pattern, active))
        )
    return found


def _halves(polygon: NDArray, height: NDArray, tied: float) -> list[NDArray]:
    """Cut a convex polygon (v, 2), whose corners lie at some heights
    over a line; one piece if the line only touches it.
    """
    if height.min() > -tied or height.max() < tied:
        return [polygon]
    sides = []
    for sign in (1, -1):
        side = []
        for i, now in enumerate(sign * height):
            ahead = sign * height[(i + 1) % len(height)]
            if now >= 0:
                side.append(polygon[i])
            if now * ahead < 0:
                t = now / (now - ahead)
                side.append(polygon[i] + t * (polygon[(i + 1) % len(height)] - polygon[i]))
        sides.append(np.array(side))
    return sides


@takes(pattern=binary, weights=partial(arrays, check=matrix), readout=vector, gamma=slope)
def deep_predictor(
    pattern: ArrayLike, weights: Sequence[ArrayLike], readout: ArrayLike, gamma: float = 0.0
) -> NDArray:
    r"""Return the linear predictor of a region,
    :math:`\beta_R = \nabla_x f = W_1^\top C_1 W_2^\top C_2 \cdots a`.

    Parameters
    ----------
    pattern : (..., Σh) bool, which neurons are active, numbered through the layers
    weights : of each hidden layer, (h₁, d), (h₂, h₁), …
    readout : (h_L,)
    gamma : slope below zero, in [0, 1)

    Returns (..., d). Source: appendix C, "Surface of a piecewise linear network".
    """
    _check_chain(weights, None)
    ends = np.cumsum([len(w) for w in weights])
    shaped(
        "(..., h), (h,), (k,), (k,)",
        pattern=pattern,
        neurons=np.zeros(ends[-1]),
        readout=readout,
        last=weights[-1][:, 0],
    )
    beta = readout
    for weight, end in zip(reversed(weights), reversed(ends), strict=True):
        beta = (np.where(pattern[..., end - len(weight) : end], 1.0, gamma) * beta) @ weight
    return beta
