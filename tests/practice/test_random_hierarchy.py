"""The random hierarchy model against its definition: counts, no
collisions, derivations that can be parsed back, frequencies.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from book.practice.random_hierarchy import RandomHierarchy

PAPER = RandomHierarchy()


@st.composite
def models(draw):
    """Draw a small model."""
    branches, symbols, levels = (
        draw(st.integers(2, 3)),
        draw(st.integers(2, 4)),
        draw(st.integers(1, 3)),
    )
    levels = min(levels, 2) if branches == 3 else levels
    classes = draw(st.integers(1, 4))
    most = symbols**branches // max(classes, symbols if levels > 1 else 1)
    features = draw(st.integers(1, min(most, 2 if levels == 3 else 3)))
    return RandomHierarchy(classes, features, symbols, branches, levels)


def parse(model, rules, string):
    """Read a string from the bottom up; return its class."""
    for features in reversed(rules):
        table = {tuple(feature): symbol for symbol, row in enumerate(features) for feature in row}
        string = [table[tuple(part)] for part in np.reshape(string, (-1, model.branches))]
    (label,) = string
    return label


@given(model=models(), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_rules_are_complete_and_never_collide(model, seed):
    rules = model.rules(seed)
    assert [part.shape for part in rules] == [
        (count, model.features, model.branches)
        for count in [model.classes] + [model.symbols] * (model.levels - 1)
    ]
    for part in rules:
        assert (
            len(np.unique(part.reshape(-1, model.branches), axis=0))
            == part.shape[0] * part.shape[1]
        )
        assert part.min() >= 0 and part.max() < model.symbols
    for one, two in zip(rules, model.rules(seed), strict=True):
        np.testing.assert_array_equal(one, two)


@given(model=models(), seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_strings_are_distinct_and_parse_to_their_class(model, seed):
    """Distinct classes never give the same string, and each class gives as many."""
    rules = model.rules(seed)
    count = model.strings
    assert count == model.classes * model.features ** sum(
        model.branches**level for level in range(model.levels)
    )
    some = (
        np.arange(count)
        if count < 3000
        else np.unique(np.random.default_rng(0).integers(count, size=300))
    )
    symbols, labels = model.derive(rules, some)
    assert symbols.shape == (len(some), model.length) and len(np.unique(symbols, axis=0)) == len(
        some
    )
    if count < 3000:
        np.testing.assert_array_equal(
            np.bincount(labels, minlength=model.classes), count // model.classes
        )
    for string, label in zip(symbols[:50], labels[:50], strict=True):
        assert parse(model, rules, string) == label


@given(model=models(), seed=st.integers(0, 1000), share=st.floats(0.01, 1), test=st.integers(1, 20))
@settings(max_examples=40)
def test_draws_are_one_hot_and_disjoint(model, seed, share, test):
    test = min(test, model.strings - 1)
    if test < 1:
        return
    rules, train = model.rules(seed), max(1, int(share * (model.strings - test)))
    drawn = model.draw(seed, rules, train, test)
    everything = {
        tuple(string): label
        for string, label in zip(*model.derive(rules, np.arange(model.strings)), strict=True)
    }
    seen = []
    for (inputs, labels), count in zip(drawn, (train, test), strict=True):
        assert inputs.shape == (count, model.length * model.symbols) and inputs.dtype == np.float32
        hot = inputs.reshape(count, model.length, model.symbols)
        assert np.all(hot.sum(-1) == 1) and hot.max() == 1
        strings = [tuple(string) for string in hot.argmax(-1)]
        assert [everything[string] for string in strings] == list(labels)
        seen += strings
    assert len(set(seen)) == train + test
    again = model.draw(seed, rules, train, test)
    np.testing.assert_array_equal(again[0][0], drawn[0][0])
    np.testing.assert_array_equal(again[1][1], drawn[1][1])


def test_every_string_is_drawn_as_often():
    """Of 48 strings, ten each time: 1000 times, within five standard deviations."""
    model = RandomHierarchy(classes=3, features=2, symbols=3, branches=3, levels=2)
    assert model.strings == 48
    rules, counts = model.rules(0), np.zeros(48)
    index = {tuple(string): i for i, string in enumerate(model.derive(rules, np.arange(48))[0])}
    for seed in range(1000):
        (inputs, _), _ = model.draw(seed, rules, 10, 1)
        for string in inputs.reshape(10, 9, 3).argmax(-1):
            counts[index[tuple(string)]] += 1
    mean = 1000 * 10 / 48
    assert np.all(np.abs(counts - mean) < 5 * np.sqrt(mean * (1 - 10 / 48)))


PAPER = RandomHierarchy()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: RandomHierarchy(features=9), "features for each of .* too few for all to differ"),
        (
            lambda: PAPER.derive(PAPER.rules(0), [131_072]),
            "want integers from 0 to 131071, in one dimension",
        ),
        (lambda: PAPER.draw(0, PAPER.rules(0), 131_072, 1), "together at most the 131072 strings"),
    ],
)
def test_hierarchies_that_cannot_be_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
