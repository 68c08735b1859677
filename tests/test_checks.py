"""Each check of arguments, once: what it takes, in which form
it hands it on, and the words of its refusal.
"""

from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from lib import checks

PASSES = [
    (checks.number, np.float32(0.5), 0.5),
    (checks.positive, 1e-99, 1e-99),
    (checks.whole, 3.0, 3),
    (checks.whole, np.float16(3), 3),
    (checks.seed, 10**400, 10**400),
    (checks.seeds, torch.tensor([1, 2]), [1, 2]),
    (checks.flag, np.bool_(True), True),
    (checks.real, np.inf, np.inf),
    (checks.limit, -np.inf, -np.inf),
    (checks.numbers, [[1, 2]], [[1.0, 2.0]]),
    (checks.numbers, torch.ones(2), [1.0, 1.0]),
    (checks.numbers, torch.ones(2, requires_grad=True), [1.0, 1.0]),
    (checks.numbers, torch.ones(2, dtype=torch.bfloat16), [1.0, 1.0]),
    (checks.numbers, [Decimal("0.1"), Fraction(1, 2), 10**30], [0.1, 0.5, 1e30]),
    (checks.numbers, np.ma.array([1.0, 2.0]), [1.0, 2.0]),
    (checks.gram, [[2, 1], [1, 2]], [[2.0, 1.0], [1.0, 2.0]]),
    (checks.nonnegative_times, 3, [3.0]),
    (checks.ascending, [0, 0, 1], [0.0, 0.0, 1.0]),
    (checks.binary, [0, 1], [False, True]),
    (checks.wholes, [0, 2.0], [0, 2]),
    (checks.arrays, [[1], [2, 3]], [[1.0], [2.0, 3.0]]),
    (checks.optional(checks.number), None, None),
]
REFUSALS = [
    (partial(checks.number, low=0, high=1), 2, "is 2: want a number from 0 to 1"),
    (checks.number, "1", "of type str and dtype <U1: want real numbers"),
    (checks.number, 10**400, "want real numbers"),
    (checks.number, [1, 2], "has shape .* want one number"),
    (checks.positive, 0, "must be positive, not 0"),
    (checks.positive, 1e-101, "must be at least 1e-100"),
    (checks.non_negative, -1, "must not be negative"),
    (checks.whole, 1.5, "want a positive integer"),
    (partial(checks.whole, least=0, most=3), 4, "at least 0 and at most 3"),
    (checks.seed, -1, "at least 0"),
    (partial(checks.whole, most=9), 10**400, "at most 9"),
    (checks.real, "inf", "want one real number"),
    (checks.real, 1j, "want one real number"),
    (checks.real, pd.NA, "want one real number"),
    (checks.real, 10**400, "want one real number"),
    (checks.flag, "no", "want real numbers"),
    (checks.flag, 2, "True or False"),
    (checks.seeds, [1, -2], "at least 0"),
    (partial(checks.alike, shape=(3,)), [np.ones((2, 4))], r"gives \(2, 4\): want \(b, 3\)"),
    (checks.limit, np.nan, "finite or infinite"),
    (checks.numbers, [], "is empty"),
    (checks.numbers, [1j], "want real numbers"),
    (checks.numbers, torch.ones(2, device="meta"), "float32, torch.strided, on meta: want real"),
    (checks.numbers, [np.ma.array([1, 2], mask=[True, False])], "has masked entries"),
    (checks.numbers, [[1.0, np.ma.masked]], "has masked entries"),
    (checks.numbers, np.ma.array([1.0, 2.0], mask=[False, True]), "has masked entries"),
    (checks.numbers, [1, np.inf], "must be finite, not inf"),
    (checks.numbers, 1e101, "at most 1e.100 in size"),
    (checks.vector, [[1]], r"want a vector \(d,\)"),
    (checks.nonzero, [0, 0], "other than zero"),
    (checks.vectors, 1, r"want vectors"),
    (checks.matrix, [1], "want one matrix"),
    (checks.matrices, [1], r"want matrices \(\.\.\., m, n\)"),
    (checks.squares, [[1, 2]], r"want \(\.\.\., d, d\)"),
    (checks.gram, [[1, 2], [2, 1]], "symmetric and positive semidefinite"),
    (checks.nonnegative_times, [-1], "must be non-negative"),
    (checks.ascending, [1, 0], "must ascend"),
    (checks.binary, [0.5], "must be 0 or 1"),
    (checks.wholes, [1, -1], r"\[1\] is -1"),
    (checks.arrays, [[1], ["x"]], r"\[1\] is of type"),
    (partial(checks.one_of, allowed=("relu", "tanh")), "selu", "want one of relu, tanh"),
    (checks.words, " ", "is blank"),
    (checks.instance(int, str), 1.0, "want int or str"),
]


@pytest.mark.parametrize("check, value, wanted", PASSES)
def test_good_input_is_handed_on_as_formulas_want_it(check, value, wanted):
    found = check("price", value)
    if isinstance(found, list):
        assert [np.asarray(one).tolist() for one in found] == wanted
    else:
        np.testing.assert_array_equal(found, wanted)
        assert isinstance(found, np.ndarray) == isinstance(wanted, list | np.ndarray)


@pytest.mark.parametrize("check, value, words", REFUSALS)
def test_bad_input_is_refused_by_name(check, value, words):
    with pytest.raises((TypeError, ValueError), match=words) as refusal:
        check("price", value)
    assert str(refusal.value).startswith("price")


def test_shapes_that_do_not_fit_are_named_together():
    checks.shaped("(..., d), (..., h)", w=np.ones((3, 2, 4)), a=np.ones((3, 2, 5)))
    with pytest.raises(ValueError, match=r"w \(3, 2\), a \(2,\) do not fit: want \(h, d\), \(h,\)"):
        checks.shaped("(h, d), (h,)", w=np.ones((3, 2)), a=np.ones(2))
    checks.broadcastable(w=np.ones((3, 1)), a=np.ones(2))
    with pytest.raises(ValueError, match=r"w \(3,\), a \(2,\) do not fit each other"):
        checks.broadcastable(w=np.ones(3), a=np.ones(2))


def test_arguments_are_checked_before_a_function_runs():
    @checks.takes(price=checks.positives, weight=checks.number)
    def cost(price, weight=2):
        return weight * price

    assert cost([1, 2]).tolist() == [2, 4]
    assert cost(weight=3, price=1) == 3
    with pytest.raises(ValueError, match="price must be positive"):
        cost([1, -2])


def test_an_underflow_is_zero_whatever_the_caller_has_set():
    @checks.takes(time=checks.number)
    def decay(time):
        return np.exp(-np.array([time, 2 * time]))

    with np.errstate(all="raise"):
        assert decay(1e3).tolist() == [0, 0]
        with pytest.raises(FloatingPointError, match="overflow"):
            decay(-1e3)


def test_what_is_given_may_change_later():
    given = np.ones(2)
    found = checks.ascending("price", given)
    given[:] = 7
    assert found.tolist() == [1, 1]
