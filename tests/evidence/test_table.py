"""Tables are renewed in part."""

import pytest

from evidence import Refusal, table


def test_rows_are_merged_in_place():
    before = [{"key": key, "kind": key[0], "value": 1} for key in ("a1", "b1", "a2", "b2")]
    fresh = [{"key": key, "kind": "a", "value": 2} for key in ("a3", "a1")]
    found = table.merged(before, fresh, ["key"], lambda row: row["kind"] == "a")
    assert [(row["key"], row["value"]) for row in found] == [("a1", 2), ("b1", 1), ("b2", 1), ("a3", 2)]


def test_provenance_notes_what_is_renewed():
    before = {"date": "1", "versions": "1", "renewed": {"f": "1", "g": "1"}}
    found = table.renewed(before, {"date": "2", "versions": "1"}, ["g", "h"], ["versions"])
    assert found == before | {"renewed": {"f": "1", "g": "2", "h": "2"}}
    with pytest.raises(Refusal, match="other versions"):
        table.renewed(before, {"date": "2", "versions": "2"}, ["g"], ["versions"])
    with pytest.raises(Refusal, match="no table yet"):
        table.renewed({}, {"date": "2", "versions": "2"}, ["g"], ["versions"])


def test_a_table_that_is_not_whole_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "ROOT", tmp_path)
    assert table.known("speed") == {}
    table.keep("speed", {"é": [1]})
    assert table.known("speed") == {"é": [1]}
    table.place("speed").write_text("{")
    with pytest.raises(Refusal, match=r"speed\.json is not whole \(.*\): restore or delete it"):
        table.known("speed")


def test_a_sum_is_known_if_all_its_parts_are():
    assert (table.total([1, 2]), table.total([1, None]), table.total([])) == (3, None, None)
