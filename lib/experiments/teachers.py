"""Teachers and students of rectifiers, with neurons drawn from the unit sphere."""

import numpy as np
from numpy.typing import NDArray


def sphere(rng: np.random.Generator, count: int, dimension: int) -> NDArray:
    """Draw points uniformly from the unit sphere, (count, dimension)."""
    points = rng.normal(size=(count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def relu_network(w: NDArray, a: NDArray, inputs: NDArray) -> NDArray:
    """Return the outputs (n,) of Σ a_k relu(w_k·x), for w (h, d), a (h,) and inputs (n, d)."""
    return np.maximum(inputs @ w.T, 0) @ a


def balanced_student(rng: np.random.Generator, units: int, dimension: int) -> tuple[NDArray, NDArray]:
    """Draw w (units, dimension) on the sphere and a = ±1; the second half repeats the first with opposite a, so that f = 0."""
    if units % 2:
        raise ValueError(f"units is {units}: want an even number, since each neuron has a twin")
    half = units // 2
    w, a = sphere(rng, half, dimension), rng.choice([-1.0, 1.0], half)
    return np.concatenate([w, w]), np.concatenate([a, -a])


def teacher(seed: int, dimension: int, neurons: int = 3) -> tuple[NDArray, NDArray]:
    """Return the w (neurons, dimension) on the sphere and the a = ±1 of the teacher that goes with a seed."""
    rng = np.random.default_rng((seed, 1))
    return sphere(rng, neurons, dimension), rng.choice([-1.0, 1.0], neurons)
