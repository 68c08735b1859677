"""The closed forms where numbers are extreme, each call beside an independent computation; training in both precisions."""

import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version

from tqdm import tqdm

from evidence import table
from evidence.extremes import precision, probes, references
from lib.provenance import versions

TRAINING = "training"  # beside the functions, the name of single against double precision
TRAININGS = [(name, 1.0) for name in precision.WORKLOADS] + [(precision.GROWS, gain) for gain in precision.TINY]
SAME = ("system", "versions", "digits", "steps", "rounding")  # of all rows of the table


def rows() -> dict[str, str]:
    """Name the functions, and the training."""
    calls = Counter(function for probe in probes.probes() for function in functions(probe.function))
    named = {function: f"calls: {count}" for function, count in calls.items()}
    return named | {TRAINING: f"in both precisions: {len(TRAININGS)}"}


def seconds(names: Sequence[str]) -> float | None:
    """Say how long these took the last time."""
    before = table.known("extremes")
    found = [*before.get("probes", []), *before.get("precision", [])]
    return table.total(row.get("seconds") for row in found if is_about(names, row))


def run(names: Sequence[str]) -> int:
    """Call functions at their extremes, and train; write the table."""
    before, made = table.known("extremes"), provenance()
    if len(names) == len(rows()):
        before = {}
    else:
        made = table.renewed(before.get("provenance", {}), made, names, SAME)
    chosen = [probe for probe in probes.probes() if is_about(names, {"function": probe.function})]
    called = [timed(call, probe) for probe in tqdm(chosen, desc="calls", disable=None)]
    trained = [timed(train, *case) for case in TRAININGS if TRAINING in names]
    among = partial(is_about, names)
    found = {
        "provenance": made,
        "probes": table.merged(before.get("probes", []), called, ("function", "extreme"), among),
        "precision": table.merged(before.get("precision", []), trained, ("training", "gain"), among),
    }
    table.keep("extremes", found)
    return 0


def functions(listed: str) -> list[str]:
    """Return the functions that a probe calls, each with its module: "m.f, g" calls m.f and m.g."""
    module, names = listed.split(".")
    return [f"{module}.{name}" for name in names.split(", ")]


def is_about(names: Sequence[str], row: dict) -> bool:
    """Say whether a row is about one of the functions, or about training if that is named."""
    return not set(names).isdisjoint(functions(row["function"]) if "function" in row else [TRAINING])


def timed(measure: Callable[..., dict], *arguments: object) -> dict:
    """Return a row with the seconds that it took."""
    start = time.perf_counter()
    return measure(*arguments) | {"seconds": round(time.perf_counter() - start, 3)}


def call(probe: probes.Probe) -> dict:
    """Call a function at an extreme; return its error, or how it refuses."""
    row = {"function": probe.function, "extreme": probe.extreme, "reference": probe.reference}
    try:
        return row | {"error": probes.error(probe), "tolerance": probe.tolerance}
    except ValueError as refusal:
        return row | {"refused": str(refusal)}


def train(name: str, gain: float) -> dict:
    """Train in both precisions from a start of some size."""
    return {"training": name, "gain": gain} | precision.compare(name, gain)


def provenance() -> dict:
    """Say with what is measured, and when."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": f"Python {platform.python_version()}, {versions()}, mpmath {version('mpmath')}",
        "digits": references.DIGITS,
        "steps": precision.STEPS,
        "rounding": precision.EPS,
    }
