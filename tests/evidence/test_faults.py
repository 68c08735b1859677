"""Faults are found where tests are marked, and renewed by their kind."""

import subprocess
import sys
from pathlib import Path

import pytest

from evidence import faults, table

ROOT = Path(__file__).parents[2]
COMMAND = """\
import sys
from pathlib import Path
from evidence import __main__, table
table.ROOT = Path(sys.argv[1])
sys.exit(__main__.main(sys.argv[2:]))
"""
TESTS = """\
from pathlib import Path

import pytest


@pytest.mark.fault("flood", "a river", "a bridge")
@pytest.mark.parametrize("depth", [1, 2])
def test_flood(depth, tmp_path, record_property):
    record_property("said", f"{tmp_path}/river: {depth} m")
    assert not Path("failing").exists()


@pytest.mark.slow
@pytest.mark.fault("fire", "a house", "the chimney")
def test_fire():
    if Path("interrupted").exists():
        raise KeyboardInterrupt


def test_no_fault():
    raise AssertionError
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_small.py").write_text(TESTS)
    return tmp_path


def command(root, *arguments):
    """Run the program on another root; return its exit status and what it said of mistakes."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, root, "faults", *arguments],
        cwd=root,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def test_every_mark_is_found():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    assert len(faults.marked()) == sum(text.count("\n@pytest.mark.fault(") for text in texts) > 20


def test_kinds_are_renewed_by_name(small, monkeypatch):
    monkeypatch.setattr(table, "ROOT", small)
    assert command(small) == (0, "")
    flood, fire = table.known("faults")["faults"]
    assert (flood["kind"], flood["done"], flood["left"], flood["outcomes"]) == ("flood", "a river", "a bridge", ["passed"] * 2)
    assert flood["said"] == ["…/river: 1 m", "…/river: 2 m"] and fire["test"] == "tests/test_small.py::test_fire"
    (small / "failing").touch()
    table.keep("faults", {"faults": [flood | {"test": "gone"}, flood, fire | {"left": "untouched"}]})
    assert command(small, "flood") == (1, "")
    found = table.known("faults")["faults"]
    assert [(row["kind"], row["outcomes"]) for row in found] == [("flood", ["failed"] * 2), ("fire", ["passed"])]
    assert found[1] == fire | {"left": "untouched"}


def test_control_c_leaves_the_table_and_is_one_line(small):
    (small / "interrupted").touch()
    assert command(small) == (130, "evidence faults: interrupted; the table is as it was last written\n")
    assert not (small / "book").exists()


def test_what_cannot_be_collected_leaves_the_table(small):
    path = small / "tests" / "test_small.py"
    path.write_text(path.read_text() + "\nimport nothing_of_that_name\n")
    assert command(small)[0] == 1
    assert not (small / "book").exists()
