"""The closed forms where numbers are extreme, each beside an independent computation; what is out of range is refused.

`probes` yields them all, and a test holds each to its tolerance. A reference has so many digits that cancellation cannot touch
it, or is a limit.
"""
# ruff: noqa: B008, E731  (a probe is a pair of lambdas that take their arguments from the loop)

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from theory.extremes import references

from lib import kernels, measures
from lib.theory import gated_linear, linear_networks, localization, orthants, piecewise_linear, practice, products, synthesis
from lib.theory import single_neuron as neuron
from lib.theory import two_point as two

SIZES = (0, 1e-310, 1e-160, 1e-12, 1, 1e6, 1e90)
DELTAS = (1e6, -1e6, 1e-12, -1e-12, 0, 1, 1e90, -1e90)


class Probe(NamedTuple):
    """One call at an extreme."""

    function: str  # module.function
    extreme: str
    reference: str  # what it is compared with; "refused" if a ValueError is the right answer
    value: Callable[[], ArrayLike]
    expected: Callable[[], ArrayLike] | str  # or the ValueError's message, a regular expression
    tolerance: float = 1e-12  # relative to the entry
    absolute: float = 1e-300  # what counts as zero: below it a double has no full digits


def error(probe: Probe) -> float:
    """Return the largest error among the entries, relative to the entry or, if that is less, to `absolute` over the tolerance."""
    value, expected = (np.ravel(np.asarray(f(), float)) for f in (probe.value, probe.expected))
    if value.shape != expected.shape or not np.all(np.isfinite(value)):
        return np.inf
    return float(np.max(np.abs(value - expected) / np.maximum(np.abs(expected), probe.absolute / probe.tolerance)))


def probes() -> Iterator[Probe]:
    """Yield all probes."""
    for family in (of_products, of_neuron, of_wide, of_two_points, of_piecewise, of_gaussian, of_rest, of_kernels):
        for function, extreme, *rest in family():
            yield Probe(function, extreme, *rest)


EXACT = f"{references.DIGITS} digits"


# --- products of weights


def of_products():
    """Lengths of product-depth flows: tiny starts, short and long ways, large degrees."""
    name = "products.time_to_reach"
    for p, s, d, p0 in [
        *((0.5, 1, d, 1e-300) for d in (1, 1 + 1e-12, 1.5, 2 - 1e-6, 2, 2 + 1e-12, 3, 50, 1e6)),
        *((0.5, 1, d, 0.1) for d in (1e12, 1e15, 1e90)),
        *((0.5 * (1 + step), 1, d, 0.5) for step in (1e-12, 1e-6, -1e-9) for d in (1, 2, 3, 1e6)),
        *((1 - 2.0**-53, 1, d, 0.5) for d in (1, 2, 5)),
        (1e-300, 1, 3, 1e-301),
        *((0.5 * s, s, d, 0.1 * s) for s in (1e90, 1e-90) for d in (1, 2, 3)),
        (0.5, 1, 3, 0.5),
    ]:
        args = p, s, d, p0
        yield name, f"{args}", EXACT, lambda a=args: [products.time_to_reach(*a)], lambda a=args: references.time_integral(*a)
    yield name, "target 1e-310", "refused", lambda: products.time_to_reach(5e-311, 1e-310, 3, 1e-311), "range of floats"
    yield name, "target 1e150", "refused", lambda: products.time_to_reach(1, 1e150, 3, 0.5), "at most 1e.100"

    for w, k in [
        ((1 + 1e-12, 1), (1, 1)),
        ((1 + 1e-12, 1), (3, 3)),
        ((2 + 1e-12, 1), (4, 1)),
        ((1e90, 1e-90), (1, 3)),
        ((1e-200, 0), (1, 1)),
    ]:
        value = lambda w=w, k=k: products.conserved(w, k)
        yield "products.conserved", f"{w}, {k}", EXACT, value, lambda w=w, k=k: references.conserved_pair(w, k)
    for target, degree in product((1e90, 1e-90), (1, 2, 3, 1e6)):
        value = lambda a=(target, degree): [products.approach_rate(*a), products.max_learning_rate(*a)]
        yield "products.approach_rate", f"{target, degree}", EXACT, value, lambda a=(target, degree): references.end_rates(*a)
    yield "products.max_learning_rate", "1e-99, degree 1e-3", "refused", lambda: products.max_learning_rate(1e-99, 1e-3), "range"
    for k in [(1e15, 3), (1,) * 1000, (1e90, 1e90)]:
        value = lambda k=k: products.effective_depth(k)
        yield (
            "products.effective_depth",
            f"{len(k)} exponents, the first {k[0]:g}",
            EXACT,
            value,
            lambda k=k: references.monomial_depth(k),
        )
    for start, times in [(1e-6, (1e-300, 5, 100)), (1e-20, (40, 46, 50)), (1e-40, (92, 100))]:
        value = lambda w=start, t=times: products.flow([w, w], 1, t)[:, 0]
        yield (
            "products.flow",
            f"two weights of {start:g}",
            "the sigmoid",
            value,
            lambda w=start, t=times: references.sigmoid(w, t),
            1e-9,
        )
    yield "products.flow", "3 weights of 1e90", "refused", lambda: products.flow([1e90] * 3, 1, [1]), "followed"
    yield "products.descend", "learning rate 1e90", "refused", lambda: products.descend([1, 2], 1, 1e90, 9), "diverged"


# --- one neuron


def solved(a0, w0, target, times):
    """Return a and w over time, rows of times, by the exact solution."""
    path = neuron.trajectory(a0, w0, target, times)
    return np.column_stack([path.a, path.w])


def of_neuron():
    """Exact flow, metric and bias of one neuron."""
    times = 0, 1e-300, 1e-12, 1e-3, 1, 10, 1e3
    for a0, w0, target, *own in [
        (1, [0, 0], [1, 0]),
        (0, [1, 0], [1, 0]),
        (0, [0, 1], [1, 0]),
        (0, [0, 0], [1, 0]),
        (1, [-1, 0], [1, 0], 0, 1, 10),
        (1, [-1 - 1e-12, 0], [1, 0], 1, 10),
        (1e-20, [1e-20, 0], [1, 0]),
        (1e-160, [1e-160, 0], [1, 0], 1, 300, 368, 380),
        (1e-200, [-0.3e-200, 1e-200], [1, 0], 1, 300, 460, 500),
        (1e-310, [1e-310, 0], [1, 0], 1, 300, 714, 800),
        (1e3, [1e-3, 0], [1, 0]),
        (1, [1e3, 0], [1, 0]),
        (1, [-1e3, 0], [1, 0]),
        (1e-3, [1e3, 1e3], [1, 0], 0, 1e-12, 1e-6, 1e-3),
        (1e5, [1e5, 3], [1, 0], 0, 1e-12, 1e-10, 1e-3),
        (1e90, [1, 2], [1, 0], 0, 1e-181, 1e-179, 1),
        (1, [1e90, 2], [1, 0], 0, 1e-181, 1e-179, 1),
        (1, [1, 2], [1e-90, 0], 0, 1, 10),
        (1, [1, 2], [1e-310, 0], 0, 1, 10),
        (1, [1, 2], [1e90, 0], 0, 1e-90, 1),
        (0.5, [1, 0], [1e-12, 0], 0, 1, 1e6, 1e12, 1e13),
    ]:
        args = a0, w0, target, own or times
        tolerance = 1e-10 if w0[0] == -1 - 1e-12 else 1e-12  # the start's distance from the separatrix has four digits
        value, reference = (lambda a=args: solved(*a)), (lambda a=args: references.neuron_path(*a))
        yield "single_neuron.trajectory", f"a {a0:g}, w {w0}, β* {target}", EXACT, value, reference, tolerance
    name = "single_neuron.trajectory"
    end = references.neuron_path(1, [0.3, 1], [1, 0.5], [100])[0]
    late = [1e6, 1e300, 1.7e308]
    yield name, "t up to 1.7e308", "t = 100", lambda: solved(1, [0.3, 1], [1, 0.5], late), lambda: np.tile(end, (3, 1))
    yield name, "t = 1e300 on the separatrix", "the saddle", lambda: solved(1, [-1, 0], [1, 0], [1e300]), lambda: np.zeros((1, 3))
    yield name, "weight 1e150", "refused", lambda: solved(1e150, [1, 2], [1, 0], [1]), "a0 must be at most"
    yield name, "β* 1e200", "refused", lambda: solved(1, [1, 2], [1e200, 0], [1]), "beta_star must be at most"
    yield name, "rate 1e150", "refused", lambda: neuron.trajectory(1, [1], [1], [1], 1e150), "eta_a must be at most"
    for a0, w0, target, sign in [
        (1, [-1, 0], [1, 0], 0),
        (1, [-1 - 1e-14, 0], [1, 0], -1),
        (1, [-1 + 1e-14, 0], [1, 0], 1),
        (1e-200, [-1e-200, 0], [1, 0], 0),
        (1e-200, [-1.1e-200, 0], [1, 0], -1),
        (1e90, [-1e90, 0], [1, 0], 0),
        (1e90, [-2e90, 0], [1, 0], -1),
        (2e90, [-1e90, 0], [1, 0], 1),
        (0, [0, 1], [1, 0], 0),
        (0, [1e-300, 0], [1, 0], 1),
        (1e-160, [-1, 0], [1, 0], -1),
    ]:
        value = lambda a=(a0, w0, target): [neuron.basin(*a)]
        yield "single_neuron.basin", f"a {a0:g}, w {w0}", "sign of p", value, lambda s=sign: [s]
    for size, delta in product(SIZES[1:], DELTAS):
        beta, extreme = [0.6 * size, 0.8 * size], f"‖β‖ {size:g}, δ {delta:g}"
        value, reference = (
            (lambda b=beta, d=delta: np.append(*neuron.initialize(b, d))),
            (lambda b=beta, d=delta: references.neuron_start(b, d)),
        )
        yield "single_neuron.initialize", extreme, EXACT, value, reference
        value, reference = (lambda b=beta, d=delta: metric(b, d)), (lambda b=beta, d=delta: references.neuron_metric(b, d))
        yield "single_neuron.preconditioner, potential", extreme, EXACT, value, reference
    yield "single_neuron.initialize", "β 1e200", "refused", lambda: neuron.initialize([1e200, 1], 0)[0], "beta0 must be at most"
    xtx = np.ones((2, 2))
    for y, a, w in [(1, 1, [1e-8, 0]), (1, 1e6, [1, 0]), (1, 1e-100, [0, 1e-100]), (1e-12, 1, [1, 0]), (1e12, 1, [1, 0])]:
        value = lambda y=y, a=a, w=w: neuron.interpolator(xtx, [y, y], a, w)
        yield (
            "single_neuron.interpolator",
            f"y {y:g}, a {a:g}, w {w}",
            EXACT,
            value,
            lambda a=(y, a, w): references.interpolated(*a),
        )
    value = lambda: neuron.interpolator(xtx, [1, 1], 1, [1e6, 1 - 1e6])
    yield (
        "single_neuron.interpolator",
        "w 1e6 along the null space",
        EXACT,
        value,
        lambda: references.interpolated(1, 1, [1e6, 1 - 1e6]),
        1e-9,
    )
    value = lambda: neuron.interpolator(1e-20 * xtx, [1e-20, 1e-20], 1, [1, 0])
    yield "single_neuron.interpolator", "data 1e-10", EXACT, value, lambda: references.interpolated(1, 1, [1, 0])
    value = lambda: solved_numerically(1e-30, [1e-30, 0], [40, 69, 80])
    yield (
        "single_neuron.flow",
        "start 1e-30",
        EXACT,
        value,
        lambda: references.neuron_path(1e-30, [1e-30, 0], [1, 0], [40, 69, 80]),
        1e-9,
        1e-40,
    )


def solved_numerically(a0, w0, times):
    """Return a and w over time, rows of times, on white data by integration."""
    path = neuron.flow(a0, w0, np.eye(2), [1, 0], times)
    return np.column_stack([path.a, path.w])


def metric(beta, delta):
    """Return the preconditioner's three entries, the potential and its gradient, (6,)."""
    m = neuron.preconditioner(beta, delta)
    return [m[0, 0], m[0, 1], m[1, 1], neuron.potential(beta, delta), *neuron.potential_gradient(beta, delta)]


# --- linear networks


def of_wide():
    """Singular values and initializations of two layers."""
    name, times = "linear_networks.singular_values", [0, 1e-300, 1e-6, 1e-3, 1, 30]
    for delta, target in product((0, 1e-12, -1e-12, 1, -3, 1e6), (0, 1e-12, 1, 1e6)):
        starts = 0, 1e-12, -1e-12, 0.3, -0.7, 1e6, -1e6, 1e50
        value = lambda a=(starts, [target] * len(starts), delta, times): linear_networks.singular_values(*a).T
        reference = lambda a=(starts, target, delta): [references.mode(v, a[1], a[2], times) for v in a[0]]
        # where λ passes through zero its digits are those of the larger numbers
        yield (
            name,
            f"δ {delta:g}, s {target:g}, starts -1e6 to 1e50",
            EXACT,
            value,
            reference,
            1e-12,
            1e-300 if target == 0 else 1e-13 * target,
        )
    for delta, target in product((0, 1e-12, 1, -1e6), (1e-12, 1, -2)):
        value = lambda a=([0, 1e-12, 1e-200], [target] * 3, delta, times): linear_networks.singular_values(*a).T
        reference = lambda a=(target, delta): [references.mode(v, *a, times) for v in (0, 1e-12, 1e-200)]
        if target > 0:
            yield name, f"δ {delta:g}, s {target:g}, tiny starts, entry by entry", EXACT, value, reference
    value = lambda: linear_networks.singular_values([0.3, -0.7, 0], [1, 1, 0], 1, [1e300, 1.7e308])
    yield name, "t up to 1.7e308", "the targets", value, lambda: [[1, 1, 0]] * 2
    value = lambda: linear_networks.singular_values([1e-310], [1], 0, [300, 1e3])[:, 0]
    yield name, "start 1e-310, δ = 0", EXACT, value, lambda: references.mode(1e-310, 1, 0, [300, 1e3]), 1e-7
    value = lambda: linear_networks.singular_values([-0.7], [1], 1e-200, [1e3])
    yield name, "δ 1e-200", "refused", value, "at least 1e-150"

    rng = np.random.default_rng(0)
    draw = rng.normal(size=(3, 2))
    shapes = {"any": draw, "rank 1": np.outer(draw[:, 0], [1, 2]), "equal": np.eye(3)[:, :2], "zero": np.zeros((3, 2))}
    shapes |= {"1e-150": 1e-150 * draw, "1e-12": 1e-12 * draw, "1e80": 1e80 * draw}
    kept = lambda: [0, 0], 1e-12, 1e-12  # two relative errors
    for (kind, beta), delta in product(shapes.items(), (0, -1e6, -1, -1e-12)):
        if kind != "1e80":
            value = lambda b=beta, d=delta: remade(b, d)
            yield "linear_networks.isotropic_initialization", f"β {kind}, δ {delta:g}", "its constraints", value, *kept
    for delta, scale in product(DELTAS, (1e-310, 1e-160, 1e-12, 1, 1e90)):
        if scale * 1e16 > 1e-90:
            value = lambda d=delta, s=scale: drawn(d, s)
            yield "linear_networks.unbalanced_initialization", f"δ {delta:g}, scale {scale:g}", "its constraints", value, *kept


def remade(beta, delta):
    """Return by how much drawn parameters miss β and Δ = δI, relative to the largest number there."""
    width = 3 if delta < 0 else 2
    a, w = linear_networks.isotropic_initialization(beta, delta, width, 0)
    off = a @ a.T - w @ w.T - delta * np.eye(width)
    return [
        np.abs(w.T @ a - beta).max() / max(np.abs(beta).max(), 1e-300),
        np.abs(off).max() / max(abs(delta), np.abs(a).max() ** 2, 1e-300),
    ]


def drawn(delta, scale):
    """Return by how much a random start misses its scale and its balance, relative to the numbers there."""
    a, w = linear_networks.unbalanced_initialization(3, 2, 4, delta, scale, 0)
    a, w = np.hypot.reduce(a, axis=1), np.hypot.reduce(w, axis=1)
    return [np.max(np.abs(a * w / scale - 1)), np.max(np.abs((a - w) * (a + w) - delta)) / max(abs(delta), np.max(a) ** 2)]


# --- two points


def of_two_points():
    """Two points: final distance, exact solution."""
    ones = 1, 1, 1, 1
    for h, y, x, target, tau_h, tau_y in [
        (1, 1, *ones),
        (1, 1, 1, 0, 1, 1),
        (1e-12, 1, *ones),
        (1e6, 1e-6, *ones),
        (1e-6, 1e6, *ones),
        (1e-50, 1e50, *ones),
        (1e-90, 1e90, *ones),
        (1e90, 0, *ones),
        (1e-90, 0, *ones),
        (1e-50, 1e-310, *ones),
        (1, 2, 1, 1, 1, 1e-12),
        (1, 2, 1, 1, 1, 1e12),
        (1, 2, 1, 1, 1e-90, 1e90),
        (1, 2, 1, 1, 1e90, 1e-90),
        (1, 2, 1e90, 1, 1, 1),
        (1, 2, 1e-90, 1, 1, 1),
        (1, 2, 1, 1e-90, 1, 1),
        (1, 2, 1e60, 1e90, 1, 1),
    ]:
        args = h, y, x, target, tau_h, tau_y
        value, reference = (lambda a=args: settled(*a)), (lambda a=args: references.settled(*a))
        extreme = f"‖dh‖², ‖dy‖², ‖Δx‖, ‖Δy‖, τ_h, τ_y = {args}"
        yield "two_point.high_low, final_distance2", extreme, EXACT, value, reference, 1e-12, 1e-290
    for extreme, args in {"‖Δy‖ 1e-200": (1, 1, 1, 1e-200, 1, 1), "‖dh‖² 1e-310": (1e-310, 0, *ones)}.items():
        yield (
            "two_point.high_low, final_distance2",
            extreme,
            "refused",
            lambda a=args: settled(*a),
            "at least 1e-100",
        )
    value = lambda: settled(1, 1, 1e90, 1, 1e-90, 1e90)
    yield "two_point.high_low, final_distance2", "‖Δx‖ 1e90, τ_y/τ_h 1e180", "refused", value, "range of floats"

    for h, y, w, x, target, tau_h, tau_y, times in [
        (1, 1, 1, *ones, (0, 1e-300, 1, 10)),
        (1, 1, 2, *ones, (0, 1, 10)),
        (1e-12, 1e-12, 1e-12, *ones, (0, 1, 10, 60)),
        (1e-50, 1e-60, 1e-60, *ones, (0, 1, 100, 1000)),
        (1, 1, 0.5, 1, 1, 1e6, 1e-6, (0, 1, 1e6)),
        (1, 1, 0.5, 1, 1, 1e-6, 1e6, (0, 1e-6, 1, 1e6)),
        (1, 1e-14, 0, 1, 1e-6, 1, 1, (0, 1, 100)),
        (1e6, 1, 0.5, *ones, (0, 1e-6, 1)),
        (1, 1e6, 1e6, *ones, (0, 1e-6, 1)),
        (1, 0, 0, *ones, (0, 1e-300, 1e-9, 1, 1e4)),
    ]:
        args = h, y, w, x, target, tau_h, tau_y, times
        value, reference = (lambda a=args: flowed(*a)), (lambda a=args: references.two_point_path(*a))
        yield (
            "two_point.solve",
            f"‖dh‖² {h:g}, ‖dy‖² {y:g}, w {w:g}, ‖Δy‖ {target:g}, τ {tau_h:g}, {tau_y:g}",
            EXACT,
            value,
            reference,
            1e-10,
        )
    value = lambda: flowed(1, 0, 0, *ones, [1e4, 1e300, 1.7e308])
    yield (
        "two_point.solve",
        "t up to 1.7e308",
        "the final distance",
        value,
        lambda: np.tile([two.final_distance2(1, 0, two.Pair(*ones)), 1], (3, 1)),
    )
    value = lambda: two.loss([1.0], [0.0], [1e300], target_distance=1, tau_mean=1e-90, mean_error=1e90)
    yield "two_point.loss", "t/τ = 1e390", "0", value, lambda: [0]


def settled(h, y, *constants):
    """Return A_high, A_low and the final distance."""
    pair = two.Pair(*constants)
    return [*two.high_low(h, y, pair), two.final_distance2(h, y, pair)]


def flowed(h, y, w, x, target, tau_h, tau_y, times):
    """Return ‖dh‖² and ‖dy‖², rows of times."""
    found = two.solve(h, y, w, times, two.Pair(x, target, tau_h, tau_y))
    return np.column_stack([found.dh2, found.dy2])


# --- piecewise linear networks


def of_piecewise():
    """Scales, turning, alignment, and hyperplanes, which know no scale."""
    name = "piecewise_linear.scale_initialization"
    for tau, delta in [
        *product((1e-12, 1e-3, 1), (0, 1e6, -1e6, 1e-12)),
        (1e-60, 1e60),
        (1e90, 1),
        (1, 1e90),
        (1, -1e90),
        (1e-90, -1),
    ]:
        value = lambda a=(tau, delta): spread([[0.6, 0.8]], [1.0], *a)
        yield name, f"τ {tau:g}, δ {delta:g}", EXACT, value, lambda a=(tau, delta): references.scaled(*a)
    for size in (1e-310, 1e-200, 1e90):
        value = lambda s=size: spread([[0.6 * s, 0.8 * s]], [s], 1, 1)
        reference = lambda s=size: references.scaled(1, 1) * s
        yield name, f"neurons of {size:g}", EXACT, value, reference
    for mu, delta in [*product((1e-12, -1e-200, 1e90), (1e6, -1e6, 0)), (1e-310, -1), (1e90, -1e90), (0, -1)]:
        value = lambda a=(mu, delta): [piecewise_linear.direction_rate(*a)]
        reference = (lambda: [0]) if mu == 0 else lambda a=(mu, delta): references.turning(*a)
        yield "piecewise_linear.direction_rate", f"μ {mu:g}, δ {delta:g}", EXACT, value, reference
    yield (
        "piecewise_linear.direction_rate",
        "μ 1e-310, δ 1",
        "refused",
        lambda: piecewise_linear.direction_rate(1e-310, 1),
        "range of floats",
    )
    name = "piecewise_linear.alignment_phase"
    for w, a, drive, times in [
        ([1, 0], 1, [1, 0], (0, 1e-300, 1e-9, 1, 700)),
        ([1, 2], -1 + 1e-12, [1, 0], (20, 30)),
        ([1e-200, 0], 1e-200, [0, 1], (1, 460)),
        ([1, 1], 1, [1e-310, 0], (0, 1)),
        ([1, 1], 1, [1e90, 0], (0, 1e-90)),
        ([1e90, 1], 1, [1e90, 0], (1e-90,)),
    ]:
        args = w, a, drive, times
        value, reference = (lambda a=args: aligned(*a)), (lambda a=args: references.aligning(*a))
        yield name, f"w {w}, a {a:g}, drive {drive}, t to {times[-1]:g}", EXACT, value, reference
    value = lambda: aligned([1, 2], -1, [1, 0], [0, 30, 100, 700, 1e300])
    falling = lambda: [[np.exp(-t), 2, -np.exp(-t)] for t in (0, 30, 100, 700, 1e300)]
    yield name, "a neuron that shrinks, t to 1e300", "exp(-t)", value, falling, 1e-12, 1e-15  # w is known to the rounding of w₀
    yield name, "a neuron that grows, t = 711", "refused", lambda: aligned([1, 1], 1, [1, 0], [711]), "range of floats"
    value = lambda: piecewise_linear.hyperplanes(np.array([[3e-310, 4e-310], [3e300, 4e300], [-3, -4]]))[1]
    yield "piecewise_linear.hyperplanes", "1e-310, 1e300 and -1 times one neuron", "one hyperplane", value, lambda: [0, 0, 0]
    value = lambda: [
        len(piecewise_linear.regions(np.array([[1e-310, 0], [0, 1e300], [1e300, 1e300]]), size)) for size in (1e-90, 1e90)
    ]
    yield "piecewise_linear.regions", "neurons of 1e-310 and 1e300, squares of 1e-90 and 1e90", "2 each", value, lambda: [6, 6]


def spread(w, a, tau, delta):
    """Return w and a of a balanced neuron at a scale."""
    w, a = piecewise_linear.scale_initialization(w, a, tau, delta)
    return np.append(w, a)


def aligned(w, a, drive, times):
    """Return w and a while they align, rows of times."""
    w, a = piecewise_linear.alignment_phase(np.array(w, float), float(a), np.array(drive, float), times)
    return np.column_stack([w, a])


# --- Gaussian data


def of_gaussian():
    """Half-spaces at angles near 0 and π, saturated and Gaussian signals, gated networks at late times."""
    name, plane = "orthants.angle, orthant_moments", np.eye(2)
    for first, second in [
        ([1, 0], [1, 0]),
        ([1, 0], [2, 0]),
        ([1, 0], [-1, 0]),
        ([1, 0], [1, 1e-4]),
        ([1, 0], [-1, 1e-4]),
        ([1, 0], [1, 1e-200]),
        ([1e90, 0], [1e-90, 1e-90]),
        ([1, 2], [-2, 1]),
        ([1e-90, 0], [0, 1e-90]),
    ]:
        value = lambda u=first, v=second: [orthants.angle(u, v, plane), *orthants.orthant_moments(u, v, plane)]
        reference = lambda u=first, v=second: references.half_spaces(u, v)
        # an angle is right to the rounding of 1, so that a moment near π, its cube, has a share of its digits
        yield name, f"{first} and {second}", EXACT, value, reference, 1e-10, 1e-190
    value = lambda: np.sign(orthants.orthant_moments([1, 0], [-1, 1e-12], plane)[1:])
    yield name, "π - θ = 1e-12", "all are positive", value, lambda: [1, 1, 1]
    yield name, "weights 1e-200", "refused", lambda: orthants.angle([1e-200, 0], [0, 1e-200], plane), "at least 1e-100"
    value = lambda: orthants.orthant_moments([1, 0, 0], [0, 1, 0], np.ones((3, 3)))
    yield name, "covariance of rank one", "half a Gaussian", value, lambda: [0.5] * 4
    for n, xi, gain in [*((8, 1, g) for g in (1e-90, 1e-8, 1, 1e3, 1e6, 1e8, 1e90)), (8, 1e-3, 1), (1, 1, 1), (2, 1, 1e8)]:
        value = lambda a=(n, xi, gain): localization.nlgp_covariance(*a)[0]
        reference = lambda a=(n, xi, gain): references.saturated(*a)
        yield (
            "localization.nlgp_covariance",
            f"n {n}, ξ {xi:g}, g {gain:g}",
            EXACT,
            value,
            reference,
            1e-12,
            1e-15,
        )
    value = lambda: localization.nlgp_covariance(8, 1e90, 1e8)
    yield (
        "localization.nlgp_covariance",
        "ξ 1e90",
        "one site",
        value,
        lambda: np.ones((8, 8)),
    )
    one, few = np.eye(3), np.zeros((3, 3))
    for extreme, sigmas, ratio in [
        ("Σ₀ = 0", (one, few), 1),
        ("Σ₁ = 0", (few, one), 0),
        ("both 1e-90", (1e-90 * one, 1e-90 * one), 0.5),
        ("1e6 and 1e-6", (1e6 * one, 1e-6 * one), 1 / (1 + 1e-12)),
        ("1e-12 and 1", (1e-12 * one, one), 1e-12 / (1 + 1e-12)),
    ]:
        value = lambda s=sigmas: [*localization.fixed_points(*s).ratio, *localization.fixed_points(*s).loss]
        yield "localization.fixed_points", extreme, "by hand", value, lambda r=ratio: [r] * 3 + [0.25 - r / (4 * np.pi)] * 3
    for size in (1e-90, 1, 1e90):
        value = lambda s=size: [
            localization.relu_loss([[s, 0], [-s, 0]], plane, plane),
            localization.relu_flow([[s, 0]], plane, plane)[0, 0],
        ]
        reference = lambda s=size: [s * (s / 8) - s / np.sqrt(8 * np.pi) + 0.25, 1 / np.sqrt(8 * np.pi) - s / 2]
        yield "localization.relu_loss, relu_flow", f"weights {size:g}, one opposite", "by hand", value, reference
    value = lambda: localization.ring_spectrum(1e-12 * np.array([[1, 0.5, 0.4], [0.2, 1, 0.7], [0.1, 0.4, 1]]))
    yield "localization.ring_spectrum", "no ring, of 1e-12", "refused", value, "translation-invariant"

    a, b = np.diag([2.0, 1e-6, 0]), np.array([1, 1e-6, 0])
    for size in (1, 1e-90, 1e90):
        late = lambda s=size: gated_linear.gdln_trajectory([[1, 2, 3]], s * a, s * b, [0, 1e307, 1.7e308])[:, 0]
        yield (
            "gated_linear.gdln_trajectory",
            f"A {size:g}, t up to 1.7e308",
            "its limit",
            late,
            lambda: [[1, 2, 3], [0.5, 1, 3], [0.5, 1, 3]],
        )
        limit = lambda s=size: gated_linear.gdln_limit([[1, 2, 3]], s * a, s * b)[0]
        yield "gated_linear.gdln_limit", f"A {size:g}", "by hand", limit, lambda: [0.5, 1, 3]
    early = lambda: gated_linear.gdln_trajectory([[0, 0, 0]], a, b, [1e-300, 1e-12, 1, 1e7])[:, 0]
    steps = lambda: [[0.5 * -np.expm1(-2 * t), -np.expm1(-1e-6 * t), 0] for t in (1e-300, 1e-12, 1, 1e7)]
    yield "gated_linear.gdln_trajectory", "t from 1e-300, λ from 1e-6", "expm1", early, steps
    early = lambda: gated_linear.gdln_trajectory([[0]], [[1e-160]], [1], [1e-160, 1e-90])[:, 0, 0]
    yield "gated_linear.gdln_trajectory", "t from 1e-160, λ 1e-160", "b t", early, lambda: [1e-160, 1e-90]


# --- the rest


def of_rest():
    """Convolutions of long waves, large counts, the plane of balance and size."""
    for kernel, waves in product(
        (practice.LAPLACIAN, practice.PRINTED_LAPLACIAN), ((0, 0), (1e-8, 0), (1e-4, 1e-4), (1e-12, 1e-10), (1, 2))
    ):
        value = lambda k=kernel, w=waves: [practice.power_response(k, *w)]
        reference = lambda k=kernel, w=waves: references.long_wave(k[1, 1], *w)
        yield "practice.power_response", f"{waves} radians per pixel, middle {kernel[1, 1]:g}", EXACT, value, reference
    count = lambda: [practice.string_count(2, 2, 2, 14) == 2 ** (2**14)]
    yield "practice.string_count", "2^16384", "a whole number", count, lambda: [1]
    for balance, size, cosine in product(
        (0, 1e-12, -1e-12, 1, -1, 1e6, -1e6, 1e90, -1e90), (1e-90, 1e-6, 1, 1e6, 1e90), (0, 1, -1, 0.5)
    ):
        value = lambda a=(balance, size, cosine): [synthesis.neuron_kernel_distance(*a), synthesis.twin_kernel_distance(*a[:2])]
        reference = lambda a=(balance, size, cosine): references.turned_kernels(*a)
        # half the square of a difference that is right to 1e-16
        yield (
            "synthesis.neuron_kernel_distance, twin_kernel_distance",
            f"b {balance:g}, r {size:g}, cosine {cosine:g}",
            EXACT,
            value,
            reference,
            1e-9,
            1e-24,
        )
    for a, w, target, expected in [
        (1e-160, [0, 1e-160], [3, 4], (0, 0, 0.8, 5)),
        (1e90, [1e90], [1e-50], (0, 1e230, 1, 1e-50)),
        (-1, [3e-200, 4e-200], [3e-200, 4e-200], (1e199, 1, -1, 5e-200)),
        (0, [1], [1], (-0.5, 0, 1, 1)),
    ]:
        value = lambda n=synthesis.Neuron(a, np.array(w, float), np.array(target, float), 1, 1): synthesis.coordinates(n)
        yield "synthesis.coordinates", f"a {a:g}, w {w}, β* {target}", "by hand", value, lambda e=expected: e
    value = lambda: synthesis.coordinates(synthesis.Neuron(1e90, np.array([1.0]), np.array([1e-300]), 1, 1))
    yield "synthesis.coordinates", "a 1e90, β* 1e-300", "refused", value, "range of floats"
    for balance, size, cosine, times in [
        (1e6, 1, 0, (0, 1e-6, 1)),
        (-1e6, 1, 0, (0, 1e-6, 1)),
        (0, 1e-90, 0.5, (0, 100, 300)),
        (1e80, 1e-80, 0, (0, 1e-81)),
    ]:
        value = lambda a=(balance, size, cosine, times): synthesis.course(*a)
        reference = lambda a=(balance, size, cosine, times): course(*a)
        yield "synthesis.course", f"b {balance:g}, r {size:g}, cosine {cosine:g}", EXACT, value, reference, 1e-10, 1e-280


def course(balance, size, cosine, times):
    """Return β by the reference of a neuron's trajectory, rows of times."""
    start = size * np.array([cosine, np.sqrt(1 - cosine**2)])
    a, *w = references.neuron_start(start, 2 * balance)
    rows = references.neuron_path(a, w, [1, 0], times)
    return rows[:, :1] * rows[:, 1:]


def of_kernels():
    """Kernel distances of tiny, huge and nearly equal kernels; shapes of tiny and huge weights."""
    draw = np.random.default_rng(1).normal(size=(2, 3, 3))
    k0, off = draw[0] @ draw[0].T, draw[1]
    for step, size in [(1, 1), (1e-3, 1), (1e-6, 1e-300), (1e-9, 1e300), (1e-12, 1), (1e-3, 1e-310)]:
        kt = size * (k0 + step * off)
        value, reference = (
            (lambda k=kt: [kernels.kernel_distance(k0, k)]),
            (lambda k=kt: references.kernel_angle(k0.ravel(), k.ravel())),
        )
        yield (
            "kernels.kernel_distance",
            f"kernels {step:g} apart, sizes 1 and {size:g}",
            EXACT,
            value,
            reference,
            1e-14 / step if size > 1e-305 else 1e-9,
        )
    value = lambda: [kernels.kernel_distance(k0, size * k0) for size in (1e-300, 1, 1e300)]
    yield "kernels.kernel_distance", "kernels equal but for their size", "0", value, lambda: [0] * 3, 1e-30, 1e-30
    yield "kernels.two_layer_ntk", "weights 1e160", "refused", lambda: kernels.two_layer_ntk([[1e160]], [1e160], [[1.0]]), "range"
    for size in (1e-310, 1e-160, 1, 1e300):
        value = lambda s=size: [
            measures.inverse_participation_ratio(s * np.array([3.0, 4])),
            measures.filter_laplacian(s * np.eye(2), [[1, -1]]),
        ]
        yield (
            "measures.inverse_participation_ratio, filter_laplacian",
            f"weights {size:g}",
            "by hand",
            value,
            lambda: [337 / 625, 2],
        )
    value = lambda: measures.principal_axes(1e150 * np.array([[0, 0], [3, 4.0]]), 1)[:, 0] / 1e150
    yield "measures.principal_axes", "points 1e150 apart", "by hand", lambda: np.abs(value()), lambda: [2.5, 2.5]
