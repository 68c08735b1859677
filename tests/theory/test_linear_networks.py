"""Wide and deep linear networks against autograd, a second solver, fifty digits and plain eigen-decompositions."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm

from lib.theory import linear_networks as linear
from lib.theory.common import best_interpolator

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)
rates = st.floats(0.2, 5)
depths = st.integers(1, 3)
deltas = st.one_of(st.just(0.0), st.floats(0.05, 4), st.floats(-4, -0.05))


@st.composite
def isotropic(draw, square=False):
    """Return β₀ (d, c), δ and a width h for which parameters with Δ = δ I_h exist."""
    delta, d, c = draw(deltas), draw(sizes), draw(sizes)
    most = c if delta > 0 else d if delta < 0 else 6
    h = most if square else draw(st.integers(1, most))
    rank = draw(st.integers(1, min(h, d, c)))
    rng = np.random.default_rng(draw(seeds))
    return rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c)) / np.sqrt(rank), delta, h, draw(seeds)


def network(rng, d, c, h):
    return rng.normal(size=(h, c)) / np.sqrt(h), rng.normal(size=(h, d)) / np.sqrt(h)


def data(rng, d, c, n=None):
    x = rng.normal(size=(n or d + 1, d)) / np.sqrt(d)
    return x, rng.normal(size=(len(x), c))


def torch64(*arrays):
    return tuple(torch.tensor(np.asarray(v), dtype=torch.float64) for v in arrays)


def velocity(loss, parameters, rates):
    """Return -η ∂L/∂θ for each parameter, by autograd."""
    leaves = tuple(p.requires_grad_() for p in torch64(*parameters))
    slopes = torch.autograd.grad(loss(*leaves), leaves)
    return tuple(-eta * g for eta, g in zip(rates, slopes, strict=True))


def squared_error(x, y):
    x, y = torch64(x, y)
    return lambda a, w: 0.5 * torch.sum((x @ w.T @ a - y) ** 2)


def deep_error(x, y):
    x, y = torch64(x, y)
    return lambda a, *ws: 0.5 * torch.sum((x @ deep_map(a, *ws) - y) ** 2)


def deep_map(a, *ws):
    """β with f(x) = aᵀ W_L⋯W_1 x."""
    for w in ws[::-1]:
        a = w.T @ a
    return a


def along(function, parameters, speeds):
    """Return the time derivative of a function of the parameters."""
    return torch.autograd.functional.jvp(function, torch64(*parameters), speeds)[1].numpy()


def vec(matrix):
    return matrix.flatten("F")


# Two layers: the flow, what it conserves, and the preconditioner


@settings(max_examples=25)
@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_flow_follows_autograd_through_another_solver(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    (a, w), (x, y) = network(rng, d, c, h), data(rng, d, c)
    loss = squared_error(x, y)

    def slope(_, state):
        parameters = state[: h * c].reshape(h, c), state[h * c :].reshape(h, d)
        return np.concatenate([v.numpy().ravel() for v in velocity(loss, parameters, (eta_a, eta_w))])

    ode = solve_ivp(slope, (0, 0.5), np.append(a, w), "RK45", [0.2, 0.5], rtol=1e-8, atol=1e-10)
    path = linear.flow(a, w, x.T @ x, x.T @ y, [0.2, 0.5], eta_a, eta_w)
    assert path.a.shape == (2, h, c) and path.w.shape == (2, h, d)
    np.testing.assert_allclose(np.column_stack([path.a.reshape(2, -1), path.w.reshape(2, -1)]), ode.y.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(path.beta[1], path.w[1].T @ path.a[1])


@settings(max_examples=25)
@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_flow_conserves(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    (a, w), (x, y) = network(rng, d, c, h), data(rng, d, c)
    path = linear.flow(a, w, x.T @ x, x.T @ y, [0, 0.1, 3], eta_a, eta_w)
    kept = linear.conserved(path.a, path.w, eta_a, eta_w)
    assert kept.shape == (3, h, h)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-8)
    for j in range(h):
        for k in range(h):
            np.testing.assert_allclose(kept[0, j, k], eta_w * a[j] @ a[k] - eta_a * w[j] @ w[k], atol=1e-13)


def test_flow_starts_where_it_is_told_and_reaches_the_target():
    a, w = network(np.random.default_rng(1), 3, 2, 4)
    target = np.arange(6.0).reshape(3, 2) / 5
    start = linear.flow(a, w, np.eye(3), target, 0.0)
    np.testing.assert_array_equal(start.a[0], a)
    np.testing.assert_array_equal(start.w[0], w)
    np.testing.assert_allclose(linear.flow(a, w, np.eye(3), target, [0, 60]).beta[-1], target, atol=1e-8)


@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_the_map_moves_by_the_preconditioned_gradient(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    (a, w), (x, y) = network(rng, d, c, h), data(rng, d, c)
    moved = along(lambda a, w: w.T @ a, (a, w), velocity(squared_error(x, y), (a, w), (eta_a, eta_w)))
    m = linear.preconditioner(a, w, eta_a, eta_w)
    assert m.shape == (d * c, d * c)
    np.testing.assert_allclose(vec(moved), -m @ vec(x.T @ (x @ w.T @ a - y)), rtol=1e-10, atol=1e-11)
    both = linear.preconditioner(np.stack([a, 2 * a]), np.stack([w, -w]), eta_a, eta_w)
    np.testing.assert_allclose(both, [m, linear.preconditioner(2 * a, w, eta_a, eta_w)], rtol=1e-12, atol=1e-12)


@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_theorem_2_the_neurons_add_up(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a, w = network(rng, d, c, h)
    a, w = rng.uniform(0.1, 5) * a, rng.uniform(0.1, 5) * w
    delta = np.diag(linear.conserved(a, w, eta_a, eta_w))
    parts = [linear.neuron_preconditioner(np.outer(w[k], a[k]), delta[k], eta_a, eta_w) for k in range(h)]
    np.testing.assert_allclose(sum(parts), linear.preconditioner(a, w, eta_a, eta_w), rtol=1e-7, atol=1e-10)


@given(exponent=st.integers(2, 12), sign=st.sampled_from([-1, 1]))
def test_a_neuron_far_from_balance_keeps_its_smaller_layer(exponent, sign):
    """With d = 2, c = 1, the direction across w feels AᵀA alone; with d = 1, c = 2, that across a feels WᵀW alone."""
    delta = sign * 10.0**exponent
    with mp.workdps(50):
        a2 = float((mp.sqrt(mpf(delta) ** 2 + 16) + delta) / 2)
        w2 = float((mp.sqrt(mpf(delta) ** 2 + 16) - delta) / 2)
    np.testing.assert_allclose(linear.neuron_preconditioner([[2], [0]], delta), np.diag([a2 + w2, a2]), rtol=1e-14)
    np.testing.assert_allclose(linear.neuron_preconditioner([[2, 0]], delta), np.diag([a2 + w2, w2]), rtol=1e-14)
    np.testing.assert_allclose(linear.gram_a([[2]], delta), [[a2]], rtol=1e-14)
    np.testing.assert_allclose(linear.gram_w([[2]], delta), [[w2]], rtol=1e-14)


# Isotropic initializations


@given(case=isotropic())
def test_isotropic_initialization_is_isotropic_and_computes_beta0(case):
    beta0, delta, h, seed = case
    a, w = linear.isotropic_initialization(beta0, delta, h, seed)
    assert a.shape == (h, beta0.shape[1]) and w.shape == (h, beta0.shape[0])
    np.testing.assert_allclose(w.T @ a, beta0, atol=1e-13 * max(1, np.abs(beta0).max()))
    np.testing.assert_allclose(a @ a.T - w @ w.T, delta * np.eye(h), atol=1e-12)


def test_gram_matrices_of_a_stack_are_those_of_its_members():
    betas = np.random.default_rng(0).normal(size=(2, 3, 2))
    for gram in (linear.gram_w, linear.gram_a):
        np.testing.assert_allclose(gram(betas, 0.7), [gram(beta, 0.7) for beta in betas], rtol=1e-12)


def test_isotropic_initialization_depends_on_the_seed_alone():
    first, again, other = (linear.isotropic_initialization(np.ones((3, 4)), 0.5, 3, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    assert np.abs(first[0] - other[0]).max() > 0.1


def test_the_random_rotations_are_uniform():
    """The first entry of a uniform rotation has mean 0 and mean square 1/n, and its diagonal no preferred sign."""
    a = np.array([linear.isotropic_initialization(np.zeros((3, 3)), 1.0, 3, seed)[0] for seed in range(400)])
    vt = np.linalg.svd(np.zeros((3, 3)))[2]
    r = a @ vt.T
    np.testing.assert_allclose(r.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose((r**2).mean(axis=0), 1 / 3, atol=0.07)


@given(case=isotropic())
def test_lemma_8_holds_unless_w_is_too_narrow(case):
    beta0, delta, h, seed = case
    d = len(beta0)
    _, w = linear.isotropic_initialization(beta0, delta, h, seed)
    beta, off = beta0 @ beta0.T, linear.gram_w(beta0, delta) - w.T @ w
    literal = -delta / 2 * np.eye(d) + root(beta + delta**2 / 4 * np.eye(d))
    np.testing.assert_allclose(linear.gram_w(beta0, delta), literal, atol=1e-6 if delta == 0 else 1e-10)
    missing = d - h if delta < 0 else 0  # the paper's condition, complete: else it fails by |δ| in as many directions
    expected = np.append(np.zeros(d - missing), np.full(missing, abs(delta)))
    np.testing.assert_allclose(np.linalg.eigvalsh(off), expected, atol=1e-11)


@given(case=isotropic())
def test_lemma_9_holds_unless_a_is_too_narrow(case):
    beta0, delta, h, seed = case
    c = beta0.shape[1]
    a, _ = linear.isotropic_initialization(beta0, delta, h, seed)
    literal = delta / 2 * np.eye(c) + root(beta0.T @ beta0 + delta**2 / 4 * np.eye(c))
    np.testing.assert_allclose(linear.gram_a(beta0, delta), literal, atol=1e-6 if delta == 0 else 1e-10)
    missing = c - h if delta > 0 else 0
    expected = np.append(np.zeros(c - missing), np.full(missing, abs(delta)))
    np.testing.assert_allclose(np.linalg.eigvalsh(linear.gram_a(beta0, delta) - a.T @ a), expected, atol=1e-11)


def root(matrix):
    """The principal square root, by an eigen-decomposition."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T


@settings(max_examples=25)
@given(case=isotropic(square=True), time=st.floats(0.1, 1), eta_a=rates, eta_w=rates)
def test_theorem_3_along_the_flow(case, time, eta_a, eta_w):
    """At any learning rates, once the layers are measured in their units."""
    beta0, delta, h, seed = case
    d, c = beta0.shape
    x, y = data(np.random.default_rng(seed), d, c)
    a, w = linear.isotropic_initialization(beta0, delta, h, seed)
    path = linear.flow(a / np.sqrt(eta_w), w / np.sqrt(eta_a), x.T @ x, x.T @ y, [time, 2 * time], eta_a, eta_w)
    m = linear.preconditioner(path.a, path.w, eta_a, eta_w)
    np.testing.assert_allclose(linear.preconditioner_isotropic(np.sqrt(eta_a * eta_w) * path.beta, delta), m, atol=1e-6)


@given(seed=seeds, d=sizes, c=sizes, delta=st.sampled_from([-3.0, 0.7, 5.0]))
def test_the_isotropic_preconditioner_is_the_printed_one(seed, d, c, delta):
    beta = np.random.default_rng(seed).normal(size=(d, c))
    left = sqrtm(beta.T @ beta + delta**2 / 4 * np.eye(c))
    right = sqrtm(beta @ beta.T + delta**2 / 4 * np.eye(d))
    printed = np.kron(left, np.eye(d)) + np.kron(np.eye(c), right)
    np.testing.assert_allclose(linear.preconditioner_isotropic(beta, delta), printed, atol=1e-11)


def test_the_lazy_limit_is_the_size_of_delta():
    """Printed as δ I for δ → -∞ too."""
    for delta in (-1e6, 1e6):
        np.testing.assert_allclose(linear.preconditioner_isotropic(np.ones((2, 3)), delta), 1e6 * np.eye(6), atol=1e-4)


@given(seed=seeds, d=sizes, c=sizes, h=sizes, delta=deltas, scale=st.floats(0.01, 10))
def test_unbalanced_neurons_have_the_delta_and_scale_they_are_asked_for(seed, d, c, h, delta, scale):
    a, w = linear.unbalanced_initialization(d, c, h, delta, scale, seed)
    assert a.shape == (h, c) and w.shape == (h, d)
    np.testing.assert_allclose(np.diag(linear.conserved(a, w)), delta, atol=1e-12 * (1 + scale + abs(delta)))
    np.testing.assert_allclose(np.linalg.norm(a, axis=1) * np.linalg.norm(w, axis=1), scale, rtol=1e-12)


def test_unbalanced_neurons_point_everywhere():
    a, w = linear.unbalanced_initialization(2, 3, 4000, 0.0, 1.0, 0)
    for layer in (a, w):
        np.testing.assert_allclose(layer.T @ layer / 4000, np.eye(layer.shape[1]) / layer.shape[1], atol=0.03)
        np.testing.assert_allclose(layer.mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose(a.T @ w / 4000, 0, atol=0.04)
    again, _ = linear.unbalanced_initialization(2, 3, 4000, 0.0, 1.0, 0)
    np.testing.assert_array_equal(a, again)


# Singular values


@settings(max_examples=40)
@given(case=isotropic())
def test_lemma_10_on_any_data(case):
    """σ̇ = -√(δ²+4σ²) uᵀGv for distinct singular values, and the others, which the hidden layer cannot hold, rest at zero."""
    beta0, delta, h, seed = case
    d, c = beta0.shape
    x, y = data(np.random.default_rng(seed), d, c)
    a, w = linear.isotropic_initialization(beta0, delta, h, seed)
    a_dot, w_dot = (v.numpy() for v in velocity(squared_error(x, y), (a, w), (1, 1)))
    u, sigma, vt = np.linalg.svd(beta0, full_matrices=False)
    rank = np.linalg.matrix_rank(beta0)
    assume(np.min(-np.diff(np.append(sigma[:rank], 0)), initial=1) > 0.05)
    step = 1e-6 / (1 + np.abs(a_dot).max() + np.abs(w_dot).max())
    ends = [np.linalg.svd((w + s * w_dot).T @ (a + s * a_dot), compute_uv=False) for s in (-step, step)]
    pull = -np.einsum("ik,ij,kj->k", u, x.T @ (x @ beta0 - y), vt)
    speed = np.sqrt(delta**2 + 4 * sigma**2) * pull
    np.testing.assert_allclose(((ends[1] - ends[0]) / (2 * step))[:rank], speed[:rank], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ends[0][h:], 0, atol=1e-12)


@given(size=st.floats(-14, 14), power=st.floats(-8, 8), signs=st.tuples(*[st.sampled_from([-1, 1])] * 2))
def test_hyperbolic_entropy_to_the_last_digits(size, power, signs):
    delta = signs[0] * 10**power
    x = signs[1] * 10**size * abs(delta)
    with mp.workdps(60):
        y, gap = mpf(x), abs(mpf(delta))
        value = (2 * y * mp.asinh(2 * y / gap) - mp.sqrt(4 * y**2 + gap**2) + gap) / 4
        slope, curvature = mp.asinh(2 * y / gap) / 2, 1 / mp.sqrt(gap**2 + 4 * y**2)
        numeric = (mp.asinh(2 * (y + gap * mpf(10) ** -30) / gap) / 2 - slope) / (gap * mpf(10) ** -30)
        np.testing.assert_allclose(float(numeric), float(curvature), rtol=1e-12)
    np.testing.assert_allclose(linear.hyperbolic_entropy(x, delta), float(value), rtol=3e-15)
    np.testing.assert_allclose(linear.hyperbolic_entropy_gradient(x, delta), float(slope), rtol=3e-15)


def test_the_curvature_of_the_entropy_undoes_the_speed_of_the_modes():
    """Theorem 11: q″ = 1/√(δ²+4x²)."""
    x = torch.linspace(-3, 3, 11, dtype=torch.float64)
    for delta in (-0.7, 2.0):
        step = 1e-6
        upper, lower = (linear.hyperbolic_entropy_gradient(x.numpy() + e, delta) for e in (step, -step))
        np.testing.assert_allclose((upper - lower) / (2 * step), 1 / np.sqrt(delta**2 + 4 * x.numpy() ** 2), rtol=1e-8)
        upper, lower = (linear.hyperbolic_entropy(x.numpy() + e, delta) for e in (step, -step))
        np.testing.assert_allclose((upper - lower) / (2 * step), linear.hyperbolic_entropy_gradient(x.numpy(), delta), atol=1e-9)


def test_the_entropy_passes_from_a_square_to_an_absolute_value():
    np.testing.assert_allclose(linear.hyperbolic_entropy([0, 1e-9, -1e-3], 10.0), [0, 5e-20, 5e-8], rtol=1e-7)
    x = np.array([-3.0, 0.5])
    np.testing.assert_allclose(linear.hyperbolic_entropy(x, 1e-20), abs(x) / 2 * np.log(4 * abs(x) / np.e / 1e-20), rtol=1e-12)


# Parameters in other coordinates


@given(seed=seeds, d=sizes, h=sizes)
def test_mu_and_phi_move_as_autograd_says(seed, d, h):
    rng = np.random.default_rng(seed)
    a, w = network(rng, d, 1, h)
    target = rng.uniform(0.2, 3) * rng.normal(size=(d, 1))
    s = np.linalg.norm(target)

    def mu(a, w):
        return a[:, 0] * torch.linalg.norm(w, dim=1)

    def phi(a, w):
        return (w @ torch.tensor(target))[:, 0] / torch.linalg.norm(w, dim=1) / s

    units = w / np.linalg.norm(w, axis=1, keepdims=True)
    delta, overlaps = linear.conserved(a, w), units @ units.T
    speeds = velocity(squared_error(np.eye(d), target), (a, w), (1, 1))
    now = mu(*torch64(a, w)).numpy(), phi(*torch64(a, w)).numpy()
    mu_dot, phi_dot = linear.mu_phi_velocity(*now, overlaps, np.diag(delta), s)
    np.testing.assert_allclose(mu_dot, along(mu, (a, w), speeds), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(phi_dot, along(phi, (a, w), speeds), rtol=1e-9, atol=1e-9)
    # Q as a function of μ and Δ closes the system
    m = 2 / (np.sqrt(np.diag(delta) ** 2 + 4 * now[0] ** 2) - np.diag(delta))
    np.testing.assert_allclose(np.outer(m * now[0], m * now[0]) - np.sqrt(np.outer(m, m)) * delta, overlaps, atol=1e-9)


def test_mu_may_pass_through_zero_where_w_cannot():
    """a = 0: μ̇ = |w|²(…) and φ rests."""
    mu_dot, phi_dot = linear.mu_phi_velocity([0.0], [0.6], [[1.0]], [-4.0], 2.0)
    np.testing.assert_allclose([*mu_dot, *phi_dot], [4 * 1.2, 0])


@settings(max_examples=30)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_riccati_and_bernoulli_equations(seed, d, c, delta):
    """For c = h, white data and Δ = δI: ν = A⁻¹Wβ* and C = AᵀA, along the flow."""
    assume(delta >= 0 or c <= d)
    rng = np.random.default_rng(seed)
    beta0, target = rng.normal(size=(2, d, c))
    a, w = linear.isotropic_initialization(beta0, delta, c, seed)
    path = linear.flow(a, w, np.eye(d), target, [0.3])
    a, w = path.a[0], path.w[0]
    assume(np.linalg.cond(a) < 100)
    speeds = velocity(squared_error(np.eye(d), target), (a, w), (1, 1))
    nu_dot = along(lambda a, w: torch.linalg.solve(a, w @ torch.tensor(target)), (a, w), speeds)
    gram_dot = along(lambda a, w: a.T @ a, (a, w), speeds)
    nu, gram = np.linalg.solve(a, w @ target), a.T @ a
    scale = 1 + np.abs(nu).max() ** 2 + np.abs(gram).max() ** 2
    np.testing.assert_allclose(nu_dot, target.T @ target - delta * nu - nu @ nu, atol=1e-7 * scale)
    shifted = nu + delta * np.eye(c)
    np.testing.assert_allclose(gram_dot, gram @ shifted + shifted.T @ gram - 2 * gram @ gram, atol=1e-7 * scale)


# Depth


def deep_case(seed, d, depth, delta):
    """Return isotropic parameters, data, and δ, which more than one dimension forbids to be positive."""
    rng = np.random.default_rng(seed)
    delta = delta if d == 1 else -abs(delta)
    a, ws = linear.deep_isotropic_initialization(d, depth, np.sqrt(max(delta, 0)) + rng.uniform(0.1, 1), delta, seed)
    return (a, ws), data(rng, d, 1), delta


small = st.one_of(st.just(0.0), st.floats(0.05, 1), st.floats(-1, -0.05))


@given(seed=seeds, d=st.integers(1, 5), depth=depths, delta=small)
def test_deep_isotropic_initialization_is_definition_12(seed, d, depth, delta):
    (a, ws), _, delta = deep_case(seed, d, depth, delta)
    assert a.shape == (d,) and ws.shape == (depth, d, d)
    np.testing.assert_allclose(np.outer(a, a) - ws[-1] @ ws[-1].T, delta * np.eye(d), atol=1e-12)
    for lower, upper in pairwise(ws):
        np.testing.assert_allclose(upper.T @ upper, lower @ lower.T, atol=1e-12)


def test_deep_isotropic_initialization_contains_the_example_of_the_paper():
    a, ws = linear.deep_isotropic_initialization(3, 2, 0.0, -0.49, 4)
    np.testing.assert_array_equal(a, 0)
    for w in ws:
        np.testing.assert_allclose(w @ w.T, 0.49 * np.eye(3), atol=1e-14)
    assert np.abs(ws[0] - ws[1]).max() > 0.1
    assert np.abs(ws - linear.deep_isotropic_initialization(3, 2, 0.0, -0.49, 5)[1]).max() > 0.1
    assert np.linalg.norm(linear.deep_isotropic_initialization(3, 2, 0.7, -0.49, 4)[0]) == pytest.approx(0.7)


def test_one_dimension_allows_a_delta_up_to_the_square_of_a():
    a, ws = linear.deep_isotropic_initialization(1, 2, 2.0, 3.0, 0)
    np.testing.assert_allclose([a[0] ** 2, *ws.ravel() ** 2], [4, 1, 1])
    assert not linear.deep_isotropic_initialization(1, 2, 2.0, 4.0, 0)[1].any()


@settings(max_examples=20)
@given(seed=seeds, d=st.integers(1, 4), depth=depths)
def test_deep_flow_follows_autograd_through_another_solver(seed, d, depth):
    rng = np.random.default_rng(seed)
    a, ws, (x, y) = rng.normal(size=d), rng.normal(size=(depth, d, d)) / np.sqrt(d), data(rng, d, 1)
    loss = deep_error(x, y[:, 0])

    def slope(_, state):
        parts = velocity(loss, (state[:d], *state[d:].reshape(depth, d, d)), (1,) * (depth + 1))
        return np.concatenate([v.numpy().ravel() for v in parts])

    ode = solve_ivp(slope, (0, 0.5), np.append(a, ws), "RK45", [0.2, 0.5], rtol=1e-8, atol=1e-10)
    path = linear.deep_flow(a, ws, x.T @ x, x.T @ y[:, 0], [0.2, 0.5])
    assert path.a.shape == (2, d) and path.ws.shape == (2, depth, d, d)
    np.testing.assert_allclose(np.column_stack([path.a, path.ws.reshape(2, -1)]), ode.y.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(path.beta[1], deep_map(path.a[1], *path.ws[1]), atol=1e-12)


@settings(max_examples=40)
@given(seed=seeds, d=st.integers(1, 5), depth=depths, delta=small)
def test_lemmas_13_and_14_along_the_deep_flow(seed, d, depth, delta):
    (a, ws), (x, y), delta = deep_case(seed, d, depth, delta)
    path = linear.deep_flow(a, ws, x.T @ x, x.T @ y[:, 0], [0, 0.7])
    norm2 = linear.deep_norm2(np.sum(path.a**2, axis=1), delta, depth)
    np.testing.assert_allclose(norm2, np.sum(path.beta**2, axis=1), atol=1e-8)
    first = path.ws[:, 0]
    gram = np.swapaxes(first, 1, 2) @ first
    np.testing.assert_allclose(linear.deep_outer(gram, delta, depth), path.beta[:, :, None] * path.beta[:, None, :], atol=1e-8)
    a, ws, beta = path.a[1], path.ws[1], path.beta[1]
    speeds = velocity(deep_error(x, y[:, 0]), (a, *ws), (1,) * (depth + 1))
    m = linear.deep_preconditioner(a @ a, gram[1], delta, depth)
    slope = x.T @ (x @ beta - y[:, 0])
    np.testing.assert_allclose(along(deep_map, (a, *ws), speeds), -m @ slope, rtol=1e-6, atol=1e-6)
    assert np.linalg.eigvalsh(m)[0] > -1e-9


@given(seed=seeds, d=sizes, depth=depths)
def test_the_rich_preconditioner_is_the_limit_of_lemma_14(seed, d, depth):
    a, ws = linear.deep_isotropic_initialization(d, depth, 1.3, 0.0, seed)
    beta = deep_map(a, *ws)
    m = linear.rich_preconditioner(beta, depth)
    np.testing.assert_allclose(m, linear.deep_preconditioner(a @ a, ws[0].T @ ws[0], 0.0, depth), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(linear.rich_preconditioner_inverse(beta, depth) @ m, np.eye(d), atol=1e-12)


@given(seed=seeds, d=sizes, depth=depths)
def test_the_inductive_bias_has_the_curvature_of_the_rich_preconditioner(seed, d, depth):
    rng = np.random.default_rng(seed)
    beta, beta0 = rng.normal(size=(2, d))
    b0 = torch.tensor(beta0)

    def bias(b):
        power = (depth + 2) / (depth + 1)
        return torch.linalg.norm(b) ** power / power - b0 @ b / torch.linalg.norm(b0) ** (depth / (depth + 1))

    both = linear.deep_inductive_bias([beta, 2 * beta], beta0, depth)
    np.testing.assert_allclose(both, [bias(torch.tensor(b)).numpy() for b in (beta, 2 * beta)], rtol=1e-12)
    hessian = torch.autograd.functional.hessian(bias, torch.tensor(beta)).numpy()
    warp = np.linalg.norm(beta) ** (depth / (depth + 1))
    np.testing.assert_allclose(hessian, warp * linear.rich_preconditioner_inverse(beta, depth), rtol=1e-9, atol=1e-9)
    at_start = torch.autograd.functional.jacobian(bias, b0).numpy()
    np.testing.assert_allclose(at_start, 0, atol=1e-12)  # the start is the unconstrained minimum


@given(seed=seeds, d=st.integers(1, 6), depth=st.integers(1, 6), size=st.floats(-3, 3))
def test_the_deep_interpolator_is_where_the_bias_is_least(seed, d, depth, size):
    """It interpolates, and there the slope of the convex bias has no part in the null space of the data."""
    rng = np.random.default_rng(seed)
    x, y = data(rng, d, 1, n=rng.integers(1, d + 1))
    beta0 = 10**size * rng.normal(size=d)
    end = linear.deep_interpolator(x.T @ x, x.T @ y[:, 0], beta0, depth)
    np.testing.assert_allclose(x @ end, y[:, 0], rtol=1e-7, atol=1e-7)
    null, power = np.linalg.svd(x)[2][len(x) :], depth / (depth + 1)
    slope0 = beta0 / np.linalg.norm(beta0) ** power
    np.testing.assert_allclose(null @ (end / np.linalg.norm(end) ** power), null @ slope0, atol=1e-12 * np.linalg.norm(slope0))
    if len(null):
        spread = end + 0.1 * np.linalg.norm(end) * np.concatenate([null, -null])
        assert np.all(linear.deep_inductive_bias(spread, beta0, depth) > linear.deep_inductive_bias(end, beta0, depth))


@settings(max_examples=20)
@given(seed=seeds, d=st.integers(2, 5), depth=depths)
def test_the_deep_interpolator_is_the_minimum_that_a_program_finds(seed, d, depth):
    rng = np.random.default_rng(seed)
    x, y = data(rng, d, 1, n=rng.integers(1, d))
    xtx, xty, beta0, power = x.T @ x, x.T @ y[:, 0], rng.normal(size=d), depth / (depth + 1)

    def bias(beta):
        slope = beta / np.linalg.norm(beta) ** power - beta0 / np.linalg.norm(beta0) ** power
        return linear.deep_inductive_bias(beta, beta0, depth), slope

    found = best_interpolator(bias, xtx, xty, beta0)
    np.testing.assert_allclose(linear.deep_interpolator(xtx, xty, beta0, depth), found, atol=2e-6)


def test_the_deep_interpolator_at_the_edges():
    np.testing.assert_allclose(linear.deep_interpolator(2 * np.eye(2), [2.0, 4.0], [1.0, 0.0], 2), [1, 2])  # no choice
    np.testing.assert_array_equal(linear.deep_interpolator([[1, 0], [0, 0]], [0, 0], [1.0, 0.0], 2), 0)  # nothing to keep
    np.testing.assert_allclose(linear.deep_interpolator(np.zeros((2, 2)), [0, 0], [3.0, 4.0], 3), [3, 4])  # no data
    shrunk = linear.deep_interpolator([[1, 0], [0, 0]], [0, 0], [1.0, 0.1], 1)  # y = √(y/|β0|) / 10
    np.testing.assert_allclose(shrunk, [0, 0.01 / np.hypot(1, 0.1)], rtol=1e-12)
    for size in (1e-9, 1e9):  # L = 1: y² = 1 + size y / √2 has the positive root that the quadratic formula gives
        k2 = size / np.sqrt(2) / np.sqrt(2) / np.sqrt(2)
        norm = k2 / 2 + np.sqrt(k2**2 / 4 + 1)
        end = linear.deep_interpolator([[1, 0], [0, 0]], [1, 0], np.full(2, size / 2), 1)
        np.testing.assert_allclose(end, [1, np.sqrt(norm * np.sqrt(2) / size) * size / 2], rtol=1e-10)


@settings(max_examples=12)
@given(seed=seeds, d=st.integers(2, 4), depth=depths, delta=st.sampled_from([0.0, -1e-14]))
def test_theorem_15_the_flow_ends_in_the_interpolator(seed, d, depth, delta):
    rng = np.random.default_rng(seed)
    x = np.linalg.qr(rng.normal(size=(d, d)))[0][: rng.integers(1, d)]
    y = rng.normal(size=len(x))
    a, ws = linear.deep_isotropic_initialization(d, depth, rng.uniform(0.7, 1.2), delta, seed)
    end = linear.deep_flow(a, ws, x.T @ x, x.T @ y, [300.0]).beta[0]
    assume(np.linalg.norm(x @ end - y) < 1e-9)
    beta0 = deep_map(a, *ws)
    # δ < 0 lets β pass where the limit δ → 0 stops; its own error is of the order of √|δ|
    np.testing.assert_allclose(end, linear.deep_interpolator(x.T @ x, x.T @ y, beta0, depth), atol=1e-8 if delta == 0 else 1e-4)


# Bad input

EYE, ONE = np.eye(2), np.ones(2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: linear.conserved(np.ones((2, 3)), np.ones((3, 3))), r"a \(2, 3\), w \(3, 3\) do not fit"),
        (lambda: linear.flow(EYE, EYE, EYE, np.ones((2, 3)), [1]), r"xty \(2, 3\) do not fit"),
        (lambda: linear.flow(EYE, EYE, np.eye(3), EYE, [1]), r"xtx \(3, 3\)"),
        (lambda: linear.flow(EYE, EYE, [[1, 2], [0, 1]], EYE, [1]), "symmetric"),
        (lambda: linear.flow(EYE, EYE, -EYE, EYE, [1]), "semidefinite"),
        (lambda: linear.neuron_preconditioner(EYE, 0), "rank one"),
        (lambda: linear.neuron_preconditioner(0 * EYE, 0), "rank one"),
        (lambda: linear.isotropic_initialization(np.ones((3, 2)), 1, 3, 0), "must not exceed c = 2"),
        (lambda: linear.isotropic_initialization(np.ones((2, 3)), -1, 3, 0), "must not exceed d = 2"),
        (lambda: linear.isotropic_initialization(EYE, 1, 1, 0), "rank above hidden 1"),
        (lambda: linear.mu_phi_velocity([1], [1], EYE, [1], 1), r"q \(2, 2\)"),
        (lambda: linear.mu_phi_velocity([1, 1], [1, 0], EYE, [1], 1), r"delta \(1,\)"),
        (lambda: linear.mu_phi_velocity([0], [1], [[1]], [1], 1), "undefined"),
        (lambda: linear.mu_phi_velocity([0], [1], [[1]], [0], 1), "undefined"),
        (lambda: linear.deep_flow(ONE, [np.eye(3)], EYE, ONE, [1]), r"ws \(1, 3, 3\)"),
        (lambda: linear.deep_flow(ONE, [EYE], EYE, np.ones(3), [1]), r"xty \(3,\)"),
        (lambda: linear.deep_isotropic_initialization(2, 1, 2, 1, 0), "want delta <= 0"),
        (lambda: linear.deep_isotropic_initialization(1, 1, 0.5, 0.4, 0), "at most the square"),
        (lambda: linear.deep_isotropic_initialization(1, 1, 2, 5, 0), "at most the square"),
        (lambda: linear.rich_preconditioner([0, 0], 1), "other than zero"),
        (lambda: linear.rich_preconditioner_inverse([0, 0], 1), "other than zero"),
        (lambda: linear.deep_inductive_bias(ONE, [0, 0], 1), "beta0 must be"),
        (lambda: linear.deep_inductive_bias(np.ones(3), ONE, 1), r"beta \(3,\).* do not fit"),
        (lambda: linear.deep_interpolator(EYE, np.ones(3), ONE, 1), "do not fit"),
        (lambda: linear.deep_interpolator([[1, 0], [0, 0]], [0, 1], ONE, 1), "not in the range"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
