"""Progress: a bar in a terminal, a line a minute in a log, nothing in a notebook; and an end when time is up."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tqdm import tqdm

EVERY = 60.0  # seconds between two lines of a log


def bar(total: int, name: str, unit: str, *, initial: int = 0, show: bool = True) -> Any:
    """Return what shows how far something is: a context with `update(count)`; `initial` of `total` were done before."""
    if show and not sys.stderr.isatty() and not type(sys.stderr).__module__.startswith("ipykernel"):
        return Lines(total, name, unit, initial)
    return tqdm(total=total, initial=initial, desc=name, unit=unit, disable=None if show else True)


class Lines(AbstractContextManager):
    """Progress as lines on stderr: one a minute, and none for what is done within the first."""

    def __init__(self, total: int, name: str, unit: str, initial: int = 0) -> None:
        self.total, self.name, self.unit, self.initial = total, name, unit, initial
        self.n, self.start = initial, time.monotonic()
        self.next = self.start + EVERY

    def update(self, count: int) -> None:
        """Count, and if it is time say what is done, how fast, and how long the rest will take."""
        self.n += count
        if (now := time.monotonic()) >= self.next:
            self.next = now + EVERY
            rate = (self.n - self.initial) / (now - self.start)
            speed = f"{rate:.3g}/s" if rate >= 1 else f"{60 * rate:.3g}/min"
            left = f", {duration((self.total - self.n) / rate)} left" if rate else ""
            print(f"{self.name}: {self.n:,} of {self.total:,} {self.unit}s, {speed}{left}", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        """Say nothing more."""


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(42.4), duration(90), duration(3700), duration(200_000)
    ('42 s', '1.5 min', '1.0 h', '2.3 d')
    """
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


class OutOfTime(KeyboardInterrupt):
    """The time that was given is over."""


@contextmanager
def limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in this context's code when the time, if any was given, is up."""

    def ring(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)  # 0: never
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
