"""The flow of a product at late times, past saddles and at rest, beside closed forms."""

import numpy as np
import pytest

from book.products import theory
from lib.theory import monomial


@pytest.mark.parametrize("off", [0, 1e-15, 1e-10, 1e-5])
def test_a_start_near_rest_comes_to_rest(off):
    weights = np.array([1 + off, 2.0])
    end = monomial.flow(weights, 2, [1e10])[0]
    np.testing.assert_allclose(end, theory.weights_at(weights, 2), rtol=1e-10)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("size", [1e-3, 0.1, 30])
def test_products_of_every_degree_rest_at_late_times(d, size):
    """Imbalanced and stiff: half of the weights are 0.3, the others
    small or large. The conserved numbers say where it ends.
    """
    weights = np.where(np.arange(d) < d // 2, 0.3, size)
    (end,) = monomial.flow(weights, 1.3, [1e8])
    np.testing.assert_allclose(
        end, theory.weights_at(weights, 1.3), rtol=1e-9, atol=1e-9 * weights.max()
    )


@pytest.mark.parametrize("d", range(2, 9))
def test_a_product_leaves_its_saddle_when_it_must(d):
    """All weights small, after waits up to 1e9: half-way when the
    closed form says so, and at rest for ever after.
    """
    size = min(10 ** (-9 / max(d - 2, 0.9)), 0.05)
    half = theory.time_from(np.full(d, size), 1.0, 0.5)
    path = monomial.flow(np.full(d, size), 1.0, [0.9 * half, half, 2 * half, 10 * half])
    p = path.prod(axis=1)
    np.testing.assert_allclose(
        theory.time_from(np.full(d, size), 1.0, p[:2]), [0.9 * half, half], rtol=1e-9
    )
    np.testing.assert_allclose(p[2:], 1, rtol=1e-9)


def test_a_degenerate_saddle_holds_for_a_while():
    """Three opposed weights shrink as 1/t, until the smallest
    changes its sign; then the product is learned.
    """
    weights = np.array([1, -1, 1 - 1e-9])
    path = monomial.flow(weights, 1, [0, 1e2, 1e3, 1e7, 1e8])
    np.testing.assert_allclose(path[1], [1 / 100, -1 / 100, 1 / 100], rtol=0.03)
    np.testing.assert_allclose(
        theory.conserved(path), np.tile(theory.conserved(weights), (5, 1)), atol=1e-11
    )
    np.testing.assert_allclose(np.prod(path[-2:], axis=1), 1, rtol=1e-10)
    assert np.array_equal(np.sign(path[-1]), [1, -1, -1])
