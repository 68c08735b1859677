"""Numerics that the theory modules share: how flows are integrated and interpolators found."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import LSODA
from scipy.optimize import minimize

EVALUATIONS = 500_000  # of a velocity before a flow is given up: half a minute
STAGE = 500  # steps of a solver before a new one
LEAST = 1e-290  # of the units in which a state may shrink
EPS = np.finfo(float).eps


def held(name: str, value: NDArray) -> NDArray:
    """Return a result, or raise ValueError if a number of it is larger than a float holds."""
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} leaves the range of floats: bring the arguments nearer to 1")
    return value


def orthogonal(n: int, rng: np.random.Generator) -> NDArray:
    """Draw an orthogonal matrix (n, n), uniformly."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return q * np.sign(np.diag(r))


def integrate(velocity: Callable[[float, NDArray], NDArray], start: NDArray, times: NDArray) -> NDArray:
    """Integrate a flow that does not depend on time from `start` (n,) at time 0 to `times` (T,), which ascend from 0 or later.

    The states (T, n) have about nine digits of their largest entry. Entries below 1e-14 of it are not followed, even if they
    would grow. LSODA takes explicit steps, and implicit ones where these would be held back. A flow that has come to rest is left
    there, however late the last time.

    Raises
    ------
    ValueError
        If the last time is out of reach: the flow overflows, or takes too many steps, as one does that oscillates, or that waits
        at a saddle which only rounding lets it leave.
    """
    apart, place = np.unique(times, return_inverse=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lsoda")  # where the solver fails, we begin anew or raise
        path = _follow(_Flow(velocity, apart[-1]), start, apart)
    return np.array(path)[place]


class _Flow:
    """A velocity whose evaluations are counted, in a unit and from a time of its own, and the Jacobian that was taken last."""

    def __init__(self, velocity: Callable[[float, NDArray], NDArray], end: float) -> None:
        self.velocity, self.end, self.since, self.unit, self.evaluations, self.slopes = velocity, end, 0.0, 1.0, 0, None

    def __call__(self, t: float, state: NDArray) -> NDArray:
        """Return the velocity; raise ValueError if it overflows or was asked for too often."""
        self.evaluations += 1
        if self.evaluations > EVALUATIONS:
            reached = f"the flow only to {self.since + t:.3g} in {EVALUATIONS} evaluations"
            raise ValueError(f"times reach to {self.end:g}, {reached}: end earlier")
        with np.errstate(over="ignore", invalid="ignore"):
            return self._held(t, self.velocity(self.since + t, self.unit * state) / self.unit)

    def jacobian(self, t: float, state: NDArray) -> NDArray:
        """Return the Jacobian by central differences, and keep it as `slopes`."""
        step = np.cbrt(EPS) * (np.max(np.abs(state)) or 1)
        with np.errstate(over="ignore"):
            columns = [(self(t, state + d) - self(t, state - d)) / (2 * step) for d in step * np.eye(len(state))]
        self.slopes = self._held(t, np.transpose(columns))
        return self.slopes

    def _held(self, t: float, found: NDArray) -> NDArray:
        if not np.all(np.isfinite(found)):
            raise ValueError(f"the flow overflows at time {self.since + t:.3g}, before {self.end:g}")
        return found


def _follow(flow: _Flow, state: NDArray, times: NDArray) -> list[NDArray]:
    """Return the state at each of `times`, which ascend without repeats.

    The solver works in stages. Each has its unit, since a state much smaller than 1 would be lost in the absolute tolerance, and
    its own time, since short steps would be lost in rounding late on.
    """
    path, ahead, steps = ([state], times[1:], {}) if times[0] == 0 else ([], times, {})
    while len(ahead):
        flow.unit = min(np.max(np.abs(state)), 1.0) or 1.0
        solver = LSODA(flow, 0.0, state / flow.unit, ahead[-1], rtol=1e-13, atol=1e-14, jac=flow.jacobian, **steps)
        again = bool(steps)
        reached, rests, steps = _stage(flow, solver, ahead)
        if again and solver.t == 0:
            raise ValueError(f"the flow cannot be followed from time {flow.since:.3g} to {flow.end:g}")
        path.extend(flow.unit * found for found in reached)
        flow.since, ahead = flow.since + solver.t, ahead[len(reached) :] - solver.t
        lost = flow.unit < LEAST and np.max(np.abs(solver.y)) < 1e-3
        state = np.zeros(len(state)) if lost else flow.unit * solver.y
        if rests:
            return path + [state] * len(ahead)
    return path


def _stage(flow: _Flow, solver: LSODA, times: NDArray) -> tuple[list[NDArray], bool, dict[str, float]]:
    """Return the states at those of `times` that a stage reaches, whether the flow rests there, and how to begin anew if not.

    Implicit steps grow wherever nothing seems to move, and then miss what leaves a saddle. Whenever the solver takes a Jacobian,
    and where it fails, we therefore look at one too, and end the stage if its steps are too long for what grows.
    """
    reached = []
    for step in range(1, STAGE + 1):
        before, _ = solver.t, solver.step()
        over = step == STAGE or solver.t == before
        if over:
            flow.jacobian(solver.t, solver.y)
        slopes, flow.slopes = flow.slopes, None
        new = times[len(reached) : np.searchsorted(times, solver.t, "right")]
        reached.extend(solver.dense_output()(new).T if len(new) else [])
        size = np.max(np.abs(solver.y))
        if len(reached) == len(times) or 0 < size < 1e-3 or (size > 1e3 and flow.unit < 1):
            break
        if slopes is not None:
            rests, steps = _outlook(flow, solver.t, solver.y, slopes, times[-1] - solver.t)
            if rests or over or solver.step_size > steps["max_step"]:
                return reached, rests, steps
    return reached, False, {}


def _outlook(flow: _Flow, t: float, state: NDArray, slopes: NDArray, time: float) -> tuple[bool, dict[str, float]]:
    """Tell from the Jacobian whether a flow rests at `state` for `time`, and which steps suit the solver if not.

    At rest nothing grows, and what is left to go, a step of Newton's, is less than nine digits show. It must lead to rest indeed:
    differences are not to be trusted where the Jacobian is nearly zero. A velocity counts only for as long as its rounding alone
    would need to go so far. Entries that are zero and stay zero are left out.
    """
    speed = flow(t, state)
    rounding = 10 * (EPS * np.abs(slopes) @ np.abs(state) + np.abs(flow(t, state + EPS * state) - speed))
    live = (speed != 0) | (rounding > 0)
    if not np.any(live):
        return True, {}
    speed, rounding, slopes = speed[live], rounding[live], slopes[np.ix_(live, live)]
    rates = np.linalg.eigvals(slopes)
    fastest, growth, tolerance = np.abs(rates).max(), rates.real.max(), 1e-11 * np.max(np.abs(state))
    first = min(time, 1e-6 / max(fastest, 1 / time))
    if growth > 1e-8 * fastest:  # less is what differences make of zero
        return False, {"first_step": first, "max_step": 0.1 / growth}
    to_go = np.linalg.solve(np.diag(np.maximum(rounding / tolerance, 1 / time)) - slopes, speed)
    end = state.copy()
    end[live] += to_go
    near = np.all(np.abs(to_go) <= tolerance) and np.all(np.abs(flow(t, end)[live]) <= np.abs(speed) / 2 + rounding)
    return bool(near), {"first_step": first, "max_step": np.inf}


def check_data(xtx: NDArray, xty: NDArray, shape: tuple[int, ...], owner: str) -> None:
    """Raise ValueError unless XᵀX is (d, d) and Xᵀy has the shape of the `owner`, (d,) or (d, c)."""
    if xty.shape != shape or xtx.shape != shape[:1] * 2:
        raise ValueError(f"xtx {xtx.shape} and xty {xty.shape} do not fit {owner}: want (d, d) and {shape or '(d,)'}")


def interpolators(xtx: NDArray, xty: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Describe all β with XᵀXβ = Xᵀy.

    Returns the shortest one (d,), an orthonormal basis of the null space (d, k) and the other eigenvalues of XᵀX (d - k,).
    Raises ValueError if there are none.
    """
    check_data(xtx, xty, xty.shape, "each other")
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
