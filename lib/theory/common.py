"""What the theory modules share: arguments are checked, flows integrated and interpolators found in one way."""

from collections.abc import Callable, Sequence
from itertools import count as count_from

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

LARGEST = 1e100  # in size: formulas square and cube what they are given, and a float ends at 1.8e308
EVALUATIONS = 500_000  # of a velocity before a flow is given up: half a minute


def finite(name: str, value: ArrayLike, largest: float = LARGEST) -> NDArray:
    """Return `value` as an array of floats.

    Raise TypeError unless it is numbers, ValueError if there is none, or one is not finite or above `largest` in size.
    """
    try:
        value = np.asarray(value).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError):  # text, None, lists of unequal length, complex numbers
        raise TypeError(f"{name} is of type {type(value).__name__}: want real numbers, one or an array of them") from None
    if value.size == 0:
        raise ValueError(f"{name} is empty, of shape {value.shape}: want at least one number")
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite, not {value[~np.isfinite(value)].flat[0]}")
    if np.any(np.abs(value) > largest):
        raise ValueError(f"{name} must be at most {largest:g} in size, not {np.abs(value).max():g}: measure in larger units")
    return value


def positive(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as `finite` does, or raise ValueError if one of the numbers is not positive.

    What is positive divides: below 1 / `LARGEST` it is refused.
    """
    value = finite(name, value)
    if np.any(value <= 0):
        raise ValueError(f"{name} must be positive, not {value.min():g}")
    if np.any(value < 1 / LARGEST):
        raise ValueError(f"{name} must be at least {1 / LARGEST:g}, not {value.min():g}: measure in smaller units")
    return value


def non_negative(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as `finite` does, or raise ValueError if one of the numbers is negative."""
    value = finite(name, value)
    if np.any(value < 0):
        raise ValueError(f"{name} must not be negative, but {value.min():g} is")
    return value


def held(name: str, value: NDArray) -> NDArray:
    """Return a result, or raise ValueError if a number of it is larger than a float holds."""
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} leaves the range of floats: bring the arguments nearer to 1")
    return value


def number(name: str, value: float, check: Callable[[str, ArrayLike], NDArray] = finite) -> float:
    """Return `value` as one float, checked by `finite`, `positive` or `non_negative`; raise ValueError if it is an array."""
    value = check(name, value)
    if value.ndim:
        raise ValueError(f"{name} has shape {value.shape}: want one number")
    return float(value)


def count(name: str, value: int, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`, or raise ValueError."""
    if isinstance(value, bool) or not number(name, value).is_integer() or value < least:
        raise ValueError(f"{name} is {value}: want {'a positive integer' if least == 1 else f'an integer of at least {least}'}")
    return int(value)


def numbers(**values: float) -> None:
    """Raise ValueError unless each of these is one number; whether it is finite is checked too."""
    for name, value in values.items():
        number(name, value)


def binary(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as an array of booleans, or raise ValueError if one of them is neither 0 nor 1."""
    value = finite(name, value)
    if not np.all((value == 0) | (value == 1)):
        raise ValueError(f"{name} must be 0 or 1, True or False")
    return value == 1


def arrays(name: str, values: Sequence[ArrayLike], check: Callable[[str, ArrayLike], NDArray] = finite) -> list[NDArray]:
    """Return a sequence of arrays, each of them checked; raise TypeError if it is none, ValueError if it is empty."""
    if isinstance(values, str) or not np.iterable(values):
        raise TypeError(f"{name} is of type {type(values).__name__}: want a list of arrays")
    if len(values) == 0:
        raise ValueError(f"{name} is empty: want at least one array")
    return [check(f"{name}[{i}]", value) for i, value in enumerate(values)]


def broadcastable(**values: NDArray) -> None:
    """Raise ValueError unless the shapes of these arrays broadcast."""
    shapes = {name: np.shape(value) for name, value in values.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{given} do not fit each other: want shapes that broadcast") from None


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed, or raise ValueError unless it is a non-negative integer."""
    return np.random.default_rng(count("seed", seed, 0))


def vector(name: str, value: ArrayLike) -> NDArray:
    """Return `value` as a vector (d,) other than zero, or raise ValueError."""
    value = finite(name, value)
    if value.ndim != 1 or not np.any(value):
        raise ValueError(f"{name} must be a vector (d,) other than zero")
    return value


def rows(name: str, value: ArrayLike, largest: float = LARGEST) -> NDArray:
    """Return `value` as a vector or an array of them (..., d), or raise ValueError if it is one number."""
    value = finite(name, value, largest)
    if value.ndim < 1:
        raise ValueError(f"{name} is one number: want vectors (..., d)")
    return value


def matrix(name: str, value: ArrayLike, largest: float = LARGEST) -> NDArray:
    """Return `value` as a matrix or a batch of them (..., m, n), or raise ValueError."""
    value = finite(name, value, largest)
    if value.ndim < 2:
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
    n = count("n", n)
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return q * np.sign(np.diag(r))


def learning_rates(eta_a: float, eta_w: float) -> None:
    """Raise ValueError unless both learning rates are positive and finite."""
    number("eta_a", eta_a, positive)
    number("eta_w", eta_w, positive)


def ascending(times: ArrayLike) -> NDArray:
    """Return `times` as an array (T,), or raise ValueError unless they ascend from 0 or later."""
    times = np.atleast_1d(finite("times", times, np.inf))
    if times.ndim != 1 or times[0] < 0 or np.any(np.diff(times) < 0):
        raise ValueError("times must ascend from 0 or later, shape (T,)")
    return times


def integrate(velocity: Callable[[float, NDArray], NDArray], start: ArrayLike, times: ArrayLike) -> tuple[NDArray, NDArray]:
    """Integrate a flow that does not depend on time from `start` (n,) at time 0, to about nine digits of its largest entry.

    A state much smaller than 1 is followed in stages, each with an absolute tolerance of its own: with one for all, a flow that
    leaves zero would be lost in it. Entries below 1e-13 of the largest are not followed, even if they would grow.

    Returns
    -------
    times (T,), states (T, n)

    Raises
    ------
    ValueError
        If times do not ascend from 0 or later, or the last is out of reach: the flow overflows, or takes too many steps.
    """
    times, start, evaluations, now, path = ascending(times), finite("start", start), count_from(1), 0.0, []
    if start.ndim != 1:
        raise ValueError(f"start has shape {start.shape}: want (n,)")
    apart, place = np.unique(times, return_inverse=True)  # the solver takes no time twice

    def counted(t: float, state: NDArray) -> NDArray:
        if next(evaluations) > EVALUATIONS:
            raise ValueError(f"times reach to {times[-1]:g}, the flow only to {t:.3g} in {EVALUATIONS} evaluations: end earlier")
        return velocity(t, state)

    if times[-1] == 0:
        return times, np.tile(start, (len(times), 1))
    while len(path) < len(apart):
        size = np.max(np.abs(start))
        tiny = 0 < size < 1e-3

        def outgrown(_: float, state: NDArray, limit: float = 1e3 * size) -> float:
            return np.max(np.abs(state)) - limit

        outgrown.terminal = True
        rest, settings = apart[len(path) :], {"rtol": 1e-11, "atol": 1e-13 * (size if tiny else 1)}
        with np.errstate(over="ignore", invalid="ignore"):
            stage = solve_ivp(counted, (now, times[-1]), start, "DOP853", rest, events=outgrown if tiny else None, **settings)
        if stage.status < 0 or not np.all(np.isfinite(stage.y)):
            raise ValueError(f"the flow overflows or cannot be followed to time {times[-1]:g}: {stage.message}")
        path.extend(np.reshape(stage.y, (len(start), -1)).T)
        if stage.status == 1:
            (now,), (start,) = stage.t_events[0], stage.y_events[0]
    return times, np.array(path)[place]


def normal_equations(xtx: ArrayLike, xty: ArrayLike, shape: tuple[int, ...], owner: str) -> tuple[NDArray, NDArray]:
    """Check XᵀX (d, d), symmetric and positive semidefinite, and Xᵀy, whose shape (d,) or (d, c) is that of the `owner`."""
    xtx, xty = finite("xtx", xtx), finite("xty", xty)
    if xty.shape != shape or xtx.shape != shape[:1] * 2 or xtx.ndim != 2:
        raise ValueError(f"xtx {xtx.shape} and xty {xty.shape} do not fit {owner}: want (d, d) and {shape or '(d,)'}")
    if not np.allclose(xtx, xtx.T, atol=1e-8 * np.abs(xtx).max()) or np.linalg.eigvalsh(xtx)[0] < -1e-10 * np.abs(xtx).max():
        raise ValueError("xtx must be symmetric and positive semidefinite; pass X.T @ X")
    return xtx, xty


def interpolators(xtx: ArrayLike, xty: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    """Describe all β with XᵀXβ = Xᵀy.

    Returns
    -------
    the shortest one (d,), an orthonormal basis of the null space (d, k), the other eigenvalues of XᵀX (d - k,)

    Raises
    ------
    ValueError
        If there are none.
    """
    xtx, xty = normal_equations(xtx, xty, np.shape(xty), "each other")
    strengths, modes = np.linalg.eigh(xtx)
    seen = strengths > 1e-10 * strengths[-1]
    visible, strengths = modes[:, seen], strengths[seen]
    shortest = visible @ (visible.T @ xty / strengths)
    if not np.allclose(xtx @ shortest, xty, rtol=1e-8, atol=1e-8 * np.linalg.norm(xty)):
        raise ValueError("xty is not in the range of xtx: no parameters interpolate these data")
    return shortest, modes[:, ~seen], strengths


def best_interpolator(
    objective: Callable[[NDArray], tuple[float, NDArray]], xtx: ArrayLike, xty: ArrayLike, start: ArrayLike
) -> NDArray:
    """Minimize a convex objective (value and gradient) over all interpolators, from the one nearest to `start`."""
    (shortest, null, _), start = interpolators(xtx, xty), finite("start", start)
    if start.shape != shortest.shape:
        raise ValueError(f"start has shape {start.shape}: want {shortest.shape}, as that of xty")
    if null.shape[1] == 0:
        return shortest

    def restricted(free: NDArray) -> tuple[float, NDArray]:
        value, gradient = objective(shortest + null @ free)
        return value, null.T @ gradient

    best = minimize(restricted, null.T @ (start - shortest), jac=True, method="BFGS", options={"gtol": 1e-11})
    return shortest + null @ best.x
