"""The page that says how the book is tested tells what its tables hold."""

import pytest

from lib.site.pages import tested


def test_mutants_that_compute_the_same_do_not_count():
    results = ["caught"] * 6 + ["timed out"] * 2 + ["survived"] * 2
    rows = [{"module": "lib/a.py", "result": result, "first": result} for result in results]
    rows[0]["first"] = "survived"
    rows[8]["equivalent"] = "y is 8."
    said = tested._mutants({"budget": 1, "date": "2026-01-02", "versions": {}, "mutants": rows})
    assert (said["able"], said["now"], said["first"], said["equivalent"]) == ("9", "8 (88.9%)", "7 (77.8%)", "1")
    assert "| `lib/a.py` | 9 | 8 | 89% |" in said["mutants"]


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.123456, "123 ms"), (4.2e-5, "42 µs"), (3e-8, "0.03 µs")])
def test_times_have_units(seconds, text):
    assert tested._time(seconds) == text
