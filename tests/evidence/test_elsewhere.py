"""Places are tried with one interpreter at a time; other rows stay."""

import sys
from pathlib import Path

import pytest

from evidence import Refusal, elsewhere, table

ROOT = Path(__file__).parents[2]


def test_the_tests_that_run_there_exist():
    assert all((ROOT / path).is_file() for path in elsewhere.TESTS)


def test_a_place_is_renewed_for_one_python(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(elsewhere, "attempt", lambda place, python, folder: {"tests": {"status": 0, "said": "new", "seconds": 3}})
    user, folder = (elsewhere.PLACES[name].words for name in ("user", "folder"))
    this, old = f"Python {sys.version.split()[0]}", {"tests": {"status": 0, "said": "old", "seconds": 9}}
    rows = [
        {"place": place, "python": python, "tried": old} for place, python in ((user, "Python 3.0"), (user, this), (folder, this))
    ]
    table.keep("elsewhere", {"places": rows})
    assert elsewhere.run(["user"], sys.executable) == 0
    found = table.known("elsewhere")
    assert [row["tried"]["tests"]["said"] for row in found["places"]] == ["old", "new", "old"]
    assert [row | {"tried": old} for row in found["places"]] == rows and found["command"] == "python -m evidence elsewhere"
    assert elsewhere.seconds(["user", "folder"]) == 12 and elsewhere.seconds(["user", "alone"]) is None


def test_what_failed_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(elsewhere, "attempt", lambda place, python, folder: {"tests": {"status": 1, "said": "", "seconds": 3}})
    assert elsewhere.run(["folder"], sys.executable) == 1


def test_an_interpreter_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(Refusal, match=r"no program .*python9"):
        elsewhere.run(["folder"], str(tmp_path / "python9"))
