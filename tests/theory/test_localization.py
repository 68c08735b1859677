"""The corrected formulas of the notes against quadrature, sampling, autograd and ODE solvers."""

import numpy as np
import pytest
import torch
from gaussian_pairs import TURNS, assert_sampled, at_angle, covariance, sizes, widths
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.stats import norm
from theory.references import seeds

from lib import data
from lib.theory import localization as theory

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


def symmetric_data(seed, n=3, points=6):
    """Return inputs that come with their negatives, equally likely, far from Gaussian: expectations are plain sums."""
    rng = np.random.default_rng(seed)
    half = [rng.normal(size=(points, n)) ** 3 for _ in range(2)]
    return rng.normal(size=n), [np.concatenate([x, -x]) for x in half]


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


# --- sign flips -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(seeds, st.integers(2, 6))
def test_climbing_the_score_never_goes_down(seed, n):
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


def test_ring_correlation_is_clipped_where_the_formula_is_indefinite():
    n, d = 40, np.minimum(np.arange(40), 40 - np.arange(40))
    for xi, change in ((3.0, 1e-12), (5.0, 1e-7), (8.0, 1e-3)):
        formula = np.exp(-(d**2) / xi**2)
        assert np.abs(theory.ring_correlation(n, xi)[0] - formula).max() < change
        assert (np.fft.fft(formula).real.min() < -1e-9) == (xi >= 5)
        assert np.linalg.eigvalsh(theory.ring_correlation(n, xi)).min() > -1e-12


# --- bad input ------------------------------------------------------------------------------------------------------------

GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])


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
        (lambda: theory.fixed_points(np.ones((2, 2)), np.ones((2, 2))), "singular"),
        (lambda: theory.ring_spectrum(GOOD + np.diag([1.0, 0])), "circulant"),
        (lambda: theory.symmetric_score(2, 1, 1), "exceeds"),
    ],
)
def test_bad_input_gets_a_clear_error(call, says):
    with pytest.raises(ValueError, match=says):
        call()
