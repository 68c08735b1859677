"""The corrected formulas of the notes against quadrature, sampling, autograd and ODE solvers; the printed ones fail."""

import numpy as np
import pytest
import torch
from gaussian_pairs import (
    TURNS,
    assert_sampled,
    at_angle,
    covariance,
    pair_moment_by_quadrature,
    products,
    seeds,
    sizes,
    widths,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad, solve_ivp
from scipy.stats import norm

from lib import data
from lib.theory import localization as theory


def one_neuron_flow(w, mean1, sigma1, sigma0):
    """Eqs. 13 and 131–133 corrected: τẇ for K = 1 on data symmetric about zero, with `mean1` = E[X; ⟨w, X⟩ > 0 | y = 1]."""
    return mean1 / 2 - w @ (sigma1 + sigma0) / 4


# --- the flow and the loss ------------------------------------------------------------------------------------------------


def expected_relu_products(gram):
    """E[ReLU(h) ReLU(h)ᵀ] for h ~ N(0, gram) in torch, from the arc-cosine kernel's other form, arcsine."""
    length = torch.sqrt(torch.diagonal(gram))
    scale = length[:, None] * length
    off = ~torch.eye(len(gram), dtype=torch.bool)
    c = torch.where(off, gram / scale, torch.zeros_like(gram))
    kernel = scale * (torch.sqrt(1 - c**2) + c * (torch.pi / 2 + torch.arcsin(c))) / (2 * torch.pi)
    return torch.where(off, kernel, gram / 2)


def torch_loss(w, sigma1, sigma0):
    k = len(w)
    squared = sum(expected_relu_products(w @ s @ w.T).sum() for s in (sigma1, sigma0)) / 2
    return 0.5 * (squared / k**2 - torch.sqrt(torch.diagonal(w @ sigma1 @ w.T)).sum() / k / np.sqrt(2 * np.pi) + 0.5)


def network(seed, k, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n)), covariance(rng, n), covariance(rng, n)


@given(seed=seeds, k=widths, n=st.integers(2, 6))
def test_flow_is_minus_k_times_the_gradient_of_the_loss(seed, k, n):
    w, sigma1, sigma0 = network(seed, k, n)
    leaf, one, zero = (torch.tensor(v) for v in (w, sigma1, sigma0))
    value = torch_loss(leaf.requires_grad_(), one, zero)
    (slope,) = torch.autograd.grad(value, leaf)
    np.testing.assert_allclose(theory.relu_loss(w, sigma1, sigma0), value.item(), rtol=1e-9)
    np.testing.assert_allclose(theory.relu_flow(w, sigma1, sigma0), -k * slope.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", sorted(TURNS))
def test_flow_is_the_slope_of_the_loss_at_special_angles(kind):
    """Finite differences, because autograd of an arc cosine has no slope there."""
    rng = np.random.default_rng(3)
    sigma1, sigma0, w1 = covariance(rng, 4), covariance(rng, 4), rng.normal(size=4)
    w = np.stack([w1, at_angle(rng, w1, sigma1, TURNS[kind]), rng.normal(size=4)])
    slope, h = np.zeros_like(w), 1e-5
    for index in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[index] = h
        slope[index] = (theory.relu_loss(w + step, sigma1, sigma0) - theory.relu_loss(w - step, sigma1, sigma0)) / (2 * h)
    np.testing.assert_allclose(theory.relu_flow(w, sigma1, sigma0), -3 * slope, atol=1e-6)


def test_flow_and_loss_against_samples():
    """The definitions, Eqs. 3–5, on drawn data."""
    rng = np.random.default_rng(5)
    w, sigma1, sigma0 = network(5, 4, 3)
    drawn = 400_000
    y = rng.integers(2, size=drawn)
    x = np.where(y[:, None] == 1, *(rng.multivariate_normal(np.zeros(3), s, drawn) for s in (sigma1, sigma0)))
    gap = np.maximum(x @ w.T, 0).mean(axis=1) - y
    assert_sampled(gap**2 / 2, theory.relu_loss(w, sigma1, sigma0))
    flow = theory.relu_flow(w, sigma1, sigma0)
    for i in range(4):
        assert_sampled(-(gap * (x @ w[i] > 0))[:, None] * x, flow[i])


@given(seed=seeds, k=widths, n=sizes)
def test_flow_does_not_care_about_order_and_axes(seed, k, n):
    w, sigma1, sigma0 = network(seed, k, n)
    rng = np.random.default_rng(seed)
    flow, order = theory.relu_flow(w, sigma1, sigma0), rng.permutation(k)
    np.testing.assert_allclose(theory.relu_flow(w[order], sigma1, sigma0), flow[order], rtol=1e-6, atol=1e-9)
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
    turned = theory.relu_flow(w @ turn.T, turn @ sigma1 @ turn.T, turn @ sigma0 @ turn.T)
    np.testing.assert_allclose(turned, flow @ turn.T, rtol=1e-6, atol=1e-7)


@given(seed=seeds, k=widths, n=sizes)
def test_neurons_that_are_equal_are_one_neuron(seed, k, n):
    rng = np.random.default_rng(seed)
    sigma1, sigma0, w = covariance(rng, n), covariance(rng, n), rng.normal(size=(1, n))
    copies = np.repeat(w, k, axis=0)
    np.testing.assert_allclose(theory.relu_loss(copies, sigma1, sigma0), theory.relu_loss(w, sigma1, sigma0), rtol=1e-9)
    single = theory.relu_flow(w, sigma1, sigma0)[0]
    np.testing.assert_allclose(theory.relu_flow(copies, sigma1, sigma0), np.tile(single, (k, 1)), rtol=1e-6, atol=1e-7)
    gaussian = one_neuron_flow(w, theory.gated_mean(w, sigma1), sigma1, sigma0)[0]
    np.testing.assert_allclose(single, gaussian, rtol=1e-9, atol=1e-12)


def test_trajectory_follows_a_second_solver_and_lowers_the_loss():
    w, sigma1, sigma0 = network(7, 3, 4)
    slope = lambda _, v: theory.relu_flow(v.reshape(3, 4), sigma1, sigma0).ravel() / 2  # noqa: E731
    ode = solve_ivp(slope, (0, 20), w.ravel(), "LSODA", [0, 5, 20], rtol=1e-9, atol=1e-10)
    times, path = theory.relu_trajectory(w, sigma1, sigma0, [0, 5, 20], tau=2)
    assert times.tolist() == [0, 5, 20] and path.shape == (3, 3, 4)
    np.testing.assert_allclose(path.reshape(3, -1), ode.y.T, atol=1e-6)
    assert np.all(np.diff([theory.relu_loss(v, sigma1, sigma0) for v in path]) < 0)
    twice_as_fast = theory.relu_trajectory(w, sigma1, sigma0, [0, 2.5])[1]  # τ = 1
    np.testing.assert_allclose(twice_as_fast[1], path[1], atol=1e-8)


# --- one neuron -----------------------------------------------------------------------------------------------------------


@given(seed=seeds, n=sizes)
def test_fixed_points_rest_and_only_the_first_is_stable(seed, n):
    rng = np.random.default_rng(seed)
    sigma1, sigma0 = covariance(rng, n), covariance(rng, n)
    found = theory.fixed_points(sigma1, sigma0)
    assert np.all(np.diff(found.ratio) <= 0) and found.weights.shape == (n, n)
    for i, w in enumerate(found.weights):
        np.testing.assert_allclose(theory.relu_flow(w[None], sigma1, sigma0), 0, atol=1e-9)
        np.testing.assert_allclose(theory.relu_loss(w[None], sigma1, sigma0), found.loss[i], rtol=1e-9)
        np.testing.assert_allclose(w @ sigma1 @ w / (w @ (sigma1 + sigma0) @ w), found.ratio[i], rtol=1e-7)
        for j, v in enumerate(found.weights):  # a small step towards another one grows at the stated rate
            if i != j:
                rate = 0.25 * (found.ratio[j] / found.ratio[i] - 1)
                step = theory.relu_flow((w + 1e-6 * v)[None], sigma1, sigma0)[0]
                np.testing.assert_allclose(step, 1e-6 * rate * (sigma1 + sigma0) @ v, atol=1e-10)
                assert rate <= 1e-12 or i > 0


@pytest.mark.parametrize("n", [7, 12])
@pytest.mark.parametrize("xi", [(2.0, 1.0), (1.0, 2.5)])
def test_on_a_ring_the_fixed_points_are_fourier_modes(n, xi):
    sigma1, sigma0 = (theory.nlgp_covariance(n, length, 2.0) for length in xi)
    one, zero = theory.ring_spectrum(sigma1), theory.ring_spectrum(sigma0)
    found = theory.fixed_points(sigma1, sigma0)
    frequencies = np.minimum(np.arange(n), n - np.arange(n))
    np.testing.assert_allclose(found.ratio, np.sort((one / (one + zero))[frequencies])[::-1], rtol=1e-9)
    for mu, w in zip(found.ratio, found.weights, strict=True):
        power = np.abs(np.fft.fft(w)) ** 2
        k = frequencies[power.argmax()]
        np.testing.assert_allclose(power[frequencies == k].sum() / power.sum(), 1, rtol=1e-9)  # one frequency
        np.testing.assert_allclose(mu, one[k] / (one[k] + zero[k]), rtol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(w), np.sqrt(2 / np.pi * one[k]) / (one[k] + zero[k]), rtol=1e-9)
    assert np.abs(np.fft.fft(found.weights[0])).argmax() in ((0,) if xi[0] > xi[1] else (n // 2, n - n // 2))


def test_one_neuron_does_not_shrink_to_zero():
    """Eqs. 146–147 of the notes say it does; the loss there is ¼, and falls to ¼ − μ/4π."""
    sigma1, sigma0 = (theory.nlgp_covariance(10, xi, 1.0) for xi in (2.0, 1.0))
    winner = theory.fixed_points(sigma1, sigma0)
    w = np.random.default_rng(0).normal(size=(1, 10)) / 30
    end = theory.relu_trajectory(w, sigma1, sigma0, [0, 400])[1][-1]
    np.testing.assert_allclose(np.abs(end[0]), np.abs(winner.weights[0]), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(end), np.linalg.norm(winner.weights[0]), rtol=1e-8)
    np.testing.assert_allclose(theory.relu_loss(end, sigma1, sigma0), winner.loss[0], rtol=1e-9)
    assert winner.loss[0] < 0.2

    def printed(_, v):  # Eq. 146 with τ = 1
        return -2 * np.sqrt(2 / np.pi) * sigma1 @ v / np.sqrt(v @ sigma1 @ v)

    shrunk = solve_ivp(printed, (0, 0.05), w[0], rtol=1e-8).y[:, -1]
    assert np.linalg.norm(shrunk) < np.linalg.norm(w) < np.linalg.norm(end)


def symmetric_data(seed, n=3, points=6):
    """Return inputs that come with their negatives, equally likely, far from Gaussian: expectations are plain sums."""
    rng = np.random.default_rng(seed)
    half = [rng.normal(size=(points, n)) ** 3 for _ in range(2)]
    return rng.normal(size=n), [np.concatenate([x, -x]) for x in half]


@given(seed=seeds)
def test_one_neuron_on_any_symmetric_data(seed):
    """Eqs. 4, 13 and 131–133 (corrected) on discrete data, with nothing sampled."""
    w, (x1, x0) = symmetric_data(seed)
    sigma1, sigma0 = (x.T @ x / len(x) for x in (x1, x0))
    on1, on0 = ((x @ w > 0)[:, None] for x in (x1, x0))
    direct = -0.5 * np.mean((x1 @ w - 1)[:, None] * on1 * x1, 0) - 0.5 * np.mean((x0 @ w)[:, None] * on0 * x0, 0)
    np.testing.assert_allclose(np.mean((x1 @ w)[:, None] * on1 * x1, 0), sigma1 @ w / 2, rtol=1e-9, atol=1e-9)
    mean1 = np.mean(on1 * x1, 0)
    np.testing.assert_allclose(one_neuron_flow(w, mean1, sigma1, sigma0), direct, rtol=1e-9, atol=1e-9)
    s, rho1 = x1 @ w, w @ sigma1 @ w
    a = np.eye(3) - np.outer(sigma1 @ w, w) / rho1
    np.testing.assert_allclose(
        np.mean((s * on1[:, 0])[:, None] * x1 @ a.T, 0), 0, atol=1e-9 * np.abs(sigma1).max() * np.abs(w).max()
    )
    beyond = 2 * np.mean(x1 @ a.T * on1, 0)  # E[AX | S > 0, y = 1] = -2 E[(S - Y) AX | S > 0]
    mean_s = 2 * np.mean(s * on1[:, 0])
    corrected = beyond + (mean_s / rho1 - 1) * sigma1 @ w - sigma0 @ w
    np.testing.assert_allclose(corrected, 4 * direct, rtol=1e-9, atol=1e-8)
    rho0, mean_s0 = w @ sigma0 @ w, np.mean(np.abs(x0 @ w))
    printed = -((mean_s / rho1 - 1) * sigma1 + mean_s0 / rho0 * sigma0) @ w + beyond  # Eq. 132
    assert np.linalg.norm(printed - 4 * direct) > 1e-3 * np.linalg.norm(direct)


@given(seed=seeds)
def test_score_is_the_loss_at_the_best_scale(seed):
    w, (x1, x0) = symmetric_data(seed)
    s1, s0 = x1 @ w, x0 @ w
    score = theory.symmetric_score(np.abs(s1).mean(), (s1**2).mean(), (s0**2).mean())

    def loss(scale):
        return 0.25 * np.mean((scale * np.maximum(s1, 0) - 1) ** 2) + 0.25 * np.mean((scale * np.maximum(s0, 0)) ** 2)

    best = np.abs(s1).mean() / (np.mean(s1**2) + np.mean(s0**2))
    np.testing.assert_allclose(loss(best), 0.25 - score / 8, rtol=1e-10)
    assert loss(best) <= min(loss(1.01 * best), loss(0.99 * best))


def test_score_of_gaussian_data_is_the_ratio_of_the_fixed_point():
    sigma1, sigma0 = covariance(np.random.default_rng(0), 4), covariance(np.random.default_rng(1), 4)
    found = theory.fixed_points(sigma1, sigma0)
    one, zero = (np.einsum("ki,ij,kj->k", found.weights, s, found.weights) for s in (sigma1, sigma0))
    score = theory.symmetric_score(np.sqrt(2 * one / np.pi), one, zero)
    np.testing.assert_allclose(score, 2 / np.pi * found.ratio, rtol=1e-9)
    np.testing.assert_allclose(0.25 - score / 8, found.loss, rtol=1e-9)


# --- sign flips -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(seeds, st.integers(2, 6))
def test_climbing_the_score_never_goes_down_and_rests_where_the_flow_does(seed, n):
    rng = np.random.default_rng(seed)
    inputs = np.sign(rng.normal(size=(120, n))) * rng.exponential(size=(120, n)) @ rng.normal(size=(n, n))
    labels = np.arange(120) % 2
    w = rng.normal(size=(3, n))

    def score(w):
        s = inputs @ w.T
        one, zero = s[labels == 1], s[labels == 0]
        return theory.symmetric_score(np.abs(one).mean(0), (one**2).mean(0), (zero**2).mean(0))

    before = score(w)
    for steps in range(1, 5):
        after = score(theory.climb_score(w, inputs, labels, steps=steps))
        assert np.all(after >= before - 1e-12)
        before = after
    end = theory.climb_score(w, inputs, labels, steps=500)
    np.testing.assert_allclose(theory.climb_score(end, inputs, labels, steps=1), end, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(theory.climb_score(w, inputs, labels, steps=0), w)


def test_scores_are_the_moments_of_a_loop():
    inputs, labels = data.symmetric_field(1, 500, 8, (2.0, 1.0), "uniform")
    w = np.random.default_rng(0).normal(size=(3, 8))
    for found, field in zip(theory.scores(inputs, labels, w), w, strict=True):
        s = [sum(a * b for a, b in zip(field, x, strict=True)) for x in inputs]
        one, zero = ([v for v, y in zip(s, labels, strict=True) if y == label] for label in (1, 0))
        mean = sum(abs(v) for v in one) / len(one)
        assert found == pytest.approx(mean**2 / (sum(v * v for v in one) / len(one) + sum(v * v for v in zero) / len(zero)))


def test_climbing_refuses_too_few_samples():
    with pytest.raises(ValueError, match="more samples"):
        theory.climb_score(np.ones((1, 3)), np.eye(3)[:2], [0, 1])


# --- the notes' equations as printed --------------------------------------------------------------------------------------


def test_eqs_25_and_30_as_printed():
    """At ρ11 = 1, ρkk = 4, γ = ½: Eq. 25 gives E[T²], Eq. 30 misses a quarter turn."""
    sigma, w1, wk = np.array([[1.0, 1.0], [1.0, 4.0]]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    r11, r1k, rkk = products(sigma, w1, wk)
    root, gamma = np.sqrt(r11 * rkk - r1k**2), r1k / np.sqrt(r11 * rkk)
    printed25 = rkk / (2 * np.pi) * (np.arccos(-gamma) + r1k / (r11 * rkk) * root)
    printed30 = r1k / (2 * np.pi) * (np.arcsin(gamma) + r1k / (r11 * rkk) * root)
    found = theory.orthant_moments(w1, wk, sigma)
    np.testing.assert_allclose([printed25, found.tt, found.ss], [1.609, 1.609, 0.4022], atol=5e-4)
    np.testing.assert_allclose([printed30, found.st], [0.1522, 0.6090], atol=5e-4)


def test_eqs_22_to_24_as_printed_swap_the_variances():
    """The printed density is that of (T, S): its E[S²] is E[T²], which is how Eq. 25 comes about."""
    r11, r1k, rkk = 1.0, 1.0, 4.0
    det = r11 * rkk - r1k**2

    def printed(t, s):
        return s**2 * np.exp(-(r11 * s**2 - 2 * r1k * s * t + rkk * t**2) / (2 * det)) / (2 * np.pi * np.sqrt(det))

    found = theory.orthant_moments([1, 0], [0, 1], [[r11, r1k], [r1k, rkk]])
    np.testing.assert_allclose(dblquad(printed, 0, 20, 0, 10, epsabs=1e-6)[0], found.tt, atol=1e-5)


def test_eq_138_as_printed():
    """For Σ₁ = I, Σ₀ = I/4 and |w| = 1 the flow is (√(2/π) − 5/4)w/4; as printed, −w/8."""
    sigma1, sigma0, w = np.eye(2), np.eye(2) / 4, np.array([0.6, 0.8])
    printed = -((1 / np.sqrt(w @ sigma1 @ w) - 1) * sigma1 + sigma0 / np.sqrt(w @ sigma0 @ w)) @ w / 4
    np.testing.assert_allclose(printed, -w / 8)
    np.testing.assert_allclose(theory.relu_flow(w[None], sigma1, sigma0)[0], (np.sqrt(2 / np.pi) - 1.25) * w / 4)


def printed_43(sigma, w1, wk):
    r11, r1k, rkk = products(sigma, w1, wk)
    det, gamma = r11 * rkk - r1k**2, r1k / np.sqrt(r11 * rkk)
    back, sine = np.arccos(-gamma), np.arcsin(gamma)
    first = (rkk**2 * back - r1k**2 * sine) * sigma @ w1 + (-r1k * rkk * back + r1k * r11 * sine) * sigma @ wk
    second = r1k / (r11 * rkk) / np.sqrt(det) * ((rkk - r1k) * sigma @ w1 + (r11 - r1k) * sigma @ wk)
    return (first / det + second) / (2 * np.pi)


def test_eqs_18_20_and_43_as_printed():
    sigma, w1, wk = np.array([[1.0, 1.0], [1.0, 4.0]]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    exact = pair_moment_by_quadrature(w1, wk, sigma)
    np.testing.assert_allclose(exact, [0.6090, 1.6090], atol=5e-5)
    np.testing.assert_allclose(theory.relu_pair_moment(w1, wk, sigma), exact, rtol=1e-10)
    np.testing.assert_allclose(printed_43(sigma, w1, wk), [1.4022, 0.1522], atol=5e-5)
    u = np.stack([w1, wk])[:, ::-1]  # a U that is not symmetric, and three columns: UᵀΣU of Eq. 18 is not even 2 × 2
    wide = np.hstack([u, np.zeros((2, 1))])
    with pytest.raises(ValueError, match="matmul"):
        wide.T @ np.eye(3) @ wide


def test_eqs_49_and_52_as_printed_lack_the_competition_at_right_angles():
    rng = np.random.default_rng(0)
    sigma, w1 = covariance(rng, 4), rng.normal(size=4)
    wk = at_angle(rng, w1, sigma, np.pi / 2)
    r11, _, rkk = products(sigma, w1, wk)
    exact = theory.relu_pair_moment(w1, wk, sigma)
    np.testing.assert_allclose(exact, np.sqrt(rkk / r11) * sigma @ w1 / (2 * np.pi) + sigma @ wk / 4, rtol=1e-9)
    np.testing.assert_allclose(exact, pair_moment_by_quadrature(w1, wk, sigma), rtol=1e-8)
    printed = rkk / (4 * r11) * sigma @ w1
    assert np.linalg.norm(printed - exact) > 0.5 * np.linalg.norm(exact)
    np.testing.assert_allclose(wk @ printed, 0, atol=1e-12)
    np.testing.assert_allclose(wk @ exact, rkk / 4, rtol=1e-9)  # the competition: E[T²; S > 0, T > 0]


@given(seed=seeds, turn=st.sampled_from([0.1, 0.03, 0.01]))
def test_eq_54_the_limit_of_near_identical_neurons_is_regular(seed, turn):
    rng = np.random.default_rng(seed)
    sigma, w1 = covariance(rng, 3), rng.normal(size=3)
    wk = at_angle(rng, w1, sigma, turn)
    r11, r1k, rkk = products(sigma, w1, wk)
    expansion = sigma @ wk / 2 + turn / (2 * np.pi) * (np.sqrt(rkk / r11) * sigma @ w1 - sigma @ wk)
    rest = theory.relu_pair_moment(w1, wk, sigma) - expansion
    size = np.linalg.norm(sigma @ w1) * np.sqrt(rkk / r11)
    assert np.linalg.norm(rest) < turn**3 * size
    assert r1k <= np.sqrt(r11 * rkk)  # Cauchy–Schwarz: the "+ ε²" of Eq. 53 cannot be
    eps = np.sqrt(np.sqrt(r11 * rkk) - r1k)
    printed = rkk**2 / (2 * np.pi * eps**2) * (np.pi / 2 * sigma @ w1 - rkk**2 * np.pi / 2 * sigma @ wk)
    assert np.linalg.norm(printed) > 5 * np.linalg.norm(expansion) or rkk < 0.5


@given(rho=st.floats(-0.95, 0.95), t=st.floats(0.05, 3))
def test_eqs_63_and_76_are_truncated_not_folded(rho, t):
    mu, sigma = rho * t, np.sqrt(1 - rho**2)
    far = mu + 12 * sigma
    second = quad(lambda s: s**2 * norm.pdf(s, mu, sigma), 0, max(far, 1))[0]
    first = quad(lambda s: s * norm.pdf(s, mu, sigma), 0, max(far, 1))[0]
    ratio = mu / sigma
    np.testing.assert_allclose(second, (mu**2 + sigma**2) * norm.cdf(ratio) + mu * sigma * norm.pdf(ratio), atol=1e-9)
    np.testing.assert_allclose(first, mu * norm.cdf(ratio) + sigma * norm.pdf(ratio), atol=1e-9)


def test_eqs_67_to_76_as_printed():
    """At ρ = ½: the sum of Eqs. 70, 72 and 75, over two, for E[S'²; S' > 0, T' > 0]; Eq. 76 at T' = 1; Eq. 72 at ρ = −½."""
    rho, root = 0.5, np.sqrt(0.75)
    tangent = np.arctan(root / rho)
    third = rho**2 / (2 * np.sqrt(2 * np.pi)) * (2**1.5 * tangent - 2 * np.sqrt(2) * rho * root / (3 * rho**2 + 1))
    printed = 0.5 * (1 - rho**2 / 2 + 0.75 / 2 * (1 - 2 / np.pi * tangent) + third)
    exact = theory.orthant_moments([1, 0], [0, 1], [[1, rho], [rho, 1]]).ss
    np.testing.assert_allclose([printed, exact], [0.5564, 0.4022], atol=5e-5)
    printed76 = np.sqrt(2 / np.pi) * 0.75 * np.exp(-(rho**2) / (2 * root)) + rho * (2 * norm.cdf(rho / root) - 1)
    joint = rho * norm.cdf(rho / root) + root * norm.pdf(rho / root)
    np.testing.assert_allclose([printed76, joint, joint / norm.cdf(rho / root)], [0.7361, 0.6515, 0.9072], atol=5e-5)
    printed72 = 0.75 / 2 * (1 - 2 / np.pi * np.arctan(root / -rho))
    integral = 0.75 * quad(lambda t: norm.pdf(t) * (2 * norm.cdf(-rho * t / root) - 1), 0, 12)[0]
    np.testing.assert_allclose([printed72, integral], [0.625, -0.125], atol=1e-9)


def test_eq_136_cosines_are_no_basis():
    n = 6
    angle = 2 * np.pi / n * np.outer(np.arange(n), np.arange(n))
    assert np.linalg.matrix_rank(np.cos(angle) / np.sqrt(n)) == n // 2 + 1
    real = np.cos(angle)[:, : n // 2 + 1], np.sin(angle)[:, 1 : n // 2]
    basis = np.hstack(real) * np.sqrt(2 / n)
    basis[:, [0, n // 2]] /= np.sqrt(2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n), atol=1e-14)
    sigma = theory.nlgp_covariance(n, 2.0, 1.0)
    order = np.r_[0 : n // 2 + 1, 1 : n // 2]
    np.testing.assert_allclose(basis.T @ sigma @ basis, np.diag(theory.ring_spectrum(sigma)[order]), atol=1e-12)


def test_eqs_140_and_142_a_half_space_keeps_the_covariance():
    rng = np.random.default_rng(0)
    sigma, w = covariance(rng, 3), rng.normal(size=3)
    x = rng.multivariate_normal(np.zeros(3), sigma, 400_000)
    assert_sampled(2 * x[:, :, None] * x[:, None, :] * (x @ w > 0)[:, None, None], sigma)
    printed = (np.eye(3) - np.outer(sigma @ w, w) / (w @ sigma @ w)) @ sigma
    assert abs(w @ printed @ w) < 1e-12 < w @ sigma @ w


# --- the nonlinear Gaussian process ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("gain, correlation", [(0.1, 0.5), (3.0, 0.778), (100.0, -0.3)])
def test_covariance_of_two_sites_is_the_integral(gain, correlation):
    scale = 2 * gain**2 / (1 + 2 * gain**2)
    closed = 2 / np.pi * np.arcsin(scale * correlation)
    z = np.sqrt(1 - correlation**2)

    def other(s):  # E[erf(g z_j) | z_i = s], in closed form for an erf of a Gaussian
        return 2 * norm.cdf(np.sqrt(2) * gain * correlation * s / np.sqrt(1 + 2 * gain**2 * z**2)) - 1

    edges = [-9, -1 / gain, 0, 1 / gain, 9] if gain > 1 else [-9, 0, 9]
    integral = quad(lambda s: (2 * norm.cdf(np.sqrt(2) * gain * s) - 1) * other(s) * norm.pdf(s), -9, 9, points=edges)[0]
    np.testing.assert_allclose(integral, closed, atol=1e-7)


@given(n=st.integers(1, 24), xi=st.floats(0.1, 50), gain=st.floats(1e-3, 1e3))
def test_nlgp_covariance_is_a_covariance_on_a_ring(n, xi, gain):
    found = theory.nlgp_covariance(n, xi, gain)
    spectrum = theory.ring_spectrum(found)
    assert found.shape == (n, n) and len(spectrum) == n // 2 + 1
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-7)
    assert spectrum.min() > -1e-9 and np.all(np.abs(found) <= 1 + 1e-9)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(found))[-1], spectrum.max(), rtol=1e-9)


def test_nlgp_covariance_is_the_formula():
    d = np.array([0, 1, 2, 3, 4, 3, 2, 1])
    for xi, gain in ((1.0, 3.0), (1.5, 0.2)):
        scale = 2 * gain**2 / (1 + 2 * gain**2)
        expected = np.arcsin(scale * np.exp(-(d**2) / xi**2)) / np.arcsin(scale)
        np.testing.assert_allclose(theory.nlgp_covariance(8, xi, gain)[0], expected, rtol=1e-9)
    gaussian, sign = theory.nlgp_covariance(8, 1.0, 1e-4)[0], theory.nlgp_covariance(8, 1.0, 1e4)[0]
    np.testing.assert_allclose(gaussian, np.exp(-(d**2)), atol=1e-8)
    np.testing.assert_allclose(sign, 2 / np.pi * np.arcsin(np.exp(-(d**2))), atol=1e-4)


def test_ring_correlation_is_clipped_where_the_formula_is_indefinite():
    n, d = 40, np.minimum(np.arange(40), 40 - np.arange(40))
    for xi, change in ((3.0, 1e-12), (5.0, 1e-7), (8.0, 1e-3)):
        formula = np.exp(-(d**2) / xi**2)
        assert np.abs(theory.ring_correlation(n, xi)[0] - formula).max() < change
        assert (np.fft.fft(formula).real.min() < -1e-9) == (xi >= 5)
        assert np.linalg.eigvalsh(theory.ring_correlation(n, xi)).min() > -1e-12


# --- bad input ------------------------------------------------------------------------------------------------------------

GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])
ASKEW = np.array([[2.0, 0.5], [0.1, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    "bad, says",
    [(ASKEW, "symmetric"), (INDEFINITE, "positive semidefinite"), (np.eye(3), "shape"), ([GOOD, GOOD], r"\(d, d\)")],
)
def test_bad_covariances_get_a_clear_error(bad, says):
    w, v = np.ones((1, 2)), [1.0, 2.0]
    for call in (
        lambda s: theory.relu_pair_moment(v, v, s),
        lambda s: theory.orthant_moments(v, v, s),
        lambda s: theory.gated_mean(v, s),
        lambda s: theory.relu_flow(w, s, GOOD),
        lambda s: theory.relu_flow(w, GOOD, s),
        lambda s: theory.relu_loss(w, GOOD, s),
    ):
        with pytest.raises(ValueError, match=says):
            call(bad)
    with pytest.raises(ValueError, match="do not fit" if says == "shape" else says):
        theory.fixed_points(bad, GOOD)


@pytest.mark.parametrize("zero", [[0.0, 0.0], [1.0, -1.0]])  # the second lies in the null space
def test_weights_without_a_half_space_get_a_clear_error(zero):
    flat, good = np.ones((2, 2)), [1.0, 2.0]
    for call in (
        lambda w: theory.relu_pair_moment(w, good, flat),
        lambda w: theory.relu_pair_moment(good, w, flat),
        lambda w: theory.relu_flow([good, w], flat, flat),
        lambda w: theory.relu_flow([good, w], np.eye(2) if any(w) else flat, flat),
        lambda w: theory.relu_loss([w], flat, flat),
        lambda w: theory.gated_mean(w, flat),
    ):
        with pytest.raises(ValueError, match="zero weight vector"):
            call(zero)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: theory.relu_pair_moment([1, 2, 3], [1, 2], GOOD), r"w1 has shape \(3,\)"),
        (lambda: theory.relu_pair_moment(np.ones((2, 2)), np.ones((3, 2)), GOOD), "broadcast"),
        (lambda: theory.relu_flow(np.ones((2, 3)), GOOD, GOOD), r"weights has shape \(2, 3\)"),
        (lambda: theory.relu_flow(np.ones((1, 2)), GOOD, np.eye(3)), "weights has shape"),
        (lambda: theory.relu_trajectory(np.ones((1, 2)), GOOD, GOOD, [1, 0]), "ascend"),
        (lambda: theory.fixed_points(np.ones((2, 2)), np.ones((2, 2))), "singular"),
        (lambda: theory.ring_spectrum(GOOD + np.diag([1.0, 0])), "circulant"),
        (lambda: theory.symmetric_score(2, 1, 1), "exceeds"),
    ],
)
def test_bad_input_gets_a_clear_error(call, says):
    with pytest.raises(ValueError, match=says):
        call()
