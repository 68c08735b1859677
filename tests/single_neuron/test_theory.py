"""Basins, potential and interpolator of a neuron against a
tight ODE solver, many digits and autograd.
"""

import numpy as np
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from neurons import deltas, integrate, off, printed_potential, rates, start_with, white
from references import growing_mode, neuron_path, seeds, signs

from book.single_neuron import theory
from lib.kernels import kernel_distance
from lib.theory import neuron

# The conserved quantity is known to this, relative to |w|²; it
# decides how well starts near a separatrix are resolved.
LONG = np.finfo(np.longdouble).eps < 1e-18


def separatrix(rng, d, delta):
    """Draw a0, w0 and beta_star on the saddle's stable manifold: w0·β* + a0 λ₊ = 0."""
    beta_star, a0 = rng.normal(size=d), rng.normal()
    s = np.linalg.norm(beta_star)
    along = -a0 * (delta + np.hypot(delta, 2 * s)) / 2 / s
    basis = np.linalg.qr(np.column_stack([beta_star, rng.normal(size=d)]))[0]
    return a0, along / s * beta_star + np.sqrt(a0**2 - delta - along**2) * basis[:, 1], beta_star


@settings(max_examples=25)
@given(
    seed=seeds,
    d=st.sampled_from([1, 2, 5, 1000]),
    delta=st.sampled_from([0, 1e-9, -1e-9, 1e-4, -1e-4, 1e3, -1e3]),
    sign=signs,
)
def test_trajectory_keeps_its_digits_against_the_target(seed, d, delta, sign):
    """Exactly opposed to β*, p nearly cancels, and the flow
    waits at the saddle: no solver can follow this.
    """
    rng = np.random.default_rng(seed)
    beta_star = rng.normal(size=d)
    assume(np.linalg.norm(beta_star) > 0.1)
    a0 = sign * (np.sqrt(max(delta, 0)) + rng.uniform(0.2, 2))
    w0 = -np.sign(a0) * np.sqrt(a0**2 - delta) * beta_star / np.linalg.norm(beta_star)
    times = np.array([0, 0.1, 1, 10, 30, 100 + 100 * abs(delta)]) / np.linalg.norm(beta_star)
    if delta == 0:
        times = times[:3]  # rounding decides later on
    rows = neuron_path(a0, w0, beta_star, times)
    assert off(neuron.trajectory(a0, w0, beta_star, times), rows) < (1e-9 if LONG else 1e-5)
    assert delta == 0 or theory.basin(a0, w0, beta_star) == np.sign(delta) * sign


@settings(max_examples=40)
@given(seed=seeds, d=st.integers(1, 5), delta=deltas, sign=signs, eta_a=rates, eta_w=rates)
def test_basin_is_the_final_sign_of_a(seed, d, delta, sign, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a0, w0 = start_with(rng, d, delta, sign)
    a0, w0, beta_star = a0 / np.sqrt(eta_w), w0 / np.sqrt(eta_a), rng.normal(size=d)
    scale = np.sqrt(eta_a * eta_w)
    s = np.linalg.norm(beta_star) * scale
    p = growing_mode(a0 * np.sqrt(eta_w), w0 * np.sqrt(eta_a), beta_star * scale)
    assume(s > 0.2 and abs(p) > 1e-4)
    time = 30 / (delta / 2 + np.hypot(delta / 2, s))
    end = integrate(a0, w0, white(beta_star), [0, time], eta_a, eta_w)[-1]
    assert theory.basin(a0, w0, beta_star, eta_a, eta_w) == np.sign(end[0])


@given(seed=seeds, d=st.integers(2, 6), delta=st.floats(-5, -0.3), eta_a=rates, eta_w=rates)
def test_the_separatrix_ends_in_the_saddle(seed, d, delta, eta_a, eta_w):
    a0, w0, beta_star = separatrix(np.random.default_rng(seed), d, delta)
    s = np.linalg.norm(beta_star)
    assume(s > 0.2)
    start = a0 / np.sqrt(eta_w), w0 / np.sqrt(eta_a), beta_star / np.sqrt(eta_a * eta_w)
    assert theory.basin(*start, eta_a, eta_w) == 0
    time = 60 / (np.hypot(delta, 2 * s) - delta)
    path = neuron.trajectory(*start, [time, 1e6], eta_a, eta_w)
    np.testing.assert_allclose(path.a, 0, atol=1e-9)
    np.testing.assert_allclose(path.w @ beta_star, 0, atol=1e-9 * s)
    np.testing.assert_allclose(eta_a * np.sum(path.w**2, axis=1), -delta, rtol=1e-12)


@pytest.mark.parametrize(
    "a0, w0, basin",
    [
        (1.0, [-0.6, -0.8], 0),  # balanced and exactly opposed: S⁺ as printed, the saddle in truth
        (-1.0, [0.6, 0.8], 0),
        (1.0 + 1e-13, [-0.6, -0.8], 1),
        (1.0 - 1e-13, [-0.6, -0.8], -1),
        (0.0, [0.0, 0.0], 0),
        (0.0, [0.8, -0.6 + 1e-12], 1),
        (0.0, [0.8, -0.6 - 1e-12], -1),
        (-1e-12, [0.0, 0.0], -1),
    ],
)
def test_basin_of_the_saddle_is_only_the_saddles(a0, w0, basin):
    for unit in (1e-4, 1.0, 1e4):
        assert theory.basin(unit * a0, unit * np.array(w0), unit**2 * np.array([0.6, 0.8])) == basin
    assert theory.basin(0.0, [0.8, 0.0], [0.0, 1.0]) == 0


def printed_potential_at_zero(delta):
    return -delta * np.sqrt(2 * delta) / 3 if delta > 0 else 0.0


@given(seed=seeds, d=st.integers(1, 5), delta=deltas)
@example(seed=1, d=3, delta=0.0)
def test_potential_is_the_one_printed(seed, d, delta):
    beta = torch.tensor(np.random.default_rng(seed).normal(size=d), requires_grad=True)
    assume(torch.linalg.norm(beta) > 0.1)
    value = printed_potential(beta, delta)
    value.backward()
    expected = value.item() - printed_potential_at_zero(delta)
    np.testing.assert_allclose(theory.potential(beta.detach(), delta), expected, rtol=1e-11)
    np.testing.assert_allclose(
        theory.potential_gradient(beta.detach(), delta), beta.grad, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("delta", [-2.0, 0.0, 2.0])
def test_potential_starts_at_zero_and_takes_stacks(delta):
    betas = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, -2.0]])
    assert theory.potential(betas[0], delta) == 0
    assert theory.potential(betas, delta).shape == (3,)
    np.testing.assert_array_equal(theory.potential_gradient(betas, delta)[0], [0, 0])
    single = [theory.potential_gradient(beta, delta) for beta in betas]
    np.testing.assert_allclose(theory.potential_gradient(betas, delta), single)


@st.composite
def problems(draw, dimensions=(1, 6), least_hidden=0):
    """Draw XᵀX with a null space of any dimension, white or not
    where it sees, Xᵀy in its range, and a generator.
    """
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(*dimensions))
    hidden = draw(st.integers(min(least_hidden, d), d))
    strengths = (
        rng.uniform(0.6, 1.6, d - hidden) if draw(st.booleans()) else np.full(d - hidden, 1.2)
    )
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    xtx = q @ np.diag(np.append(strengths, np.zeros(hidden))) @ q.T
    xtx = (xtx + xtx.T) / 2
    base = q[:, : d - hidden] @ rng.normal(size=d - hidden)
    assume(hidden == d or np.linalg.norm(base) > 0.5)
    return rng, xtx, xtx @ base


def ends(a0, w0, xtx, xty, time=1000.0):
    """Return the function at the end of the integrated flow, and whether a changed its sign."""
    start, end = integrate(a0, w0, lambda beta: xtx @ beta - xty, [0, time], method="LSODA")
    beta = end[0] * end[1:]
    assert np.linalg.norm(xtx @ beta - xty) < 1e-9
    return beta, start[0] * end[0] < 0


@pytest.mark.parametrize("delta", [-2.0, 0.0, 1.0])
def test_interpolator_is_where_the_flow_ends(delta):
    turned = []

    @settings(max_examples=60)
    @given(problem=problems(), sign=signs)
    def compare(problem, sign):
        rng, xtx, xty = problem
        assume(
            delta != 0 or len(xty) > 1
        )  # in one dimension a balanced neuron that is opposed ends in the saddle
        a0, w0 = start_with(rng, len(xty), delta, sign)
        end, turns = ends(a0, w0, xtx, xty)
        np.testing.assert_allclose(theory.interpolator(xtx, xty, a0, w0), end, atol=1e-9)
        turned.append(turns)

    compare()
    assert any(turned) == (delta < 0)


@settings(max_examples=40)
@given(problem=problems((2, 6), 1), delta=st.sampled_from([-2.0, -0.3, 0.0, 1.5]), sign=signs)
def test_the_argmin_is_the_interpolator_or_its_mirror_image(problem, delta, sign):
    """Theorem 1 holds for any null space while a keeps its
    sign; afterwards it holds for the start -β0.
    """
    rng, xtx, xty = problem
    assume(np.any(xty != 0))
    a0, w0 = start_with(rng, len(xty), delta, sign)
    end = theory.interpolator(xtx, xty, a0, w0)
    _, turns = ends(a0, w0, xtx, xty)
    found = theory.nearest_in_bregman(xtx, xty, -a0 * w0 if turns else a0 * w0, delta)
    np.testing.assert_allclose(found, end, atol=1e-6)


@pytest.mark.parametrize("a0, end", [(2.0, np.sqrt(3)), (-2.0, -np.sqrt(3)), (0.5, 0.0)])
def test_interpolator_of_no_target_unlearns_what_is_seen(a0, end):
    """With Xᵀy = 0 the visible weights or the output weight decay, whichever is smaller."""
    found = theory.interpolator(np.diag([1.0, 0.0]), [0.0, 0.0], a0, [1.0, 1.0])
    np.testing.assert_allclose(found, [0, end], atol=1e-15)


@pytest.mark.parametrize("a0, w1, a_end", [(0.0, 100.0, 1e-8), (1.0, 0.0, 1.0)])
def test_interpolator_keeps_its_digits(a0, w1, a_end):
    """Far downstream a∞² ≈ |β*|²/|δ + k²|, far upstream δ + k², the roots of a quadratic."""
    end = theory.interpolator(np.diag([1.0, 0.0]), [1e-6, 0.0], a0, [w1, 3.0])
    np.testing.assert_allclose(end, [1e-6, 3 * a_end], rtol=1e-11)


@pytest.mark.parametrize("tilt", [1e-9, -1e-9])
def test_interpolator_waits_at_a_saddle(tilt):
    xtx, xty, w0 = np.diag([1.0, 4.0, 0.0]), np.array([-1.0, 0.0, 0.0]), np.array([tilt, 1.0, 0.5])
    end, _ = ends(0.0, w0, xtx, xty)
    assert np.sign(end[2]) == -np.sign(tilt)
    for unit in (1e-6, 1.0, 1e6):
        found = theory.interpolator(unit * xtx, unit * xty, 0.0, w0)
        np.testing.assert_allclose(found, end, atol=1e-8)


def test_interpolator_minds_the_strengths():
    """The same solution set and start end on opposite sides, for the strong direction wins."""
    a0, w0, base, found = 0.2, np.array([-1.0, 1.5, 0.5]), np.array([1.0, 1 / 3, 0.0]), []
    for xtx in (np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 9.0, 0.0])):
        found.append(theory.interpolator(xtx, xtx @ base, a0, w0))
        np.testing.assert_allclose(found[-1], ends(a0, w0, xtx, xtx @ base)[0], atol=1e-8)
    assert found[0][2] < 0 < found[1][2]


def test_interpolator_leaves_a_minimum_where_it_is():
    end = theory.interpolator(np.diag([1.0, 2.0, 0.0]), [-1.0, 0.0, 0.0], -0.5, [2.0, 0.0, 0.3])
    np.testing.assert_allclose(end, [-1.0, 0.0, -0.15], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("strong", [1.0, 9.0])
def test_interpolator_does_not_know_the_unit_of_the_data(unit, strong):
    rotation = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2)[0]
    xtx = rotation @ np.diag([1.0, strong, 0.0]) @ rotation.T
    xtx = (xtx + xtx.T) / 2
    a0, w0, xty = 0.2, rotation @ [-1.0, 1.5, 0.5], xtx @ rotation @ [1.0, 1 / 3, 0.0]
    found = theory.interpolator(unit * xtx, unit * xty, a0, w0)
    np.testing.assert_allclose(found, theory.interpolator(xtx, xty, a0, w0), rtol=1e-9)


@pytest.mark.parametrize(
    "strengths, a0, w0",
    [
        ([1.0, 1.0, 0.0], 1.0, [-1.0, 0.0, 0.5]),  # exactly opposed in the visible directions
        ([1.0, 1.0, 0.0], 0.0, [0.0, 1.0, 0.5]),  # at rest
        ([1.0, 2.0, 0.0], 1.0, [-1.0, 0.0, 0.5]),
        ([1.0, 2.0, 0.0], 0.0, [0.0, 1.0, 0.5]),
    ],
)
def test_interpolator_refuses_a_saddle(strengths, a0, w0):
    with pytest.raises(ValueError, match="saddle"):
        theory.interpolator(np.diag(strengths), [1.0, 0.0, 0.0], a0, w0)


EYE, ONES = np.eye(2), np.ones(2)


SEEN, TWO = np.diag([1.0, 0.0]), np.array([2.0, 0.0])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: theory.nearest_in_bregman(SEEN, ONES, ONES, 1), "not in the range"),
        (lambda: theory.nearest_in_bregman(1e-9 * SEEN, 1e-9 * ONES, ONES, 1), "not in the range"),
        (lambda: theory.interpolator(np.zeros((2, 2)), ONES, 1, ONES), "not in the range"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("delta", "largest"), [(4, 0.007), (0, 0.126), (-1, 0.309)])
def test_how_far_the_path_lies_from_a_straight_line(delta, largest):
    times = np.append(0, np.geomspace(1e-3, 1e3, 4000))
    for d in (2, 97):
        weights = neuron.initialize(-np.eye(d)[0], delta)
        beta = neuron.trajectory(*weights, np.eye(d)[1], times).beta
        gap = np.abs(beta[:, 1] - beta[:, 0] - 1).max() / np.sqrt(2)
        assert gap == pytest.approx(largest, abs=5e-4)


@pytest.mark.parametrize(("delta", "units"), [(2, 1.22), (4, 1.15), (6, 1.13), (8, 1.12)])
def test_half_times_upstream_in_units_of_the_rate(delta, units):
    times = np.linspace(0, 3, 30_001)
    beta = neuron.trajectory(*neuron.initialize([-1.0, 0.0], delta), [0.0, 1.0], times).beta
    m = neuron.preconditioner(beta, delta)
    moved = kernel_distance(m[0], m)
    half = times[np.argmax(moved >= moved[-1] / 2)]
    assert half * np.hypot(delta, 2) == pytest.approx(units, abs=5e-3)
