"""Modular arithmetic: the equations hold, are all there, and are split without overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from book.practice import arithmetic
from book.practice.arithmetic import modular, split

PRIMES = [2, 3, 5, 13, 31, 97]


@pytest.mark.parametrize("p", PRIMES)
def test_quotients_and_products(p):
    tokens, quotients = modular(p)
    same, products = arithmetic.modular(p, "multiplication")
    x, operation, y, equals = tokens.T
    np.testing.assert_array_equal(tokens, same)
    np.testing.assert_array_equal(quotients * y % p, x)  # z is x / y if z · y is x
    assert quotients.min() >= 0 and quotients.max() < p
    np.testing.assert_array_equal(products, x * y % p)
    assert set(operation) == {p + 1} and set(equals) == {p}
    pairs = [(i, j) for i in range(p) for j in range(1, p)]
    np.testing.assert_array_equal(np.stack([x, y], axis=1), pairs)


@given(seed=st.integers(0, 100), count=st.integers(2, 50), share=st.floats(0, 1))
def test_split_parts_everything(seed, count, share):
    first = min(max(int(share * count), 1), count - 1)
    one, other = split(seed, count, first)
    assert len(one) == first and sorted([*one, *other]) == list(range(count))
    np.testing.assert_array_equal(split(seed, count, first)[0], one)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: arithmetic.modular(4), "p is 4: want a prime"),
        (lambda: arithmetic.modular(9), "p is 9: want a prime"),
        (lambda: arithmetic.split(0, 5, 5), "first is 5: want"),
    ],
)
def test_other_moduli_and_parts_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
