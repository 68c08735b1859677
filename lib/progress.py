"""Progress: a bar in a terminal, a line a minute in a log, nothing in a notebook."""

import sys
from threading import RLock

from tqdm import tqdm

tqdm.set_lock(
    RLock()
)  # its own is one of all processes, which one that is ended would leave behind

# A log has a line a minute, and none for what takes less.
LOG = {
    "bar_format": "{desc}: {n:,} of {total:,}{unit}s after {elapsed}, {remaining} left\n",
    "delay": 60,
    "mininterval": 60,
    "maxinterval": 60,
    "miniters": 1,
    "leave": False,
}


def bar(total: int, name: str, unit: str, *, initial: int = 0, show: bool = True) -> tqdm:
    """Return what shows how far something is: a context with
    `update(count)`; `initial` of `total` were done before.
    """
    notebook = type(sys.stderr).__module__.startswith("ipykernel")
    try:
        form = {} if notebook or sys.stderr.isatty() else LOG
    except (AttributeError, ValueError):  # there is none, it can only write, or it is closed
        form = LOG
    hidden = notebook or not show or sys.stderr is None
    return tqdm(total=total, initial=initial, desc=name, unit=f" {unit}", disable=hidden, **form)


def log(line: str) -> None:
    """Say how things go, in one piece, since several processes write. A disk that is full, or no
    stderr at all, stops nothing, unlike a reader who leaves.
    """
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{line}\n")
    except BrokenPipeError:
        raise
    except OSError:
        pass


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(42.4), duration(90), duration(3700), duration(200_000)
    ('42 s', '1.5 min', '1.0 h', '2.3 d')
    """
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
