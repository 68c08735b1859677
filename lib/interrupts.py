"""Ctrl-C and the end of a budget: noted when they come, obeyed where nothing is half done.

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

_noted: list[int] = []
_end = math.inf  # of the budget, on the monotonic clock


class OutOfTime(KeyboardInterrupt):
    """The time that was given is over."""


def note() -> None:
    """Note Ctrl-C to the end of this process; a job in a shell's background goes on ignoring it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _note)
        # Python, which has no handler when it ends, would die of it.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _note(number: int, frame: object) -> None:
    _noted.append(number)


@contextmanager
def handled(late: bool) -> Generator[None]:
    """Handle Ctrl-C within this context: late, by `obey`, or at once, by KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, _note if late else signal.default_int_handler)
        obey()
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _noted.clear()


def obey() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was noted, OutOfTime if the time is up."""
    if _noted:
        raise KeyboardInterrupt
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
