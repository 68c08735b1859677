"""Processes beside this one, which end when it does, and how many there is room for."""

import math
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import product
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from lib.interrupts import obey

CONTAINER = Path("/sys/fs/cgroup")  # where Linux says how much of the machine a group may use
GROUPS = Path("/proc/self/cgroup")  # and to which groups this process belongs
CORES = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))  # in versions 2 and 1
BYTES = (("memory.max",), ("memory.limit_in_bytes",))
MEMORY = 2 * 2**30  # bytes that a chapter may take
PATIENCE = 0.1  # seconds after which Ctrl-C is looked for


@contextmanager
def processes(
    count: int,
    begin: Callable | None = None,
    *arguments: Any,
    calls_each: int | None = None,
) -> Generator[Executor]:
    """Yield so many new processes, each of which begins with a call of `begin`.

    They end with the context, or with this process, whatever they are computing; Ctrl-C is not for
    them. What they leave in their temporary folder goes with them. Call with `results`.

    Parameters
    ----------
    calls_each : calls after which a process is replaced; by default it is not
    """
    others = active_children()
    with tempfile.TemporaryDirectory(prefix="lib-", ignore_cleanup_errors=True) as place:
        pool = ProcessPoolExecutor(
            count,
            get_context("spawn"),
            _begin,
            (place, begin, arguments),
            max_tasks_per_child=calls_each,
        )
        try:
            yield pool
        except BaseException:
            # Its thread must end; the interpreter would tell it so while it closes its pipe. It may
            # have replaced a process, which waits for what one that was killed has held.
            end = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True})
            end.start()
            while end.is_alive():
                for child in active_children():
                    if child not in others:
                        child.kill()
                end.join(PATIENCE)
            raise
        pool.shutdown()


def results(
    pool: Executor, function: Callable, calls: dict[Any, tuple]
) -> Generator[tuple[Any, Future]]:
    """Call a function with the arguments of each call; yield what each is called, and its future,
    as they end.

    Raises
    ------
    KeyboardInterrupt
        Between two of them, at Ctrl-C or when the time is up (see `lib.interrupts`).
    """
    ended: SimpleQueue[Future] = SimpleQueue()
    # Processes are started here and take over that SIGINT is
    # blocked; one that comes meanwhile counts at the end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        names = {_submit(pool, function, given): name for name, given in calls.items()}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for future in names:
        future.add_done_callback(ended.put)
    left = len(names)
    while left:
        obey()
        with suppress(Empty):
            future = ended.get(timeout=PATIENCE)
            left -= 1
            obey()  # a signal to the whole group ends processes, too
            yield names[future], future


def _submit(pool: Executor, function: Callable, arguments: tuple) -> Future:
    """Submit a call; where a process has died, its future says so, like those of the others."""
    try:
        return pool.submit(function, *arguments)
    except BrokenProcessPool as problem:
        future: Future = Future()
        future.set_exception(problem)
        return future


def _begin(place: str, begin: Callable | None, arguments: tuple) -> None:
    """End this process, and so its kernel, with the one that started it, not at Ctrl-C; `place`
    becomes its temporary folder.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TMPDIR"] = tempfile.tempdir = place

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def at_once() -> int:
    """Return how many chapters this process has cores and memory for."""
    memory = min(_memory(), _allowed(BYTES))
    return max(1, int(min(_cores(), _allowed(CORES), memory / MEMORY)))


def _cores() -> int:
    """Count the processors on which this process may run."""
    if hasattr(os, "sched_getaffinity"):  # macOS has none
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> float:
    """Return the bytes of this machine; infinite where it does not say."""
    try:
        pages = os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        pages = -1
    return os.sysconf("SC_PAGE_SIZE") * pages if pages > 0 else math.inf


def _allowed(versions: Iterable[Iterable[str]]) -> float:
    """Return what this process's groups may use, cores or bytes; infinite where none says it."""
    least = math.inf
    for group, names in product(_groups(), versions):
        try:
            words = " ".join((group / name).read_text(encoding="utf-8") for name in names).split()
        except OSError:
            continue
        if words[0] not in ("max", "-1"):
            least = min(least, int(words[0]) / int((*words, 1)[1]))
    return least


def _groups() -> set[Path]:
    """Return the folders of this process's groups, as of a container or a job, and those above."""
    try:
        lines = GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {CONTAINER}
    found = {CONTAINER}
    for _, kind, path in (line.split(":", 2) for line in lines):
        group = CONTAINER / kind / path.lstrip("/")
        found |= {group, *(above for above in group.parents if CONTAINER in above.parents)}
    return found
