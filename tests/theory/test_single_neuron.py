"""The single neuron's closed forms against a tight ODE solver, many digits, autograd and plain linear algebra."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from theory.references import growing_mode, neuron_path, seeds, signs

from lib.theory import single_neuron as neuron

rates = st.floats(0.2, 5)
deltas = st.one_of(st.just(0.0), st.floats(-4, 4))
# The conserved quantity is known to this, relative to |w|²; it decides how well starts near a separatrix are resolved.
LONG = np.finfo(np.longdouble).eps < 1e-18


def white(beta_star):
    """Return ∂L/∂β for data with XᵀX = I."""
    return lambda beta: beta - beta_star


def integrate(a0, w0, slope, times, eta_a=1.0, eta_w=1.0, method="DOP853"):
    """Solve the flow numerically, each time a solver's step, (T, 1 + d) rows of a and w."""

    def velocity(_, state):
        a, w = state[0], state[1:]
        g = slope(a * w)
        return np.append(-eta_a * np.dot(w, g), -eta_w * a * g)

    rows = [np.append(float(a0), w0)]
    for start, stop in pairwise(times):
        rows.append(solve_ivp(velocity, (start, stop), rows[-1], method, rtol=1e-13, atol=1e-15).y[:, -1])
    return np.array(rows)


def off(path, rows):
    """Return the largest distance of a trajectory from rows of a and w, relative to their norm."""
    return np.max(np.linalg.norm(np.column_stack([path.a, path.w]) - rows, axis=1) / np.linalg.norm(rows, axis=1))


def start_with(rng, d, delta, sign=1):
    """Draw a0 and w0 with a0² - |w0|² = delta."""
    a0 = np.sqrt(max(delta, 0) + rng.uniform(0.1, 1.5))
    w0 = rng.normal(size=d)
    return sign * a0, w0 / np.linalg.norm(w0) * np.sqrt(a0**2 - delta)


def separatrix(rng, d, delta):
    """Draw a0, w0 and beta_star on the saddle's stable manifold: w0·β* + a0 λ₊ = 0."""
    beta_star, a0 = rng.normal(size=d), rng.normal()
    s = np.linalg.norm(beta_star)
    along = -a0 * (delta + np.hypot(delta, 2 * s)) / 2 / s
    basis = np.linalg.qr(np.column_stack([beta_star, rng.normal(size=d)]))[0]
    return a0, along / s * beta_star + np.sqrt(a0**2 - delta - along**2) * basis[:, 1], beta_star


# --- the trajectory


@settings(max_examples=40)
@given(
    seed=seeds,
    d=st.one_of(st.integers(1, 8), st.just(1000)),
    target=st.sampled_from([0, 1]),
    sign=signs,
    eta_a=rates,
    eta_w=rates,
)
def test_trajectory_matches_the_ode(seed, d, target, sign, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a0, w0, beta_star = sign * rng.uniform(0, 2), rng.normal(size=d) / np.sqrt(d), target * rng.normal(size=d) / np.sqrt(d)
    assume(target == 0 or np.linalg.norm(beta_star) > 0.05)
    times = [0, 0.2, 1, 3]
    path = neuron.trajectory(a0, w0, beta_star, times, eta_a, eta_w)
    assert off(path, integrate(a0, w0, white(beta_star), times, eta_a, eta_w)) < 1e-9
    np.testing.assert_allclose(path.beta, path.a[:, None] * path.w)


TARGET = np.array([0.6, -1.2, 0.3])


@pytest.mark.parametrize(
    "a0, w0",
    [
        (0.0, [0.5, 0.2, -0.1]),  # also: a leaves 0 with a slope of w·β*
        (0.0, [-0.5, -0.2, 0.1]),
        (0.7, [0.0, 0.0, 0.0]),
        (0.7, 0.9 * TARGET),
        (0.7, -0.2 * TARGET),  # antiparallel, upstream: a stays positive
        (0.7, -0.9 * TARGET),  # antiparallel, downstream: a changes sign
        (1.0, [0.6, 0.8, 0.0]),  # balanced
        (0.3, [-0.1, 0.9, 0.4]),  # a changes sign
        (-0.3, [0.1, -0.9, -0.4]),
        (np.sqrt(1001), [0.6, -0.8, 0.0]),  # δ = ±1000
        (-0.5, np.sqrt(1000.25) * np.array([0.6, 0.0, 0.8])),
        (0.5, np.sqrt(1000.25) * TARGET / np.linalg.norm(TARGET)),
        (2.0, 1.4 / 1.89 * TARGET + np.sqrt((2 - 1.96 / 1.89) / 5) * np.array([2.0, 1.0, 0.0])),  # m = 0: ν stays
    ],
)
def test_trajectory_matches_the_ode_at_the_edges(a0, w0):
    times = np.array([0, 0.1, 0.5, 2, 6])
    assert off(neuron.trajectory(a0, w0, TARGET, times), integrate(a0, w0, white(TARGET), times)) < 1e-9


@settings(max_examples=25)
@given(
    seed=seeds,
    d=st.sampled_from([1, 2, 5, 1000]),
    delta=st.sampled_from([0, 1e-9, -1e-9, 1e-4, -1e-4, 1e3, -1e3]),
    sign=signs,
)
def test_trajectory_keeps_its_digits_against_the_target(seed, d, delta, sign):
    """Exactly opposed to β*, p nearly cancels, and the flow waits at the saddle: no solver can follow this."""
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
    assert delta == 0 or neuron.basin(a0, w0, beta_star) == np.sign(delta) * sign


@given(seed=seeds, delta=st.sampled_from([1e3, -1e3, 1.0, 0.0, -1.0]), sign=signs, eta_a=rates, eta_w=rates)
def test_trajectory_neither_overflows_nor_drifts(seed, delta, sign, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    beta_star = rng.normal(size=3)
    assume(np.linalg.norm(beta_star) > 0.3)
    a0, w0 = start_with(rng, 3, delta, sign)
    times = np.geomspace(1e-3, 1e6, 40)
    path = neuron.trajectory(a0 / np.sqrt(eta_w), w0 / np.sqrt(eta_a), beta_star, times, eta_a, eta_w)
    assert np.all(np.isfinite(path.a)) and np.all(np.isfinite(path.w))
    np.testing.assert_allclose(path.beta[-1], beta_star, rtol=1e-9, atol=1e-12)
    kept = neuron.conserved(path.a, path.w, eta_a, eta_w)
    np.testing.assert_allclose(kept, delta, rtol=1e-11, atol=1e-11)


def test_conserved_is_the_difference_of_scaled_squares():
    np.testing.assert_allclose(neuron.conserved([2.0, 1.0], [[1.0, 3.0], [0.0, 1.0]], eta_a=2.0, eta_w=5.0), [0.0, 3.0])


@given(seed=seeds, d=st.integers(1, 5), size=st.floats(1e-6, 1e3), delta=deltas)
def test_initialize_computes_beta_with_the_wanted_delta(seed, d, size, delta):
    beta0 = size * np.random.default_rng(seed).normal(size=d)
    a0, w0 = neuron.initialize(beta0, delta)
    assert a0 > 0
    np.testing.assert_allclose(a0 * w0, beta0, rtol=1e-14)
    np.testing.assert_allclose(neuron.conserved(a0, w0), delta, rtol=1e-13, atol=1e-13 * a0**2)


# --- basins and the saddle between them


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
    assert neuron.basin(a0, w0, beta_star, eta_a, eta_w) == np.sign(end[0])


@given(seed=seeds, d=st.integers(2, 6), delta=st.floats(-5, -0.3), eta_a=rates, eta_w=rates)
def test_the_separatrix_ends_in_the_saddle(seed, d, delta, eta_a, eta_w):
    a0, w0, beta_star = separatrix(np.random.default_rng(seed), d, delta)
    s = np.linalg.norm(beta_star)
    assume(s > 0.2)
    start = a0 / np.sqrt(eta_w), w0 / np.sqrt(eta_a), beta_star / np.sqrt(eta_a * eta_w)
    assert neuron.basin(*start, eta_a, eta_w) == 0
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
        assert neuron.basin(unit * a0, unit * np.array(w0), unit**2 * np.array([0.6, 0.8])) == basin
    assert neuron.basin(0.0, [0.8, 0.0], [0.0, 1.0]) == 0


# --- any data


@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 4), d=st.integers(1, 4), eta_a=rates, eta_w=rates)
def test_flow_follows_autograd(seed, n, d, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    x, y, w0, a0 = rng.normal(size=(n, d)) / 2, rng.normal(size=n), rng.normal(size=d), rng.normal()

    def velocity(_, state):
        a, w = torch.tensor(state[:1], requires_grad=True), torch.tensor(state[1:], requires_grad=True)
        (0.5 * torch.sum((torch.tensor(x) @ (a * w) - torch.tensor(y)) ** 2)).backward()
        return -np.append(eta_a * a.grad.numpy(), eta_w * w.grad.numpy())

    ode = solve_ivp(velocity, (0, 1), np.append(a0, w0), "DOP853", [0.4, 1.0], rtol=1e-9, atol=1e-11)
    assert off(neuron.flow(a0, w0, x.T @ x, x.T @ y, [0.4, 1.0], eta_a, eta_w), ode.y.T) < 1e-7


@pytest.mark.parametrize("size, times", [(1e-6, [10, 12, 14]), (1e-30, [40, 62, 80])])
def test_flow_follows_the_escape_from_a_small_start(size, times):
    start, beta_star = (size, size * np.array([2, -3])), np.array([1.0, 0.5])
    exact = neuron.trajectory(*start, beta_star, times)
    assert off(neuron.flow(*start, np.eye(2), beta_star, times), np.column_stack([exact.a, exact.w])) < 1e-6


@settings(max_examples=30)
@given(seed=seeds, near=st.floats(-8, -1), side=st.sampled_from([-1, 1]), size=st.floats(-6, 0.5))
def test_a_neuron_passes_its_saddle_on_the_right_side(seed, near, side, size):
    rng = np.random.default_rng(seed)
    beta = rng.normal(size=3)
    beta /= np.linalg.norm(beta)
    a0 = 10**size
    w0, times = -a0 * (1 + side * 10**near) * beta, [0, 1, 5, 10, 20, 100, 1e7]
    path, exact = neuron.flow(a0, w0, np.eye(3), beta, times), neuron.trajectory(a0, w0, beta, times)
    np.testing.assert_allclose(path.beta, exact.beta, atol=1e-11 / 10**near)
    assert np.sign(path.a[-1]) == -side


def test_flow_at_time_zero_is_the_start():
    path = neuron.flow(0.3, [0.4, -0.5], np.eye(2), [1.0, 1.0], [0.0])
    np.testing.assert_allclose(np.append(path.a, path.w), [0.3, 0.4, -0.5], rtol=1e-15)


# --- geometry


@given(seed=seeds, d=st.integers(1, 6), size=st.floats(1e-3, 1e3), ratio=st.floats(1e-3, 1e3))
def test_preconditioner_is_the_tangent_kernel(seed, d, size, ratio):
    """∂β/∂(a, w) = (w, a I), so the kernel on white data is a² I + w wᵀ."""
    rng = np.random.default_rng(seed)
    a, w = rng.normal(size=4) * size, rng.normal(size=(4, d)) * size * ratio
    w[0] *= np.abs(a[0]) / np.linalg.norm(w[0])  # δ = 0
    for a_i, w_i in zip(a, w, strict=True):
        kernel = a_i**2 * np.eye(d) + np.outer(w_i, w_i)
        found = neuron.preconditioner(a_i * w_i, neuron.conserved(a_i, w_i))
        np.testing.assert_allclose(found, kernel, rtol=1e-11, atol=1e-12 * np.abs(kernel).max())


def test_preconditioner_at_zero():
    np.testing.assert_array_equal(neuron.preconditioner(np.zeros(3), 1.7), 1.7 * np.eye(3))
    np.testing.assert_array_equal(neuron.preconditioner(np.zeros(3), 0.0), np.zeros((3, 3)))
    for beta in (np.zeros(2), np.array([[1.0, 0.0], [0.0, 0.0]])):
        with pytest.raises(ValueError, match="no limit"):
            neuron.preconditioner(beta, -1e-9)


def printed_potential(beta, delta):
    """Φ as printed, of torch tensors, without the constant."""
    kappa = torch.sqrt(delta**2 + 4 * torch.sum(beta**2))
    return (kappa - 2 * delta) * torch.sqrt(kappa + delta) / 3


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
    np.testing.assert_allclose(neuron.potential(beta.detach(), delta), expected, rtol=1e-11)
    np.testing.assert_allclose(neuron.potential_gradient(beta.detach(), delta), beta.grad, rtol=1e-9, atol=1e-12)


@given(seed=seeds, d=st.integers(1, 5), delta=deltas)
def test_the_hessian_of_the_potential_is_the_warped_inverse_kernel(seed, d, delta):
    beta = np.random.default_rng(seed).normal(size=d)
    assume(np.linalg.norm(beta) > 0.1)
    hessian = torch.autograd.functional.hessian(lambda b: printed_potential(b, delta), torch.tensor(beta)).numpy()
    kappa = np.sqrt(delta**2 + 4 * beta @ beta)
    inverse = np.linalg.inv(neuron.preconditioner(beta, delta))
    np.testing.assert_allclose(hessian, np.sqrt(kappa + delta) * inverse, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("delta", [-2.0, 0.0, 2.0])
def test_potential_starts_at_zero_and_takes_stacks(delta):
    betas = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, -2.0]])
    assert neuron.potential(betas[0], delta) == 0
    assert neuron.potential(betas, delta).shape == (3,)
    np.testing.assert_array_equal(neuron.potential_gradient(betas, delta)[0], [0, 0])
    single = [neuron.potential_gradient(beta, delta) for beta in betas]
    np.testing.assert_allclose(neuron.potential_gradient(betas, delta), single)


# --- inductive bias


@st.composite
def problems(draw, dimensions=(1, 6), least_hidden=0):
    """Draw XᵀX with a null space of any dimension, white or not where it sees, Xᵀy in its range, and a generator."""
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(*dimensions))
    hidden = draw(st.integers(min(least_hidden, d), d))
    strengths = rng.uniform(0.6, 1.6, d - hidden) if draw(st.booleans()) else np.full(d - hidden, 1.2)
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
        assume(delta != 0 or len(xty) > 1)  # in one dimension a balanced neuron that is opposed ends in the saddle
        a0, w0 = start_with(rng, len(xty), delta, sign)
        end, turns = ends(a0, w0, xtx, xty)
        np.testing.assert_allclose(neuron.interpolator(xtx, xty, a0, w0), end, atol=1e-9)
        turned.append(turns)

    compare()
    assert any(turned) == (delta < 0)


@settings(max_examples=40)
@given(problem=problems((2, 6), 1), delta=st.sampled_from([-2.0, -0.3, 0.0, 1.5]), sign=signs)
def test_the_argmin_is_the_interpolator_or_its_mirror_image(problem, delta, sign):
    """Theorem 1 holds for any null space while a keeps its sign; afterwards it holds for the start -β0."""
    rng, xtx, xty = problem
    assume(np.any(xty != 0))
    a0, w0 = start_with(rng, len(xty), delta, sign)
    end = neuron.interpolator(xtx, xty, a0, w0)
    _, turns = ends(a0, w0, xtx, xty)
    found = neuron.nearest_in_bregman(xtx, xty, -a0 * w0 if turns else a0 * w0, delta)
    np.testing.assert_allclose(found, end, atol=1e-6)


@pytest.mark.parametrize("a0, end", [(2.0, np.sqrt(3)), (-2.0, -np.sqrt(3)), (0.5, 0.0)])
def test_interpolator_of_no_target_unlearns_what_is_seen(a0, end):
    """With Xᵀy = 0 the visible weights or the output weight decay, whichever is smaller."""
    found = neuron.interpolator(np.diag([1.0, 0.0]), [0.0, 0.0], a0, [1.0, 1.0])
    np.testing.assert_allclose(found, [0, end], atol=1e-15)


@pytest.mark.parametrize("a0, w1, a_end", [(0.0, 100.0, 1e-8), (1.0, 0.0, 1.0)])
def test_interpolator_keeps_its_digits(a0, w1, a_end):
    """Far downstream a∞² ≈ |β*|²/|δ + k²|, far upstream δ + k², the roots of a quadratic."""
    end = neuron.interpolator(np.diag([1.0, 0.0]), [1e-6, 0.0], a0, [w1, 3.0])
    np.testing.assert_allclose(end, [1e-6, 3 * a_end], rtol=1e-11)


@pytest.mark.parametrize("tilt", [1e-9, -1e-9])
def test_interpolator_waits_at_a_saddle(tilt):
    xtx, xty, w0 = np.diag([1.0, 4.0, 0.0]), np.array([-1.0, 0.0, 0.0]), np.array([tilt, 1.0, 0.5])
    end, _ = ends(0.0, w0, xtx, xty)
    assert np.sign(end[2]) == -np.sign(tilt)
    for unit in (1e-6, 1.0, 1e6):
        found = neuron.interpolator(unit * xtx, unit * xty, 0.0, w0)
        np.testing.assert_allclose(found, end, atol=1e-8)


def test_interpolator_minds_the_strengths():
    """The same solution set and start end on opposite sides, for the strong direction wins."""
    a0, w0, base, found = 0.2, np.array([-1.0, 1.5, 0.5]), np.array([1.0, 1 / 3, 0.0]), []
    for xtx in (np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 9.0, 0.0])):
        found.append(neuron.interpolator(xtx, xtx @ base, a0, w0))
        np.testing.assert_allclose(found[-1], ends(a0, w0, xtx, xtx @ base)[0], atol=1e-8)
    assert found[0][2] < 0 < found[1][2]


def test_interpolator_leaves_a_minimum_where_it_is():
    end = neuron.interpolator(np.diag([1.0, 2.0, 0.0]), [-1.0, 0.0, 0.0], -0.5, [2.0, 0.0, 0.3])
    np.testing.assert_allclose(end, [-1.0, 0.0, -0.15], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("strong", [1.0, 9.0])
def test_interpolator_does_not_know_the_unit_of_the_data(unit, strong):
    rotation = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2)[0]
    xtx = rotation @ np.diag([1.0, strong, 0.0]) @ rotation.T
    xtx = (xtx + xtx.T) / 2
    a0, w0, xty = 0.2, rotation @ [-1.0, 1.5, 0.5], xtx @ rotation @ [1.0, 1 / 3, 0.0]
    found = neuron.interpolator(unit * xtx, unit * xty, a0, w0)
    np.testing.assert_allclose(found, neuron.interpolator(xtx, xty, a0, w0), rtol=1e-9)


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
        neuron.interpolator(np.diag(strengths), [1.0, 0.0, 0.0], a0, w0)


# --- bad input

EYE, ONES = np.eye(2), np.ones(2)
SEEN, TWO = np.diag([1.0, 0.0]), np.array([2.0, 0.0])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: neuron.nearest_in_bregman(SEEN, ONES, ONES, 1), "not in the range"),
        (lambda: neuron.nearest_in_bregman(1e-9 * SEEN, 1e-9 * ONES, ONES, 1), "not in the range"),
        (lambda: neuron.interpolator(np.zeros((2, 2)), ONES, 1, ONES), "not in the range"),
    ],
)
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
