"""The closed forms where floats overflow, underflow or cancel, beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a part of each comparison.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp
from theory import references
from theory.references import balances, magnitudes

from lib.kernels import two_layer_ntk
from lib.theory import gated_linear, localization, orthants, piecewise_linear, practice, products, synthesis
from lib.theory import single_neuron as neuron
from lib.theory import two_point as two

EYE = np.eye(2)


def same(found, expected, rtol=1e-12, atol=1e-300):
    """Compare each entry with its own size; what is below 1e-300 has lost digits."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# --- products of weights


@pytest.mark.parametrize(
    "p, s, d, p0",
    [
        *((0.5, 1, d, 1e-300) for d in (1, 1 + 1e-12, 1.5, 2 - 1e-6, 2, 2 + 1e-12, 3, 1e6)),
        *((0.5 * (1 + step), 1, d, 0.5) for step in (1e-12, -1e-9) for d in (1, 2, 3, 1e6)),
        *((1 - 2.0**-53, 1, d, 0.5) for d in (1, 2, 5)),
        *((0.5 * s, s, d, 0.1 * s) for s in (1e90, 1e-90) for d in (1, 2, 3)),
        (0.5, 1, 1e90, 0.1),
        (1e-300, 1, 3, 1e-301),
        (0.5, 1, 3, 0.5),
    ],
)
def test_time_to_reach(p, s, d, p0):
    same(products.time_to_reach(p, s, d, p0), references.time_to_reach(p, s, d, p0))


@given(start=st.floats(1e-12, 1 - 1e-12), way=st.floats(-14, 0), degree=st.sampled_from([1, 1.5, 2, 2.5, 3, 10, 1e8, 1e15]))
@settings(max_examples=40)
def test_time_to_reach_over_any_way(start, way, degree):
    p = start + (1 - start) * 10**way * 0.999
    same(products.time_to_reach(p, 1, degree, start), references.time_to_reach(p, 1, degree, start), 1e-11)


def test_conserved_and_depth_of_products():
    same(products.conserved([1 + 1e-12, 1]), [(float(1 + 1e-12) - 1) * (2 + 1e-12)])
    same(products.conserved([1e90, 1e-90], (1, 3)), [1e180])
    same(products.effective_depth((1,) * 1000), (1000, 1))
    same(products.effective_depth((1e90, 1e90)), (2e90, 1e90))


# --- one neuron


def solved(*args):
    path = neuron.trajectory(*args)
    return np.column_stack([path.a, path.w])


TIMES = (0, 1e-300, 1e-12, 1e-3, 1, 10, 1e3)


@pytest.mark.parametrize(
    "a0, w0, target, times",
    [
        (0, [0, 1], 1, TIMES),
        (0, [0, 0], 1, TIMES),
        (1, [-1, 0], 1, (0, 1, 10)),  # on the separatrix, and beside it
        (1, [-1 - 1e-12, 0], 1, (1, 10)),
        (1e-160, [1e-160, 0], 1, (1, 300, 368, 380)),
        (1e-200, [-0.3e-200, 1e-200], 1, (1, 300, 460, 500)),
        (1e-310, [1e-310, 0], 1, (1, 300, 714, 800)),
        (1, [1e3, 0], 1, TIMES),
        (1e-3, [1e3, 1e3], 1, (0, 1e-12, 1e-6, 1e-3)),
        (1e90, [1, 2], 1, (0, 1e-181, 1e-179, 1)),
        (1, [1e90, 2], 1, (0, 1e-181, 1e-179, 1)),
        (1, [1, 2], 1e-310, (0, 1, 10)),
        (1, [1, 2], 1e90, (0, 1e-90, 1)),
        (0.5, [1, 0], 1e-12, (0, 1, 1e6, 1e12, 1e13)),
    ],
)
def test_neuron_trajectory(a0, w0, target, times):
    rtol = 1e-10 if w0[0] == -1 - 1e-12 else 1e-12  # the start's distance from the separatrix has four digits
    same(solved(a0, w0, [target, 0], times), references.neuron_path(a0, w0, [target, 0], times), rtol)


@given(a=magnitudes, w=magnitudes, target=magnitudes, angle=st.floats(0, 3.1), time=st.floats(-3, 3))
@settings(max_examples=40)
def test_neuron_trajectory_of_any_sizes(a, w, target, angle, time):
    assume(abs(np.log(a / w)) > 1e-3)  # a difference of equal squares is their rounding
    args = a, w * np.array([np.cos(angle), np.sin(angle)]), [target, 0], [0, 10**time / max(target, a * a, w * w)]
    same(solved(*args)[:, :2], references.neuron_path(*args)[:, :2], 1e-9, 1e-12 * max(a, w))


def test_neuron_trajectory_at_the_latest_times():
    end = references.neuron_path(1, [0.3, 1], [1, 0.5], [100])
    same(solved(1, [0.3, 1], [1, 0.5], [1e6, 1e300, 1.7e308]), np.tile(end, (3, 1)))
    np.testing.assert_array_equal(solved(1, [-1, 0], [1, 0], [1e300]), np.zeros((1, 3)))


@given(size=magnitudes, delta=balances)
def test_start_metric_and_potential_of_a_neuron(size, delta):
    beta = [0.6 * size, 0.8 * size]
    same(np.append(*neuron.initialize(beta, delta)), references.neuron_start(beta, delta))
    m = neuron.preconditioner(beta, delta)
    found = [m[0, 0], m[0, 1], m[1, 1], neuron.potential(beta, delta), *neuron.potential_gradient(beta, delta)]
    same(found, references.neuron_geometry(beta, delta))


@pytest.mark.parametrize(
    "y, a, w", [(1, 1, [1e-8, 0]), (1, 1e-100, [0, 1e-100]), (1e-12, 1, [1, 0]), (1e12, 1, [1, 0]), (1, 1, [1e6, 1 - 1e6])]
)
def test_interpolator(y, a, w):
    """Of a neuron that sees x = (1, 1) and the label y."""
    with mp.workdps(100):
        (first, second), label = map(mp.mpf, w), mp.mpf(y)
        half = (mp.mpf(a) ** 2 - (first + second) ** 2 / 2) / 2
        end = mp.sqrt(half + mp.sqrt(half**2 + label**2 / 2)) * (first - second) / 2
        expected = [float(label / 2 + end), float(label / 2 - end)]
    same(neuron.interpolator(np.ones((2, 2)), [y, y], a, w), expected, 1e-9 if w[0] == 1e6 else 1e-12)


# --- two points


UNIT = 1, 1, 1, 1


@given(h=magnitudes, y=magnitudes, target=magnitudes, tau=st.floats(-5, 5))
@settings(max_examples=40)
def test_final_distance_of_any_sizes(h, y, target, tau):
    high, low, end = references.final_distance(h, y, 1, target, 1, 10**tau)
    assume(max(abs(high), low) < 1e300)
    assume(max(abs(high), low) > 1e-6 * h)  # a difference of equal numbers is their rounding
    same(two.final_distance2(h, y, two.Pair(1, target, 1, 10**tau)), end, 1e-9)


@pytest.mark.parametrize(
    "h, y, constants",
    [
        (1e-90, 1e90, UNIT),
        (1e90, 0, UNIT),
        (1, 1, (1, 0, 1, 1)),
        (1, 2, (1, 1, 1e-90, 1e90)),
        (1, 2, (1, 1, 1e90, 1e-90)),
        (1, 2, (1e90, 1, 1, 1)),
        (1, 2, (1e-90, 1e-90, 1, 1)),
    ],
)
def test_final_distance_at_the_edges(h, y, constants):
    pair, expected = two.Pair(*constants), references.final_distance(h, y, *constants)
    same([*two.high_low(h, y, pair), two.final_distance2(h, y, pair)], expected, atol=1e-290)


@pytest.mark.parametrize(
    "h, y, w, constants, times",
    [
        (1, 1, 1, UNIT, (0, 1e-300, 1, 10)),
        (1e-12, 1e-12, 1e-12, UNIT, (0, 1, 10, 60)),
        (1e-50, 1e-60, 1e-60, UNIT, (0, 1, 100, 1000)),
        (1, 1, 0.5, (1, 1, 1e6, 1e-6), (0, 1, 1e6)),
        (1, 1, 0.5, (1, 1, 1e-6, 1e6), (0, 1e-6, 1, 1e6)),
        (1, 1e-14, 0, (1, 1e-6, 1, 1), (0, 1, 100)),
        (1, 1e6, 1e6, UNIT, (0, 1e-6, 1)),
        (1, 0, 0, UNIT, (0, 1e-300, 1e-9, 1, 1e4, 1e300, 1.7e308)),
    ],
)
def test_two_point_solution(h, y, w, constants, times):
    found = two.solve(h, y, w, times, two.Pair(*constants))
    expected = references.two_point_path(h, y, w, *constants, np.minimum(times, 1e7))
    same(np.column_stack([found.dh2, found.dy2]), expected, 1e-10)


# --- piecewise linear networks


@pytest.mark.parametrize(
    "w, a, drive, times",
    [
        ([1, 0], 1, [1, 0], (0, 1e-300, 1e-9, 1, 700)),
        ([1, 2], -1 + 1e-12, [1, 0], (20, 30)),
        ([1e-200, 0], 1e-200, [0, 1], (1, 460)),
        ([1, 1], 1, [1e-310, 0], (0, 1)),
        ([1e90, 1], 1, [1e90, 0], (0, 1e-90)),
    ],
)
def test_alignment(w, a, drive, times):
    found = piecewise_linear.alignment_phase(np.array(w, float), float(a), np.array(drive, float), times)
    same(np.column_stack(found), references.aligning(w, a, drive, times))


def test_a_neuron_that_shrinks_does_so_for_ever():
    times = np.array([0, 30, 100, 700, 1e300])
    w, a = piecewise_linear.alignment_phase(np.array([1.0, 2.0]), -1.0, np.array([1.0, 0.0]), times)
    same(np.column_stack([w, a]), np.stack([np.exp(-times), np.full(5, 2), -np.exp(-times)], axis=1), atol=1e-15)


# --- Gaussian data


@pytest.mark.parametrize("first, second, angle", [([1, 0], [1, 1e-90], 1e-90), ([1e90, 0], [1e-90, 1e-90], np.pi / 4)])
def test_angles_and_moments(first, second, angle):
    found = orthants.orthant_moments(first, second, EYE)
    rest, (s, t) = np.pi - angle, (np.hypot(*first), np.hypot(*second))
    own, mixed = rest + np.sin(angle) * np.cos(angle), np.sin(angle) + rest * np.cos(angle)
    same(orthants.angle(first, second, EYE), angle)
    same([found.probability, found.ss / s**2, found.st / s / t, found.tt / t**2], np.array([rest, own, mixed, own]) / 2 / np.pi)


def test_moments_of_opposed_weights_are_positive_and_of_a_line_half_a_gaussians():
    assert min(orthants.orthant_moments([1, 0], [-1, 1e-12], EYE)) > 0
    same(orthants.orthant_moments([1, 0, 0], [0, 1, 0], np.ones((3, 3))), [0.5] * 4)


@pytest.mark.parametrize("gain", [1e-90, 1e-8, 1e6, 1e8, 1e90])
def test_covariance_of_saturated_signals(gain):
    with mp.workdps(250):
        s = 2 * mp.mpf(gain) ** 2 / (1 + 2 * mp.mpf(gain) ** 2)
        expected = [float(mp.asin(s * mp.exp(-(mp.mpf(min(d, 8 - d)) ** 2))) / mp.asin(s)) for d in range(8)]
    same(localization.nlgp_covariance(8, 1, gain)[0], expected, atol=1e-15)
    same(localization.nlgp_covariance(8, 1e90, gain), np.ones((8, 8)))


@pytest.mark.parametrize("one, zero, ratio", [(1, 0, 1), (0, 1, 0), (1e-90, 1e-90, 0.5), (1e-12, 1, 1e-12 / (1 + 1e-12))])
def test_fixed_points_of_one_neuron(one, zero, ratio):
    found = localization.fixed_points(one * np.eye(3), zero * np.eye(3))
    same([found.ratio, found.loss], [[ratio] * 3, [0.25 - ratio / (4 * np.pi)] * 3])


@pytest.mark.parametrize("size", [1e-90, 1, 1e90])
def test_loss_and_flow_of_weights_of_any_size(size):
    same(localization.relu_loss([[size, 0], [-size, 0]], EYE, EYE), size**2 / 8 - size / np.sqrt(8 * np.pi) + 0.25)
    same(localization.relu_flow([[size, 0]], EYE, EYE)[0, 0], 1 / np.sqrt(8 * np.pi) - size / 2)


@pytest.mark.parametrize("size", [1, 1e-90, 1e90])
def test_gated_networks_at_the_latest_times(size):
    a, b = size * np.diag([2.0, 1e-6, 0]), size * np.array([1, 1e-6, 0])
    path = gated_linear.gdln_trajectory([[1, 2, 3]], a, b, [0, 1e307, 1.7e308])[:, 0]
    same(path, [[1, 2, 3], [0.5, 1, 3], [0.5, 1, 3]])
    same(gated_linear.gdln_limit([[1, 2, 3]], a, b), path[1:2])


def test_gated_networks_at_the_earliest_times():
    times = np.array([1e-300, 1e-12, 1, 1e7])
    found = gated_linear.gdln_trajectory([[0, 0]], np.diag([2.0, 1e-6]), np.array([1, 1e-6]), times)[:, 0]
    same(found, np.stack([0.5 * -np.expm1(-2 * times), -np.expm1(-1e-6 * times)], axis=1))
    same(gated_linear.gdln_trajectory([[0]], [[1e-160]], [1], [1e-160, 1e-90])[:, 0, 0], [1e-160, 1e-90])


# --- the rest


@pytest.mark.parametrize(
    "kernel, waves", list(product((practice.LAPLACIAN, practice.PRINTED_LAPLACIAN), ((1e-8, 0), (1e-12, 1e-10))))
)
def test_power_of_long_waves(kernel, waves):
    with mp.workdps(100):
        across, down = map(mp.cos, map(mp.mpf, waves))
        expected = float((mp.mpf(kernel[1, 1]) - across - down - across * down) ** 2)
    same(practice.power_response(kernel, *waves), expected)


BALANCES = (0, 1e-12, -1e-12, 1, -1, 1e6, -1e6, 1e90, -1e90)


@pytest.mark.parametrize("balance, size", list(product(BALANCES, (1e-90, 1e-6, 1, 1e6, 1e90))))
def test_how_far_kernels_turn(balance, size):
    for cosine in (0, 1, -1, 0.5):
        found = synthesis.neuron_kernel_distance(balance, size, cosine), synthesis.twin_kernel_distance(balance, size)
        # half the square of a difference that is right to 1e-16
        same(found, references.turned_kernels(balance, size, cosine), 1e-9, 1e-24)


@pytest.mark.parametrize(
    "a, w, target, expected",
    [
        (1e-160, [0, 1e-160], [3, 4], (0, 0, 0.8, 5)),
        (1e90, [1e90], [1e-50], (0, 1e230, 1, 1e-50)),
        (-1, [3e-200, 4e-200], [3e-200, 4e-200], (1e199, 1, -1, 5e-200)),
    ],
)
def test_coordinates_of_a_neuron(a, w, target, expected):
    same(synthesis.coordinates(synthesis.Neuron(a, np.array(w, float), np.array(target, float), 1, 1)), expected)


@pytest.mark.parametrize(
    "balance, size, cosine, times",
    [(1e6, 1, 0, (0, 1e-6, 1)), (-1e6, 1, 0, (0, 1e-6, 1)), (0, 1e-90, 0.5, (0, 100, 300)), (1e80, 1e-80, 0, (0, 1e-81))],
)
def test_course_in_the_plane(balance, size, cosine, times):
    a, *w = references.neuron_start(size * np.array([cosine, np.sqrt(1 - cosine**2)]), 2 * balance)
    rows = references.neuron_path(a, w, [1, 0], times)
    same(synthesis.course(balance, size, cosine, times), rows[:, :1] * rows[:, 1:], 1e-10, 1e-280)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: products.time_to_reach(5e-311, 1e-310, 3, 1e-311), "range of floats"),
        (lambda: products.max_learning_rate(1e-99, 1e-3), "range"),
        (lambda: products.flow([1e90] * 3, 1, [1]), "followed"),
        (lambda: two.Pair(1, 1e-200, 1, 1), "at least 1e-100"),
        (lambda: two.high_low(1e-310, 0, two.Pair(*UNIT)), "at least 1e-100"),
        (lambda: two.final_distance2(1, 1, two.Pair(1e90, 1, 1e-90, 1e90)), "range of floats"),
        (lambda: piecewise_linear.direction_rate(1e-310, 1), "range of floats"),
        (lambda: piecewise_linear.alignment_phase(np.ones(2), 1.0, np.eye(2)[0], [711]), "range of floats"),
        (lambda: orthants.angle([1e-200, 0], [0, 1e-200], EYE), "at least 1e-100"),
        (lambda: localization.ring_spectrum(1e-12 * np.array([[1, 0.5, 0.4], [0.2, 1, 0.7], [0.1, 0.4, 1]])), "circulant"),
        (lambda: synthesis.coordinates(synthesis.Neuron(1e90, np.array([1.0]), np.array([1e-300]), 1, 1)), "range of floats"),
        (lambda: two_layer_ntk([[1e160]], [1e160], [[1.0]]), "range"),
    ],
)
def test_what_no_float_can_hold_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
