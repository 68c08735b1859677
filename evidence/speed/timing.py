"""Loops timed in turn, the machine's rates, peak memory, slopes."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

Loop = Callable[[int], object]  # takes a number of steps

SQUARE = {"cpu": 1024, "cuda": 8192}  # side of the large matrices


def large_products(device: str, dtype: torch.dtype) -> Loop:
    """Return a loop of products of large square matrices, the most that the machine does."""
    left, right = torch.randn(2, SQUARE[device], SQUARE[device], device=device, dtype=dtype)
    return products([(left[None], right[None])])


def large_operations(device: str) -> int:
    """Count those of one large product."""
    return 2 * SQUARE[device] ** 3


def products(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Loop:
    """Return a loop that multiplies each pair, (members, m, k) and (members, k, n)."""
    outs = [torch.bmm(*pair) for pair in pairs]

    def loop(steps: int) -> None:
        for _ in range(steps):
            for (left, right), out in zip(pairs, outs, strict=True):
                torch.bmm(left, right, out=out)

    return loop


def operations(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> int:
    """Count those of multiplying each pair."""
    return sum(2 * left.numel() * right.shape[-1] for left, right in pairs)


def traffic(device: str, dtype: torch.dtype, read: int, updated: int, times: int = 1) -> Loop:
    """Return a loop that reads so many numbers, and reads and writes so many, of one array; or `times` a share of it."""
    read, updated = -(-read // times), -(-updated // times)
    numbers = torch.ones(max(read, updated), device=device, dtype=dtype)
    if device == "cuda":
        looked, changed = numbers[:read], numbers[:updated]

        def one() -> None:
            looked.sum()
            changed.mul_(1)
    else:
        from numba import njit

        @njit(fastmath=True)
        def look(values):
            total = values[0]
            for j in range(values.size):
                total += values[j]
            return total

        @njit(fastmath=True)
        def change(values, factor):
            for j in range(values.size):
                values[j] *= factor

        looked, changed, factor = numbers.numpy()[:read], numbers.numpy()[:updated], numbers.numpy()[0]

        def one() -> None:
            look(looked)
            change(changed, factor)

    def loop(steps: int) -> None:
        for _ in range(times * steps):
            one()

    return loop


def in_turn(loops: Mapping[str, Loop], rounds: int, least: float, device: str = "cpu") -> dict[str, np.ndarray]:
    """Time loops round by round, each for at least about `least` seconds; return seconds a step, (rounds,), by name."""
    steps = {name: _enough(loop, least, device) for name, loop in loops.items()}
    times = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            times[name].append(_seconds(loop, steps[name], device) / steps[name])
    return {name: np.array(values) for name, values in times.items()}


def _enough(loop: Loop, least: float, device: str) -> int:
    """Find how many steps take `least` seconds, after a first one, which may load and compile."""
    loop(1)
    steps = 1
    while (taken := _seconds(loop, steps, device)) < least / 2:
        steps *= 2
    return max(1, round(steps * min(least / taken, 4)))


def _seconds(loop: Loop, steps: int, device: str) -> float:
    """Return the processor's seconds, in which nothing else counts that runs on the machine; on a GPU those on the wall."""
    clock = time.perf_counter if device == "cuda" else time.process_time
    start = clock()
    loop(steps)
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def peak_memory(run: Callable[[], object], device: str) -> int | None:
    """Return the most bytes that something holds while it runs, beyond what was held before; None if unknown."""
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        return torch.cuda.max_memory_allocated() - before
    if not sys.platform.startswith("linux"):
        return None
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    run()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith(name + ":"))
    return 1024 * int(kilobytes)


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of log value against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
