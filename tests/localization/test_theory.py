"""Fixed points and scores of one neuron, and moments of a pair,
against quadrature, sampling and fifty digits.
"""

import numpy as np
import pytest
from gaussian_pairs import (
    at_angle,
    covariance,
    pair_moment_by_quadrature,
    problem,
    sizes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from references import seeds
from scipy.integrate import quad
from scipy.special import erf
from scipy.stats import norm

from book.localization import theory
from lib import data, measures
from lib.theory import gaussian_classes, orthants


@given(seed=seeds, n=sizes)
def test_fixed_points_rest_and_only_the_first_is_stable(seed, n):
    rng = np.random.default_rng(seed)
    sigma1, sigma0 = covariance(rng, n), covariance(rng, n)
    found = theory.fixed_points(sigma1, sigma0)
    assert np.all(np.diff(found.ratio) <= 0) and found.weights.shape == (n, n)
    for i, w in enumerate(found.weights):
        np.testing.assert_allclose(
            gaussian_classes.relu_flow(w[None], sigma1, sigma0), 0, atol=1e-9
        )
        np.testing.assert_allclose(
            gaussian_classes.relu_loss(w[None], sigma1, sigma0), found.loss[i], rtol=1e-9
        )
        np.testing.assert_allclose(
            w @ sigma1 @ w / (w @ (sigma1 + sigma0) @ w), found.ratio[i], rtol=1e-7
        )
        for j, v in enumerate(
            found.weights
        ):  # a small step towards another one grows at the stated rate
            if i != j:
                rate = 0.25 * (found.ratio[j] / found.ratio[i] - 1)
                step = gaussian_classes.relu_flow((w + 1e-6 * v)[None], sigma1, sigma0)[0]
                np.testing.assert_allclose(step, 1e-6 * rate * (sigma1 + sigma0) @ v, atol=1e-10)
                assert rate <= 1e-12 or i > 0


@pytest.mark.parametrize("n", [7, 12])
@pytest.mark.parametrize("xi", [(2.0, 1.0), (1.0, 2.5)])
def test_on_a_ring_the_fixed_points_are_fourier_modes(n, xi):
    sigma1, sigma0 = (gaussian_classes.nlgp_covariance(n, length, 2.0) for length in xi)
    one, zero = (np.fft.rfft(sigma[0]).real for sigma in (sigma1, sigma0))
    found = theory.fixed_points(sigma1, sigma0)
    frequencies = np.minimum(np.arange(n), n - np.arange(n))
    np.testing.assert_allclose(
        found.ratio, np.sort((one / (one + zero))[frequencies])[::-1], rtol=1e-9
    )
    for mu, w in zip(found.ratio, found.weights, strict=True):
        power = np.abs(np.fft.fft(w)) ** 2
        k = frequencies[power.argmax()]
        np.testing.assert_allclose(
            power[frequencies == k].sum() / power.sum(), 1, rtol=1e-9
        )  # one frequency
        np.testing.assert_allclose(mu, one[k] / (one[k] + zero[k]), rtol=1e-9)
        np.testing.assert_allclose(
            np.linalg.norm(w), np.sqrt(2 / np.pi * one[k]) / (one[k] + zero[k]), rtol=1e-9
        )
    assert np.abs(np.fft.fft(found.weights[0])).argmax() in (
        (0,) if xi[0] > xi[1] else (n // 2, n - n // 2)
    )


def symmetric_data(seed, n=3, points=6):
    """Return inputs that come with their negatives, equally likely,
    far from Gaussian: expectations are plain sums.
    """
    rng = np.random.default_rng(seed)
    half = [rng.normal(size=(points, n)) ** 3 for _ in range(2)]
    return rng.normal(size=n), [np.concatenate([x, -x]) for x in half]


@given(seed=seeds)
def test_score_is_the_loss_at_the_best_scale(seed):
    w, (x1, x0) = symmetric_data(seed)
    s1, s0 = x1 @ w, x0 @ w
    labels = np.repeat([1, 0], len(x1))
    (score,) = theory.scores(np.concatenate([x1, x0]), labels, w[None])

    def loss(scale):
        return 0.25 * np.mean((scale * np.maximum(s1, 0) - 1) ** 2) + 0.25 * np.mean(
            (scale * np.maximum(s0, 0)) ** 2
        )

    best = np.abs(s1).mean() / (np.mean(s1**2) + np.mean(s0**2))
    np.testing.assert_allclose(loss(best), 0.25 - score / 8, rtol=1e-10)
    assert loss(best) <= min(loss(1.01 * best), loss(0.99 * best))


@given(seed=seeds)
def test_a_half_space_holds_half_of_the_second_moment(seed):
    w, (x, _) = symmetric_data(seed)  # Eqs. 12–13, without Gaussian inputs
    s = x @ w
    np.testing.assert_allclose(x.T @ np.maximum(s, 0), x.T @ s / 2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(x.T @ (s > 0), x.T @ np.sign(s) / 2, rtol=1e-9, atol=1e-12)


def test_the_best_field_is_more_local_at_a_higher_gain():
    starts = np.random.default_rng(0).normal(size=(6, 40))
    ratios = []
    for gain in (0.5, 1.0, 3.0, 10.0, 100.0):
        x, y = data.nlgp(1, 12_000, 40, (2.0, 1.0), gain)
        ends = theory.climb_score(starts, x, y, steps=40)
        ratios.append(np.median(measures.inverse_participation_ratio(ends)))
    assert np.all(np.diff(ratios) > 0.02)


@settings(deadline=None, max_examples=20)
@given(seeds, st.integers(2, 6))
def test_climbing_the_score_never_goes_down(seed, n):
    rng = np.random.default_rng(seed)
    inputs = (
        np.sign(rng.normal(size=(120, n)))
        * rng.exponential(size=(120, n))
        @ rng.normal(size=(n, n))
    )
    labels = np.arange(120) % 2
    w = rng.normal(size=(3, n))

    before = theory.scores(inputs, labels, w)
    for steps in range(1, 5):
        climbed = theory.climb_score(w, inputs, labels, steps=steps)
        after = theory.scores(inputs, labels, climbed)
        assert np.all(after >= before - 1e-12)
        before = after
    end = theory.climb_score(w, inputs, labels, steps=500)
    np.testing.assert_allclose(
        theory.climb_score(end, inputs, labels, steps=1), end, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(theory.climb_score(w, inputs, labels, steps=0), w)


def test_scores_are_the_moments_of_a_loop():
    inputs, labels = data.symmetric_field(1, 500, 8, (2.0, 1.0), "uniform")
    w = np.random.default_rng(0).normal(size=(3, 8))
    for found, field in zip(theory.scores(inputs, labels, w), w, strict=True):
        s = [sum(a * b for a, b in zip(field, x, strict=True)) for x in inputs]
        one, zero = ([v for v, y in zip(s, labels, strict=True) if y == label] for label in (1, 0))
        mean = sum(abs(v) for v in one) / len(one)
        assert found == pytest.approx(
            mean**2 / (sum(v * v for v in one) / len(one) + sum(v * v for v in zero) / len(zero))
        )


def test_climbing_refuses_too_few_samples():
    with pytest.raises(ValueError, match="more samples"):
        theory.climb_score(np.ones((1, 3)), np.eye(3)[:2], [0, 1])


@pytest.mark.parametrize("zero", [[0.0, 0.0], [1.0, -1.0]])  # the second lies in the null space
def test_weights_without_a_half_space_get_a_clear_error(zero):
    flat, good = np.ones((2, 2)), [1.0, 2.0]
    for call in (
        lambda w: theory.relu_pair_moment(w, good, flat),
        lambda w: theory.relu_pair_moment(good, w, flat),
        lambda w: gaussian_classes.relu_flow([good, w], flat, flat),
        lambda w: gaussian_classes.relu_flow([good, w], np.eye(2) if any(w) else flat, flat),
        lambda w: gaussian_classes.relu_loss([w], flat, flat),
        lambda w: orthants.gated_mean(w, flat),
    ):
        with pytest.raises(ValueError, match="zero weight vector"):
            call(zero)


def test_a_singular_sum_of_covariances_is_refused():
    with pytest.raises(ValueError, match="singular"):
        theory.fixed_points(np.ones((2, 2)), np.ones((2, 2)))


def test_cosines_alone_span_half_of_the_ring():
    sites = np.arange(40)
    angles = 2 * np.pi * np.outer(sites, sites) / 40
    cosines, sines = np.cos(angles), np.sin(angles)
    assert np.linalg.matrix_rank(cosines) == 21  # Eq. 136
    assert np.linalg.matrix_rank(np.hstack([cosines, sines])) == 40


@pytest.mark.parametrize("gamma", [-0.6, 0.3, 0.5])
def test_eqs_44_and_45_each_have_a_slip(gamma):
    r11, rkk = 1.0, 4.0
    r1k = gamma * np.sqrt(r11 * rkk)
    det = r11 * rkk - r1k**2
    turned, arc = np.arccos(-gamma), np.arcsin(gamma)
    tail = r1k / (r11 * rkk * np.sqrt(det))
    one = (rkk**2 * turned - r1k**2 * arc) / det + tail * (rkk - r1k)  # Eq. 43, times 2π
    both = (r1k * r11 * arc - r1k * rkk * turned) / det + tail * (r11 - r1k)

    def in_gamma(sign, power):
        """Return the coefficients in terms of γ, cos⁻¹(sign γ) in the second."""
        size = (1 - gamma**2) * r11 * rkk
        end = gamma**power / np.sqrt(1 - gamma**2) / (r11 * rkk)
        second = r1k * r11 * arc - r1k * rkk * np.arccos(sign * gamma)
        first = rkk**2 * turned - r1k**2 * arc
        return first / size + end * (rkk - r1k), second / size + end * (r11 - r1k)

    np.testing.assert_allclose(in_gamma(-1, 1), [one, both], rtol=1e-12)
    assert abs(in_gamma(1, 1)[1] / both - 1) > 0.1  # Eq. 44
    assert abs(in_gamma(-1, -1)[0] / one - 1) > 0.01  # Eq. 45


@pytest.mark.parametrize("mean", [0.2, 0.5, 1.5])
def test_eq_76_is_not_the_mean_of_the_truncated_normal(mean):
    width = np.sqrt(0.75)  # correlation ½
    reference = quad(lambda s: s * norm.pdf(s, mean, width), 0, np.inf)[0]
    reference /= norm.sf(0, mean, width)
    true = mean + width * norm.pdf(mean / width) / norm.cdf(mean / width)
    printed = np.sqrt(2 / np.pi) * width**2 * np.exp(-(mean**2) / (2 * width))
    printed += mean * erf(mean / width / np.sqrt(2))
    np.testing.assert_allclose(true, reference, rtol=1e-9)
    assert abs(printed / reference - 1) > 0.01


@given(seed=seeds, n=st.integers(2, 6), kind=st.sampled_from(["random", "orthogonal"]))
def test_pair_moment_is_eqs_18_and_20_corrected(seed, n, kind):
    sigma, w1, wk = problem(seed, n, kind)
    np.testing.assert_allclose(
        theory.relu_pair_moment(w1, wk, sigma),
        pair_moment_by_quadrature(w1, wk, sigma),
        rtol=1e-7,
        atol=1e-9,
    )


@given(
    seed=seeds, n=st.integers(2, 5), turn=st.sampled_from([1e-3, 1e-6, 1e-9]), back=st.booleans()
)
def test_pair_moment_keeps_its_digits_near_parallel_and_antiparallel(seed, n, turn, back):
    rng = np.random.default_rng(seed)
    sigma, w1 = covariance(rng, n), rng.normal(size=n)
    wk = at_angle(rng, w1, sigma, np.pi - turn if back else turn)
    with mp.workdps(50):
        s, a, b = mp.matrix(sigma), mp.matrix(w1), mp.matrix(wk)
        r11, r1k, rkk = ((p.T * s * q)[0] for p, q in ((a, a), (a, b), (b, b)))
        theta = mp.acos(r1k / mp.sqrt(r11 * rkk))
        exact = (mp.sqrt(rkk / r11) * mp.sin(theta) * (s * a) + (mp.pi - theta) * (s * b)) / (
            2 * mp.pi
        )
        exact = np.array([float(v) for v in exact])
    # antiparallel: both terms are of first order in the turn
    # and cancel; what remains is of second order
    np.testing.assert_allclose(
        theory.relu_pair_moment(w1, wk, sigma),
        exact,
        rtol=1e-9,
        atol=1e-14 * np.abs(sigma).max() * np.linalg.norm(wk),
    )


@given(seed=seeds, n=sizes)
def test_pair_moment_at_its_edges(seed, n):
    rng = np.random.default_rng(seed)
    sigma, w = covariance(rng, n), rng.normal(size=n)
    np.testing.assert_allclose(
        theory.relu_pair_moment(w, 3 * w, sigma), 1.5 * sigma @ w, rtol=1e-7, atol=1e-7
    )  # Eq. 13
    np.testing.assert_allclose(theory.relu_pair_moment(w, -2 * w, sigma), 0, atol=1e-14)
    np.testing.assert_allclose(
        theory.relu_pair_moment(5 * w, w, sigma), theory.relu_pair_moment(w, w, sigma), rtol=1e-12
    )


@given(seed=seeds)
def test_pair_moment_broadcasts(seed):
    rng = np.random.default_rng(seed)
    sigma, w, v = covariance(rng, 4), rng.normal(size=(3, 4)), rng.normal(size=(2, 1, 4))
    table = theory.relu_pair_moment(v, w, sigma)
    assert table.shape == (2, 3, 4)
    np.testing.assert_allclose(
        table[1, 2], theory.relu_pair_moment(v[1, 0], w[2], sigma), rtol=1e-12
    )
