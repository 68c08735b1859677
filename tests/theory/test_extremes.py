"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import numpy as np
import pytest
import references
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp
from references import magnitudes, same

from lib.theory import gaussian_classes, monomial, neuron, orthants, two_points

EYE = np.eye(2)


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
    rtol = (
        1e-10 if w0[0] == -1 - 1e-12 else 1e-12
    )  # the start's distance from the separatrix has four digits
    same(
        solved(a0, w0, [target, 0], times), references.neuron_path(a0, w0, [target, 0], times), rtol
    )


@given(
    a=magnitudes, w=magnitudes, target=magnitudes, angle=st.floats(0, 3.1), time=st.floats(-3, 3)
)
@settings(max_examples=40)
def test_neuron_trajectory_of_any_sizes(a, w, target, angle, time):
    assume(abs(np.log(a / w)) > 1e-3)  # a difference of equal squares is their rounding
    args = (
        a,
        w * np.array([np.cos(angle), np.sin(angle)]),
        [target, 0],
        [0, 10**time / max(target, a * a, w * w)],
    )
    same(solved(*args)[:, :2], references.neuron_path(*args)[:, :2], 1e-9, 1e-12 * max(a, w))


def test_neuron_trajectory_at_the_latest_times():
    end = references.neuron_path(1, [0.3, 1], [1, 0.5], [100])
    same(solved(1, [0.3, 1], [1, 0.5], [1e6, 1e300, 1.7e308]), np.tile(end, (3, 1)))
    np.testing.assert_array_equal(solved(1, [-1, 0], [1, 0], [1e300]), np.zeros((1, 3)))


UNIT = 1, 1, 1, 1


@given(h=magnitudes, y=magnitudes, target=magnitudes, tau=st.floats(-5, 5))
@settings(max_examples=40)
def test_final_distance_of_any_sizes(h, y, target, tau):
    high, low, end = references.final_distance(h, y, 1, target, 1, 10**tau)
    assume(max(abs(high), low) < 1e300)
    assume(max(abs(high), low) > 1e-6 * h)  # a difference of equal numbers is their rounding
    same(two_points.final_distance2(h, y, two_points.Pair(1, target, 1, 10**tau)), end, 1e-9)


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
    pair, expected = two_points.Pair(*constants), references.final_distance(h, y, *constants)
    same(
        [*two_points.high_low(h, y, pair), two_points.final_distance2(h, y, pair)],
        expected,
        atol=1e-290,
    )


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
    found = two_points.solve(h, y, w, times, two_points.Pair(*constants))
    expected = references.two_point_path(h, y, w, *constants, np.minimum(times, 1e7))
    same(np.column_stack([found.dh2, found.dy2]), expected, 1e-10)


@pytest.mark.parametrize(
    "first, second, angle", [([1, 0], [1, 1e-90], 1e-90), ([1e90, 0], [1e-90, 1e-90], np.pi / 4)]
)
def test_angles_and_moments(first, second, angle):
    found = orthants.orthant_moments(first, second, EYE)
    rest, (s, t) = np.pi - angle, (np.hypot(*first), np.hypot(*second))
    own, mixed = rest + np.sin(angle) * np.cos(angle), np.sin(angle) + rest * np.cos(angle)
    same(orthants.angle(first, second, EYE), angle)
    same(
        [found.probability, found.ss / s**2, found.st / s / t, found.tt / t**2],
        np.array([rest, own, mixed, own]) / 2 / np.pi,
    )


def test_moments_of_opposed_weights_are_positive():
    assert min(orthants.orthant_moments([1, 0], [-1, 1e-12], EYE)) > 0
    same(orthants.orthant_moments([1, 0, 0], [0, 1, 0], np.ones((3, 3))), [0.5] * 4)


@pytest.mark.parametrize("gain", [1e-90, 1e-8, 1e6, 1e8, 1e90])
def test_covariance_of_saturated_signals(gain):
    with mp.workdps(250):
        s = 2 * mp.mpf(gain) ** 2 / (1 + 2 * mp.mpf(gain) ** 2)
        expected = [
            float(mp.asin(s * mp.exp(-(mp.mpf(min(d, 8 - d)) ** 2))) / mp.asin(s)) for d in range(8)
        ]
    same(gaussian_classes.nlgp_covariance(8, 1, gain)[0], expected, atol=1e-15)
    same(gaussian_classes.nlgp_covariance(8, 1e90, gain), np.ones((8, 8)))


@pytest.mark.parametrize("size", [1e-90, 1, 1e90])
def test_loss_and_flow_of_weights_of_any_size(size):
    same(
        gaussian_classes.relu_loss([[size, 0], [-size, 0]], EYE, EYE),
        size**2 / 8 - size / np.sqrt(8 * np.pi) + 0.25,
    )
    same(gaussian_classes.relu_flow([[size, 0]], EYE, EYE)[0, 0], 1 / np.sqrt(8 * np.pi) - size / 2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: monomial.flow([1e90] * 3, 1, [1]), "followed"),
        (lambda: two_points.Pair(1, 1e-200, 1, 1), "at least 1e-100"),
        (lambda: two_points.high_low(1e-310, 0, two_points.Pair(*UNIT)), "at least 1e-100"),
        (
            lambda: two_points.final_distance2(1, 1, two_points.Pair(1e90, 1, 1e-90, 1e90)),
            "range of floats",
        ),
        (lambda: orthants.angle([1e-200, 0], [0, 1e-200], EYE), "at least 1e-100"),
    ],
)
def test_what_no_float_can_hold_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
