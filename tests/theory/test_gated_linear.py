"""Noise and gates against sampling, recursion and quadrature; the flows of gated networks are in `test_localization`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from lib.theory import gated_linear as theory
from lib.theory import localization

seeds = st.integers(0, 2**32 - 1)


def spectrum(rng, d, low, high):
    modes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return modes * rng.uniform(low, high, d) @ modes.T


@given(margin=st.floats(-3, 3), move=st.floats(-2, 2), spread=st.floats(0.05, 3))
def test_a_flip_is_a_gaussian_beyond_the_edge(margin, move, spread):
    """P(sign(S + m + sε) ≠ sign S), by quadrature over the change."""
    sides = (-np.inf, -margin) if margin >= 0 else (-margin, np.inf)
    change = norm(move, spread)
    wanted = change.cdf(sides[1]) - change.cdf(sides[0])
    np.testing.assert_allclose(theory.flip_probability(margin, move, spread), wanted, atol=1e-12)


@given(size=st.floats(0.1, 5), spread=st.floats(0.1, 5))
def test_over_gaussian_signals_flips_have_a_closed_form(size, spread):
    wanted = np.arctan(spread / size) / np.pi
    found = 2 * quad(lambda s: theory.flip_probability(s * size, 0, spread) * norm.pdf(s), 0, 12)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(2, 5))
def test_flips_by_a_small_random_turn_are_the_angle_over_pi(seed, n):
    """The mean over Gaussian signals and a random change is the mean angle: the law of `gate_agreement`."""
    rng = np.random.default_rng(seed)
    w, size = rng.normal(size=n), 0.2
    changes = size * np.linalg.norm(w) * rng.normal(size=(4000, n))
    turned = 1 - localization.gate_agreement(w, w + changes, np.eye(n)).mean()
    x = rng.normal(size=(4000, n))
    spread = size * np.linalg.norm(w) * np.linalg.norm(x, axis=1)
    flips = theory.flip_probability(x @ w, 0, spread)
    assert abs(flips.mean() - turned) < 6 * flips.std() / np.sqrt(4000) + 6 * 0.1 / np.sqrt(4000)


@settings(max_examples=30)
@given(seed=seeds, d=st.integers(1, 5), steps=st.integers(1, 60))
def test_jitter_is_what_the_recursion_of_the_covariances_gives(seed, d, steps):
    """Iterate S ← QSQ + η²C to rest and the covariance of (w_L, w_0) from there, with matrices that do not commute."""
    rng = np.random.default_rng(seed)
    hessian, noise, rate = spectrum(rng, d, 0.2, 1), spectrum(rng, d, 0, 2), 0.6
    q = np.eye(d) - rate * hessian
    rest = np.zeros((d, d))
    for _ in range(600):
        rest = q @ rest @ q + rate**2 * noise
    power = np.linalg.matrix_power(q, steps)
    wanted = 2 * rest - power @ rest - rest @ power
    (found,) = theory.jitter(hessian, noise, rate, [steps])
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_jitter_of_simulated_descent():
    rng = np.random.default_rng(0)
    hessian, noise, rate = np.array([[1.0, 0.3], [0.3, 0.2]]), np.array([[0.5, -0.2], [-0.2, 1.0]]), 0.3
    w, kept = np.zeros((200_000, 2)), []
    for step in range(160):
        if step in (130, 137, 159):
            kept.append(w.copy())
        w = w - rate * (w @ hessian + rng.multivariate_normal(np.zeros(2), noise, len(w)))
    for after, found in zip(kept[1:], theory.jitter(hessian, noise, rate, [7, 29]), strict=True):
        np.testing.assert_allclose(np.cov((after - kept[0]).T), found, atol=0.02 * np.abs(found).max())


@given(seed=seeds, d=st.integers(1, 4), steps=st.integers(1, 10**6))
def test_without_a_pull_noise_adds_up(seed, d, steps):
    noise = spectrum(np.random.default_rng(seed), d, 0, 2)
    for hessian in (np.zeros((d, d)), -1e-3 * np.eye(d)):
        (found,) = theory.jitter(hessian, noise, 0.5, [steps])
        np.testing.assert_allclose(found, 0.25 * steps * noise, rtol=1e-9, atol=1e-12 * steps)


def test_steps_that_overshoot_are_refused():
    with pytest.raises(ValueError, match="learning_rate"):
        theory.jitter(np.eye(2), np.eye(2), 1.0, [3])
