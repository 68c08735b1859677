"""Moments behind one and two half-spaces against quadrature, sampling and fifty digits."""

import numpy as np
import pytest
from gaussian_pairs import (
    angles,
    at_angle,
    covariance,
    moment_by_quadrature,
    pair_moment_by_quadrature,
    problem,
    products,
    sizes,
)
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from scipy.integrate import quad
from scipy.stats import norm
from theory.references import seeds

from lib.theory import localization as theory

# --- half-spaces ----------------------------------------------------------------------------------------------------------


@given(seed=seeds, n=st.integers(2, 6), kind=angles)
def test_orthant_moments_are_the_integrals(seed, n, kind):
    sigma, w1, wk = problem(seed, n, kind)
    found = theory.orthant_moments(w1, wk, sigma)
    for value, powers in zip(found, [(0, 0), (2, 0), (1, 1), (0, 2)], strict=True):
        expected = moment_by_quadrature(*powers, sigma, w1, wk)
        np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-8 * (1 + sum(products(sigma, w1, wk)[::2])))


@pytest.mark.parametrize("size", [1e-12, 1, 1e12])
def test_an_angle_is_the_same_for_covariances_of_any_size(size):
    assert theory.angle([1, 0], [0, 1], size * np.array([[2.0, 1.0], [1.0, 2.0]])) == pytest.approx(np.pi / 3)
    with pytest.raises(ValueError, match="wk"):
        theory.angle([1, 0], [1, -1], size * np.ones((2, 2)))


def test_angle_keeps_its_digits_where_the_arc_cosine_loses_them():
    sigma, w = np.eye(2), np.array([1.0, 0.0])
    for turn in (1e-3, 1e-6, 1e-9, 1e-12):
        near = np.array([np.cos(turn), np.sin(turn)])
        np.testing.assert_allclose(theory.angle(w, near, sigma), turn, rtol=1e-9)
        np.testing.assert_allclose(np.pi - theory.angle(w, -near, sigma), turn, rtol=1e-3 if turn < 1e-9 else 1e-6)
        np.testing.assert_allclose(theory.orthant_moments(w, -near, sigma).probability, turn / (2 * np.pi), rtol=1e-9)
    assert np.arccos(np.cos(1e-9)) == 0  # what a cosine keeps of this


@given(seed=seeds, n=sizes)
def test_gated_mean_is_eq_11(seed, n):
    rng = np.random.default_rng(seed)
    sigma, w = covariance(rng, n), rng.normal(size=(3, n))
    for row, v in zip(theory.gated_mean(w, sigma), w, strict=True):
        spread = np.sqrt(v @ sigma @ v)
        half_normal = spread * quad(lambda s: s * norm.pdf(s), 0, 40)[0]
        np.testing.assert_allclose(row, sigma @ v * half_normal / spread**2, rtol=1e-7, atol=1e-12)


# --- the pair moment ------------------------------------------------------------------------------------------------------


@given(seed=seeds, n=st.integers(2, 6), kind=st.sampled_from(["random", "orthogonal"]))
def test_pair_moment_is_eqs_18_and_20_corrected(seed, n, kind):
    sigma, w1, wk = problem(seed, n, kind)
    np.testing.assert_allclose(
        theory.relu_pair_moment(w1, wk, sigma), pair_moment_by_quadrature(w1, wk, sigma), rtol=1e-7, atol=1e-9
    )


@given(seed=seeds, n=st.integers(2, 5), turn=st.sampled_from([1e-3, 1e-6, 1e-9]), back=st.booleans())
def test_pair_moment_keeps_its_digits_near_parallel_and_antiparallel(seed, n, turn, back):
    rng = np.random.default_rng(seed)
    sigma, w1 = covariance(rng, n), rng.normal(size=n)
    wk = at_angle(rng, w1, sigma, np.pi - turn if back else turn)
    with mp.workdps(50):
        s, a, b = mp.matrix(sigma), mp.matrix(w1), mp.matrix(wk)
        r11, r1k, rkk = ((p.T * s * q)[0] for p, q in ((a, a), (a, b), (b, b)))
        theta = mp.acos(r1k / mp.sqrt(r11 * rkk))
        exact = (mp.sqrt(rkk / r11) * mp.sin(theta) * (s * a) + (mp.pi - theta) * (s * b)) / (2 * mp.pi)
        exact = np.array([float(v) for v in exact])
    # antiparallel: both terms are of first order in the turn and cancel; what remains is of second order
    np.testing.assert_allclose(
        theory.relu_pair_moment(w1, wk, sigma), exact, rtol=1e-9, atol=1e-14 * np.abs(sigma).max() * np.linalg.norm(wk)
    )


@given(seed=seeds, n=sizes)
def test_pair_moment_at_its_edges(seed, n):
    rng = np.random.default_rng(seed)
    sigma, w = covariance(rng, n), rng.normal(size=n)
    np.testing.assert_allclose(theory.relu_pair_moment(w, 3 * w, sigma), 1.5 * sigma @ w, rtol=1e-7, atol=1e-7)  # Eq. 13
    np.testing.assert_allclose(theory.relu_pair_moment(w, -2 * w, sigma), 0, atol=1e-14)
    np.testing.assert_allclose(theory.relu_pair_moment(5 * w, w, sigma), theory.relu_pair_moment(w, w, sigma), rtol=1e-12)


@given(seed=seeds)
def test_pair_moment_broadcasts(seed):
    rng = np.random.default_rng(seed)
    sigma, w, v = covariance(rng, 4), rng.normal(size=(3, 4)), rng.normal(size=(2, 1, 4))
    table = theory.relu_pair_moment(v, w, sigma)
    assert table.shape == (2, 3, 4)
    np.testing.assert_allclose(table[1, 2], theory.relu_pair_moment(v[1, 0], w[2], sigma), rtol=1e-12)
