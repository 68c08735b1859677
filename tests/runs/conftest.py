"""Runs of the tests keep their results in a folder of their own."""

import pytest

from lib import experiments
from lib.runs import run


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def log(tmp_path):
    (path := tmp_path / "log").mkdir()
    return path


@pytest.fixture
def listed(monkeypatch):
    """Let `python -m lib store` know these runs only."""

    def listed(*runs):
        monkeypatch.setattr(experiments, "RUNS", list(runs), raising=False)

    return listed
