"""What is timed and held is what was done."""

import sys

import numpy as np
import pytest
import torch

from evidence.speed import timing


def test_a_slope_is_the_exponent():
    sizes = [1, 2, 5]
    assert timing.slope(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)


def test_traffic_leaves_numbers_as_they_are_and_takes_longer_for_more():
    loops = {size: timing.traffic("cpu", torch.float32, size, size) for size in (10_000, 1_000_000)}
    found = timing.in_turn(loops, 3, 1e-3)
    assert all(times.shape == (3,) for times in found.values())
    assert np.median(found[1_000_000]) > 10 * np.median(found[10_000])


def test_a_slow_first_step_does_not_count():
    """As when it loads and compiles: else a round would be a single step, on cold caches."""
    taken = []

    def loop(steps):
        taken.append(steps)
        for _ in range(steps):
            np.sqrt(np.ones(10_000 if len(taken) > 1 else 10_000_000)).sum()

    timing.in_turn({"slow at first": loop}, 2, 2e-3)
    assert taken[0] == 1 and taken[-1] > 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_peak_memory_is_what_was_held():
    assert timing.peak_memory(lambda: np.ones(8_000_000).sum(), "cpu") == pytest.approx(64e6, rel=0.05)
