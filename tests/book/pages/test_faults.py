"""The page of faults: its counts are those of the table, and a table that is not whole is named."""

import copy
import json

import pytest

from lib.book.pages import faults
from lib.book.pages.tables import place

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
    (tmp_path / "book" / "quality").mkdir(parents=True)

    def write(table=TABLE, places=PLACES):
        for name, record in (("faults", table), ("elsewhere", places)):
            place(tmp_path, name).write_text(json.dumps(record))
        return tmp_path

    return write


def test_the_page_counts_faults_and_cases(write):
    words = faults.faults(write())
    assert (words["tried"], words["cases"], words["survived"], words["skipped"]) == ("2", "4", "all", "")
    rows = "| a | `x \\| y` | all | – | 2 | 2 | yes |\n| kill -9 | `x \\| y` | all | `it said` | 2 | 2 | yes |"
    assert rows in words["faults"] and "| P | 3.13.0 | well, 3 s |" in words["places"]
    assert (words["origin"], words["command"]) == ("2000-01-01 as root, M, V", "`C`")


def test_what_failed_and_what_was_skipped_is_said(write):
    table, places = copy.deepcopy(TABLE), copy.deepcopy(PLACES)
    table["faults"][0]["outcomes"] = ["passed", "failed"]
    table["faults"].append(ROW | {"done": "elsewhere", "outcomes": ["skipped"]})
    places["places"][0]["tried"]["tests"] = {"status": 1, "said": "1 failed", "seconds": 3}
    words = faults.faults(write(table, places))
    assert (words["tried"], words["cases"], words["survived"]) == ("2", "4", "1")
    assert words["skipped"] == " Not tried here: elsewhere." and "| 1 | 2 | not tried |" in words["faults"]
    assert "| 2 | 2 | **no** |" in words["faults"] and "**failed**: `1 failed`" in words["places"]


@pytest.mark.fault("truncated table", "the tables under book/quality, cut or missing", "the other files; the command is named")
@pytest.mark.parametrize("name", ["faults", "elsewhere"])
def test_a_table_that_is_not_whole_is_named(write, name, record_property):
    root = write()
    path = place(root, name)
    whole = path.read_text()
    for spoilt in (whole[:-9], "", None):
        path.unlink() if spoilt is None else path.write_text(spoilt)
        with pytest.raises(
            ValueError, match=r"\.json cannot be read \(.*\): make it with `(make faults|python -m evidence elsewhere)`"
        ) as named:
            faults.faults(root)
        assert str(path) in str(named.value)
    record_property("said", str(named.value))
