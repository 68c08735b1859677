"""Deep regions against patterns at random points, exact crossings
along segments, and automatic differentiation.
"""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from book.piecewise_linear import deep_regions
from book.piecewise_linear.regions import deep_crossings

networks = st.tuples(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.3]),
)


def draw(seed, widths, inputs=2):
    rng = np.random.default_rng(seed)
    sizes = [inputs, *widths]
    weights = [rng.normal(size=(m, n)) for n, m in pairwise(sizes)]
    return weights, [rng.normal(size=len(w)) / 2 for w in weights], rng


def active(weights, biases, points, gamma):
    seen = []
    for weight, bias in zip(weights, biases, strict=True):
        z = points @ weight.T + bias
        seen.append(z > 0)
        points = np.where(z > 0, z, gamma * z)
    return np.concatenate(seen, axis=1)


def area(polygon):
    x, y = polygon.T
    return np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2


@settings(max_examples=40, deadline=None)
@given(networks)
def test_every_point_lies_in_the_region_of_its_pattern(network):
    seed, widths, gamma = network
    weights, biases, rng = draw(seed, widths)
    found = deep_regions.deep_regions(weights, biases, 2.0, gamma)
    assert sum(area(r.polygon) for r in found) == pytest.approx(16, rel=1e-9)
    for region in found:
        inside = rng.dirichlet(np.ones(len(region.polygon)), 5) @ region.polygon
        assert (active(weights, biases, inside, gamma) == region.pattern).all()
        assert region.color == region.pattern.sum() % 2
    assert len({r.pattern.tobytes() for r in found}) == len(
        found
    )  # convex, so that no pattern comes twice
    points = rng.uniform(-2, 2, size=(2000, 2))
    seen = {p.tobytes() for p in active(weights, biases, points, gamma)}
    assert seen <= {r.pattern.tobytes() for r in found}


@settings(max_examples=20, deadline=None)
@given(networks)
def test_a_segment_crosses_as_many_regions_as_crossings_say(network):
    seed, widths, gamma = network
    weights, biases, rng = draw(seed, widths)
    found = {r.pattern.tobytes() for r in deep_regions.deep_regions(weights, biases, 1.0, gamma)}
    start, end = rng.uniform(-1, 1, size=(2, 2))
    times = [0.0, *(c.t for c in deep_crossings(weights, biases, start, end, gamma)), 1.0]
    middles = start + np.outer((np.array(times[1:]) + times[:-1]) / 2, end - start)
    along = [p.tobytes() for p in active(weights, biases, middles, gamma)]
    assert len(set(along)) == len(along)
    assert set(along) <= found


def test_a_line_through_corners_leaves_triangles():
    found = deep_regions.deep_regions([np.array([[1.0, -1.0]])])
    assert sorted(area(r.polygon) for r in found) == pytest.approx([2, 2])


def test_rectifiers_are_the_default():
    weights, readout = [np.array([[1.0, 2.0], [3.0, 4.0]])], np.array([5.0, 6.0])
    np.testing.assert_array_equal(
        deep_regions.deep_predictor([True, False], weights, readout), [5, 10]
    )


@pytest.mark.parametrize("inputs", [1, 2, 4])
def test_the_predictor_is_the_gradient(inputs):
    weights, biases, rng = draw(3, [4, 5, 3], inputs)
    readout, x = rng.normal(size=3), torch.tensor(rng.normal(size=inputs), requires_grad=True)
    hidden = x
    for weight, bias in zip(weights, biases, strict=True):
        hidden = torch.nn.functional.leaky_relu(
            torch.tensor(weight) @ hidden + torch.tensor(bias), 0.2
        )
    (torch.tensor(readout) @ hidden).backward()
    pattern = active(weights, biases, x.detach().numpy()[None], 0.2)[0]
    np.testing.assert_allclose(
        deep_regions.deep_predictor(pattern, weights, readout, 0.2), x.grad, rtol=1e-12
    )


def test_gradients_jump_within_the_span_of_the_first_layer():
    weights, biases, rng = draw(5, [4, 6, 6], 5)
    readout = rng.normal(size=6)
    onto = np.linalg.pinv(weights[0]) @ weights[0]
    jumps = []
    for start, end in rng.normal(size=(30, 2, 5)):
        for t, neurons in deep_crossings(weights, biases, start, end):
            points = start + (t + np.array([[-1e-6], [1e-6]])) * (end - start)
            sides = active(weights, biases, points, 0.0)
            if np.sum(sides[0] != sides[1]) == len(neurons) == 1:
                below, above = deep_regions.deep_predictor(sides, weights, readout)
                jumps.append(above - below)
    np.testing.assert_allclose(jumps, np.array(jumps) @ onto, atol=1e-9)
    assert np.max(np.abs(jumps)) > 0.1


def test_midpoints_of_a_region_lie_in_it():
    weights, biases, rng = draw(6, [4, 6, 6], 5)
    points = 3 * rng.normal(size=(4000, 5))
    patterns = active(weights, biases, points, 0.0)
    _, region = np.unique(patterns, axis=0, return_inverse=True)
    order = np.argsort(region, kind="stable")
    one, other = order[:-1], order[1:]
    same = region[one] == region[other]
    middle = active(weights, biases, (points[one] + points[other]) / 2, 0.0)
    assert same.sum() > 500 and (middle[same] == patterns[one][same]).all()


def test_layers_must_fit():
    with pytest.raises(ValueError, match="do not fit"):
        deep_regions.deep_regions([np.ones((3, 2)), np.ones((2, 4))])


@pytest.mark.parametrize("seed", range(20))
def test_two_colours_suffice_where_no_preactivation_is_zero(seed):
    weights, _, _ = draw(seed, [2 + seed % 3, 1 + seed % 6])
    first = len(weights[0])
    ring = deep_regions.deep_regions(weights)
    ring = [r for r in ring if r.pattern[:first].any()]  # the other regions have a zero on top
    angles = [np.arctan2(*r.polygon.mean(0)) for r in ring]
    ring = [ring[k] for k in np.argsort(angles)]
    crossed = []
    for one, other in zip(ring, [*ring[1:], ring[0]], strict=True):
        shared = [v for v in one.polygon if np.isclose(v, other.polygon).all(axis=1).any()]
        if len(shared) == 2:  # a border, not only the origin
            crossed.append(np.sum(one.pattern != other.pattern))
            assert one.color != other.color
    assert len(crossed) >= len(ring) - 1 and set(crossed) == {1}
