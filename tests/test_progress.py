"""Progress: a line a minute in a log, a bar in a terminal."""

import pytest

from lib import progress


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_a_minute(clock, capfd):
    with progress.bar(4624, "plane", "member", initial=162) as bar:
        for _ in range(30):
            clock[0] += 10
            bar.update(2)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 5
    assert lines[0] == "plane: 174 of 4,624 members, 12/min, 6.2 h left"
    assert lines[-1] == "plane: 222 of 4,624 members, 12/min, 6.1 h left"


def test_nothing_is_said_of_what_takes_less_than_a_minute_or_is_not_to_be_shown(clock, capfd):
    for show, seconds in ((True, 59), (False, 1000)):
        with progress.bar(2, "plane", "member", show=show) as bar:
            clock[0] += seconds
            bar.update(2)
    assert capfd.readouterr().err == ""
