"""Flow, alignment and regions of piecewise linear networks against autograd, brute force on a grid, and exact counterexamples."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.linalg import expm
from theory.references import balances, magnitudes, seeds, signs

from lib.theory import piecewise_linear as pl

rates = st.floats(0.2, 5)
slopes = st.sampled_from([0.0, 0.1, 0.7])
deltas = st.sampled_from([-1e6, -3.0, -1e-9, 0.0, 1e-9, 1.0, 1e6])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def balanced(rng, *shape):
    """Draw neurons of norm 1: w (..., h, d) and a (..., h)."""
    return unit(rng.normal(size=shape)), rng.choice([-1.0, 1.0], size=shape[:-1])


def sigma(z, gamma):
    return np.maximum(z, gamma * z)


def angle_of(directions):
    return np.arctan2(directions[..., 1], directions[..., 0]) % (2 * np.pi)


def apart(angle, other):
    """Return the distance of two angles on the circle."""
    return np.abs((angle - other + np.pi) % (2 * np.pi) - np.pi)


# --- initialization


@given(seed=seeds, tau=st.one_of(st.sampled_from([1e-3, 1.0, 30.0]), magnitudes), delta=st.one_of(deltas, balances))
def test_scaled_neurons_have_the_wanted_tau_and_delta(seed, tau, delta):
    w, a = balanced(np.random.default_rng(seed), 5, 3)
    scaled_w, scaled_a = pl.scale_initialization(w, a, tau, delta)
    sizes, norms = np.abs(scaled_a), np.hypot.reduce(scaled_w, axis=1)
    np.testing.assert_allclose((sizes - norms) * (sizes + norms), delta, rtol=1e-12, atol=1e-14 * tau**2)
    np.testing.assert_allclose(sizes * norms, tau**2, rtol=1e-13)
    np.testing.assert_allclose(scaled_w / norms[:, None], w, rtol=1e-13)
    np.testing.assert_array_equal(np.sign(scaled_a), a)


def test_scaling_of_neurons_that_are_not_of_norm_one():
    w, a = pl.scale_initialization([[3.0, 4.0], [0.0, 0.0]], [-5.0, 0.0], 0.5, 2.0)
    np.testing.assert_allclose(a**2 - np.sum(w**2, axis=1), [50.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize("own", [False, True])
def test_scaling_broadcasts_over_members(own):
    tau, delta = np.array([0.1, 2.0, 0.1]), np.array([0.0, 0.0, -1.0])
    w, a = balanced(np.random.default_rng(0), 3, 4, 2) if own else balanced(np.random.default_rng(0), 4, 2)
    stack = pl.scale_initialization(w, a, tau, delta)
    for m in range(3):
        one = pl.scale_initialization(w[m] if own else w, a[m] if own else a, tau[m], delta[m])
        np.testing.assert_array_equal(stack[0][m], one[0])
        np.testing.assert_array_equal(stack[1][m], one[1])


# --- the flow


@given(seed=seeds, d=st.integers(1, 6), size=st.floats(1e-3, 1e3), ratio=st.floats(1e-4, 1e4), eta_a=rates, eta_w=rates)
def test_neuron_flow_is_that_of_its_parameters(seed, d, size, ratio, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    w, xi, a = size * rng.normal(size=(4, d)), rng.normal(size=(4, d)), size * ratio * rng.normal(size=4)
    norm = np.linalg.norm(w, axis=1)
    a[0] = np.sqrt(eta_a / eta_w) * norm[0]  # δ = 0
    w_dot, a_dot = -eta_w * a[:, None] * xi, -eta_a * np.sum(w * xi, axis=1)
    along = np.sum(w * w_dot, axis=1) / norm  # of ‖w‖
    expected = a_dot * norm + a * along, (w_dot - along[:, None] * unit(w)) / norm[:, None]
    found = pl.neuron_flow(a * norm, unit(w), xi, eta_w * a**2 - eta_a * norm**2, eta_a, eta_w)
    sizes = eta_w * a**2 + eta_a * norm**2, np.abs(eta_w * a / norm)[:, None]  # of the velocities, for ‖ξ‖ = 1
    for velocity, exact, size in zip(found, expected, sizes, strict=True):
        np.testing.assert_allclose(velocity / size, exact / size, atol=1e-10 * np.linalg.norm(xi))


@given(mu=st.floats(-12, 90).map(lambda power: 10**power), sign=signs, delta=balances, eta_a=rates, eta_w=rates)
def test_direction_rate_keeps_its_digits(mu, sign, delta, eta_a, eta_w):
    with mp.workdps(300):
        root = mp.sqrt(mpf(delta) ** 2 + 4 * mpf(eta_a) * mpf(eta_w) * mpf(mu) ** 2)
        expected = sign * float((root + mpf(delta)) / (2 * mpf(mu)))
    np.testing.assert_allclose(pl.direction_rate(sign * mu, delta, eta_a, eta_w), expected, rtol=1e-14, atol=0)


def test_a_downstream_neuron_without_output_only_grows():
    mu_dot, direction_dot = pl.neuron_flow(0.0, [0.6, 0.8], [1.0, 2.0], -3.0)
    np.testing.assert_allclose(mu_dot, -3.0 * 2.2)
    np.testing.assert_array_equal(direction_dot, 0)


# --- alignment


@given(seed=seeds, d=st.integers(1, 4), delta=st.sampled_from([-30.0, -1.0, 0.0, 1.0, 30.0]), tau=st.floats(0.01, 3))
def test_alignment_phase_is_the_matrix_exponential(seed, d, delta, tau):
    rng = np.random.default_rng(seed)
    w, a = pl.scale_initialization(*balanced(rng, 3, d), tau, delta)
    drive, times = rng.normal(size=(3, d)), np.array([0.0, 0.1, 1.0, 3.0])
    drive[2] = 0
    path_w, path_a = pl.alignment_phase(w, a, drive, times)
    for k in range(3):
        rate = np.zeros((d + 1, d + 1))
        rate[0, 1:] = rate[1:, 0] = drive[k]
        expected = np.array([expm(rate * t) @ np.append(a[k], w[k]) for t in times])
        np.testing.assert_allclose(np.column_stack([path_a[:, k], path_w[:, k]]), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal([path_a[0, k], *path_w[0, k]], [a[k], *w[k]])


def turns(angles, x, y, gamma):
    """Return the speed at which directions at some angles turn for a > 0, point by point from the definition."""
    d, tangent = (np.stack([np.cos(t), np.sin(t)], -1) for t in (angles, angles + np.pi / 2))
    return sum(np.where(d @ x_i > 0, 1, gamma) * y_i * (tangent @ x_i) for x_i, y_i in zip(x, y, strict=True))


@settings(max_examples=100)
@given(seed=seeds, n=st.integers(1, 8), gamma=slopes, signs=st.sampled_from([-1, 0, 1]))
def test_aligned_directions_are_where_the_turn_changes_sign(seed, n, gamma, signs):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    y = y if signs == 0 else signs * np.abs(y)
    found, stability, growth = pl.aligned_directions(x, y, gamma)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    np.testing.assert_allclose(growth, sigma(found @ x.T, gamma) @ y, atol=1e-9)  # d·x_i = 0 on a line, whatever its c_i
    angles = angle_of(found)
    assert np.all(np.diff(angles) > 0)
    grid = np.linspace(0, 2 * np.pi, 20_001)[:-1] + 1e-5
    step = grid[1] - grid[0]
    assume(len(angles) == 1 or np.diff(angles, append=angles[0] + 2 * np.pi).min() > 4 * step)
    speed = turns(grid, x, y, gamma)
    sign = np.where(np.abs(speed) < 1e-12, 0, np.sign(speed))
    for kind in (1, -1):
        falls = np.flatnonzero((sign == kind) & (np.roll(sign, -1) == -kind))
        expected = (grid[falls] + step / 2) % (2 * np.pi)
        assert len(expected) == np.sum(stability == kind)
        assert np.all(apart(np.sort(expected), angles[stability == kind]) < step)
    dead = np.flatnonzero((sign == 0) != (np.roll(sign, -1) == 0))  # edges of sectors without drive
    assert len(dead) == np.sum(stability == 0)
    assert np.all(apart(np.sort((grid[dead] + step / 2) % (2 * np.pi)), angles[stability == 0]) < step)


@pytest.mark.parametrize(
    "x, y, gamma, degrees, stability",
    [
        ([[1, 0]], [2.0], 0.0, [0, 90, 270], [1, 0, 0]),  # the left half plane is dead
        ([[1, 0]], [2.0], 0.5, [0, 180], [1, -1]),
        ([[1, 0], [-3, 0]], [1.0, 1.0], 0.0, [0, 90, 180, 270], [1, -1, 1, -1]),
        ([[1, 0], [-3, 0]], [-1.0, -1.0], 0.0, [0, 90, 180, 270], [-1, 1, -1, 1]),  # attracted by the line orthogonal to x
        (
            [[1, 0], [0, 1]],
            [1.0, 1.0],
            0.0,
            [0, 45, 90, 180, 270],
            [0, 1, 0, 0, 0],
        ),  # 0 and 90: reached from one side, left on the other
        ([[1, 0], [7, 7]], [1.0, 0.0], 0.0, [0, 90, 270], [1, 0, 0]),  # a point without a target does not count
    ],
)
def test_aligned_directions_by_hand(x, y, gamma, degrees, stability):
    found = pl.aligned_directions(x, y, gamma) if gamma else pl.aligned_directions(x, y)
    order = np.argsort(np.round(np.degrees(angle_of(found.directions)), 6) % 360)
    np.testing.assert_allclose(np.degrees(angle_of(found.directions[order])), degrees, atol=1e-9)
    np.testing.assert_array_equal(found.stability[order], stability)


# --- regions


def area(polygon):
    following = np.roll(polygon, -1, axis=0)
    return np.sum(polygon[:, 0] * following[:, 1] - polygon[:, 1] * following[:, 0]) / 2


def inside(polygon, points):
    """Tell which points (n, 2) lie inside a convex polygon, given counter-clockwise."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    to = points[:, None] - polygon
    return np.all(edges[:, 0] * to[..., 1] - edges[:, 1] * to[..., 0] > 0, axis=1)


def drawn(seed, h, doubled, zeros, special):
    """Draw neurons in the plane, some of them repeated, turned around, zero, or with a boundary along an axis or a diagonal."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(h, 2)) * rng.choice([1e-3, 1.0, 1e150], size=(h, 1))
    if special:
        w[0] = rng.choice([-1, 1, 3.0]) * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])[rng.integers(4)]
    copies = rng.choice([-0.3, -1.0, 1.0, 7.1], size=(doubled, 1)) * w[rng.integers(h, size=doubled)]
    w = np.vstack([w, copies, np.zeros((zeros, 2))])
    return rng.permutation(w), h


drawings = st.builds(drawn, seeds, st.integers(1, 7), st.integers(0, 4), st.integers(0, 2), st.booleans())


@given(drawing=drawings, bound=st.sampled_from([0.5, 1.0, 20.0]))
def test_regions_partition_the_square(drawing, bound):
    w, m = drawing
    found = pl.regions(w, bound)
    assert len(found) == 2 * m
    areas = np.array([area(region.polygon) for region in found])
    assert np.all(areas > 0)
    np.testing.assert_allclose(areas.sum(), 4 * bound**2, rtol=1e-12)
    points = np.random.default_rng(0).uniform(-bound, bound, size=(300, 2))
    z = points @ w.T
    clear = np.all((np.abs(z) > 1e-9 * bound * np.abs(w).max(axis=1)) | ~w.any(axis=1), axis=1)
    within = np.array([inside(region.polygon, points) for region in found])
    np.testing.assert_array_equal(within[:, clear].sum(axis=0), 1)
    for region, here in zip(found, within, strict=True):
        np.testing.assert_array_equal((z > 0)[here & clear], np.broadcast_to(region.pattern, (np.sum(here & clear), len(w))))


@given(drawing=drawings)
def test_neighbors_differ_in_color_and_in_the_neurons_of_one_hyperplane(drawing):
    w, m = drawing
    found = pl.regions(w)
    _, number = pl.hyperplanes(w)
    crossed = []
    for one, other in zip(found, found[1:] + found[:1], strict=True):
        np.testing.assert_allclose(one.polygon[-1], other.polygon[1], atol=1e-12)  # they share the ray from the origin
        assert {one.color, other.color} == {0, 1}
        flipped = np.flatnonzero(one.pattern != other.pattern)
        np.testing.assert_array_equal(flipped, np.flatnonzero(number == number[flipped[0]]))
        np.testing.assert_allclose(w[flipped] @ other.polygon[1] / np.linalg.norm(w[flipped], axis=1), 0, atol=1e-12)
        crossed.append(number[flipped[0]])
    np.testing.assert_array_equal(np.bincount(crossed), np.full(m, 2))


def test_the_parity_of_active_neurons_does_not_color_a_symmetrized_network():
    """Each hyperplane twice: all parities agree, though the partition has two colors."""
    w = np.random.default_rng(0).normal(size=(5, 2))
    found = pl.regions(np.vstack([w, w]))
    assert {region.pattern.sum() % 2 for region in found} == {0}
    assert [region.color for region in found] == [0, 1] * 5


def test_no_hyperplane_leaves_the_square_whole():
    (whole,) = pl.regions(np.zeros((3, 2)), 2.0)
    assert abs(area(whole.polygon) - 16) < 1e-12 and not whole.pattern.any() and whole.color == 0


@given(seed=seeds, d=st.integers(1, 4), h=st.integers(1, 6), copies=st.integers(0, 5))
def test_hyperplanes_gather_the_multiples_of_a_neuron(seed, d, h, copies):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(1 if d == 1 else h, d))
    of = rng.integers(len(w), size=copies)
    scales = rng.choice([-1e200, -1.0, -0.3, 1e-200, 1.0, 3.7], size=copies)
    normals, number = pl.hyperplanes(np.vstack([w, scales[:, None] * w[of], np.zeros((1, d))]))
    np.testing.assert_allclose(normals, unit(w), rtol=1e-14)
    np.testing.assert_array_equal(number, [*range(len(w)), *of, -1])


@given(drawing=drawings, gamma=slopes)
def test_predictor_is_the_function_of_its_region(drawing, gamma):
    w = drawing[0] / np.maximum(1, np.abs(drawing[0]).max(axis=1, keepdims=True))
    a = np.random.default_rng(len(w)).normal(size=len(w))
    for region in pl.regions(w):
        points = region.polygon.mean(axis=0) * np.array([[1.0], [0.5]])
        beta = pl.deep_predictor(region.pattern, [w], a, gamma)
        np.testing.assert_allclose(points @ beta, sigma(points @ w.T, gamma) @ a, atol=1e-12)
    patterns = np.array([region.pattern for region in pl.regions(w)])
    np.testing.assert_allclose(pl.deep_predictor(patterns, [w], a, gamma)[-1], beta, rtol=1e-12, atol=1e-14)


def deep_pattern(weights, biases, x, gamma):
    """Tell which neurons of a deep network are active at x, numbered through the layers."""
    active = []
    for w, b in zip(weights, biases, strict=True):
        z = w @ x + b
        active.append(z > 0)
        x = sigma(z, gamma)
    return np.concatenate(active)


@settings(max_examples=40)
@given(
    seed=seeds,
    widths=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    biased=st.booleans(),
    gamma=st.sampled_from([0.0, 0.3]),
)
def test_deep_crossings_are_all_places_where_neurons_flip(seed, widths, biased, gamma):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(out, into)) for into, out in pairwise(widths)]
    biases = [biased * rng.normal(size=len(w)) for w in weights]
    start, end = rng.normal(size=(2, widths[0]))
    found = pl.deep_crossings(weights, biases if biased else None, start, end, gamma)
    times = np.array([0.0, *(crossing.t for crossing in found), 1.0])
    assert np.all(np.diff(times) > 0)
    pattern = deep_pattern(weights, biases, start, gamma)
    for i, (t, later) in enumerate(pairwise(times)):
        if i > 0:
            pattern = pattern.copy()
            pattern[found[i - 1].neurons] ^= True
        for share in (0.02, 0.3, 0.5, 0.98):
            if (later - t) > 1e-9:
                here = start + (t + share * (later - t)) * (end - start)
                np.testing.assert_array_equal(deep_pattern(weights, biases, here, gamma), pattern)
    if widths[0] > 1 and biased:
        assert all(len(crossing.neurons) == 1 for crossing in found)  # Proposition 17, with generic biases


# --- Proposition 17 for deep networks without biases

LOOP = np.array([[1.0, 0.3], [-0.2, 1.1], [-1.0, -0.9], [0.8, -1.0], [1.0, 0.3]])  # once around the origin
FOLD = [np.eye(2), np.array([[1.0, -1.0]])]


def around(weights, biases=None, gamma=0.0):
    """Return who flips at each boundary on the way around the origin."""
    return [c.neurons.tolist() for start, end in pairwise(LOOP) for c in pl.deep_crossings(weights, biases, start, end, gamma)]


def test_a_deep_network_without_biases_is_not_two_colorable():
    """Five regions in a ring around the origin, exactly: where both inputs are negative nothing in the second layer can act."""
    flips = around(FOLD)
    assert flips == [[2], [0], [1], [0, 2], [1]]
    patterns = [deep_pattern(FOLD, [np.zeros(2), np.zeros(1)], LOOP[0], 0.0)]
    for flipped in flips:
        patterns.append(patterns[-1].copy())
        patterns[-1][flipped] ^= True
    assert patterns[0].tolist() == patterns[5].tolist() and len({tuple(p) for p in patterns}) == 5
    for colors in product([0, 1], repeat=5):
        assert any(color == following for color, following in zip(colors, colors[1:] + colors[:1], strict=True))

    def pattern(x, y):
        x, y = Fraction(x), Fraction(y)
        z = max(x, 0) - max(y, 0)
        return (x > 0, y > 0, z > 0)

    ring = [(7, 2), (2, 7), (-3, 5), (-4, -4), (1, -6)]  # one point of each cone
    assert [pattern(*point) for point in ring] == [tuple(p) for p in np.array(patterns[:5])[[0, 1, 2, 3, 4]].tolist()]


@given(seed=seeds, gamma=st.sampled_from([0.01, 0.3, 0.9]))
def test_the_counterexample_needs_a_flat_side(seed, gamma):
    rng = np.random.default_rng(seed)
    flips = around([w + rng.uniform(-0.1, 0.1, size=w.shape) * (gamma > 0.1) for w in FOLD], gamma=gamma)
    assert flips == [[2], [0], [1], [2], [0], [1]]


@given(seed=seeds, size=st.sampled_from([1e-6, 0.1]))
def test_biases_restore_the_two_colors(seed, size):
    rng = np.random.default_rng(seed)
    flips = around(FOLD, [size * rng.normal(size=2), size * rng.normal(size=1)])
    assert len(flips) % 2 == 0 and {len(flipped) for flipped in flips} == {1}


# --- errors

EYE, ONES = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: pl.scale_initialization(EYE, np.ones(3), 1, 0), r"w \(2, 2\), a \(3,\) do not fit: want \(..., h, d\)"),
        (lambda: pl.scale_initialization(EYE, 2 * ONES, 1, 0), r"not balanced: want \|a\| = \|w\|"),
        (lambda: pl.scale_initialization(1e-10 * EYE, 2e-10 * ONES, 1, 0), "not balanced"),
        (lambda: pl.direction_rate(0.0, 0.0), "mu is 0 and delta not negative: then w = 0, which has no direction"),
        (lambda: pl.neuron_flow(1.0, ONES, np.ones(3), 1.0), r"direction \(2,\) and xi \(3,\) do not fit"),
        (lambda: pl.alignment_phase(ONES, 1.0, np.ones(3), [0]), "do not fit"),
        (lambda: pl.aligned_directions(np.eye(3), np.ones(3)), r"inputs \(3, 3\), targets \(3,\) do not fit: want \(n, 2\)"),
        (lambda: pl.aligned_directions(EYE, 0 * ONES), "at least one point with both"),
        (lambda: pl.regions(np.eye(3)), r"w has shape \(3, 3\): want neurons in the plane"),
        (lambda: pl.deep_crossings([EYE, np.eye(3)], None, ONES, ONES), "do not fit: want"),
        (lambda: pl.deep_crossings([EYE], None, ONES, np.ones(3)), r"weights\[0\] \(2, 2\), start \(2,\), end \(3,\)"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
