"""Moments behind one and two half-spaces against quadrature, sampling and fifty digits."""

import numpy as np
import pytest
from gaussian_pairs import (
    angles,
    covariance,
    moment_by_quadrature,
    problem,
    products,
    sizes,
)
from hypothesis import given
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import quad
from scipy.stats import norm

from lib.theory import orthants


@given(seed=seeds, n=st.integers(2, 6), kind=angles)
def test_orthant_moments_are_the_integrals(seed, n, kind):
    sigma, w1, wk = problem(seed, n, kind)
    found = orthants.orthant_moments(w1, wk, sigma)
    for value, powers in zip(found, [(0, 0), (2, 0), (1, 1), (0, 2)], strict=True):
        expected = moment_by_quadrature(*powers, sigma, w1, wk)
        np.testing.assert_allclose(
            value, expected, rtol=1e-7, atol=1e-8 * (1 + sum(products(sigma, w1, wk)[::2]))
        )


@pytest.mark.parametrize("size", [1e-12, 1, 1e12])
def test_an_angle_is_the_same_for_covariances_of_any_size(size):
    assert orthants.angle(
        [1, 0], [0, 1], size * np.array([[2.0, 1.0], [1.0, 2.0]])
    ) == pytest.approx(np.pi / 3)
    with pytest.raises(ValueError, match="wk"):
        orthants.angle([1, 0], [1, -1], size * np.ones((2, 2)))


def test_angle_keeps_its_digits_where_the_arc_cosine_loses_them():
    sigma, w = np.eye(2), np.array([1.0, 0.0])
    for turn in (1e-3, 1e-6, 1e-9, 1e-12):
        near = np.array([np.cos(turn), np.sin(turn)])
        np.testing.assert_allclose(orthants.angle(w, near, sigma), turn, rtol=1e-9)
        np.testing.assert_allclose(
            np.pi - orthants.angle(w, -near, sigma), turn, rtol=1e-3 if turn < 1e-9 else 1e-6
        )
        np.testing.assert_allclose(
            orthants.orthant_moments(w, -near, sigma).probability, turn / (2 * np.pi), rtol=1e-9
        )
    assert np.arccos(np.cos(1e-9)) == 0  # what a cosine keeps of this


@given(seed=seeds, n=sizes)
def test_gated_mean_is_eq_11(seed, n):
    rng = np.random.default_rng(seed)
    sigma, w = covariance(rng, n), rng.normal(size=(3, n))
    for row, v in zip(orthants.gated_mean(w, sigma), w, strict=True):
        spread = np.sqrt(v @ sigma @ v)
        half_normal = spread * quad(lambda s: s * norm.pdf(s), 0, 40)[0]
        np.testing.assert_allclose(row, sigma @ v * half_normal / spread**2, rtol=1e-7, atol=1e-12)
