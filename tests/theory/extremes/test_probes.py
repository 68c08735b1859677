"""Every probe of `probes.py` within its tolerance, or refused as it says; flows that end with an error; sizes at random."""

import warnings
from collections import defaultdict
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory.extremes import probes, references

from lib.theory import common, linear_networks, products, two_point
from lib.theory import single_neuron as neuron

PROBES = defaultdict(list)
for probe in probes.probes():
    PROBES[probe.function].append(probe)

sizes = st.floats(-90, 90).map(lambda power: 10**power)
deltas = st.one_of(st.just(0.0), st.tuples(sizes, st.sampled_from([-1, 1])).map(np.prod))


@pytest.mark.parametrize("function", PROBES)
def test_right_or_refused(function):
    for probe in PROBES[function]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if probe.reference == "refused":
                with pytest.raises(ValueError, match=probe.expected):
                    print(f"{probe.extreme}: {probe.value()}")
            else:
                assert probes.error(probe) <= probe.tolerance, f"{probe.extreme}: {probe.value()}, want {probe.expected()}"


def test_no_probe_twice_and_none_without_a_name_in_the_library():
    names = [(probe.function, probe.extreme) for probes in PROBES.values() for probe in probes]
    assert len(set(names)) == len(names) > 500
    for function in PROBES:
        module, listed = function.split(".")
        module = import_module(f"lib.{module}" if module in ("kernels", "measures") else f"lib.theory.{module}")
        for name in listed.split(", "):
            assert callable(getattr(module, name)), f"{function}: no {name}"


def test_an_error_is_seen():
    probe = probes.Probe("f", "x", "y", lambda: [1 + 1e-9, 0], lambda: [1, 0])
    np.testing.assert_allclose(probes.error(probe), 1e-9, rtol=1e-6)
    assert probes.error(probe._replace(value=lambda: [1, 1e-290])) == pytest.approx(1e-290 / 1e-288)
    for wrong in ([1, 0, 0], [1, np.nan], [np.inf, 0]):
        assert probes.error(probe._replace(value=lambda wrong=wrong: wrong)) == np.inf


def test_a_flow_that_takes_too_long_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(common, "EVALUATIONS", 2000)
    with pytest.raises(ValueError, match=r"the flow can be followed only to [1-9].* of 1e\+06: end earlier"):
        common.integrate(lambda _, y: np.array([-y[1], y[0]]), np.array([1.0, 0.0]), np.array([0, 1e6]))


@given(
    size=st.floats(-40, 3).map(lambda power: 10**power), times=st.lists(st.sampled_from([0, 0.1, 0.5, 1]), min_size=1, max_size=4)
)
@settings(max_examples=20)
def test_integrate_is_relative_for_every_size_of_start(size, times):
    """The flow ẏ = y from any size on."""
    times = np.sort(np.array(times)) * 30
    found = common.integrate(lambda _, y: y, np.array([size, -size / 2]), times)
    np.testing.assert_allclose(found, size * np.exp(times)[:, None] * [1, -0.5], rtol=1e-9)


def test_integrate_at_time_zero_and_from_rest():
    path = common.integrate(lambda _, y: y, np.array([1e-200, 3.0]), np.zeros(2))
    np.testing.assert_array_equal(path, [[1e-200, 3.0]] * 2)
    path = common.integrate(lambda _, y: y + 1, np.zeros(1), np.array([0.0, 1.0]))
    np.testing.assert_allclose(path[:, 0], [0, np.e - 1], rtol=1e-9, atol=1e-15)


@given(a=sizes, w=sizes, target=sizes, angle=st.floats(0, 3.1), time=st.floats(-3, 3))
@settings(max_examples=40)
def test_trajectory_of_any_sizes(a, w, target, angle, time):
    start, goal = w * np.array([np.cos(angle), np.sin(angle)]), np.array([target, 0])
    times = [0, 10**time / max(target, a * a, w * w)]
    path = neuron.trajectory(a, start, goal, times)
    expected = references.neuron_path(a, start, goal, times)
    np.testing.assert_allclose(np.column_stack([path.a, path.w])[:, :2], expected[:, :2], rtol=1e-9, atol=1e-12 * max(a, w))


@given(start=sizes, target=sizes, delta=deltas, time=st.floats(-6, 3))
@settings(max_examples=40)
def test_modes_of_any_sizes_keep_their_digits(start, target, delta, time):
    times = [0, 10**time / max(target, abs(delta), start), 10**time / max(target, abs(delta))]
    found = linear_networks.singular_values([start], [target], delta, times)[:, 0]
    np.testing.assert_allclose(found, references.mode(start, target, delta, times), rtol=1e-11)


@given(h=sizes, y=sizes, target=sizes, tau=st.floats(-5, 5))
@settings(max_examples=40)
def test_final_distance_of_any_sizes(h, y, target, tau):
    constants = two_point.Pair(x=1, y=target, tau_h=1, tau_y=10**tau)
    expected = references.settled(h, y, 1, target, 1, 10**tau)
    if np.all(np.abs(expected) < 1e300):
        found = two_point.final_distance2(h, y, constants)
        np.testing.assert_allclose(found, expected[2], rtol=1e-9 if expected[0] == 0 or abs(expected[0]) > 1e-6 * h else 1e-3)


@given(start=st.floats(1e-12, 1 - 1e-12), way=st.floats(-14, 0), degree=st.sampled_from([1, 1.5, 2, 2.5, 3, 10, 1e8, 1e15]))
@settings(max_examples=40)
def test_time_of_any_way(start, way, degree):
    product = start + (1 - start) * 10**way * 0.999
    found = products.time_to_reach(product, 1, degree, start)
    np.testing.assert_allclose(found, references.time_integral(product, 1, degree, start)[0], rtol=1e-11)
