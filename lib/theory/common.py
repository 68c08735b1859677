"""What the theory modules share: arguments are checked, flows integrated and interpolators found in one way."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import minimize


def finite(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as an array of floats, or raise ValueError if one of them is not finite."""
    value = np.asarray(value, float)
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite")
    return value


def positive(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as an array of floats, or raise ValueError if one of them is not finite and positive."""
    value = finite(name, value)
    if np.any(value <= 0):
        raise ValueError(f"{name} must be positive")
    return value


def non_negative(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as an array of floats, or raise ValueError if one of them is not finite or negative."""
    value = finite(name, value)
    if np.any(value < 0):
        raise ValueError(f"{name} must not be negative")
    return value


def count(name: str, value: int) -> int:
    """Return `value` as an integer of at least 1, or raise ValueError."""
    if value != int(value) or value < 1:
        raise ValueError(f"{name} is {value}: want a positive integer")
    return int(value)


def vector(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as a vector (d,) other than zero, or raise ValueError."""
    value = finite(name, value)
    if value.ndim != 1 or not np.any(value):
        raise ValueError(f"{name} must be a vector (d,) other than zero")
    return value


def matrix(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as a matrix or a batch of them (..., m, n), or raise ValueError."""
    value = finite(name, value)
    if value.ndim < 2 or 0 in value.shape:
        raise ValueError(f"{name} has shape {value.shape}: want a matrix, or a batch of them")
    return value


def square(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as (..., d, d), or raise ValueError."""
    value = matrix(name, value)
    if value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{name} has shape {value.shape}: want (..., d, d)")
    return value


def orthogonal(n: int, rng: np.random.Generator) -> NDArray:
    """Draw an orthogonal matrix (n, n), uniformly."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return q * np.sign(np.diag(r))


def learning_rates(eta_a: float, eta_w: float) -> None:
    """Raise ValueError unless both learning rates are positive and finite."""
    for name, eta in (("eta_a", eta_a), ("eta_w", eta_w)):
        if not 0 < eta < np.inf:
            raise ValueError(f"{name} is {eta}: want a positive learning rate")


def ascending(times: ArrayLike) -> NDArray:
    """Return `times` as an array (T,), or raise ValueError unless they ascend from 0 or later."""
    times = np.atleast_1d(finite("times", times))
    if times.ndim != 1 or times.size == 0 or times[0] < 0 or np.any(np.diff(times) < 0):
        raise ValueError("times must ascend from 0 or later, shape (T,)")
    return times


def integrate(velocity: Callable[[float, NDArray], NDArray], start: NDArray, times: ArrayLike) -> tuple[NDArray, NDArray]:
    """Integrate a flow from `start` (n,) at time 0, to about nine digits.

    Returns
    -------
    times (T,), states (T, n)
    """
    times = ascending(times)
    span = (0.0, max(times[-1], 1e-9))  # a span that the solver can step in
    return times, solve_ivp(velocity, span, start, "DOP853", times, rtol=1e-11, atol=1e-13).y.T


def normal_equations(xtx: ArrayLike, xty: ArrayLike, shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
    """Check XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy of the given shape, (d,) or (d, c)."""
    xtx, xty = finite("xtx", xtx), finite("xty", xty)
    if xty.shape != shape or xtx.shape != (shape[0], shape[0]):
        raise ValueError(f"xtx {xtx.shape} and xty {xty.shape} do not fit: want {(shape[0], shape[0])} and {shape}")
    if not np.allclose(xtx, xtx.T) or np.linalg.eigvalsh(xtx)[0] < -1e-10 * np.abs(xtx).max():
        raise ValueError("xtx must be symmetric and positive semidefinite; pass X.T @ X")
    return xtx, xty


def interpolators(xtx: NDArray, xty: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Describe all β with XᵀXβ = Xᵀy.

    Returns
    -------
    the shortest one (d,), an orthonormal basis of the null space (d, k), the other eigenvalues of XᵀX (d - k,)

    Raises
    ------
    ValueError
        If there are none.
    """
    strengths, modes = np.linalg.eigh(xtx)
    seen = strengths > 1e-10 * strengths[-1]
    visible, strengths = modes[:, seen], strengths[seen]
    shortest = visible @ (visible.T @ xty / strengths)
    if not np.allclose(xtx @ shortest, xty, rtol=1e-8, atol=1e-8 * np.linalg.norm(xty)):
        raise ValueError("xty is not in the range of xtx: no parameters interpolate these data")
    return shortest, modes[:, ~seen], strengths


def best_interpolator(
    objective: Callable[[NDArray], tuple[float, NDArray]], xtx: NDArray, xty: NDArray, start: NDArray
) -> NDArray:
    """Minimize a convex objective (value and gradient) over all interpolators, from the one nearest to `start`."""
    shortest, null, _ = interpolators(xtx, xty)
    if null.shape[1] == 0:
        return shortest

    def restricted(free: NDArray) -> tuple[float, NDArray]:
        value, gradient = objective(shortest + null @ free)
        return value, null.T @ gradient

    best = minimize(restricted, null.T @ (start - shortest), jac=True, method="BFGS", options={"gtol": 1e-11})
    return shortest + null @ best.x
