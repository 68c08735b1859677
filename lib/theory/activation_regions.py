r"""Where the neurons of a piecewise linear network are active: hyperplanes, regions, and the boundaries that a segment crosses.

Source: Kunin et al. (2024), "Get rich quick", appendix C, "Surface of a piecewise linear network". A neuron is active where its
preactivation is positive. Two layers without biases are given by `w` (h, d), one row for each neuron.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.theory.common import LARGEST, arrays, binary, finite, matrix, number, positive, rows

TIED = 1e-9  # radians, or a share of a segment: what is closer is one


def hyperplanes(w: ArrayLike) -> tuple[NDArray, NDArray]:
    """Find the distinct hyperplanes of neurons without biases: w and c·w, with c of either sign, have the same.

    Parameters
    ----------
    w : (h, d)

    Returns
    -------
    normals : (m, d) unit vectors, in the order of the neurons that come first
    number : (h,) which of them is each neuron's, -1 for a neuron that is zero

    Raises
    ------
    ValueError
        If `w` is not a matrix of finite numbers.

    Source: Proposition 17, "lacks redundant neurons".
    """
    units = unit(one_matrix("w", w, np.inf))  # of any size
    number, normals = np.full(len(units), -1), []
    for k, normal in enumerate(units):
        if number[k] < 0 and np.any(normal):
            across = np.linalg.norm(units - np.outer(units @ normal, normal), axis=1)
            number[(number < 0) & np.any(units, axis=1) & (across < TIED)] = len(normals)
            normals.append(normal)
    return np.array(normals).reshape(-1, units.shape[1]), number


class Region(NamedTuple):
    """A region of the plane in which the same neurons are active."""

    polygon: NDArray  # (v, 2) corners, counter-clockwise
    pattern: NDArray  # (h,) bool, which neurons are active
    color: int  # 0 or 1, another one across each boundary


def regions(w: ArrayLike, bound: float = 1.0) -> list[Region]:
    """Cut the square [-bound, bound]² into the activation regions of neurons without biases, counter-clockwise.

    Parameters
    ----------
    w : (h, 2)
    bound : positive

    Returns
    -------
    2m regions for m > 0 distinct hyperplanes, with the origin as their first corner; one region for none

    Raises
    ------
    ValueError
        If `w` is not (h, 2), a number is not finite, or `bound` is not positive.

    Source: Definition 16 and Proposition 17; the color is the parity of the number of *distinct* hyperplanes crossed.
    """
    w, bound = one_matrix("w", w, np.inf), number("bound", bound, positive)
    if w.shape[1] != 2:
        raise ValueError(f"w has shape {w.shape}: want neurons in the plane (h, 2)")
    corners = np.pi / 4 * np.arange(1, 17, 2)  # of two turns
    if not np.any(w):
        return [Region(_on_square(corners[:4], bound), np.zeros(len(w), bool), 0)]
    found = []
    for i, (edge, width) in enumerate(zip(*sectors(w), strict=True)):
        between = corners[(corners > edge) & (corners < edge + width)]
        rim = _on_square(np.concatenate([[edge], between, [edge + width]]), bound)
        found.append(Region(np.vstack([np.zeros(2), rim]), w @ circle(edge + width / 2) > 0, i % 2))
    return found


def predictor(pattern: ArrayLike, w: ArrayLike, a: ArrayLike, gamma: float = 0.0) -> NDArray:
    r"""Return the linear predictor of a region, :math:`\beta_R = \nabla_x f = \sum_k a_k c_k w_k`.

    Parameters
    ----------
    pattern : (..., h) bool, which neurons are active
    w, a : (h, d) and (h,)
    gamma : slope below zero, in [0, 1)

    Returns
    -------
    (..., d)

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, or `gamma` is out of its range.

    Source: appendix C, "Surface of a piecewise linear network".
    """
    pattern, w, a = binary("pattern", pattern), one_matrix("w", w), finite("a", a)
    check_slope(gamma)
    if a.shape != w.shape[:1] or pattern.shape[-1:] != a.shape:
        raise ValueError(f"pattern {pattern.shape}, w {w.shape} and a {a.shape} do not fit: want (..., h), (h, d) and (h,)")
    return gates(pattern, gamma) * a @ w


class Crossing(NamedTuple):
    """A boundary met by a segment."""

    t: float  # how far along, in (0, 1)
    neurons: NDArray  # the numbers of those that become active or inactive there


def crossings(w: ArrayLike, start: ArrayLike, end: ArrayLike) -> list[Crossing]:
    r"""Find all boundaries that a segment crosses, in order, for neurons without biases, in any dimension.

    Neurons with one hyperplane flip together; if the segment meets several hyperplanes at one place, all their neurons do.

    Parameters
    ----------
    w : (h, d)
    start, end : (d,); a hyperplane through an end is not crossed

    Raises
    ------
    ValueError
        If shapes disagree or a number is not finite.

    Source: Proposition 17, "there does not exist a boundary … where two neurons activations change simultaneously".
    """
    normals, number = hyperplanes(w)
    start, end = _segment(start, end, normals.shape[1], "w")
    z0, z1 = normals @ start, normals @ end
    crossed = np.flatnonzero(np.sign(z0) * np.sign(z1) < 0)
    t = z0[crossed] / (z0[crossed] - z1[crossed])
    crossed, t = crossed[np.argsort(t)], np.sort(t)
    first = np.flatnonzero(np.diff(t, prepend=-1) > TIED)
    groups = np.split(crossed, first[1:])
    return [Crossing(float(t[i]), np.flatnonzero(np.isin(number, group))) for i, group in zip(first, groups, strict=False)]


def deep_crossings(
    weights: Sequence[ArrayLike], biases: Sequence[ArrayLike] | None, start: ArrayLike, end: ArrayLike, gamma: float = 0.0
) -> list[Crossing]:
    """Find all places where neurons of a deep network flip along a segment, in order, without any rounding.

    Along the segment the network is piecewise linear, so that it is followed from breakpoint to breakpoint; since every
    floating-point number is a fraction, each comparison is decided exactly. A neuron is active where its preactivation is
    positive; one that rests at zero is not active.

    Parameters
    ----------
    weights : of each hidden layer, (h₁, d), (h₂, h₁), …
    biases : of each hidden layer, (h₁,), (h₂,), …, or None
    start, end : (d,)
    gamma : slope below zero, in [0, 1)

    Returns
    -------
    crossings, in which neurons are numbered through the layers

    Raises
    ------
    ValueError
        If shapes disagree, a number is not finite, or `gamma` is out of its range.

    Source: Definition 16 and Proposition 17.
    """
    weights = arrays("weights", weights, partial(one_matrix, largest=np.inf))
    start, end = _segment(start, end, weights[0].shape[1], "weights")
    biases = [np.zeros(len(w)) for w in weights] if biases is None else arrays("biases", biases)
    check_slope(gamma)
    chained = all(w.shape[1] == len(v) for w, v in zip(weights[1:], weights[:-1], strict=True))
    if not chained or [b.shape for b in biases] != [w.shape[:1] for w in weights]:
        shapes = [w.shape for w in weights], [b.shape for b in biases]
        raise ValueError(f"weights {shapes[0]} and biases {shapes[1]} do not fit: want (h₁, d), (h₂, h₁), … and (h₁,), (h₂,), …")

    layers = [(_fractions(w), _fractions(b)) for w, b in zip(weights, biases, strict=True)]
    start, end, gamma, t = _fractions(start), _fractions(end), Fraction(float(gamma)), Fraction(0)
    z, slope, active = _just_after(layers, start, end - start, gamma)
    found = []
    while True:
        ahead = z * slope < 0
        t += min(-z[ahead] / slope[ahead], default=1)
        if t >= 1:
            return found
        z, slope, now = _just_after(layers, start + t * (end - start), end - start, gamma)
        found.append(Crossing(float(t), np.flatnonzero(now != active)))
        active = now


def _just_after(
    layers: list[tuple[NDArray, NDArray]], x: NDArray, velocity: NDArray, gamma: Fraction
) -> tuple[NDArray, NDArray, NDArray]:
    """Return all preactivations at x, their derivatives along the velocity, and who is active in the next instant."""
    seen = []
    for weight, bias in layers:
        z, slope = weight @ x + bias, weight @ velocity
        active = (z > 0) | ((z == 0) & (slope > 0))
        seen.append((z, slope, active))
        x, velocity = np.where(active, z, gamma * z), np.where(active, slope, gamma * slope)
    return tuple(np.concatenate(part) for part in zip(*seen, strict=True))


def _fractions(values: NDArray) -> NDArray:
    """Return an array of floats as exact fractions."""
    return np.vectorize(Fraction, otypes=[object])(values)


# --- the plane


def sectors(normals: NDArray) -> tuple[NDArray, NDArray]:
    """Cut the circle by the lines orthogonal to vectors (h, 2), not all zero: the angle where each arc begins, and its width."""
    normals = one_matrix("normals", normals, np.inf)
    if normals.shape[1] != 2 or not np.any(normals):
        raise ValueError(f"normals has shape {normals.shape}: want vectors (h, 2), not all zero")
    distinct, _ = hyperplanes(normals)
    lines = np.sort(np.arctan2(distinct[:, 0], -distinct[:, 1]) % np.pi)
    edges = np.concatenate([lines, lines + np.pi])
    return edges, np.diff(edges, append=edges[0] + 2 * np.pi)


def circle(angles: NDArray) -> NDArray:
    """Return the unit vectors at some angles, (..., 2)."""
    angles = finite("angles", angles)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _on_square(angles: NDArray, bound: float) -> NDArray:
    """Return where rays at some angles leave the square [-bound, bound]², (..., 2)."""
    ray = circle(angles)
    return bound * ray / np.abs(ray).max(axis=-1, keepdims=True)


# --- arguments


def unit(vectors: NDArray) -> NDArray:
    """Bring vectors (..., d) to length 1 and leave those that are zero."""
    vectors = rows("vectors", vectors, np.inf)
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    vectors = vectors / np.where(largest > 0, largest, 1)
    norm = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(norm > 0, norm, 1)


def gates(active: NDArray, gamma: float) -> NDArray:
    """Return the slopes of neurons, 1 where active and gamma elsewhere."""
    check_slope(gamma)
    return np.where(binary("active", active), 1.0, gamma)


def check_slope(gamma: float) -> None:
    """Raise ValueError unless gamma is in [0, 1)."""
    if not 0 <= number("gamma", gamma) < 1:
        raise ValueError(f"gamma is {gamma}: want a slope in [0, 1)")


def one_matrix(name: str, value: ArrayLike, largest: float = LARGEST) -> NDArray:
    """Return `value` as a matrix (m, n), or raise ValueError."""
    value = matrix(name, value, largest)
    if value.ndim != 2:
        raise ValueError(f"{name} has shape {value.shape}: want one matrix")
    return value


def _segment(start: ArrayLike, end: ArrayLike, d: int, owner: str) -> tuple[NDArray, NDArray]:
    start, end = finite("start", start), finite("end", end)
    if start.shape != (d,) or end.shape != (d,):
        raise ValueError(f"start {start.shape} and end {end.shape} do not fit {owner}: want ({d},)")
    return start, end
