"""The page that says how the book is tested tells what its tables hold."""

import pytest

from lib.site.pages import tested


def test_the_share_of_mutants_that_are_caught():
    rows = [
        {"module": "lib/a.py", "result": result}
        for result in ["caught"] * 6 + ["timed out"] * 2 + ["survived"] * 2
    ]
    said = tested._mutants({"budget": 1, "date": "2026-01-02", "versions": {}, "mutants": rows})
    assert (said["tried"], said["caught"]) == ("10", "8 (80.0%)")
    assert "| `lib/a.py` | 10 | 8 | 80% |" in said["mutants"]


@pytest.mark.parametrize(
    "seconds, text", [(2.5, "2.5 s"), (0.123456, "123 ms"), (4.2e-5, "42 µs"), (3e-8, "0.03 µs")]
)
def test_times_have_units(seconds, text):
    assert tested._time(seconds) == text
