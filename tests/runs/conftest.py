"""Runs of the tests keep their results in a folder of their own."""

import pytest

from lib.runs import chapters, run


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
        monkeypatch.setattr(chapters, "listed", lambda: list(runs))

    return listed
