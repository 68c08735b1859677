"""Time the library beside the loop that a reader would write, JAX
and the machine's limit, on one core, and on a GPU.

`python -m tests.tools.bench [WORKLOAD ...]` prints what it finds; without names it measures all and
writes `book/quality/speed.json`, from which the page "How this book is tested" takes its table. It
wants a machine of its own.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from numba import njit

from lib import files
from lib.provenance import blas, versions
from lib.site.pages import tables
from tests.tools.workloads import ON_GPU, WORKLOADS, Case

Loop = Callable[[int], object]  # takes a number of steps

ROOT = Path(__file__).parents[2]
ROUNDS, LEAST = 7, 0.3  # rounds, and seconds of a loop in each
KIND = ("cpu family", "model\t", "stepping")  # of /proc/cpuinfo
SIDE = {"cpu": 1024, "cuda": 8192}  # of the large square matrices
QUIET = 0.5  # the largest load at which the table is measured


def main() -> None:
    """Measure workloads, each in a process of its own."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.bench", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(WORKLOADS)} (default: all)"
    )
    names = parser.parse_args().names
    if unknown := {*names} - {*WORKLOADS}:
        parser.error(
            f"there is no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}"
        )
    load = os.getloadavg()[0]
    if not names and load > QUIET:
        parser.error(
            f"the load is {load:.1f}: the table wants a machine of its own, at {QUIET} at most; "
            "name workloads to measure them all the same"
        )
    start, found = time.perf_counter(), {}
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        found[device] = {}
        for name in names or WORKLOADS:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                row = found[device][name] = pool.submit(measure, name, device).result()
            ratio, share = (
                row[which]["median"] for which in ("plain over ours", "limit over ours")
            )
            peer = (
                f", {row['jax over ours']['median']:.2f} times as fast as JAX"
                if "jax over ours" in row
                else ""
            )
            print(
                f"{device}, {name}: {ratio:.2f} times as fast as the plain loop{peer}, "
                f"{share:.1%} of the limit",
                flush=True,
            )
    if not names:
        made = provenance() | {
            "seconds": round(time.perf_counter() - start),
            "load": load,
        }
        table = json.dumps({"provenance": made, **found}, indent=1, ensure_ascii=False)
        files.write(tables.place(ROOT, "speed"), table + "\n")


def provenance() -> dict:
    """Say on what is measured, with what and when."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    kind = [" ".join(line.split()).replace(" :", "") for line in lines if line.startswith(KIND)]
    ruling = ("OPENBLAS_", "MKL_", "OMP_", "XLA_", "ATEN_", "ONEDNN_")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "kind": ", ".join(kind[: len(KIND)]),
        "flags": " ".join(flag for flag in _flags(lines) if flag.startswith(("avx", "amx", "fma"))),
        "blas": blas(),
        "torch": torch.backends.cpu.get_cpu_capability(),
        "environment": {
            name: value for name, value in os.environ.items() if name.startswith(ruling)
        },
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": 1,
        "versions": f"Python {platform.python_version()}, {versions()}",
    }


def _flags(lines: list[str]) -> list[str]:
    """Return what the first processor can do."""
    return next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])


def measure(name: str, device: str = "cpu") -> dict:
    """Return how long a step of one member takes by our code,
    by the plain loop and in JAX, and the limit.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as lib.training does
    workload = WORKLOADS[name]
    sizes = workload.sizes | (
        {"members": ON_GPU[name]} if device == "cuda" and name in ON_GPU else {}
    )
    case, members = workload.build(**sizes, device=device), sizes["members"]
    peer = (
        case.jax(import_module("tests.tools.jaxed"))
        if device == "cpu" and case.jax and find_spec("jax")
        else None
    )
    compare(name, case, peer)
    products = large_products(device, import_module("tests.tools.jaxed") if peer else None)
    limits = products | {"traffic": passes(case, device)}
    loops = {"ours": case.ours().advance, "plain": case.plain().advance} | limits
    seconds = in_turn(loops | ({"jax": peer.advance} if peer else {}), device)
    fastest = min(products, key=lambda which: np.median(seconds[which]))
    by_products = seconds[fastest] * case.operations / (2 * SIDE[device] ** 3)
    products_bind = np.median(by_products) >= np.median(seconds["traffic"])
    times = {
        "ours": seconds["ours"] / members,
        "plain": seconds["plain"],  # of one member
        "limit": (by_products if products_bind else seconds["traffic"]) / members,
    } | ({"jax": seconds["jax"] / members} if peer else {})
    return {
        "title": workload.title,
        "step": workload.step,
        "sizes": sizes,
        "binds": "products" if products_bind else "memory",
        "fastest product": fastest,
        **{which: spread(times[which]) for which in ("ours", "plain", "limit")},
        **{
            f"{which} over ours": spread(times[which] / times["ours"])
            for which in times
            if which != "ours"
        },
    }


def compare(name: str, case: Case, peer: object | None) -> None:
    """Take three steps with our code, with the plain loop and in JAX;
    raise ValueError if they do not come to the same.
    """
    ours = case.ours()
    ours.advance(3)
    for title, other in {"the plain loop": case.plain(), "JAX": peer}.items():
        if other is not None:
            other.advance(3)
            end = other.state()
            own, theirs = (
                np.concatenate([state[part].ravel() for part in end])
                for state in (ours.state(), end)
            )
            apart = np.linalg.norm(own - theirs) / np.linalg.norm(theirs)
            if case.close and not apart < case.close:
                raise ValueError(f"{name}: ours and {title} differ by {apart:.1e}")


def large_products(device: str, jaxed: ModuleType | None) -> dict[str, Loop]:
    """Return loops of products of large square matrices by each
    library that is here; the fastest is the most that the machine does.
    """
    side = SIDE[device]
    left, right = torch.randn(2, side, side, device=device)
    out = left @ right
    found = {"torch": lambda: torch.mm(left, right, out=out)}
    if device == "cpu":
        own = left.numpy(), right.numpy(), out.numpy()
        found["NumPy"] = lambda: np.matmul(own[0], own[1], out=own[2])
    loops = {name: partial(_repeat, product) for name, product in found.items()}
    return loops | ({"XLA": jaxed.large_products(side)} if jaxed else {})


def _repeat(product: Callable, steps: int) -> None:
    for _ in range(steps):
        product()


@njit(fastmath=True)
def _read_and_change(looked, changed, factor):
    total = looked[0]
    for j in range(looked.size):
        total += looked[j]
    for j in range(changed.size):
        changed[j] *= factor
    return total


def passes(case: Case, device: str) -> Loop:
    """Return a loop that reads, and changes, as many numbers as a step must."""
    read, updated = (-(-count // case.apart) for count in (case.read, case.updated))
    numbers = torch.ones(max(read, updated), device=device)
    looked, changed = (
        numbers[:read],
        numbers[:updated],
    )  # the same, as a step updates what it has read
    here = device == "cpu"
    if here:
        looked, changed = looked.numpy(), changed.numpy()

    def loop(steps: int) -> None:
        for _ in range(case.apart * steps):
            if here:
                _read_and_change(looked, changed, np.float32(1))
            else:
                looked.sum()
                changed.mul_(1)

    return loop


def in_turn(loops: Mapping[str, Loop], device: str) -> dict[str, np.ndarray]:
    """Time loops round by round; return the seconds of a step, (rounds,), by name."""

    def clock() -> float:
        if device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def seconds(loop: Loop, steps: int) -> float:
        start = clock()
        loop(steps)
        return clock() - start

    def enough(loop: Loop) -> int:
        loop(1)  # may load and compile
        steps = 1
        while seconds(loop, steps) < LEAST:
            steps *= 2
        return steps

    steps = {name: enough(loop) for name, loop in loops.items()}
    rounds = [
        {name: seconds(loop, steps[name]) / steps[name] for name, loop in loops.items()}
        for _ in range(ROUNDS)
    ]
    return {name: np.array([one[name] for one in rounds]) for name in loops}


def spread(values: np.ndarray) -> dict[str, float]:
    """Return the median and the range of rounds."""
    return {
        "median": float(np.median(values)),
        "least": float(values.min()),
        "greatest": float(values.max()),
    }


if __name__ == "__main__":
    main()
