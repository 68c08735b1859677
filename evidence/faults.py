"""What is left after faults: the tests that are marked as faults, the slow ones too.

A mark says what is done and what is left afterwards, which its test asserts; what was said comes by `record_property`.
"""

import ast
import os
import platform
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

import pytest

from evidence import table
from evidence.quiet import run_tests

PACKAGES = ("torch", "numpy", "xarray", "distributed", "papermill", "jupyter-book")


@cache
def marked() -> dict[str, str]:
    """Find the tests that are marked as faults, as pytest names them, with the kind of each."""
    found = {}
    for path in sorted((table.ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for mark in getattr(node, "decorator_list", []):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.fault":
                    found[f"{path.relative_to(table.ROOT).as_posix()}::{node.name}"] = mark.args[0].value
    return found


def rows() -> dict[str, str]:
    """Name the kinds of faults."""
    return {kind: f"faults: {count}" for kind, count in sorted(Counter(marked().values()).items())}


def seconds(names: Sequence[str]) -> float | None:
    """Say how long the faults of some kinds took the last time."""
    before = {row["test"]: row["seconds"] for row in table.known("faults").get("faults", [])}
    return table.total(before.get(test) for test, kind in marked().items() if kind in names)


def run(names: Sequence[str]) -> int:
    """Run the tests, say in a line how each fault went, write the table; return 1 if a test failed."""
    whole, recorder = len(names) == len(rows()), Recorder()
    before = [] if whole else table.known("faults").get("faults", [])
    tests = [str(table.ROOT / test) for test, kind in marked().items() if kind in names]
    status = run_tests(["-m", "fault", "-p", "no:cacheprovider", *tests], recorder)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return 1
    for fault in recorder.faults.values():
        print(f"{', '.join(sorted(set(fault['outcomes'])))}: {fault['kind']}: {fault['done']}")
    origin = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "versions": f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }
    fresh = [row | origin for row in recorder.faults.values()]
    table.keep("faults", {"faults": table.merged(before, fresh, ["test"], lambda row: row["kind"] in names)})
    return int(status)


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
