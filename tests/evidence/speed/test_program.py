"""The program renews the rows that are named, and only beside rows of the same machine."""

import json

import pytest

from evidence import Refusal, speed, table
from evidence.speed.workloads import WORKLOADS

BEFORE = table.known("speed")
BEFORE["provenance"].pop("renewed", None)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A copy of the table, a machine like its own, and rows that are not measured."""
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(speed, "devices", lambda: ["cpu"])
    monkeypatch.setattr(speed, "provenance", lambda: BEFORE["provenance"] | {"date": "2030-01-02", "load": 0.5})
    monkeypatch.setattr(speed, "measured", lambda name, device: BEFORE["cpu"]["xor"] | {"title": "new", "seconds": 7})
    table.keep("speed", BEFORE)
    return table.place("speed")


def test_a_named_row_is_renewed_and_the_others_stay(kept, capsys):
    assert speed.run(["grokking"]) == 0
    found = table.known("speed")
    assert [*found["cpu"]] == [*BEFORE["cpu"]] and found["cpu"].pop("grokking")["title"] == "new"
    assert found["cpu"] == {name: row for name, row in BEFORE["cpu"].items() if name != "grokking"}
    assert found["provenance"] == BEFORE["provenance"] | {"renewed": {"grokking": "2030-01-02"}}
    assert "| new |" in capsys.readouterr().out
    assert speed.seconds(["grokking"]) == 7


def test_the_whole_table_is_of_one_machine(kept):
    assert speed.run([*WORKLOADS]) == 0
    found = table.known("speed")
    assert {row["title"] for row in found["cpu"].values()} == {"new"}
    assert found["provenance"]["date"] == "2030-01-02" and speed.seconds([*WORKLOADS]) == found["provenance"]["seconds"] < 60


def test_rows_of_another_machine_are_not_mixed(kept, monkeypatch):
    monkeypatch.setattr(speed, "provenance", lambda: BEFORE["provenance"] | {"processor": "another", "cores": 999})
    monkeypatch.setattr(speed, "measured", lambda name, device: pytest.fail("measured"))
    with pytest.raises(Refusal, match="made with other processor, cores: make it anew, without names"):
        speed.run(["xor"])


def test_a_workload_that_fails_is_named_and_leaves_the_table(kept, monkeypatch):
    def fail(name, device):
        raise MemoryError

    monkeypatch.setattr(speed, "measured", fail)
    before = kept.read_bytes()
    with pytest.raises(MemoryError) as failure:
        speed.run([*WORKLOADS])
    assert failure.value.__notes__ == ["in the workload two_point on cpu; the table is as it was"]
    assert kept.read_bytes() == before


def test_times_that_the_table_lacks_are_not_known(kept):
    kept.write_text(json.dumps({"provenance": {}, "cpu": {"xor": {"seconds": 3}, "grokking": {}}}))
    assert (speed.seconds(["xor"]), speed.seconds(["xor", "grokking"]), speed.seconds([*WORKLOADS])) == (3, None, None)
