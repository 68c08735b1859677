"""The page of extremes counts what its table holds."""

import json

from lib.book.pages import extremes
from lib.book.pages.tables import place

TABLE = {
    "provenance": {"date": "2026-01-02", "system": "Linux", "versions": "Python 3", "digits": 900}
    | {"steps": 400, "rounding": 1e-7},
    "probes": [
        {"function": "m.f", "extreme": "x 1e-310", "reference": "by hand", "error": 3e-16, "tolerance": 1e-12},
        {"function": "m.f", "extreme": "|x| 1", "reference": "by hand", "error": 2e-11, "tolerance": 1e-12},
        {"function": "m.f", "extreme": "x 1e200", "reference": "refused", "refused": "x must be at most 1e+100"},
        {"function": "m.g", "extreme": "y 0", "reference": "refused", "refused": "y must be positive"},
    ],
    "precision": [{"training": "a network", "gain": 1e-20, "moved": 0.5, "apart": 3e-7, "kernels": [0.2, 0.200002]}],
}


def test_the_page_counts_what_its_table_holds(tmp_path):
    (tmp_path / "book" / "quality").mkdir(parents=True)
    place(tmp_path, "extremes").write_text(json.dumps(TABLE), encoding="utf-8")
    words = extremes.extremes(tmp_path)
    assert (words["probes"], words["right"], words["refused"]) == ("4", "1", "2")  # what misses its tolerance is not right
    assert "| `m.f` | 3 | 2e-11 | \\|x\\| 1 | 1e-12 | 1 |\n| `m.g` | 1 |  |  |  | 1 |" in words["functions"]
    assert "| `m.g` | y 0 | y must be positive |" in words["refusals"]
    assert (words["origin"], words["steps"], words["walk"]) == ("2026-01-02, Python 3, Linux", "400", "2e-06")
    assert "| a network | 1e-20 | 0.5 | 3e-07 | 0.2 | 1e-05 |" in words["precision"]
