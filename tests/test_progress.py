"""Progress: a line a minute in a log, a bar in a terminal."""

import errno
import os
import sys
from contextlib import nullcontext
from io import StringIO

import pytest
from tqdm import std

from lib import progress


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(std, "time", lambda: now[0])
    return now


def lines(text):
    """Return what is read, without what clears a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_log_has_a_line_a_minute(clock, capfd):
    with progress.bar(4624, "plane", "member", initial=162) as bar:
        for _ in range(30):
            clock[0] += 10
            bar.update(2)
    found = lines(capfd.readouterr().err)
    assert len(found) == 5
    assert found[0].startswith("plane: 174 of 4,624 members after 01:00, ")
    assert found[-1].startswith("plane: 222 of 4,624 members after 05:00, ") and found[-1].endswith(
        " left"
    )


@pytest.mark.parametrize("show, seconds", [(True, 59), (False, 1000)])
def test_nothing_is_said_of_what_is_short_or_hidden(clock, capfd, show, seconds):
    with progress.bar(2, "plane", "member", show=show) as bar:
        clock[0] += seconds
        bar.update(2)
    assert not lines(capfd.readouterr().err)


@pytest.mark.parametrize("number, stops", [(errno.ENOSPC, False), (errno.EPIPE, True)])
def test_a_full_disk_stops_nothing(monkeypatch, number, stops):
    class Full:
        def write(self, text):
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(sys, "stderr", Full())
    with pytest.raises(BrokenPipeError) if stops else nullcontext():
        progress.log("one: started")


class OnlyWrites:
    def write(self, text):
        pass


def closed():
    file = StringIO()
    file.close()
    return file


@pytest.mark.parametrize("stderr", [None, OnlyWrites(), closed()], ids=["none", "other", "closed"])
def test_a_bar_needs_no_terminal_to_write_to(monkeypatch, stderr):
    monkeypatch.setattr("sys.stderr", stderr)
    for show in (True, False):
        with progress.bar(2, "plane", "member", show=show) as bar:
            bar.update(2)
    if stderr is None:
        progress.log("one")
