"""The tiling score against a loop over neurons, its gradient against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import seeds

from book.localization import tiling
from lib import data


def signals(seed, samples=200, n=12, gain=3.0):
    return data.nlgp(seed, samples, n, (2.0, 1.0), gain)


def copies(profile, neurons, turns):
    """The fields of an arrangement, one by one: turned to their places, with their signs."""
    n = len(profile)
    places = [round(k * n / neurons) % n for k in range(neurons)]
    signs = [1 if (2 * turns * (k + 0.5) / neurons) % 2 < 1 else -1 for k in range(neurons)]
    return np.array(
        [sign * np.roll(profile, place) for place, sign in zip(places, signs, strict=True)]
    )


def best_error(w, x, y):
    """The least E(ŷ − y)² of a network over the size of its
    weights, on signals and their mirror images.
    """
    ups = [np.maximum(side * x @ w.T, 0).mean(axis=1) for side in (1, -1)]
    one, zero = y == 1, y == 0
    drive = np.mean([up[one].mean() for up in ups])
    power = np.mean([(up[one] ** 2).mean() + (up[zero] ** 2).mean() for up in ups])
    return 0.5 - 0.5 * drive**2 / power


@settings(deadline=None, max_examples=25)
@given(seeds, st.sampled_from([4, 6, 8, 10]), st.data())
def test_score_is_the_best_error_of_its_network(seed, n, draw):
    neurons = draw.draw(st.integers(2, n))
    turns = draw.draw(st.integers(1, neurons // 2))
    x, y = signals(seed, 60, n)
    around = np.concatenate(
        [np.roll(x, r, axis=1) for r in range(n)]
    )  # signals the same around the ring
    profile = np.random.default_rng(seed).normal(size=n)
    score, _ = tiling.Signals(x, y).score(profile, tiling.arrangement(n, neurons, turns))
    assert 0.5 - 0.5 * score == pytest.approx(
        best_error(copies(profile, neurons, turns), around, np.tile(y, n))
    )


@settings(deadline=None, max_examples=25)
@given(seeds, st.integers(3, 9), st.booleans())
def test_gradient_is_the_slope_of_the_score(seed, n, many):
    rng = np.random.default_rng(seed)
    found, where = (
        tiling.Signals(*signals(seed, 40, n)),
        tiling.arrangement(n, n + 1 if many else 3, 1),
    )
    profile, along = rng.normal(size=(2, n))
    _, gradient = found.score(profile, where)
    up, down = (found.score(profile + side * 1e-6 * along, where)[0] for side in (1, -1))
    assert gradient @ along == pytest.approx((up - down) / 2e-6, abs=1e-6)
    assert gradient @ profile == pytest.approx(
        0, abs=1e-12
    )  # the size of a profile does not matter


def test_tiling_score_does_not_care_about_size_sign_and_place():
    rng = np.random.default_rng(0)
    profile, inputs, labels = rng.normal(size=7), rng.normal(size=(50, 7)), np.arange(50) % 2
    score = tiling.tiling_score(profile, inputs, labels)
    loop = np.array([np.mean([abs(x @ np.roll(profile, r)) for r in range(7)]) for x in inputs])
    one, zero = loop[labels == 1], loop[labels == 0]
    assert score == pytest.approx(one.mean() ** 2 / (np.mean(one**2) + np.mean(zero**2)))
    for other in (-3 * profile, np.roll(profile, 3)):
        assert tiling.tiling_score(other, inputs, labels) == pytest.approx(score)


def test_climbing_goes_up_and_stops_at_a_maximum():
    found, where = tiling.Signals(*signals(4, 2000, 12, gain=10.0)), tiling.arrangement(12, 13, 1)
    before = np.exp(-(np.arange(12.0) ** 2))
    top, score = tiling.climb(found, before, where)
    assert score > found.score(before, where)[0] and np.linalg.norm(top) == pytest.approx(1)
    rng = np.random.default_rng(0)
    assert all(
        found.score(top + 0.02 * rng.normal(size=12), where)[0] < score + 1e-6 for _ in range(20)
    )


def test_climbing_forgets_the_size_of_the_start():
    found, where = tiling.Signals(*signals(4, 500, 12, gain=10.0)), tiling.arrangement(12, 13, 1)
    start = np.exp(-(np.arange(12.0) ** 2))
    top, score = tiling.climb(found, start, where)
    np.testing.assert_allclose(tiling.climb(found, 1e4 * start, where)[0], top, rtol=1e-9)
    assert (
        found.score(start, where)[0] < tiling.climb(found, start, where, steps=1)[1] < score - 1e-4
    )


def mixture_score(x, y, profiles, shares):
    """R of a network whose fields are some profiles at all places, by a loop over places."""
    means = [np.mean([np.abs(x @ np.roll(u, r)) for r in range(len(u))], axis=0) for u in profiles]
    m = np.dot(shares, means)
    return m[y == 1].mean() ** 2 / sum((m[y == c] ** 2).mean() for c in (0, 1))


def test_a_rival_bounds_what_mixtures_can_reach():
    x, y = signals(6, 400, 8, gain=10.0)
    found, rng = tiling.Signals(x, y), np.random.default_rng(0)
    starts, poor = tiling.starts(8), np.ones(8)
    top, score = max(
        (tiling.climb(found, u, tiling.arrangement(8, 9, 1)) for u in starts),
        key=lambda one: one[1],
    )
    _, q = tiling.rival(found, top, starts)
    v, much = tiling.rival(found, poor, starts)
    low = mixture_score(x, y, [poor], [1])
    assert 1 - 1e-6 < q < much and np.linalg.norm(v) == pytest.approx(1)
    assert mixture_score(x, y, [poor, v], [0.99, 0.01]) > low  # a q above 1 is a gain
    for _ in range(30):
        best = mixture_score(x, y, [top, *rng.normal(size=(3, 8))], rng.random(4))
        assert best <= score * q**2 + 1e-9 and best <= low * much**2


def test_advantage_is_evaluated_where_it_stands():
    x, y = signals(7, 300, 8)
    u, v = np.random.default_rng(1).normal(size=(2, 8))
    m_u, m_v = (
        np.mean([np.abs(x @ np.roll(field, r)) for r in range(8)], axis=0) for field in (u, v)
    )

    def helped(m):
        """N over D with the profile u, by a loop over places."""
        return m[y == 1].mean() / sum((m * m_u)[y == c].mean() for c in (0, 1))

    found = tiling.advantage(tiling.Signals(x, y), u, v)
    assert found == pytest.approx(helped(m_v) / helped(m_u))
    assert tiling.advantage(tiling.Signals(x, y), u, 3 * u) == pytest.approx(1)


def test_with_more_neurons_than_sites_each_has_its_share():
    found = tiling.arrangement(4, 5, 2)
    np.testing.assert_array_equal(found.even, [0.25] * 4)
    np.testing.assert_array_equal(found.odd, [0] * 4)


def test_what_does_not_fit_is_refused():
    found, where = tiling.Signals(*signals(1, 30, 6)), tiling.arrangement(6, 7, 1)
    with pytest.raises(ValueError, match="not all zero"):
        found.score(np.zeros(6), where)
    with pytest.raises(ValueError, match="turns is 3"):
        tiling.arrangement(6, 4, 3)
    with pytest.raises(ValueError, match="both of them"):
        tiling.Signals(np.eye(3), np.ones(3))
