"""The page of faults: its counts are those of the table, and a table that is not whole is named."""

import copy
import json

import pytest

from lib.evidence import faults, place

ROW = {
    "kind": "kill -9",
    "done": "`x | y`",
    "left": "all",
    "said": ["it\nsaid"],
    "outcomes": ["passed", "passed"],
    "seconds": 1.6,
}
ROW |= {"date": "2000-01-01", "machine": "M", "user": "root", "versions": "V"}
TABLE = {"faults": [ROW, ROW | {"kind": "a", "said": []}]}
PLACES = {
    "date": "2000-01-02",
    "command": "C",
    "machine": "M",
    "places": [{"place": "P", "python": "Python 3.13.0", "tried": {"tests": {"status": 0, "said": "fine", "seconds": 3}}}],
}


@pytest.fixture
def write(tmp_path):
    (tmp_path / "book" / "evidence").mkdir(parents=True)

    def write(table=TABLE, places=PLACES):
        for name, record in (("faults", table), ("elsewhere", places)):
            place(tmp_path, name).write_text(json.dumps(record))
        return tmp_path

    return write


def test_the_page_counts_faults_and_cases(write):
    page = faults.page(write())
    assert "2 faults were tried, in 4 cases; the library survived all." in page and "Not tried" not in page
    assert "| a | `x \\| y` | all | – | 2 | 2 | yes |\n| kill -9 | `x \\| y` | all | `it said` | 2 | 2 | yes |" in page
    assert "| P | 3.13.0 | well, 3 s |" in page and "; 2000-01-01 as root, M, V." in page


def test_what_failed_and_what_was_skipped_is_said(write):
    table, places = copy.deepcopy(TABLE), copy.deepcopy(PLACES)
    table["faults"][0]["outcomes"] = ["passed", "failed"]
    table["faults"].append(ROW | {"done": "elsewhere", "outcomes": ["skipped"]})
    places["places"][0]["tried"]["tests"] = {"status": 1, "said": "1 failed", "seconds": 3}
    page = faults.page(write(table, places))
    assert "2 faults were tried, in 4 cases; the library survived 1." in page and "Not tried here: elsewhere." in page
    assert "| 2 | 2 | **no** |" in page and "| 1 | 2 | not tried |" in page and "**failed**: `1 failed`" in page


@pytest.mark.fault("truncated table", "the tables under book/evidence, cut or missing", "the other files; the command is named")
@pytest.mark.parametrize("name", ["faults", "elsewhere"])
def test_a_table_that_is_not_whole_is_named(write, name, record_property):
    root = write()
    path = place(root, name)
    whole = path.read_text()
    for spoilt in (whole[:-9], "", None):
        path.unlink() if spoilt is None else path.write_text(spoilt)
        with pytest.raises(
            ValueError, match=r"\.json cannot be read \(.*\): make it with `(make faults|python tests/el.*)`"
        ) as named:
            faults.page(root)
        assert str(path) in str(named.value)
    record_property("said", str(named.value))
