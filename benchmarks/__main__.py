"""Measure every workload and write `book/evidence/speed.json`: `python -m benchmarks`."""

import json
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import torch
from tqdm import tqdm

from benchmarks import measure
from benchmarks.workloads import WORKLOADS
from lib import evidence
from lib.evidence import speed
from lib.provenance import versions

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Measure on one core, and on a GPU where there is one; write the table and print it."""
    start, devices = time.perf_counter(), ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    bar = tqdm([(device, name) for device in devices for name in WORKLOADS], desc="workloads", disable=None)
    tables = {device: {} for device in devices}
    for device, name in bar:
        plain = alone(measure.memory, name, device, "plain")
        row = alone(measure.row, name, device)
        row["memory"]["plain"] = plain
        tables[device][name] = row
        bar.write(
            f"{device}, {name}: {row['plain over ours']['median']:.2f} × plain, {row['limit over ours']['median']:.1%} of limit"
        )
    table = {"provenance": provenance(time.perf_counter() - start), **tables}
    path = evidence.place(ROOT, "speed")
    path.parent.mkdir(exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)
    print(speed.page(ROOT))


def alone(function, *arguments):
    """Call a function in a fresh process, so that it finds memory and caches as they are at the start."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def provenance(seconds: float) -> dict:
    """Say on what was measured, with what, when and for how long."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(seconds),
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


if __name__ == "__main__":
    main()
