"""Flow, loss and covariances on Gaussian classes against
quadrature, sampling, autograd and ODE solvers.
"""

import numpy as np
import pytest
import torch
from gaussian_pairs import TURNS, assert_sampled, at_angle, covariance, widths
from hypothesis import given
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import quad, solve_ivp
from scipy.stats import norm

from lib.theory import gaussian_classes


def expected_relu_products(gram):
    """E[ReLU(h) ReLU(h)ᵀ] for h ~ N(0, gram) in torch, from
    the arc-cosine kernel's other form, arcsine.
    """
    length = torch.sqrt(torch.diagonal(gram))
    scale = length[:, None] * length
    off = ~torch.eye(len(gram), dtype=torch.bool)
    c = torch.where(off, gram / scale, torch.zeros_like(gram))
    kernel = scale * (torch.sqrt(1 - c**2) + c * (torch.pi / 2 + torch.arcsin(c))) / (2 * torch.pi)
    return torch.where(off, kernel, gram / 2)


def torch_loss(w, sigma1, sigma0):
    k = len(w)
    squared = sum(expected_relu_products(w @ s @ w.T).sum() for s in (sigma1, sigma0)) / 2
    return 0.5 * (
        squared / k**2
        - torch.sqrt(torch.diagonal(w @ sigma1 @ w.T)).sum() / k / np.sqrt(2 * np.pi)
        + 0.5
    )


def network(seed, k, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n)), covariance(rng, n), covariance(rng, n)


@given(seed=seeds, k=widths, n=st.integers(2, 6))
def test_flow_is_minus_k_times_the_gradient_of_the_loss(seed, k, n):
    w, sigma1, sigma0 = network(seed, k, n)
    leaf, one, zero = (torch.tensor(v) for v in (w, sigma1, sigma0))
    value = torch_loss(leaf.requires_grad_(), one, zero)
    (slope,) = torch.autograd.grad(value, leaf)
    np.testing.assert_allclose(
        gaussian_classes.relu_loss(w, sigma1, sigma0), value.item(), rtol=1e-9
    )
    np.testing.assert_allclose(
        gaussian_classes.relu_flow(w, sigma1, sigma0), -k * slope.numpy(), rtol=1e-6, atol=1e-8
    )


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
        slope[index] = (
            gaussian_classes.relu_loss(w + step, sigma1, sigma0)
            - gaussian_classes.relu_loss(w - step, sigma1, sigma0)
        ) / (2 * h)
    np.testing.assert_allclose(gaussian_classes.relu_flow(w, sigma1, sigma0), -3 * slope, atol=1e-6)


def test_flow_and_loss_against_samples():
    """The definitions, Eqs. 3–5, on drawn data."""
    rng = np.random.default_rng(5)
    w, sigma1, sigma0 = network(5, 4, 3)
    drawn = 400_000
    y = rng.integers(2, size=drawn)
    x = np.where(
        y[:, None] == 1, *(rng.multivariate_normal(np.zeros(3), s, drawn) for s in (sigma1, sigma0))
    )
    gap = np.maximum(x @ w.T, 0).mean(axis=1) - y
    assert_sampled(gap**2 / 2, gaussian_classes.relu_loss(w, sigma1, sigma0))
    flow = gaussian_classes.relu_flow(w, sigma1, sigma0)
    for i in range(4):
        assert_sampled(-(gap * (x @ w[i] > 0))[:, None] * x, flow[i])


def test_trajectory_follows_a_second_solver_and_lowers_the_loss():
    w, sigma1, sigma0 = network(7, 3, 4)
    slope = lambda _, v: gaussian_classes.relu_flow(v.reshape(3, 4), sigma1, sigma0).ravel() / 2  # noqa: E731
    ode = solve_ivp(slope, (0, 20), w.ravel(), "LSODA", [0, 5, 20], rtol=1e-9, atol=1e-10)
    times, path = gaussian_classes.relu_trajectory(w, sigma1, sigma0, [0, 5, 20], tau=2)
    assert times.tolist() == [0, 5, 20] and path.shape == (3, 3, 4)
    np.testing.assert_allclose(path.reshape(3, -1), ode.y.T, atol=1e-6)
    assert np.all(np.diff([gaussian_classes.relu_loss(v, sigma1, sigma0) for v in path]) < 0)
    twice_as_fast = gaussian_classes.relu_trajectory(w, sigma1, sigma0, [0, 2.5])[1]  # τ = 1
    np.testing.assert_allclose(twice_as_fast[1], path[1], atol=1e-8)


@pytest.mark.parametrize("gain, correlation", [(0.1, 0.5), (3.0, 0.778), (100.0, -0.3)])
def test_covariance_of_two_sites_is_the_integral(gain, correlation):
    scale = 2 * gain**2 / (1 + 2 * gain**2)
    closed = 2 / np.pi * np.arcsin(scale * correlation)
    z = np.sqrt(1 - correlation**2)

    def other(s):  # E[erf(g z_j) | z_i = s], in closed form for an erf of a Gaussian
        return (
            2 * norm.cdf(np.sqrt(2) * gain * correlation * s / np.sqrt(1 + 2 * gain**2 * z**2)) - 1
        )

    edges = [-9, -1 / gain, 0, 1 / gain, 9] if gain > 1 else [-9, 0, 9]
    integral = quad(
        lambda s: (2 * norm.cdf(np.sqrt(2) * gain * s) - 1) * other(s) * norm.pdf(s),
        -9,
        9,
        points=edges,
    )[0]
    np.testing.assert_allclose(integral, closed, atol=1e-7)


@given(n=st.integers(1, 24), xi=st.floats(0.1, 50), gain=st.floats(1e-3, 1e3))
def test_nlgp_covariance_is_a_covariance_on_a_ring(n, xi, gain):
    found = gaussian_classes.nlgp_covariance(n, xi, gain)
    spectrum = np.fft.rfft(found[0]).real
    assert found.shape == (n, n) and len(spectrum) == n // 2 + 1
    np.testing.assert_allclose(np.diag(found), 1, rtol=1e-7)
    assert spectrum.min() > -1e-9 and np.all(np.abs(found) <= 1 + 1e-9)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(found))[-1], spectrum.max(), rtol=1e-9)


def test_nlgp_covariance_is_the_formula():
    d = np.array([0, 1, 2, 3, 4, 3, 2, 1])
    for xi, gain in ((1.0, 3.0), (1.5, 0.2)):
        scale = 2 * gain**2 / (1 + 2 * gain**2)
        expected = np.arcsin(scale * np.exp(-(d**2) / xi**2)) / np.arcsin(scale)
        np.testing.assert_allclose(
            gaussian_classes.nlgp_covariance(8, xi, gain)[0], expected, rtol=1e-9
        )


def test_ring_correlation_is_clipped_where_the_formula_is_indefinite():
    n, d = 40, np.minimum(np.arange(40), 40 - np.arange(40))
    for xi, change in ((3.0, 1e-12), (5.0, 1e-7), (8.0, 1e-3)):
        formula = np.exp(-(d**2) / xi**2)
        assert np.abs(gaussian_classes.ring_correlation(n, xi)[0] - formula).max() < change
        assert (np.fft.fft(formula).real.min() < -1e-9) == (xi >= 5)
        assert np.linalg.eigvalsh(gaussian_classes.ring_correlation(n, xi)).min() > -1e-12
