"""Gates to rest: excess over least squares, curvature and noise
against plain formulas and finite differences.
"""

import numpy as np
import pytest

from book.gated_linear import experiments
from book.gated_linear.theory import flip_probability, gdln_best_loss, gdln_moments
from lib import data
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
    assert found.least == pytest.approx(least, rel=0.005)


def test_the_least_error_hardly_depends_on_the_samples():
    """With 16 samples a weight, the fit alone would be too low by an eighth: a half has eight."""
    w = np.random.default_rng(5).normal(size=(4, 4))
    wanted = experiments.behind_own_gates(w, *signals(400_000)).least
    found = [experiments.behind_own_gates(w, *signals(256, seed)).least for seed in range(200)]
    assert np.mean(found) == pytest.approx(wanted, rel=0.02)


def test_the_excess_at_rest_is_zero_on_average():
    rng = np.random.default_rng(2)
    w = rng.normal(size=(2, 4))
    for _ in range(1000):
        w += 2 * relu_flow(w, *SIGMA)
    excess = [experiments.behind_own_gates(w, *signals(80, seed)).excess for seed in range(300)]
    assert abs(np.mean(excess)) < 4 * np.std(excess) / np.sqrt(300)
    assert np.std(excess) < 0.1


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="at least four times"):
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
        [flip_probability(w[k] @ s, np.sqrt(s @ own[k] @ s)) for k in range(2) for s in x]
    )
    np.testing.assert_allclose(experiments.flip_shares([covariance, covariance], w, x), wanted)


def fewer_signals(monkeypatch):
    draw = data.nlgp
    monkeypatch.setattr(
        data, "nlgp", lambda seed, samples, *rest: draw(seed, min(samples, 20_000), *rest)
    )


def test_trembling_measures_beside_what_it_predicts(monkeypatch):
    """With a tenth of the steps and samples that the book takes, and with some of the neurons."""
    fewer_signals(monkeypatch)
    monkeypatch.setattr(experiments, "LAGS", (10, 50, 250))
    found = experiments.trembling(
        neurons=4, learning_rate=0.1, batch=20, forming=500, settling=10, steps=250
    )
    assert list(found.lag.values) == [10, 50, 250]
    assert np.all(np.diff(found.observed) > 0)
    assert np.all(found.pulled < found.fixed_gates)
    assert np.all(found.fixed_gates < found.noise_alone)


def test_first_and_last_looks_before_and_after_training(monkeypatch):
    fewer_signals(monkeypatch)
    found = experiments.first_and_last(neurons=3, steps=300, cooling=100, trials=2)
    assert found.least.dims == ("trial", "moment") and found.sizes["moment"] == 3
    np.testing.assert_array_equal(found.changed.sel(moment="first"), 0)
    assert np.all(found.error.sel(moment="cooled") < found.error.sel(moment="first"))
    saved = (found.error - found.least).sel(moment="first")
    np.testing.assert_allclose(found.excess.sel(moment="first"), saved, rtol=0.1)


def test_guides_describe_exclusive_gates_as_blocks():
    x, y = signals(4000)
    owner = np.random.default_rng(8).integers(2, size=4000)
    gates = (owner == np.arange(2)[:, None]).astype(float)
    overlap = np.ones((2, 4000)) * (owner == 0)
    found = experiments.guides([gates, overlap], x, y)
    values = [np.linalg.eigvalsh(gdln_moments(x, y, g).a) for g in (gates, overlap)]
    np.testing.assert_allclose(found.largest, [own[-1] for own in values])
    np.testing.assert_allclose(found.norm**2, [np.sum(own**2) for own in values])
    np.testing.assert_allclose(found.both, [0, np.mean(owner == 0)])
    np.testing.assert_allclose(found.off_block, [0, 0.5], atol=1e-6)  # equal gates: four blocks
    assert found.off_diagonal[0] > 0 and found.least[0] < found.least[1]


def test_bumps_lie_on_the_ring_with_one_width():
    v = experiments.normals_of("bumps", 50, 6, 20)
    assert v.shape == (50, 6, 20) and np.abs(v).max() <= 1
    assert 0.3 < np.mean(v.sum(axis=-1) > 0) < 0.7
    heights = np.sort(np.abs(v), axis=-1)[..., -1]
    assert heights.min() > np.exp(-(0.5**2) / (2 * 0.4**2)) - 1e-12
