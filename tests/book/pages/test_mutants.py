"""The page of mutants tells what its table holds."""

import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

from lib.book.pages import mutants
from lib.book.pages.tables import place, read

TABLE = read(Path(__file__).parents[3], "mutants", "make mutate")


def test_the_page_tells_what_the_table_holds(tmp_path):
    results = ["caught"] * 6 + ["timed out"] * 2 + ["survived"] * 2
    rows = [
        {
            "module": "lib/a.py",
            "function": "f",
            "was": f"x = {i}",
            "now": "x = y",
            "nth": 0,
            "tests": 3,
            "result": result,
            "first": result,
        }
        for i, result in enumerate(results)
    ]
    rows[0]["first"] = "survived"
    rows[8]["equivalent"] = "y is 8."
    rows[9]["tests"] = 0
    table = TABLE | {"modules": {"lib/a.py": {"possible": 40, "formulas": 20}}, "mutants": rows}
    place(tmp_path, "mutants").parent.mkdir(parents=True)
    place(tmp_path, "mutants").write_text(json.dumps(table), encoding="utf-8")
    words = mutants.mutants(tmp_path)
    assert [words[name] for name in ("now", "able", "now_share")] == ["8", "9", "88.9%"]
    assert [words[name] for name in ("first", "first_share", "first_of_all")] == ["7", "77.8%", "70.0%"]
    assert (words["equivalent"], words["now_of_all"]) == ("1", "80.0%")
    assert "| `lib/a.py` | 20 | 10 | 6 | 2 | 1 | 1 | 89% |" in words["modules"]
    assert "- x = 8\n+ x = y\n```\n\nEquivalent: y is 8." in words["survivors"]
    assert "- x = 9\n+ x = y\n```\n\nOpen. No test reaches it." in words["survivors"]
    assert "x = 7" not in words["survivors"]


@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (9, 10), (480, 510), (30, 30)])
def test_wilson(hits, trials):
    expected = binomtest(hits, trials).proportion_ci(method="wilson")
    assert mutants._wilson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-4)
