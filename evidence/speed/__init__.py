"""How fast the engine is: each workload beside the loop that a reader would write and beside the machine's own limit."""

import os
import platform
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import torch
from tqdm import tqdm

from evidence import table
from evidence.speed import measure
from evidence.speed.workloads import WORKLOADS
from lib.provenance import versions

SAME = ("processor", "cores", "gpu", "threads", "versions")  # of all rows of a table


def rows() -> dict[str, str]:
    """Name the workloads."""
    return {name: workload.title for name, workload in WORKLOADS.items()}


def devices() -> list[str]:
    """Name what is measured on."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def seconds(names: Sequence[str]) -> float | None:
    """Say how long workloads took the last time."""
    before = table.known("speed")
    if len(names) == len(WORKLOADS):
        return before.get("provenance", {}).get("seconds")
    return table.total(before.get(device, {}).get(name, {}).get("seconds") for device in devices() for name in names)


def run(names: Sequence[str]) -> int:
    """Measure workloads, each in processes of its own; write the table and print it."""
    start, found, made = time.perf_counter(), table.known("speed"), provenance()
    before, whole = found.pop("provenance", {}), len(names) == len(WORKLOADS)
    if whole:
        found = {}
    else:
        made = table.renewed(before, made, names, SAME)
    bar = tqdm([(device, name) for device in devices() for name in names], desc="workloads", disable=None)
    for device, name in bar:
        try:
            row = measured(name, device)
        except Exception as problem:
            problem.add_note(f"in the workload {name} on {device}; the table is as it was")
            raise
        found.setdefault(device, {})[name] = row
        bar.write(
            f"{device}, {name}: {row['plain over ours']['median']:.2f} × plain, {row['limit over ours']['median']:.1%} of limit"
        )
    if whole:
        made |= {"seconds": round(time.perf_counter() - start), "load": os.getloadavg()[2]}
    table.keep("speed", {"provenance": made, **found})
    return 0


def measured(name: str, device: str) -> dict:
    """Measure a workload, and note how long that takes."""
    start, plain = time.perf_counter(), alone(measure.memory, name, device, "plain")
    row = alone(measure.row, name, device)
    row["memory"]["plain"] = plain
    return row | {"seconds": round(time.perf_counter() - start)}


def alone(function: Callable, *arguments: str) -> object:
    """Call a function in a fresh process, so that it finds memory and caches as they are at the start."""
    ends = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_DFL)}  # at Ctrl-C, without a traceback
    with ProcessPoolExecutor(1, get_context("spawn"), **ends) as pool:
        return pool.submit(function, *arguments).result()


def provenance() -> dict:
    """Say on what is measured, with what and when."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": 1,
        "load": os.getloadavg()[2],  # programs that ran or waited, over a quarter of an hour
        "system": f"{platform.system()} {platform.release()}",
        "versions": f"Python {platform.python_version()}, {versions()}",
    }


def processor() -> str:
    """Name the processor as the system does."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def caches() -> dict[str, str]:
    """Return the sizes of the data caches that the first core uses, by level, where the system tells them."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found
