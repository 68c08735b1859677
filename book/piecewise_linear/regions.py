r"""Where the neurons of a piecewise linear network are active: hyperplanes, regions, and the
boundaries that a segment crosses.

Source: Kunin et al. (2024), "Get rich quick", appendix C, "Surface of a piecewise linear network".
A neuron is active where its preactivation is positive. Two layers without biases are given by `w`
(h, d), one row for each neuron.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import arrays, matrix, number, optional, shaped, takes, vector

TIED = 1e-9  # radians, or a share of a segment: two that are closer count as one


ANY_SIZE = partial(matrix, largest=np.inf)  # for neurons of which only the directions matter


def slope(name: str, value: float) -> float:
    """Return the slope of a nonlinearity below zero, at least 0 and less than 1."""
    found = number(name, value)
    if not 0 <= found < 1:
        raise ValueError(f"{name} is {found:g}: want a slope in [0, 1)")
    return found


@takes(w=ANY_SIZE)
def hyperplanes(w: ArrayLike) -> tuple[NDArray, NDArray]:
    """Find the distinct hyperplanes of neurons without biases: w
    and c·w, with c of either sign, have the same.

    For `w` (h, d) returns their normals (m, d), unit vectors in the order of the neurons that come
    first, and the number (h,) of each neuron's, -1 for a neuron that is zero.

    Source: Proposition 17, "lacks redundant neurons".
    """
    units = _unit(w)
    number, normals = np.full(len(units), -1), []
    for k, normal in enumerate(units):
        if number[k] < 0 and np.any(
            normal
        ):  # the first neuron of its hyperplane; all others of it are numbered with it
            across = np.linalg.norm(units - np.outer(units @ normal, normal), axis=1)
            number[(number < 0) & np.any(units, axis=1) & (across < TIED)] = len(normals)
            normals.append(normal)
    return np.array(normals).reshape(-1, units.shape[1]), number


class Crossing(NamedTuple):
    """A boundary that a segment crosses."""

    t: float  # how far along, in (0, 1)
    neurons: NDArray  # numbers of the neurons that flip there


@takes(
    weights=partial(arrays, check=ANY_SIZE),
    biases=optional(partial(arrays, check=vector)),
    start=vector,
    end=vector,
    gamma=slope,
)
def deep_crossings(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike] | None,
    start: ArrayLike,
    end: ArrayLike,
    gamma: float = 0.0,
) -> list[Crossing]:
    """Find all places where neurons of a deep network flip
    along a segment, in order, without any rounding.

    Along the segment the network is piecewise linear, and this function follows it from breakpoint
    to breakpoint. Every floating-point number is a fraction, so each comparison is exact. A neuron
    is active where its preactivation is positive; a neuron that rests at zero is not active.

    Parameters
    ----------
    weights : of each hidden layer, (h₁, d), (h₂, h₁), …
    biases : of each hidden layer, (h₁,), (h₂,), …, or None
    start, end : (d,)
    gamma : slope below zero, in [0, 1)

    In the crossings neurons are numbered through the layers. Source: Definition 16 and Proposition
    17.
    """
    shaped("(h₁, d), (d,), (d,)", **{"weights[0]": weights[0]}, start=start, end=end)
    biases = _check_chain(weights, biases)
    layers = [(_fractions(w), _fractions(b)) for w, b in zip(weights, biases, strict=True)]
    start = _fractions(start)
    end = _fractions(end)
    below = Fraction(gamma)
    t = Fraction(0)
    z, rate, active = _just_after(layers, start, end - start, below)
    found = []
    while True:
        ahead = (
            z * rate < 0
        )  # neurons on their way to zero; the first of them to reach it bends the network
        t += min(-z[ahead] / rate[ahead], default=1)
        if t >= 1:
            return found
        z, rate, now = _just_after(layers, start + t * (end - start), end - start, below)
        found.append(Crossing(float(t), np.flatnonzero(now != active)))
        active = now


def _check_chain(weights: Sequence[NDArray], biases: Sequence[NDArray] | None) -> Sequence[NDArray]:
    """Return the biases of layers that fit onto each other; None stands for zeros."""
    biases = [np.zeros(len(w)) for w in weights] if biases is None else biases
    inputs, neurons = [w.shape[1] for w in weights], [len(w) for w in weights]
    if inputs[1:] != neurons[:-1] or neurons != [len(b) for b in biases]:
        shapes = [w.shape for w in weights], [b.shape for b in biases]
        raise ValueError(
            f"weights {shapes[0]} and biases {shapes[1]} do not fit: want (h₁, d), (h₂, h₁), … "
            "and (h₁,), (h₂,), …"
        )
    return biases


def _just_after(
    layers: list[tuple[NDArray, NDArray]], x: NDArray, velocity: NDArray, gamma: Fraction
) -> tuple[NDArray, ...]:
    """Return all preactivations at x, their derivatives along the
    velocity, and who is active in the next instant.
    """
    seen = []
    for weight, bias in layers:
        z, rate = weight @ x + bias, weight @ velocity
        active = (z > 0) | ((z == 0) & (rate > 0))
        seen.append((z, rate, active))
        x, velocity = np.where(active, z, gamma * z), np.where(active, rate, gamma * rate)
    return tuple(np.concatenate(part) for part in zip(*seen, strict=True))


def _fractions(values: NDArray) -> NDArray:
    """Return an array of floats as exact fractions."""
    return np.vectorize(Fraction, otypes=[object])(values)


def _unit(vectors: NDArray) -> NDArray:
    """Bring vectors (..., d) of any size to length 1 and leave those that are zero."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    vectors = vectors / np.where(largest > 0, largest, 1)
    norm = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norm > 0, norm, 1)


def _sectors(normals: NDArray) -> tuple[NDArray, NDArray]:
    """Cut the circle by the lines orthogonal to vectors (h, 2), not all
    zero: the angle where each arc begins, and its width.
    """
    distinct, _ = hyperplanes(normals)
    lines = np.sort(np.arctan2(distinct[:, 0], -distinct[:, 1]) % np.pi)
    edges = np.concatenate([lines, lines + np.pi])
    return edges, np.diff(edges, append=edges[0] + 2 * np.pi)


def _circle(angles: NDArray) -> NDArray:
    """Return the unit vectors at some angles, (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
