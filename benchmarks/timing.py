"""What the benchmarks share: loops timed in turn, and the machine's rate of matrix products."""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

Loop = Callable[[int], None]  # takes a number of steps


def products(device: str, size: int) -> Loop:
    """Return a loop of large square products, the most that the machine does."""
    left, right = torch.randn(2, size, size, device=device)
    out = torch.empty_like(left)

    def loop(steps: int) -> None:
        for _ in range(steps):
            torch.mm(left, right, out=out)

    return loop


def in_turn(loops: Mapping[str, tuple[Loop, int]], rounds: int, device: str = "cpu") -> dict[str, np.ndarray]:
    """Time each loop with its number of steps, round by round; return seconds a step, (rounds,), by name."""
    for loop, _ in loops.values():
        loop(3)
    times = {name: [] for name in loops}
    for _ in range(rounds):
        for name, (loop, steps) in loops.items():
            times[name].append(_seconds(loop, steps, device))
    return {name: np.array(values) for name, values in times.items()}


def _seconds(loop: Loop, steps: int, device: str) -> float:
    start = time.perf_counter()
    loop(steps)
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def against_products(device: str, members: int, times: Mapping[str, np.ndarray], share: float, targets: tuple[str, str]) -> None:
    """Print networks·steps per second, medians, and the ratios to the plain loop and to the rate of products.

    `times` has "plain", "ours" (of all members) and "products"; `share` is the least work of a network's step in products.
    """
    ours, least = times["ours"] / members, times["products"] * share
    rate, plain_rate = 1 / np.median(ours), 1 / np.median(times["plain"])
    print(f"{device}, {members} at once: {rate:,.0f} networks·steps per second; plain loop {plain_rate:,.0f}")
    print(f"  ours / plain loop           {np.median(times['plain'] / ours):6.2f}{targets[0]}")
    print(f"  ours / limit of products    {np.median(least / ours):6.0%}{targets[1]}")
