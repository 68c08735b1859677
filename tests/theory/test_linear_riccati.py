"""The exact course of isotropic networks against the integrated flow, sixty digits, and the single neuron."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from lib.theory import linear_networks as linear
from lib.theory import single_neuron

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)
deltas = st.one_of(st.just(0.0), st.floats(0.05, 4), st.floats(-4, -0.05))


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


# Every isotropic network


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_the_course_is_the_integrated_flow(problem):
    a, w, target, delta = problem
    assume(delta != 0 or np.linalg.cond(w.T @ a) < 1e3 or min(w.shape + a.shape) < 2)  # an integrator leaves saddles by rounding
    times = [0, 1e-3, 0.1, 0.5, 2, 9, 50]
    path, exact = linear.flow(a, w, np.eye(len(target)), target, times), linear.course(a, w, target, times)
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
    np.testing.assert_allclose(linear.solve(a, w, target, t)[0], many_digit_map(a, w, target, t), rtol=0, atol=1e-12 * scale)


def test_far_downstream_a_start_that_hardly_sees_the_strongest_mode_keeps_its_digits():
    """Rates that are subtracted from another than the fastest, and then multiplied by t = 1e9, choose the wrong pivot."""
    rng, delta = np.random.default_rng(1), -1e9
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 2))
    target = u[:, :2] * [1.0, 0.6] @ v.T
    start = np.outer(1e-9 * u[:, 0] + u[:, 1] + 0.3 * u[:, 2], [1.0, 0.5]) + np.outer(u[:, 3], [0.2, -0.7])
    a, w = linear.isotropic_initialization(start, delta, 2, 0)
    for t in (1e9, 5e9):
        np.testing.assert_allclose(linear.solve(a, w, target, t)[0], many_digit_map(a, w, target, t), rtol=0, atol=1e-12)


def many_digit_map(a, w, target, time):
    """Evaluate the formula for ZZᵀ as it stands, with digits enough for its growing exponentials."""
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
        phi = [mp.expm1(2 * rate * time) / (2 * rate) if abs(rate) > mpf(10) ** -45 else mpf(time) for rate in rates]
        grown = mp.diag([mp.exp(rate * time) for rate in rates]) * z
        outer = modes * grown * mp.inverse(mp.eye(h) + z.T * mp.diag(phi) * z) * grown.T * modes.T
        return np.array([[float(outer[i, d + j]) for j in range(c)] for i in range(d)])


@given(seed=seeds, d=sizes, spread=st.floats(-3, 3), late=st.floats(-3, 3))
def test_one_hidden_neuron_is_the_single_neuron(seed, d, spread, late):
    rng = np.random.default_rng(seed)
    a0, w0, target = 10**spread * rng.normal(), rng.normal(size=d), rng.normal(size=d)
    times = 10**late * np.linspace(0, 1, 5)
    alone = single_neuron.trajectory(a0, w0, target, times)
    scale = np.abs(alone.beta).max() + np.linalg.norm(target)
    np.testing.assert_allclose(linear.solve([[a0]], [w0], target[:, None], times)[..., 0], alone.beta, atol=1e-13 * scale)
    mirrored = linear.solve(w0[:1, None], [[a0]], target[:1, None], times)[:, 0, 0]  # the layers exchanged: δ → -δ
    np.testing.assert_allclose(mirrored, linear.solve([[a0]], [w0[:1]], target[:1, None], times)[:, 0, 0], atol=1e-13 * scale)


@settings(max_examples=40)
@given(problem=problems(exponents=(-6, 6)))
def test_the_course_is_finite_at_any_time_and_starts_where_it_is_told(problem):
    a, w, target, _ = problem
    times = [0, 1e-300, 1e3, 1e8, 1e12, 1e300]
    with np.errstate(all="raise", under="ignore"):
        exact = linear.course(a, w, target, times)
    for found, start in ((exact.beta, w.T @ a), (exact.gram_w, w.T @ w), (exact.gram_a, a.T @ a)):
        assert np.all(np.isfinite(found))
        np.testing.assert_allclose(found[:2], [start] * 2, atol=1e-13 * (np.abs(a).max() ** 2 + np.abs(w).max() ** 2))
    np.testing.assert_allclose(exact.beta[4], exact.beta[5], atol=1e-6 * (1 + np.abs(target).max()))


@settings(max_examples=40)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_a_wide_start_ends_at_the_target_and_a_bottleneck_at_its_strongest_modes(seed, d, c, delta):
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
        np.testing.assert_allclose(linear.solve(a, w, target, 1e9)[0], u[:, : len(kept)] * kept @ v[:, : len(kept)].T, atol=1e-9)


def test_zero_stays_at_zero_and_a_saddle_is_not_left_by_rounding():
    times = [0, 1.0, 1e12]
    np.testing.assert_array_equal(linear.solve(np.zeros((3, 2)), np.zeros((3, 4)), np.ones((4, 2)), times), 0)
    rng = np.random.default_rng(3)
    inward, outward, hidden = (v / np.linalg.norm(v) for v in (rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)))
    a, w = np.outer(hidden, outward), np.outer(hidden, inward)  # balanced layers of rank one keep it
    late = linear.solve(a, w, rng.normal(size=(4, 3)), [1e12])[0]
    np.testing.assert_allclose(np.linalg.svd(late, compute_uv=False)[1:], 0, atol=1e-12)
    against = linear.solve(-a, w, 2 * w.T @ a, times)  # a mode that starts against its target decays to zero
    np.testing.assert_allclose(against[1], -(w.T @ a) * 2 / (3 * np.exp(4) - 1), atol=1e-15)
    np.testing.assert_allclose(against[2], 0, atol=1e-15)


def test_balanced_layers_keep_the_sign_of_the_determinant_and_lose_the_weakest_mode():
    a, w = linear.isotropic_initialization([[0.0, 0.3], [0.2, 0.1]], 0.0, 4, 0)  # det β₀ < 0
    np.testing.assert_allclose(linear.solve(a, w, [[2.0, 0.0], [0.0, 0.5]], [1e12])[0], [[2, 0], [0, 0]], atol=1e-12)
    rng = np.random.default_rng(0)
    for seed in range(200):  # some of these starts lie close to a saddle of two modes, which enlarges their rounding
        start, target = rng.normal(size=(2, 3, 3))
        a, w = linear.isotropic_initialization(0.1 * start, 0.0, 4, seed)
        lost = np.sum((linear.solve(a, w, target, 1e9)[0] - target) ** 2)
        weakest = np.linalg.svd(target, compute_uv=False)[-1] if np.linalg.det(start) * np.linalg.det(target) < 0 else 0
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
        modes = linear.singular_values([size**2] * 2, [2.0, 1.0], 0, [0.0, 1.0, 1e3, 1e6])
        np.testing.assert_allclose(exact[:, [0, 1], [1, 0]], modes, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: linear.solve(np.ones((2, 3)), np.eye(2), np.ones((2, 3)), [1]), r"away from .* want isotropic layers"),
        (lambda: linear.solve(np.eye(2), np.eye(2), np.ones((2, 3)), [1]), r"beta_star \(2, 3\) do not fit"),
        (lambda: linear.course(np.diag([1, 1 + 1e-6]), np.eye(2), np.eye(2), [1]), "want isotropic layers"),
        (lambda: linear.singular_values([1.0], [1.0, 2.0], 0, [1]), "do not fit"),
        (lambda: linear.singular_values([1.0], [1.0], 1e-151, [1]), "at least 1e-150"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Aligned modes


@settings(max_examples=30)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_aligned_modes_follow_the_scalar_law_through_zero(seed, d, c, delta):
    rng = np.random.default_rng(seed)
    r, h = min(d, c), c if delta > 0 else d
    u, v = np.linalg.qr(rng.normal(size=(d, d)))[0], np.linalg.qr(rng.normal(size=(c, c)))[0]
    start, target, times = rng.normal(size=r), rng.normal(size=r), [0, 0.3, 1.0, 4.0]
    a, w = linear.isotropic_initialization(u[:, :r] * start @ v[:, :r].T, delta, h, seed)
    beta = linear.flow(a, w, np.eye(d), u[:, :r] * target @ v[:, :r].T, times).beta
    modes = linear.singular_values(start, target, delta, times)
    np.testing.assert_allclose(np.einsum("ik,tij,jk->tk", u[:, :r], beta, v[:, :r]), modes, atol=1e-7)
    sizes = -np.sort(-np.abs(modes), axis=1)
    np.testing.assert_allclose(np.linalg.svd(beta, compute_uv=False), sizes, atol=1e-7)  # which reflect at zero


@given(
    start=st.floats(-3, 3).map(lambda v: round(v, 3)),
    target=st.floats(-3, 3).map(lambda v: round(v, 3)),
    power=st.floats(-6, 6),
    sign=st.sampled_from([-1, 0, 1]),
    late=st.floats(0.01, 40),
)
def test_singular_values_to_the_last_digits(start, target, power, sign, late):
    delta = sign * 10**power
    times = late * np.array([0, 0.1, 0.5, 1]) / np.hypot(delta, 2 * target + 0.1)
    expected = [fifty_digit_mode(start, target, delta, t) for t in times]
    modes = linear.singular_values([start], [target], delta, times)[:, 0]
    np.testing.assert_allclose(modes, expected, rtol=0, atol=3e-15 * (late + 4) * max(abs(start), abs(target)))


def fifty_digit_mode(start, target, delta, time):
    """Invert t = ∫ dλ / (√(δ²+4λ²)(s-λ)) through λ = ½|δ| sinh θ, which gives tanh; for δ = 0 through the logistic."""
    with mp.workdps(80):
        x, s, delta, t = mpf(start), mpf(target), abs(mpf(delta)), mpf(float(time))
        if x == s:
            return float(s)
        if delta == 0:
            if s == 0 or x == 0:
                return float(x / (1 + 2 * abs(x) * t))
            rate = 2 * s * mp.sign(x)
            return float(s / (1 + (s / x - 1) * mp.exp(-rate * t)))
        # λ = (z - δ²/z)/4 with (z - z₊)/(z - z₋) decaying at the rate κ = √(δ²+4s²) and z± = 2s ± κ
        kappa = mp.sqrt(delta**2 + 4 * s**2)
        z0 = 2 * x + mp.sqrt(delta**2 + 4 * x**2)
        ratio = (z0 - 2 * s - kappa) / (z0 - 2 * s + kappa) * mp.exp(-kappa * t)
        z = 2 * s + kappa * (1 + ratio) / (1 - ratio)
        return float((z - delta**2 / z) / 4)


@given(seed=seeds, delta=deltas)
def test_singular_values_obey_their_equation(seed, delta):
    rng = np.random.default_rng(seed)
    start, target, t, step = rng.normal(size=4), rng.normal(size=4), rng.uniform(0.1, 1), 1e-5
    before, now, after = linear.singular_values(start, target, delta, [t - step, t, t + step])
    np.testing.assert_allclose((after - before) / (2 * step), np.sqrt(delta**2 + 4 * now**2) * (target - now), atol=1e-6)


def test_singular_values_in_the_rich_limit_are_saxe_et_al_s_sigmoid():
    s, start, t = np.array([0.5, 2.0]), np.array([1e-12, 1e-3]), np.linspace(0, 40, 9)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        sigmoid = s * np.exp(2 * s * t) / (np.exp(2 * s * t) - 1 + s / start)
    np.testing.assert_allclose(linear.singular_values(start, s, 0, t[:, 0]), sigmoid, rtol=1e-12)
    np.testing.assert_allclose(linear.singular_values(-start, -s, 0, t[:, 0]), -sigmoid, rtol=1e-12)


def test_singular_values_at_the_edges():
    late = linear.singular_values([0.0, 0.5, -0.5, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0, 1.0], 0.0, [0, 1.0, 1e6])
    np.testing.assert_allclose(late[:, 0], 0)  # a saddle
    np.testing.assert_allclose(late[:, 1], [0.5, 0.25, 0.5 / (1 + 1e6)], rtol=1e-13)
    np.testing.assert_allclose(late[:, 2], [-0.5, -1 / (3 * np.exp(2) - 1), 0], rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(late[:, 3], 0)
    np.testing.assert_allclose(late[:, 4], 1)
    np.testing.assert_allclose(linear.singular_values([-2.0], [1.0], -1e-3, [1e9]), [[1.0]])
    least = linear.singular_values([-0.5], [1.0], 1e-150, [0.3])  # is as good as balanced, but not refused
    np.testing.assert_allclose(least, linear.singular_values([-0.5], [1.0], 0.0, [0.3]), rtol=1e-13)


@settings(max_examples=40)
@given(seed=seeds, d=sizes, c=sizes, delta=deltas)
def test_aligned_modes_are_the_course_of_the_whole_network(seed, d, c, delta):
    rng = np.random.default_rng(seed)
    r, h = min(d, c), c if delta > 0 else d
    u, v = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :r], np.linalg.qr(rng.normal(size=(c, c)))[0][:, :r]
    start, target, times = rng.normal(size=r), rng.normal(size=r), [0, 0.3, 1.0, 4.0, 1e6]
    start = np.abs(start) * np.sign(target) if delta == 0 else start  # rounding alone decides who leaves the saddle of δ = 0
    a, w = linear.isotropic_initialization(u * start @ v.T, delta, h, seed)
    beta = linear.solve(a, w, u * target @ v.T, times)
    np.testing.assert_allclose(
        u.T @ beta @ v, linear.singular_values(start, target, delta, times)[:, :, None] * np.eye(r), atol=1e-9
    )
