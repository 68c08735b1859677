"""Measure one workload, in a process of its own."""

from collections.abc import Mapping

import numpy as np
import torch

from evidence.speed import timing
from evidence.speed.case import Case
from evidence.speed.workloads import WORKLOADS

ROUNDS, LEAST = 7, 0.4  # seconds: a call of ours ends with a forward pass more, which must not weigh
SLOPE_ROUNDS, SLOPE_LEAST = 5, 0.2
TINY = {"members": 1, "width": 4, "depth": 2, "points": 2}


def quietly() -> None:
    """Keep to one core, and round numbers below the normal range to zero, as `lib.training` does."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def sizes(name: str, device: str) -> dict[str, int]:
    """Return those of the book, on a GPU with more members."""
    workload = WORKLOADS[name]
    return {**workload.sizes, **(workload.cuda if device == "cuda" else {})}


def memory(name: str, device: str, which: str) -> int | None:
    """Return the most bytes that "ours" or "plain" holds beyond what the program does anyway."""
    quietly()
    build, own = WORKLOADS[name].build, sizes(name, device)
    getattr(build(device, **{axis: TINY[axis] for axis in own}), which)().advance(2)  # what is loaded and compiled once
    kept = []

    def run() -> None:
        kept.append(getattr(build(device, **own), which)())
        kept[0].advance(3)

    return timing.peak_memory(run, device)


def row(name: str, device: str) -> dict:
    """Measure our memory, then how long a step takes, the limit, the parts and the slopes."""
    held = memory(name, device, "ours")  # while the process is fresh
    workload, own = WORKLOADS[name], sizes(name, device)
    case = workload.build(device, **own)
    members, found = own["members"], _in_turn(case, device)
    pairs = case.products()
    large, work = found["large"], timing.large_operations(device)
    rate, moved = work / np.median(large), (case.read + 2 * case.updated) * case.dtype.itemsize
    bandwidth = moved / np.median(found["traffic"])
    by_products, by_memory = large * case.operations / work, found["traffic"]
    products_bind = np.median(by_products) >= np.median(by_memory)
    limit, plain = by_products if products_bind else by_memory, found["plain"] * members / case.plain_members
    parts = {part: found[part] for part in case.parts}
    result = {
        "title": workload.title,
        "step": workload.step,
        "sizes": own,
        "precision": str(case.dtype).removeprefix("torch."),
        "ours": _spread(found["ours"] / members),
        "plain": _spread(plain / members),
        "limit": _spread(limit / members),
        "binds": "products" if products_bind else "memory",
        "plain over ours": _spread(plain / found["ours"]),
        "limit over ours": _spread(limit / found["ours"]),
        "operations": case.operations / members,
        "bytes": moved / members,
        "rate of large products": rate,
        "bandwidth": bandwidth,
        "memory": {"ours": held},
        "parts": {part: _spread(seconds / found["ours"]) for part, seconds in parts.items()},
    }
    if pairs:
        result["own products"] = {
            "share": _spread(found["own products"] / found["ours"]),
            "rate over that of large ones": _spread(timing.operations(pairs) / found["own products"] * large / work),
            "operations over the least": timing.operations(pairs) / case.operations,
        }
    result["slopes"] = {axis: slope(name, device, axis, rate, bandwidth) for axis in workload.axes}
    return result


def _in_turn(case: Case, device: str) -> dict[str, np.ndarray]:
    pairs = case.products()
    loops = {
        "ours": case.ours().advance,
        "plain": case.plain().advance,
        "large": timing.large_products(device, case.dtype),
        "traffic": timing.traffic(device, case.dtype, case.read, case.updated, case.apart),
        **{part: make() for part, make in case.parts.items()},
        **({"own products": timing.products(pairs)} if pairs else {}),
    }
    return timing.in_turn(loops, ROUNDS, LEAST, device)


def slope(name: str, device: str, axis: str, rate: float, bandwidth: float) -> dict:
    """Measure how our cost grows along an axis, and say how the limit does, at the rates given."""
    along = WORKLOADS[name].axes[axis]
    cases = {size: WORKLOADS[name].build(device, **{**sizes(name, device), axis: size}) for size in along}
    found = timing.in_turn({size: case.ours().advance for size, case in cases.items()}, SLOPE_ROUNDS, SLOPE_LEAST, device)
    seconds = [float(np.median(found[size])) for size in along]
    limits = [max(c.operations / rate, (c.read + 2 * c.updated) * c.dtype.itemsize / bandwidth) for c in cases.values()]
    return {
        "sizes": list(along),
        "seconds": seconds,
        "slope": timing.slope(along, seconds),
        "expected": timing.slope(along, limits),
    }


def _spread(values: np.ndarray) -> Mapping[str, float]:
    return {"median": float(np.median(values)), "least": float(values.min()), "greatest": float(values.max())}
