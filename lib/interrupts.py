"""Ctrl-C, the end of a job and that of a budget: noted when they come, obeyed where nothing is
half done.

An exception that a signal raises may come up anywhere: in a callback, which drops it, while a
process starts, or while a file is written. So a handler only notes that Ctrl-C was pressed, and
what waits for processes calls `obey` again and again.
"""

import atexit
import math
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

# Ctrl-C; the end of a job, as schedulers ask for it; that of the terminal
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_noted: list[int] = []
_end = math.inf  # of the budget, on the monotonic clock


class OutOfTime(KeyboardInterrupt):
    """The time that was given is over."""


def note() -> None:
    """Note such signals to the end of this process, but for those that a shell had it ignore.

    A process that ignores SIGCHLD, as some callers leave it, is not told how its children ended,
    and Python takes that for a success.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in _heard():
        signal.signal(number, _note)
        # Python, which has no handler when it ends, would die of it.
        atexit.register(signal.signal, number, signal.SIG_IGN)


def _heard() -> dict[signal.Signals, Any]:
    """Return how these signals are handled; Ctrl-C is ignored in a shell's background, and
    the end of the terminal under nohup.
    """
    known = {number: signal.getsignal(number) for number in ENDS}
    return {number: how for number, how in known.items() if how is not signal.SIG_IGN}


def _note(number: int, frame: object) -> None:
    _noted.append(number)


def _raise(number: int, frame: object) -> None:
    raise KeyboardInterrupt(number)


@contextmanager
def handled(late: bool) -> Generator[None]:
    """Handle such signals within this context: late, by `obey`, or at once, by KeyboardInterrupt
    with the signal's number.
    """
    before = _heard()
    try:
        for number in before:
            signal.signal(number, _note if late else _raise)
        if signal.SIGINT in before and not late:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own is like it
        obey()
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)
        _noted.clear()


def obey() -> None:
    """Raise KeyboardInterrupt if a signal was noted, OutOfTime if the time is up."""
    if _noted:
        raise KeyboardInterrupt(_noted[0])
    if time.monotonic() >= _end:
        raise OutOfTime


@contextmanager
def limit(seconds: float | None) -> Generator[None]:
    """Let `obey` raise OutOfTime in this context when the time, if any was given, is up."""
    global _end
    _end = math.inf if seconds is None else time.monotonic() + seconds
    try:
        yield
    finally:
        _end = math.inf
