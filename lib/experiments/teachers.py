"""Teachers and students of rectifiers, with neurons drawn from the unit sphere."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, matrices, numbers, positives, shaped, takes


def sphere(rng: np.random.Generator, count: int, dimension: int) -> NDArray:
    """Draw points uniformly from the unit sphere, (count, dimension)."""
    points = rng.normal(size=(count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def relu_network(w: NDArray, a: NDArray, inputs: NDArray) -> NDArray:
    """Return the outputs (n,) of Σ a_k relu(w_k·x), for w (h, d), a (h,) and inputs (n, d)."""
    return np.maximum(inputs @ w.T, 0) @ a


def balanced_student(
    rng: np.random.Generator, units: int, dimension: int
) -> tuple[NDArray, NDArray]:
    """Draw w (units, dimension) on the sphere and a = ±1; the second
    half repeats the first with opposite a, so that f = 0.
    """
    if units % 2:
        raise ValueError(f"units is {units}: want an even number, since each neuron has a twin")
    half = units // 2
    w, a = sphere(rng, half, dimension), rng.choice([-1.0, 1.0], half)
    return np.concatenate([w, w]), np.concatenate([a, -a])


def teacher(seed: int, dimension: int, neurons: int = 3) -> tuple[NDArray, NDArray]:
    """Return the w (neurons, dimension) on the sphere and the
    a = ±1 of the teacher that goes with a seed.
    """
    rng = np.random.default_rng((seed, 1))
    return sphere(rng, neurons, dimension), rng.choice([-1.0, 1.0], neurons)


@takes(w=matrices, a=numbers, tau=positives, delta=numbers)
def scale_initialization(
    w: ArrayLike, a: ArrayLike, tau: ArrayLike, delta: ArrayLike
) -> tuple[NDArray, NDArray]:
    r"""Bring balanced neurons to an overall scale τ and a relative scale δ.

    Input weights become :math:`w\,\tau/\alpha` and output weights :math:`a\,\tau\alpha`, where

    .. math:: \delta = \tau^2(\alpha^2 - \alpha^{-2}), \quad\text{that is}\quad
              \ln\alpha = \tfrac12\operatorname{arsinh}\frac{\delta}{2\tau^2}.

    A neuron of norm 1 gets :math:`\delta_k = \delta`, one of norm r gets :math:`r^2\delta`.

    Parameters
    ----------
    w : (..., h, d)
    a : (..., h), with :math:`|a_k| = \|w_k\|`
    tau : (...), positive
    delta : (...); these leading axes broadcast: `tau` and `delta` (members,) share one draw (h, d)
        or take one draw each

    Returns w (..., h, d) and a (..., h). Raises ValueError if a neuron is not balanced.

    Source: appendix C, "Figure 1", where the left side is printed as δ².
    """
    _check_balanced(w, a)
    broadcastable(tau=tau, delta=delta, a=a[..., 0])
    alpha = np.exp(np.arcsinh(delta / (2 * tau**2)) / 2)
    return w * (tau / alpha)[..., None, None], a * (tau * alpha)[..., None]


def _check_balanced(w: NDArray, a: NDArray) -> None:
    shaped("(..., h, d), (..., h)", w=w, a=a)
    if not np.allclose(np.hypot.reduce(w, axis=-1), np.abs(a), rtol=1e-6, atol=0):
        raise ValueError("w and a are not balanced: want |a| = |w| for each neuron")
