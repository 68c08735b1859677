"""The page that says how the book is tested tells what its tables hold."""

import json
from pathlib import Path

import pytest

from lib.site.pages import tables, tested

ROOT = Path(__file__).parents[3]
MUTANTS, SPEED = tables.read(ROOT, "mutants", "make mutate"), tables.read(ROOT, "speed", "make bench")


def words(root, mutants=MUTANTS, speed=SPEED):
    tables.place(root, "speed").parent.mkdir(parents=True)
    for name, table in (("mutants", mutants), ("speed", speed)):
        tables.place(root, name).write_text(json.dumps(table), encoding="utf-8")
    return tested.tested(root)


def test_mutants_that_compute_the_same_do_not_count(tmp_path):
    results = ["caught"] * 6 + ["timed out"] * 2 + ["survived"] * 2
    rows = [{"module": "lib/a.py", "result": result, "first": result} for result in results]
    rows[0]["first"] = "survived"
    rows[8]["equivalent"] = "y is 8."
    said = words(tmp_path, MUTANTS | {"mutants": rows})
    assert (said["able"], said["now"], said["first"], said["equivalent"]) == ("9", "8 (88.9%)", "7 (77.8%)", "1")
    assert "| `lib/a.py` | 9 | 8 | 89% |" in said["mutants"]


def test_each_workload_has_a_row(tmp_path):
    rows = words(tmp_path)["speed"].splitlines()[2:]
    assert len(rows) == len(SPEED["cpu"]) + len(SPEED.get("cuda", {}))
    assert all(f"| {row['title']}: {row['step']} |" in line for row, line in zip(SPEED["cpu"].values(), rows, strict=False))


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.123456, "123 ms"), (4.2e-5, "42 µs"), (3e-8, "0.03 µs")])
def test_times_have_units(seconds, text):
    assert tested._time(seconds) == text
