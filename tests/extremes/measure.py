"""The table of the page of extremes, `book/evidence/extremes.json`: every probe, and training in both precisions."""

import json
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import precision
import probes
import references

from lib.evidence import place
from lib.provenance import versions


def run(probe: probes.Probe) -> dict:
    row = {"function": probe.function, "extreme": probe.extreme, "reference": probe.reference}
    try:
        return row | {"error": probes.error(probe), "tolerance": probe.tolerance}
    except ValueError as refusal:
        return row | {"refused": str(refusal)}


def training() -> list[dict]:
    """Compare the precisions from usual starts, then from tiny ones."""
    cases = [(name, 1.0) for name in precision.WORKLOADS] + [(precision.GROWS, gain) for gain in precision.TINY]
    return [{"training": name, "gain": gain} | precision.compare(name, gain) for name, gain in cases]


def measure() -> dict:
    made = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": f"Python {platform.python_version()}, {versions()}, mpmath {version('mpmath')}",
        "digits": references.DIGITS,
        "steps": precision.STEPS,
    }
    return {"provenance": made, "probes": [run(probe) for probe in probes.probes()], "precision": training()}


if __name__ == "__main__":
    table = place(Path(__file__).parents[2], "extremes")
    table.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table)
