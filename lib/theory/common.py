"""Numerics that the theory modules share: how flows are integrated and interpolators found."""

import warnings
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

EVALUATIONS = 500_000  # of a velocity before a flow is given up: half a minute
EPS = np.finfo(float).eps


def held(name: str, value: NDArray) -> NDArray:
    """Return a result, or raise ValueError if a number of it is larger than a float holds."""
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} leaves the range of floats: bring the arguments nearer to 1")
    return value


def layer_sizes(product: ArrayLike, delta: ArrayLike) -> tuple[NDArray, NDArray]:
    r"""Return :math:`|a|` and :math:`|w|` with :math:`a^2 - w^2 = \delta` and :math:`|a||w| \ge 0`
    given, without cancellation.

    That is :math:`\sqrt{(\kappa \pm \delta)/2}` with
    :math:`\kappa = \sqrt{\delta^2 + 4\,|a|^2|w|^2}`. `product` and `delta` broadcast. The smaller
    one's square may underflow.
    """
    larger = np.sqrt(np.hypot(product, np.divide(delta, 2)) + np.abs(delta) / 2)
    smaller = np.divide(product, larger, out=np.zeros_like(larger), where=larger > 0)
    upstream = np.greater_equal(delta, 0)
    return np.where(upstream, larger, smaller), np.where(upstream, smaller, larger)


def orthogonal(n: int, rng: np.random.Generator) -> NDArray:
    """Draw an orthogonal matrix (n, n), uniformly."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    return q * np.sign(np.diag(r))


def integrate(
    velocity: Callable[[float, NDArray], NDArray], start: NDArray, times: NDArray
) -> NDArray:
    """Integrate a flow from `start` (n,) at time 0 to `times` (T,), which ascend from 0 or later.

    The states (T, n) have about nine digits, small entries only to about 1e-14 of the start's
    largest (or of 1, if that is smaller); entries below that are not followed, even if they would
    grow. LSODA takes explicit steps, and implicit ones where these would be held back.

    Raises
    ------
    ValueError
        If the last time is out of reach: the flow overflows, or takes too many steps, as one does
        that oscillates.
    """
    apart, place = np.unique(times, return_inverse=True)
    if apart[-1] == 0:
        return np.tile(start, (len(times), 1))
    calls = iter(range(EVALUATIONS))

    def counted(t: float, state: NDArray) -> NDArray:
        found = velocity(t, state)
        if next(calls, None) is None or not isfinite(found @ found):
            raise ValueError(
                f"the flow can be followed only to {t:.3g} of {apart[-1]:g}: end earlier"
            )
        return found

    size = min(np.max(np.abs(start)), 1.0) or 1.0
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lsoda")  # where the solver fails, we say so
        path = solve_ivp(
            counted, (0, apart[-1]), start, "LSODA", t_eval=apart, rtol=1e-12, atol=1e-14 * size
        )
    if not path.success:
        raise ValueError(f"the flow cannot be followed to {apart[-1]:g}: {path.message}")
    return path.y.T[place]


def integrate_layers(
    layers: Sequence[NDArray],
    xtx: NDArray,
    xty: NDArray,
    times: NDArray,
    rates: Sequence[float] | None = None,
) -> list[NDArray]:
    r"""Integrate the flow of a deep linear network, :math:`\tfrac12\|X\beta - Y\|^2` with
    :math:`\beta^\top = W_d\cdots W_1`:

    .. math:: \dot W_l = \eta_l\,(W_d\cdots W_{l+1})^\top\,(Y^\top X
              - \beta^\top X^\top X)\,(W_{l-1}\cdots W_1)^\top .

    From layers (n_l, n_{l-1}), W_1 first, XᵀX (n_0, n_0) and XᵀY (n_0, n_d), with learning rates
    (d,), by default 1; returns d arrays (T, n_l, n_{l-1}). Errors as `integrate`.
    """  # noqa: D400
    sizes = [w.size for w in layers]
    ends = np.cumsum(sizes)
    places = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    speeds = np.repeat(np.ones(len(layers)) if rates is None else rates, sizes)

    def velocity(_: float, state: NDArray) -> NDArray:
        ws = [state[place].reshape(w.shape) for place, w in zip(places, layers, strict=True)]
        below = list(
            accumulate(ws, lambda product, w: w.dot(product))
        )  # for small matrices `dot` is twice as fast as @
        above = xty.T - below[-1].dot(xtx)
        found = []
        for w, product in zip(ws[:0:-1], below[-2::-1], strict=True):
            found.append(above.dot(product.T).ravel())
            above = w.T.dot(above)
        found.append(above.ravel())
        return speeds * np.concatenate(found[::-1])

    path = integrate(velocity, np.concatenate([w.ravel() for w in layers]), times)
    return [path[:, place].reshape(-1, *w.shape) for place, w in zip(places, layers, strict=True)]


def check_data(xtx: NDArray, xty: NDArray, shape: tuple[int, ...], owner: str) -> None:
    """Raise ValueError unless XᵀX is (d, d) and Xᵀy has the
    shape of the `owner`, (d,) or (d, c).
    """
    if xty.shape != shape or xtx.shape != shape[:1] * 2:
        raise ValueError(
            f"xtx {xtx.shape} and xty {xty.shape} do not fit {owner}: want (d, d) and "
            f"{shape or '(d,)'}"
        )


def interpolators(xtx: NDArray, xty: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Describe all β with XᵀXβ = Xᵀy.

    Returns the shortest one (d,), an orthonormal basis of the null space (d, k) and the other
    eigenvalues of XᵀX (d - k,). Raises ValueError if there are none.
    """
    check_data(xtx, xty, xty.shape, "each other")
    strengths, modes = np.linalg.eigh(xtx)
    seen = strengths > 1e-10 * strengths[-1]
    visible, strengths = modes[:, seen], strengths[seen]
    shortest = visible @ (visible.T @ xty / strengths)
    if not np.allclose(xtx @ shortest, xty, rtol=1e-8, atol=1e-8 * np.linalg.norm(xty)):
        raise ValueError("xty is not in the range of xtx: no parameters interpolate these data")
    return shortest, modes[:, ~seen], strengths
