"""Signals on a ring: their covariances against closed forms, their
shapes against plain counts, the order of the classes.
"""

import numpy as np
import pytest
from scipy.special import erf

from lib import data
from lib.data import random_numbers
from lib.data.signals import FIELDS


def ring_distance(n):
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.minimum(steps, n - steps)


def nlgp_covariance(n, xi, gain):
    """The closed form, where the correlation needs no clipping."""
    scale = 2 * gain**2 / (1 + 2 * gain**2)
    return np.arcsin(scale * np.exp(-(ring_distance(n) ** 2) / xi**2)) / np.arcsin(scale)


def assert_covariance(x, expected):
    """Every second moment within 5.5 of its standard errors (a ring of 20 has 210 of them)."""
    products = x[:, :, None] * x[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(products.mean(axis=0) - expected) <= 5.5 * error + 1e-9)


@pytest.mark.parametrize("n, gain", [(9, 0.01), (9, 3.0), (20, 1.0), (8, 200.0)])
def test_nlgp_has_its_covariance_and_its_class_order(n, gain):
    """y = 1 has the first length, here the longer one: were
    the classes swapped, neighbours would say so.
    """
    x, y = data.nlgp(1, 60_000, n, (1.5, 0.7), gain)
    assert (
        x.shape == (60_000, n)
        and set(y) == {0.0, 1.0}
        and abs(y.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(y))
    )
    assert_covariance(x[y == 1], nlgp_covariance(n, 1.5, gain))
    assert_covariance(x[y == 0], nlgp_covariance(n, 0.7, gain))
    first, second = (np.mean(x[y == c][:, 0] * x[y == c][:, 1]) for c in (1, 0))
    assert first > second + 0.2
    assert np.all(np.abs(x.mean(axis=0)) < 5 / np.sqrt(len(x)))


def test_nlgp_of_a_long_length_keeps_variance_1():
    """At n = 10 and ξ = 5 the correlation has the eigenvalue
    −.22: it is clipped, and the scale kept.
    """
    x, y = data.nlgp(3, 60_000, 10, (5, 20), 2.0)
    for c in (0, 1):
        assert np.all(np.abs(np.mean(x[y == c] ** 2, axis=0) - 1) < 0.03)
    clipped = np.maximum(np.fft.fft(np.exp(-(ring_distance(10)[0] ** 2) / 25)).real, 0)
    correlation = np.fft.ifft(clipped / clipped.mean()).real[ring_distance(10)]
    assert_covariance(x[y == 1], np.arcsin(8 / 9 * correlation) / np.arcsin(8 / 9))


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed, samples=50: data.nlgp(seed, samples, 7, (2, 1), 3),
        lambda seed, samples=50: data.gaussian_clone(seed, samples, 2 * np.eye(3), np.eye(3)),
        lambda seed, samples=50: data.single_pulse(seed, samples, 30),
    ],
)
def test_signals_come_from_their_seed_in_balanced_classes(draw):
    for one, two in zip(draw(5), draw(5), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(draw(5)[0], draw(6)[0])
    assert draw(0, 1)[0].shape[0] == draw(0, 1)[1].shape[0] == 1
    labels = draw(2, 4000)[1]
    assert labels.shape == (4000,) and set(labels) == {0.0, 1.0} and abs(labels.mean() - 0.5) < 0.04


def test_gaussian_clone_is_gaussian_with_the_covariances_in_class_order():
    sigma1, sigma0 = (
        nlgp_covariance(6, 1.5, 3),
        np.diag([1.0, 4, 9, 0, 1, 2]),
    )  # a variance of 0 is a covariance too
    x, y = data.gaussian_clone(2, 60_000, sigma1, sigma0)
    assert_covariance(x[y == 1], sigma1)
    assert_covariance(x[y == 0], sigma0)
    kurtosis = np.mean(x[y == 1] ** 4, axis=0) / np.mean(x[y == 1] ** 2, axis=0) ** 2
    np.testing.assert_allclose(kurtosis, 3, atol=0.2)


@pytest.mark.parametrize(
    "xi, widths",
    [
        (((0.1, 0.2), (0.0, 0.1)), ({4, 5, 6}, {1, 2, 3})),
        (((0.0, 0.1), (0.5, 0.6)), ({1, 2, 3}, {16, 17, 18})),
    ],
)
def test_a_single_pulse_is_of_its_class(xi, widths):
    n = 30
    x, y = data.single_pulse(0, 20_000, n, xi)
    assert set(np.unique(x)) == {0, 1}
    assert np.all((x != np.roll(x, 1, axis=1)).sum(axis=1) == 2)  # one run of ones around the ring
    ones = x.sum(axis=1)
    for label, allowed in zip((1, 0), widths, strict=True):
        assert set(ones[y == label]) == allowed | {n - w for w in allowed}
        counts = [np.mean(np.isin(ones[y == label], (w, n - w))) for w in allowed]
        np.testing.assert_allclose(counts, 1 / 3, atol=0.03)
    assert abs(np.mean(ones > n / 2) - 0.5) < 0.03 or xi[1][0] == 0.5
    np.testing.assert_allclose(x.mean(axis=0), 0.5, atol=0.02)  # any start is as likely
    np.testing.assert_array_equal(data.single_pulse(0, 20_000, n, xi, signed=True)[0], 2 * x - 1)


@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_is_stationary_with_variance_one(kind):
    inputs, labels = data.symmetric_field(3, 40_000, 12, (3.0, 1.0), kind)
    assert set(np.unique(labels)) == {0, 1}
    for label in (0, 1):
        mine = inputs[labels == label]
        np.testing.assert_allclose(mine.var(axis=0), 1, atol=0.1)
        np.testing.assert_allclose(np.mean(mine**3, axis=0), 0, atol=0.6)
        shifted = np.mean(mine * np.roll(mine, 1, axis=1), axis=0)  # each site with its neighbour
        np.testing.assert_allclose(shifted, shifted.mean(), atol=0.06)
    neighbours = [np.mean(inputs[labels == y, 0] * inputs[labels == y, 1]) for y in (1, 0)]
    assert neighbours[0] > neighbours[1] + 0.1  # the first length is that of y = 1


def test_the_telegraph_flips_with_its_probability():
    inputs, labels = data.symmetric_field(0, 40_000, 30, (2.0, 0.5), "telegraph")
    assert set(np.unique(inputs)) == {-1, 1}
    for label, xi in ((1, 2.0), (0, 0.5)):
        flips = np.mean(inputs[labels == label] != np.roll(inputs[labels == label], 1, axis=1))
        assert flips == pytest.approx((1 - np.exp(-1 / xi)) / 2, abs=0.01)


def test_fields_differ_from_a_gaussian_where_they_should():
    def fourth(kind):
        return np.mean(data.symmetric_field(1, 40_000, 12, (2.0, 1.0), kind)[0] ** 4)

    assert fourth("telegraph") == pytest.approx(1)
    assert fourth("arcsine") == pytest.approx(1.5, abs=0.05)
    assert fourth("uniform") == pytest.approx(1.8, abs=0.05)
    assert fourth("laplace") == pytest.approx(6, abs=0.6)
    assert 2.9 > fourth("smoothed uniform") > fourth("uniform")  # a sum of many is nearly Gaussian


def test_single_precision_draws_the_same_process():
    """Other numbers, since they are drawn in another way, of the same law."""
    x, y = data.nlgp(1, 60_000, 9, (1.5, 0.7), 3.0, "float32")
    assert x.dtype == y.dtype == np.float32
    for label, xi in ((1, 1.5), (0, 0.7)):
        assert_covariance(x[y == label].astype(float), nlgp_covariance(9, xi, 3.0))
    double, labels = data.nlgp(1, 60_000, 9, (1.5, 0.7), 3.0)
    np.testing.assert_array_equal(labels, y)
    assert not np.allclose(double, x)


def test_words_are_the_published_ones():
    """Random123's known answer for Threefry-2x32 with 20 rounds."""
    out = np.empty((2, 50), np.uint32)
    random_numbers.words(np.uint32(0), np.uint32(0), out)
    assert [*out[:, 0]] == [0x6B200159, 0x99BA4EFE]


def test_compiled_normals_are_those_of_box_and_muller():
    ends = [0, 1, 2**31, 2**32 - 1]
    pairs = np.random.default_rng(0).integers(2**32, size=(2, 10_000), dtype=np.uint32)
    pairs[:, :16] = np.meshgrid(ends, ends)[0].ravel(), np.meshgrid(ends, ends)[1].ravel()
    found = np.empty(pairs.shape, np.float32)
    random_numbers.normals(pairs, found)
    u = (
        np.float32(pairs[0] // 2) + np.float32(0.5)
    ) / 2.0**31  # single precision, which is coarse near 1
    v = np.pi * pairs[1].astype(np.int32) / 2**31
    np.testing.assert_allclose(
        found, np.sqrt(-2 * np.log(u)) * np.stack([np.cos(v), np.sin(v)]), atol=4e-6
    )


def test_bent_rows_are_erf_in_their_places():
    rng = np.random.default_rng(0)
    z, rows = (
        np.concatenate([3 * rng.normal(size=(300, 7)), [[0, 1e-6, 1e-3, 4, -4, 30, -1e9]]]).astype(
            np.float32
        ),
        rng.permutation(301),
    )
    expected, out = 1.5 * erf(z.astype(float)), np.empty_like(z)
    random_numbers.bend(z, rows, np.float32(1.5), out)
    np.testing.assert_allclose(out[rows], expected, atol=2e-6)
    small = abs(expected) < 1e-2
    np.testing.assert_allclose(out[rows][small], expected[small], rtol=2e-5)
