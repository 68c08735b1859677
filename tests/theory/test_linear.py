"""Wide and deep linear networks against autograd, a second
solver, sixty digits and the single neuron.
"""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from references import mode, seeds
from scipy.integrate import solve_ivp

from lib.theory import linear, neuron

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
    return (
        rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c)) / np.sqrt(rank),
        delta,
        h,
        draw(seeds),
    )


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


@settings(max_examples=25)
@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_flow_follows_autograd_through_another_solver(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    (a, w), (x, y) = network(rng, d, c, h), data(rng, d, c)
    loss = squared_error(x, y)

    def slope(_, state):
        parameters = state[: h * c].reshape(h, c), state[h * c :].reshape(h, d)
        return np.concatenate(
            [v.numpy().ravel() for v in velocity(loss, parameters, (eta_a, eta_w))]
        )

    ode = solve_ivp(slope, (0, 0.5), np.append(a, w), "RK45", [0.2, 0.5], rtol=1e-8, atol=1e-10)
    path = linear.flow(a, w, x.T @ x, x.T @ y, [0.2, 0.5], eta_a, eta_w)
    assert path.a.shape == (2, h, c) and path.w.shape == (2, h, d)
    np.testing.assert_allclose(
        np.column_stack([path.a.reshape(2, -1), path.w.reshape(2, -1)]),
        ode.y.T,
        rtol=1e-5,
        atol=1e-6,
    )
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
            np.testing.assert_allclose(
                kept[0, j, k], eta_w * a[j] @ a[k] - eta_a * w[j] @ w[k], atol=1e-13
            )


@given(seed=seeds, d=sizes, c=sizes, h=sizes, eta_a=rates, eta_w=rates)
def test_the_map_moves_by_the_preconditioned_gradient(seed, d, c, h, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    (a, w), (x, y) = network(rng, d, c, h), data(rng, d, c)
    moved = along(
        lambda a, w: w.T @ a, (a, w), velocity(squared_error(x, y), (a, w), (eta_a, eta_w))
    )
    m = linear.preconditioner(a, w, eta_a, eta_w)
    assert m.shape == (d * c, d * c)
    np.testing.assert_allclose(
        vec(moved), -m @ vec(x.T @ (x @ w.T @ a - y)), rtol=1e-10, atol=1e-11
    )
    both = linear.preconditioner(np.stack([a, 2 * a]), np.stack([w, -w]), eta_a, eta_w)
    np.testing.assert_allclose(
        both, [m, linear.preconditioner(2 * a, w, eta_a, eta_w)], rtol=1e-12, atol=1e-12
    )


@given(
    case=isotropic(),
    size=st.sampled_from([0, 1e-150, 1e-12, 1]),
    unit=st.sampled_from([1, 1e-12, 1e6]),
)
def test_isotropic_initialization_is_isotropic_and_computes_beta0(case, size, unit):
    beta0, delta, h, seed = size * case[0], unit * case[1], *case[2:]
    a, w = linear.isotropic_initialization(beta0, delta, h, seed)
    assert a.shape == (h, beta0.shape[1]) and w.shape == (h, beta0.shape[0])
    np.testing.assert_allclose(w.T @ a, beta0, atol=1e-12 * np.abs(beta0).max())
    largest = max(abs(delta), np.abs(beta0).max())
    np.testing.assert_allclose(a @ a.T - w @ w.T, delta * np.eye(h), atol=1e-12 * largest)


@pytest.mark.parametrize("d, c, h, rank", [(5, 5, 4, 1), (3, 6, 3, 2), (6, 3, 5, 1), (4, 4, 6, 0)])
def test_balanced_starts_have_the_rank_of_beta0_and_keep_it(d, c, h, rank):
    rng = np.random.default_rng(0)
    a, w = linear.isotropic_initialization(
        rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c)), 0.0, h, 1
    )
    late = linear.solve(a, w, rng.normal(size=(d, c)), [12.0, 40.0, 1e6])
    for matrix in (a, w, *late):
        assert np.linalg.matrix_rank(matrix, tol=1e-9) == rank


def test_the_random_rotations_are_uniform():
    """The first entry of a uniform rotation has mean 0 and mean
    square 1/n, and its diagonal no preferred sign.
    """
    a = np.array(
        [linear.isotropic_initialization(np.zeros((3, 3)), 1.0, 3, seed)[0] for seed in range(400)]
    )
    vt = np.linalg.svd(np.zeros((3, 3)))[2]
    r = a @ vt.T
    np.testing.assert_allclose(r.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose((r**2).mean(axis=0), 1 / 3, atol=0.07)


@st.composite
def problems(draw, largest=6, exponents=(-2, 0.7)):
    """Return isotropic layers (h, c), (h, d), a target (d, c) of any rank, and δ."""
    size = st.integers(1, largest)
    d, c, sign = draw(size), draw(size), draw(st.sampled_from([-1, 0, 1]))
    delta = sign * 10 ** draw(st.floats(*exponents))
    h = draw(st.integers(1, c if delta > 0 else d if delta < 0 else largest))
    rank, rng = draw(st.integers(1, min(h, d, c))), np.random.default_rng(draw(seeds))
    start = rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c)) / np.sqrt(rank)
    rank = draw(st.integers(0, min(d, c)))
    target = rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c)) / np.sqrt(max(rank, 1))
    return *linear.isotropic_initialization(start, delta, h, draw(seeds)), target, delta


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_the_course_is_the_integrated_flow(problem):
    a, w, target, delta = problem
    assume(
        delta != 0 or np.linalg.cond(w.T @ a) < 1e3 or min(w.shape + a.shape) < 2
    )  # an integrator leaves saddles by rounding
    times = [0, 1e-3, 0.1, 0.5, 2, 9, 50]
    path, exact = (
        linear.flow(a, w, np.eye(len(target)), target, times),
        linear.course(a, w, target, times),
    )
    size = 1 + np.abs(path.a).max() ** 2 + np.abs(path.w).max() ** 2
    for found, wanted in (
        (exact.beta, path.beta),
        (exact.gram_w, path.w.mT @ path.w),
        (exact.gram_a, path.a.mT @ path.a),
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * size)
    np.testing.assert_array_equal(linear.solve(a, w, target, times), exact.beta)
    np.testing.assert_array_equal(exact.times, times)
    kernels = linear.preconditioner(path.a, path.w)
    np.testing.assert_allclose(exact.kernel, kernels, rtol=0, atol=2e-9 * size)


@settings(max_examples=60, deadline=None)
@given(problem=problems(largest=4, exponents=(-6, 6)), time=st.floats(-12, 1))
def test_the_course_to_the_last_digits(problem, time):
    """For |δ| up to 1e6 and up to t = 10 |δ|, where the slow part of the course is under way."""
    a, w, target, delta = problem
    assume(np.linalg.norm(target) > 0)
    t = 10**time * max(1, abs(delta))
    scale = np.abs(w.T @ a).max() + np.abs(target).max()
    np.testing.assert_allclose(
        linear.solve(a, w, target, t)[0],
        many_digit_map(a, w, target, t),
        rtol=0,
        atol=1e-12 * scale,
    )


def test_a_nearly_hidden_mode_keeps_its_digits_far_downstream():
    """Rates that are subtracted from another than the fastest, and
    then multiplied by t = 1e9, choose the wrong pivot.
    """
    rng, delta = np.random.default_rng(1), -1e9
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 2))
    target = u[:, :2] * [1.0, 0.6] @ v.T
    start = np.outer(1e-9 * u[:, 0] + u[:, 1] + 0.3 * u[:, 2], [1.0, 0.5]) + np.outer(
        u[:, 3], [0.2, -0.7]
    )
    a, w = linear.isotropic_initialization(start, delta, 2, 0)
    for t in (1e9, 5e9):
        np.testing.assert_allclose(
            linear.solve(a, w, target, t)[0], many_digit_map(a, w, target, t), rtol=0, atol=1e-12
        )


def many_digit_map(a, w, target, time):
    """Evaluate the formula for ZZᵀ as it stands, with digits enough for its growing
    exponentials.
    """
    (h, c), d = a.shape, w.shape[1]
    with mp.workdps(60):
        of_a, of_w = (mp.matrix(part.tolist()) for part in (a, w))
        delta = (sum(v**2 for v in of_a) - sum(v**2 for v in of_w)) / h
        f, z = mp.zeros(d + c), mp.zeros(d + c, h)
        for i in range(d + c):
            f[i, i] = -delta / 2 if i < d else delta / 2
            for k in range(h):
                z[i, k] = of_w[k, i] if i < d else of_a[k, i - d]
        for i, j in np.ndindex(d, c):
            f[i, d + j] = f[d + j, i] = mpf(target[i, j])
        rates, modes = mp.eigsy(f)
        z = modes.T * z
        phi = [
            mp.expm1(2 * rate * time) / (2 * rate) if abs(rate) > mpf(10) ** -45 else mpf(time)
            for rate in rates
        ]
        grown = mp.diag([mp.exp(rate * time) for rate in rates]) * z
        outer = modes * grown * mp.inverse(mp.eye(h) + z.T * mp.diag(phi) * z) * grown.T * modes.T
        return np.array([[float(outer[i, d + j]) for j in range(c)] for i in range(d)])


@given(seed=seeds, d=sizes, spread=st.floats(-3, 3), late=st.floats(-3, 3))
def test_one_hidden_neuron_is_the_single_neuron(seed, d, spread, late):
    rng = np.random.default_rng(seed)
    a0, w0, target = 10**spread * rng.normal(), rng.normal(size=d), rng.normal(size=d)
    times = 10**late * np.linspace(0, 1, 5)
    alone = neuron.trajectory(a0, w0, target, times)
    scale = np.abs(alone.beta).max() + np.linalg.norm(target)
    np.testing.assert_allclose(
        linear.solve([[a0]], [w0], target[:, None], times)[..., 0], alone.beta, atol=1e-13 * scale
    )
    mirrored = linear.solve(w0[:1, None], [[a0]], target[:1, None], times)[
        :, 0, 0
    ]  # the layers exchanged: δ → -δ
    np.testing.assert_allclose(
        mirrored,
        linear.solve([[a0]], [w0[:1]], target[:1, None], times)[:, 0, 0],
        atol=1e-13 * scale,
    )


@settings(max_examples=40)
@given(problem=problems(exponents=(-6, 6)))
def test_the_course_is_finite_at_any_time(problem):
    a, w, target, _ = problem
    times = [0, 1e-300, 1e3, 1e8, 1e12, 1e300]
    with np.errstate(all="raise", under="ignore"):
        exact = linear.course(a, w, target, times)
    for found, start in ((exact.beta, w.T @ a), (exact.gram_w, w.T @ w), (exact.gram_a, a.T @ a)):
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(
            found[:2], [start] * 2, atol=1e-13 * (np.abs(a).max() ** 2 + np.abs(w).max() ** 2)
        )
    np.testing.assert_allclose(exact.beta[4], exact.beta[5], atol=1e-6 * (1 + np.abs(target).max()))


@settings(max_examples=40)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_a_bottleneck_ends_at_the_strongest_modes(seed, d, c, delta):
    rng = np.random.default_rng(seed)
    most = c if delta > 0 else d
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (d, c))
    strengths = np.arange(min(d, c), 0, -1.0)
    target = u[:, : len(strengths)] * strengths @ v[:, : len(strengths)].T
    for h in range(1, most + 1):
        start = rng.normal(size=(d, min(h, d, c))) @ rng.normal(size=(min(h, d, c), c))
        if delta == 0 and d == c <= h and np.linalg.det(start) * np.linalg.det(target) < 0:
            start[0] *= -1  # balanced layers cannot change the sign of det β
        a, w = linear.isotropic_initialization(start, delta, h, seed)
        kept = np.where(np.arange(len(strengths)) < h, strengths, 0)
        np.testing.assert_allclose(
            linear.solve(a, w, target, 1e9)[0],
            u[:, : len(kept)] * kept @ v[:, : len(kept)].T,
            atol=1e-9,
        )


def test_a_saddle_is_not_left_by_rounding():
    times = [0, 1.0, 1e12]
    np.testing.assert_array_equal(
        linear.solve(np.zeros((3, 2)), np.zeros((3, 4)), np.ones((4, 2)), times), 0
    )
    rng = np.random.default_rng(3)
    inward, outward, hidden = (
        v / np.linalg.norm(v) for v in (rng.normal(size=4), rng.normal(size=3), rng.normal(size=3))
    )
    a, w = (
        np.outer(hidden, outward),
        np.outer(hidden, inward),
    )  # balanced layers of rank one keep it
    late = linear.solve(a, w, rng.normal(size=(4, 3)), [1e12])[0]
    np.testing.assert_allclose(np.linalg.svd(late, compute_uv=False)[1:], 0, atol=1e-12)
    against = linear.solve(
        -a, w, 2 * w.T @ a, times
    )  # a mode that starts against its target decays to zero
    np.testing.assert_allclose(against[1], -(w.T @ a) * 2 / (3 * np.exp(4) - 1), atol=1e-15)
    np.testing.assert_allclose(against[2], 0, atol=1e-15)


def test_balanced_layers_keep_the_sign_of_the_determinant():
    a, w = linear.isotropic_initialization([[0.0, 0.3], [0.2, 0.1]], 0.0, 4, 0)  # det β₀ < 0
    np.testing.assert_allclose(
        linear.solve(a, w, [[2.0, 0.0], [0.0, 0.5]], [1e12])[0], [[2, 0], [0, 0]], atol=1e-12
    )
    rng = np.random.default_rng(0)
    for seed in range(
        200
    ):  # some of these starts lie close to a saddle of two modes, which enlarges their rounding
        start, target = rng.normal(size=(2, 3, 3))
        a, w = linear.isotropic_initialization(0.1 * start, 0.0, 4, seed)
        lost = np.sum((linear.solve(a, w, target, 1e9)[0] - target) ** 2)
        weakest = (
            np.linalg.svd(target, compute_uv=False)[-1]
            if np.linalg.det(start) * np.linalg.det(target) < 0
            else 0
        )
        np.testing.assert_allclose(lost, weakest**2, atol=1e-9)


@given(problem=problems(), time=st.floats(0.01, 5))
def test_the_gram_matrices_keep_what_is_conserved(problem, time):
    """WᵀΔW = δWᵀW: ββᵀ = (WᵀW)² + δWᵀW, and βᵀβ = (AᵀA)² - δAᵀA."""
    a, w, target, delta = problem
    exact = linear.course(a, w, target, time)
    beta, of_w, of_a = exact.beta[0], exact.gram_w[0], exact.gram_a[0]
    size = (1 + abs(delta) + np.abs(of_w).max() + np.abs(of_a).max()) ** 2
    np.testing.assert_allclose(beta @ beta.T, of_w @ of_w + delta * of_w, atol=1e-12 * size)
    np.testing.assert_allclose(beta.T @ beta, of_a @ of_a - delta * of_a, atol=1e-12 * size)


def test_weights_of_any_size_are_followed():
    for size in (1e-160, 1e-80, 1e40):
        a, w = np.array([[size, 0.0], [0.0, size]]), np.array([[0.0, size], [size, 0.0]])
        exact = linear.solve(a, w, [[0.0, 2.0], [1.0, 0.0]], [0.0, 1.0, 1e3, 1e6])
        modes = [mode(size**2, target, 0, [0.0, 1.0, 1e3, 1e6]) for target in (2.0, 1.0)]
        np.testing.assert_allclose(exact[:, [0, 1], [1, 0]].T, modes, rtol=1e-9, atol=1e-300)


@settings(max_examples=40)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_aligned_modes_are_the_course_of_the_whole_network(seed, d, c, delta):
    rng = np.random.default_rng(seed)
    r, h = min(d, c), c if delta > 0 else d
    u, v = (
        np.linalg.qr(rng.normal(size=(d, d)))[0][:, :r],
        np.linalg.qr(rng.normal(size=(c, c)))[0][:, :r],
    )
    start, target, times = rng.normal(size=r), rng.normal(size=r), [0, 0.3, 1.0, 4.0, 1e6]
    start = (
        np.abs(start) * np.sign(target) if delta == 0 else start
    )  # rounding alone decides who leaves the saddle of δ = 0
    a, w = linear.isotropic_initialization(u * start @ v.T, delta, h, seed)
    beta = linear.solve(a, w, u * target @ v.T, times)
    modes = [mode(one, goal, delta, times) for one, goal in zip(start, target, strict=True)]
    np.testing.assert_allclose(
        u.T @ beta @ v, [np.diag(modes) for modes in np.transpose(modes)], atol=1e-9
    )


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
    np.testing.assert_allclose(
        np.column_stack([path.a, path.ws.reshape(2, -1)]), ode.y.T, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(path.beta[1], deep_map(path.a[1], *path.ws[1]), atol=1e-12)
