"""What the theory modules share: flows beside closed forms at
late times, past saddles, at rest; and the edges.
"""

from importlib import import_module
from pkgutil import iter_modules

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lib import theory
from lib.theory import common, gaussian_classes, linear, monomial, neuron, two_points

XTX = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.2]])


TO_H, TO_Y = np.random.default_rng(0).normal(size=(2, 2, 3)) / 5


FLOWS = {
    "monomial, two weights": lambda times: monomial.flow([1.0, 2.0], 1, times),
    "monomial, five weights": lambda times: monomial.flow([0.5, 0.4, 0.6, 0.3, 0.7], 1.2, times),
    "monomial, exponents": lambda times: monomial.flow([0.05, 0.03], 1.5, times, (2, 1)),
    "monomial, one large weight": lambda times: monomial.flow([1.0, 1e-3, 1e-3], 1.0, times),
    "two_points": lambda times: two_points.linear_flow(
        TO_H,
        TO_Y.T,
        times,
        input_difference=[1, 0.5, 0],
        target_difference=[0.7, 0.3, 0],
        tau_h=2,
        tau_y=3,
    ),
    "linear": lambda times: np.concatenate(
        [part.reshape(len(part), -1) for part in linear.flow(TO_H, TO_H, XTX, XTX, times)], axis=1
    ),
    "neuron": lambda times: np.column_stack(
        neuron.flow(0.3, [0.5, -0.2, 0.1], XTX, [0.5, 0.3, 0.1], times)[1:]
    ),
    "gaussian_classes": lambda times: gaussian_classes.relu_trajectory(TO_H, XTX, np.eye(3), times),
}


@pytest.fixture(params=FLOWS)
def followed(request, monkeypatch):
    """Return a function of times that runs a flow and returns its
    velocity, its start, its states and how often it was asked.
    """
    seen, original = {}, common.integrate

    def integrate(velocity, start, times):
        asked = []
        path = original(lambda t, state: asked.append(t) or velocity(t, state), start, times)
        seen["all"] = velocity, start, path, len(asked)
        return path

    monkeypatch.setattr(common, "integrate", integrate)
    monkeypatch.setattr(
        f"lib.theory.{request.param.split(',')[0]}.integrate", integrate, raising=False
    )
    return lambda times: (FLOWS[request.param](times), seen["all"])[1]


def test_every_flow_is_followed():
    names = [name for _, name, _ in iter_modules(theory.__path__) if name != "common"]
    modules = {name: vars(import_module(f"lib.theory.{name}")) for name in names}
    able = {
        name for name, module in modules.items() if {"integrate", "integrate_layers"} & {*module}
    }
    assert able == {name.split(",")[0] for name in FLOWS}


def test_a_late_time_costs_little_more_than_an_early_one(followed):
    *_, early = followed([0, 50, 100])
    for time in (1e4, 1e6, 1e8):
        *_, late = followed([0, time / 2, time])
        assert late < 10 * early


def test_a_flow_at_rest_is_where_another_solver_brings_it(followed):
    velocity, start, path, _ = followed([1e4, 1e6, 1e8])
    end = solve_ivp(velocity, (0, 2000), start, "RK45", rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(path, np.tile(end, (3, 1)), rtol=1e-8, atol=1e-9)


@given(
    power=st.floats(-40, 3),
    rate=st.sampled_from([-1, 1]),
    times=st.lists(st.sampled_from([0, 3, 15, 30]), min_size=1),
)
@settings(max_examples=30)
def test_growth_and_decay_keep_their_digits(power, rate, times):
    times, start = np.sort(times), 10**power * np.array([1, -0.5])
    found = common.integrate(lambda _, y: rate * y, start, times)
    np.testing.assert_allclose(
        found, start * np.exp(rate * times)[:, None], rtol=1e-9, atol=1e-13 * 10**power
    )


def test_a_start_at_zero_is_left_or_kept():
    path = common.integrate(lambda _, y: y + 1, np.zeros(1), np.array([0.0, 1.0]))
    np.testing.assert_allclose(path[:, 0], [0, np.e - 1], rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(monomial.flow([0.0, 0.0], 1, [0, 1e10]), np.zeros((2, 2)))


def test_between_its_steps_too_a_stiff_flow_has_its_digits():
    times, rates = np.linspace(0, 1000, 3001), np.array([-1, -0.01])
    path = common.integrate(lambda _, y: rates * (y - 1), np.full(2, 2.0), times)
    np.testing.assert_allclose(path, 1 + np.exp(np.outer(times, rates)), rtol=2e-10)


@pytest.mark.parametrize("time", [1, 10, 20])
def test_on_the_way_into_a_saddle_it_stays(time):
    """Exactly, where rounding cannot help: opposite weights."""
    assert np.abs(monomial.flow([1, -1], 1, [time])).max() <= 2 * np.exp(-time)


@given(x=st.floats(0.1, 1), y=st.floats(1, 2), late=st.floats(-1, 8))
@settings(max_examples=30)
def test_a_degenerate_minimum_is_neared_as_slowly_as_it_should(x, y, late):
    """For P = x²y and s = 0, u = x² and c = y² - u/2 > 0 is kept: du/dt = -4u²(c + u/2), so that
    the time is an integral of u.
    """
    end, height = monomial.flow([x, y], 0, [10**late], (2, 1))[0]
    c = y**2 - x**2 / 2

    def since(u):
        return 1 / (4 * c * u) - np.log((c + u / 2) / u) / (8 * c**2)

    np.testing.assert_allclose(since(end**2) - since(x**2), 10**late, rtol=1e-9 + 1e-12 / end)
    np.testing.assert_allclose(height, np.sqrt(c + end**2 / 2), rtol=1e-10)


@pytest.mark.parametrize(
    ("velocity", "said"),
    [
        (lambda _, y: y**2, "only to (1|0.9.*) of 2: end earlier"),
        (
            lambda _, y: np.array([-1e9 * np.sign(np.sin(1e9 * y[0]))]),
            "only to .* of 2: end earlier",
        ),
        (lambda _, y: y * np.nan, "only to 0 of 2: end earlier"),
    ],
)
def test_what_cannot_be_followed_is_refused(velocity, said, monkeypatch):
    monkeypatch.setattr(common, "EVALUATIONS", 20_000)
    with pytest.raises(ValueError, match=said):
        common.integrate(velocity, np.ones(1), np.array([2.0]))


@given(product=st.floats(1e-50, 1e50), delta=st.floats(-1e50, 1e50))
def test_layer_sizes_are_those_of_many_digits(product, delta):
    with mpmath.workdps(300):
        kappa = mpmath.sqrt(mpmath.mpf(delta) ** 2 + 4 * mpmath.mpf(product) ** 2)
        a = float(mpmath.sqrt((kappa + delta) / 2))
        w = float(mpmath.sqrt((kappa - delta) / 2))
    np.testing.assert_allclose(common.layer_sizes(product, delta), [a, w], rtol=2e-15)
