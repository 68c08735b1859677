"""A workload's row, measured at small sizes."""

import pytest

from evidence.speed import measure, timing
from evidence.speed.workloads import WORKLOADS, Workload

SMALL = {"members": 2, "width": 8, "depth": 3, "points": 4}


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(measure, "quietly", lambda: None)  # this process goes on
    for name, value in (("ROUNDS", 2), ("SLOPE_ROUNDS", 1), ("LEAST", 1e-4), ("SLOPE_LEAST", 1e-4)):
        monkeypatch.setattr(measure, name, value)
    monkeypatch.setattr(timing, "SQUARE", {"cpu": 64})
    rows = {}
    for name in ("hierarchy", "exact_neuron"):
        whole = WORKLOADS[name]
        sizes = {axis: SMALL[axis] for axis in whole.sizes}
        axes = {axis: (size, 2 * size, 3 * size) for axis, size in sizes.items()}
        monkeypatch.setitem(WORKLOADS, name, Workload(whole.title, whole.step, whole.build, sizes, axes))
        rows[name] = measure.row(name, "cpu")
        rows[name]["memory"]["plain"] = measure.memory(name, "cpu", "plain")
    return rows


def test_a_row_is_consistent(rows):
    for row in rows.values():
        for spread in (row["ours"], row["plain over ours"], row["limit over ours"]):
            assert 0 < spread["least"] <= spread["median"] <= spread["greatest"]
        assert set(row["slopes"]) == set(row["sizes"])
    assert rows["hierarchy"]["slopes"]["members"]["expected"] == pytest.approx(1)
    assert rows["exact_neuron"]["binds"] == "memory"
