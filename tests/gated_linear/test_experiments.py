"""Gates to rest: excess over least squares, curvature and noise
against plain formulas and finite differences.
"""

import numpy as np
import pytest

from book.gated_linear import experiments
from book.gated_linear.theory import flip_probability, gdln_best_loss, gdln_moments
from lib import data, runs
from lib.theory.gaussian_classes import nlgp_covariance, relu_flow

SIGMA = [nlgp_covariance(4, xi, 3.0) for xi in (2.0, 1.0)]


def signals(samples, seed=0):
    return data.gaussian_clone(seed, samples, *SIGMA)


def test_twins_come_in_pairs_to_the_end():
    steps = experiments.twins(2000, 6)
    assert steps[0] == 0 and steps[1] == experiments.PAUSE and steps[-1] == 2000
    assert set(steps + experiments.PAUSE) & set(steps) and np.all(
        np.diff(steps) >= experiments.PAUSE
    )


def test_gates_to_rest_cools_and_keeps_what_is_asked():
    found = experiments.gates_to_rest(
        neurons=3, sites=8, learning_rate=0.3, steps=400, cooling=100, batch=20, pairs=2, trials=2
    )
    assert found.w.dims == ("trial", "step", "neuron", "site") and found.w.shape == (2, 5, 3, 8)
    assert found.step.values[[0, -1]].tolist() == [0, 500]
    moved = np.linalg.norm(np.diff(found.w.values, axis=1), axis=(2, 3))
    assert np.all(moved > 0) and np.all(found.loss[:, -1] < found.loss[:, 0])


def test_the_excess_is_that_over_least_squares():
    rng = np.random.default_rng(1)
    w, (x, y) = rng.normal(size=(3, 4)), signals(60_000)
    found = experiments.behind_own_gates(w, x, y)
    a, b = gdln_moments(x, y, (w @ x.T > 0).astype(float))
    error = np.mean((np.maximum(x @ w.T, 0).mean(axis=1) - y) ** 2)
    assert found.error == pytest.approx(error)
    least = gdln_best_loss(a, b, np.mean(y**2))
    assert found.excess == pytest.approx(error - least, rel=0.02)
    assert found.least == pytest.approx(least, rel=0.02)


def test_the_excess_at_rest_is_zero_on_average():
    rng = np.random.default_rng(2)
    w = rng.normal(size=(2, 4))
    for _ in range(1000):
        w += 2 * relu_flow(w, *SIGMA)
    excess = [experiments.behind_own_gates(w, *signals(60, seed)).excess for seed in range(300)]
    assert abs(np.mean(excess)) < 4 * np.std(excess) / np.sqrt(300)
    assert np.std(excess) < 0.1


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="at least twice"):
        experiments.behind_own_gates(np.ones((2, 4)), *signals(12))


def test_curvature_with_edges_is_the_slope_of_the_exact_gradient():
    """Finite differences of the exact Gaussian flow; the gradient of E(ŷ − y)² is −2/K of it."""
    w = 0.2 * np.random.default_rng(3).normal(size=(2, 4))

    def gradient(flat):
        return -relu_flow(flat.reshape(2, 4), *SIGMA).ravel()

    wanted = np.array(
        [(gradient(w.ravel() + d) - gradient(w.ravel() - d)) / 2e-5 for d in 1e-5 * np.eye(8)]
    )
    found = experiments.around(w, *signals(400_000), share=1.0, window=0.05)
    size = np.abs(wanted).max()
    assert np.abs(found.linear + found.edge - wanted).max() < 0.04 * size
    assert np.abs(found.linear - wanted).max() > 0.2 * size


def test_noise_is_the_covariance_of_single_gradients():
    w, (x, y) = np.random.default_rng(4).normal(size=(2, 4)), signals(3000)
    gradients = []
    for signal, label in zip(x, y, strict=True):
        h = w @ signal
        gradients.append(
            2 * (np.maximum(h, 0).mean() - label) / 2 * np.outer(h > 0, signal).ravel()
        )
    np.testing.assert_allclose(
        experiments.around(w, x, y, share=1.0).noise,
        np.cov(np.transpose(gradients), bias=True),
        atol=1e-12,
    )


def test_flip_shares_are_means_over_neurons_and_inputs():
    rng = np.random.default_rng(7)
    w, x, root = rng.normal(size=(2, 3)), rng.normal(size=(5, 3)), rng.normal(size=(6, 6))
    covariance = root @ root.T
    own = [covariance[:3, :3], covariance[3:, 3:]]
    wanted = np.mean(
        [flip_probability(w[k] @ s, 0, np.sqrt(s @ own[k] @ s)) for k in range(2) for s in x]
    )
    np.testing.assert_allclose(experiments.flip_shares([covariance, covariance], w, x), wanted)


def test_trembling_measures_beside_what_it_predicts(monkeypatch):
    """With a tenth of the steps and samples that the book takes, and with some of the neurons."""
    load, nlgp = runs.load, data.nlgp
    monkeypatch.setattr(experiments, "LAGS", (10, 50, 250))
    monkeypatch.setattr(experiments, "load", lambda run: load(run).isel(neuron=slice(4)))
    monkeypatch.setattr(
        data, "nlgp", lambda seed, samples, *rest: nlgp(seed, min(samples, 20_000), *rest)
    )
    found = experiments.trembling(
        start="seed 1", learning_rate=1.0, batch=20, settling=10, steps=250
    )
    assert list(found.lag.values) == [10, 50, 250]
    assert np.all(np.diff(found.observed) > 0) and np.all(found.with_edges < found.noise_alone)
    assert np.all(
        found.fixed_gates < found.with_edges
    )  # without the other neurons the edges push away
