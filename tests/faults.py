"""`make faults`: run every test that is marked as a fault, the slow ones too; keep what they found in book/evidence/faults.json.

A mark says what is done and what is left afterwards, which its test asserts; what was said comes by `record_property`.
Options for pytest, like -k sweep, select what is tried anew.
"""

import json
import os
import platform
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("torch", "numpy", "xarray", "distributed", "papermill", "jupyter-book")


class Recorder:
    """A plugin for pytest that collects what the tests of faults have found; a fault with several cases is one test function."""

    def __init__(self) -> None:
        self.faults: dict[str, dict] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Add what a test has found, whether it passed, failed, or could not be tried here."""
        report = yield
        if report.when == "call" or report.outcome != "passed":
            kind, done, left = item.get_closest_marker("fault").args
            name = item.nodeid.split("[")[0]
            entry = self.faults.setdefault(
                name, {"kind": kind, "done": done, "left": left, "said": [], "outcomes": [], "seconds": 0.0, "test": name}
            )
            base = re.escape(str(item.config._tmp_path_factory.getbasetemp()))
            words = [re.sub(rf"{base}/[^/\s]+", "…", text) for key, text in report.user_properties if key == "said"]
            entry["said"] += [text for text in words if text not in entry["said"]]
            entry["outcomes"].append(report.outcome)
            entry["seconds"] = round(entry["seconds"] + report.duration, 1)
        return report


def main(options: list[str]) -> int:
    """Run the tests, say in a line how each fault went, write the table; return pytest's exit status."""
    recorder = Recorder()
    status = pytest.main(["-m", "fault", "-p", "no:cacheprovider", str(ROOT / "tests"), *options], [recorder])
    for fault in recorder.faults.values():
        print(f"{', '.join(sorted(set(fault['outcomes'])))}: {fault['kind']}: {fault['done']}")
    origin = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "versions": f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }
    path = ROOT / "book" / "evidence" / "faults.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8"))["faults"] if options else []
    faults = {fault["test"]: fault for fault in before} | {name: row | origin for name, row in recorder.faults.items()}
    path.write_text(json.dumps({"faults": list(faults.values())}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
