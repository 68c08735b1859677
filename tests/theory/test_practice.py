"""Counts of the random hierarchy model against counting."""

import itertools

import pytest

from lib.theory import practice


def expand(levels, branches, features):
    """Count the ways to replace one symbol, by recursion."""
    return 1 if levels == 0 else features * expand(levels - 1, branches, features) ** branches


@pytest.mark.parametrize(
    "classes, features, branches, levels", list(itertools.product((1, 3, 8), (1, 2, 4), (1, 2, 3), (1, 2, 3)))
)
def test_strings_are_counted_by_recursion(classes, features, branches, levels):
    assert practice.string_count(classes, features, branches, levels) == classes * expand(levels, branches, features)


def test_the_papers_sizes():
    assert practice.string_count(8, 4, 2, 3) == 131_072  # P_max in the authors' code
    assert practice.string_count(8, 3, 2, 3) == 17_496
    assert practice.rule_count(8, 4, 8, 3) == 32 + 64
    assert practice.sample_complexity(8, 4, 3) == 512


@pytest.mark.parametrize(
    "call",
    [
        lambda: practice.string_count(0, 1, 1, 1),
        lambda: practice.string_count(1, 1.5, 1, 1),
        lambda: practice.rule_count(1, 1, -1, 1),
        lambda: practice.sample_complexity(1, 1, 0),
    ],
    ids=range(4),
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match="want"):
        call()
