"""Hyperplanes and crossings against brute force on a grid and exact counterexamples."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from references import seeds

from book.piecewise_linear import deep_regions, regions

slopes = st.sampled_from([0.0, 0.1, 0.7])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def sigma(z, gamma):
    return np.maximum(z, gamma * z)


def drawn(seed, h, doubled, zeros, special):
    """Draw neurons in the plane, some of them repeated, turned around, zero, or with a boundary
    along an axis or a diagonal.
    """
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(h, 2)) * rng.choice([1e-3, 1.0, 1e150], size=(h, 1))
    if special:
        w[0] = (
            rng.choice([-1, 1, 3.0])
            * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])[rng.integers(4)]
        )
    copies = (
        rng.choice([-0.3, -1.0, 1.0, 7.1], size=(doubled, 1)) * w[rng.integers(h, size=doubled)]
    )
    w = np.vstack([w, copies, np.zeros((zeros, 2))])
    return rng.permutation(w), h


drawings = st.builds(
    drawn, seeds, st.integers(1, 7), st.integers(0, 4), st.integers(0, 2), st.booleans()
)


@given(seed=seeds, d=st.integers(1, 4), h=st.integers(1, 6), copies=st.integers(0, 5))
def test_hyperplanes_gather_the_multiples_of_a_neuron(seed, d, h, copies):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(1 if d == 1 else h, d))
    of = rng.integers(len(w), size=copies)
    scales = rng.choice([-1e200, -1.0, -0.3, 1e-200, 1.0, 3.7], size=copies)
    normals, number = regions.hyperplanes(np.vstack([w, scales[:, None] * w[of], np.zeros((1, d))]))
    np.testing.assert_allclose(normals, unit(w), rtol=1e-14)
    np.testing.assert_array_equal(number, [*range(len(w)), *of, -1])


@given(drawing=drawings, gamma=slopes)
def test_predictor_is_the_function_of_its_region(drawing, gamma):
    w = drawing[0] / np.maximum(1, np.abs(drawing[0]).max(axis=1, keepdims=True))
    a = np.random.default_rng(len(w)).normal(size=len(w))
    for region in deep_regions.deep_regions([w]):
        points = region.polygon.mean(axis=0) * np.array([[1.0], [0.5]])
        beta = deep_regions.deep_predictor(region.pattern, [w], a, gamma)
        np.testing.assert_allclose(points @ beta, sigma(points @ w.T, gamma) @ a, atol=1e-12)
    patterns = np.array([region.pattern for region in deep_regions.deep_regions([w])])
    np.testing.assert_allclose(
        deep_regions.deep_predictor(patterns, [w], a, gamma)[-1], beta, rtol=1e-12, atol=1e-14
    )


def deep_pattern(weights, biases, x, gamma):
    """Tell which neurons of a deep network are active at x, numbered through the layers."""
    active = []
    for w, b in zip(weights, biases, strict=True):
        z = w @ x + b
        active.append(z > 0)
        x = sigma(z, gamma)
    return np.concatenate(active)


@settings(max_examples=40)
@given(
    seed=seeds,
    widths=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    biased=st.booleans(),
    gamma=st.sampled_from([0.0, 0.3]),
)
def test_deep_crossings_are_all_places_where_neurons_flip(seed, widths, biased, gamma):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(out, into)) for into, out in pairwise(widths)]
    biases = [biased * rng.normal(size=len(w)) for w in weights]
    start, end = rng.normal(size=(2, widths[0]))
    found = regions.deep_crossings(weights, biases if biased else None, start, end, gamma)
    times = np.array([0.0, *(crossing.t for crossing in found), 1.0])
    assert np.all(np.diff(times) > 0)
    pattern = deep_pattern(weights, biases, start, gamma)
    for i, (t, later) in enumerate(pairwise(times)):
        if i > 0:
            pattern = pattern.copy()
            pattern[found[i - 1].neurons] ^= True
        for share in (0.02, 0.3, 0.5, 0.98):
            if (later - t) > 1e-9:
                here = start + (t + share * (later - t)) * (end - start)
                np.testing.assert_array_equal(deep_pattern(weights, biases, here, gamma), pattern)
    if widths[0] > 1 and biased:
        assert all(
            len(crossing.neurons) == 1 for crossing in found
        )  # Proposition 17, with generic biases


LOOP = np.array(
    [[1.0, 0.3], [-0.2, 1.1], [-1.0, -0.9], [0.8, -1.0], [1.0, 0.3]]
)  # once around the origin


FOLD = [np.eye(2), np.array([[1.0, -1.0]])]


def around(weights, biases=None, gamma=0.0):
    """Return who flips at each boundary on the way around the origin."""
    return [
        c.neurons.tolist()
        for start, end in pairwise(LOOP)
        for c in regions.deep_crossings(weights, biases, start, end, gamma)
    ]


def test_a_deep_network_without_biases_is_not_two_colorable():
    """Five regions in a ring around the origin, exactly: where both
    inputs are negative nothing in the second layer can act.
    """
    flips = around(FOLD)
    assert flips == [[2], [0], [1], [0, 2], [1]]
    patterns = [deep_pattern(FOLD, [np.zeros(2), np.zeros(1)], LOOP[0], 0.0)]
    for flipped in flips:
        patterns.append(patterns[-1].copy())
        patterns[-1][flipped] ^= True
    assert patterns[0].tolist() == patterns[5].tolist() and len({tuple(p) for p in patterns}) == 5
    for colors in product([0, 1], repeat=5):
        assert any(
            color == following
            for color, following in zip(colors, colors[1:] + colors[:1], strict=True)
        )

    def pattern(x, y):
        x, y = Fraction(x), Fraction(y)
        z = max(x, 0) - max(y, 0)
        return (x > 0, y > 0, z > 0)

    ring = [(7, 2), (2, 7), (-3, 5), (-4, -4), (1, -6)]  # one point of each cone
    assert [pattern(*point) for point in ring] == [
        tuple(p) for p in np.array(patterns[:5])[[0, 1, 2, 3, 4]].tolist()
    ]


@given(seed=seeds, gamma=st.sampled_from([0.01, 0.3, 0.9]))
def test_the_counterexample_needs_a_flat_side(seed, gamma):
    rng = np.random.default_rng(seed)
    flips = around(
        [w + rng.uniform(-0.1, 0.1, size=w.shape) * (gamma > 0.1) for w in FOLD], gamma=gamma
    )
    assert flips == [[2], [0], [1], [2], [0], [1]]


@given(seed=seeds, size=st.sampled_from([1e-6, 0.1]))
def test_biases_restore_the_two_colors(seed, size):
    rng = np.random.default_rng(seed)
    flips = around(FOLD, [size * rng.normal(size=2), size * rng.normal(size=1)])
    assert len(flips) % 2 == 0 and {len(flipped) for flipped in flips} == {1}


@settings(max_examples=30)
@given(seed=seeds, h1=st.integers(2, 4), wider=st.integers(0, 2), gamma=st.sampled_from([0.0, 0.1]))
def test_rings_have_the_parity_of_negative_weights(seed, h1, wider, gamma):
    """Around points where two first neurons are zero and the
    others off, in as many dimensions as neurons or more.
    """
    rng = np.random.default_rng(seed)
    w, v = rng.normal(size=(h1, h1 + wider)), rng.normal(size=(3, h1))
    z = -np.ones((4, h1))
    z[:, :2] = rng.uniform(0.5, 1, size=(4, 2)) * [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    corners = z @ np.linalg.pinv(w).T
    flips = []
    for start, end in pairwise([*corners, corners[0]]):
        flips += regions.deep_crossings([w, v], None, start, end, gamma)
    odd = np.sum(v[:, 0] * v[:, 1] < 0) % 2 if gamma == 0 else 0
    assert len(flips) % 2 == odd
