"""Processes beside this one, which end when it does, and how many there is room for."""

import math
import os
import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any

CONTAINER = Path("/sys/fs/cgroup")  # where Linux says how much of the machine a container may use
MEMORY = 2 * 2**30  # bytes that a chapter may take


@contextmanager
def processes(
    count: int,
    begin: Callable | None = None,
    *arguments: Any,
    calls_each: int | None = None,
) -> Generator[Executor]:
    """Yield so many new processes, each of which begins with a call of `begin`.

    They end with the context, or with this process, whatever they are computing; Ctrl-C is not for
    them. Call with `submit`.

    Parameters
    ----------
    calls_each : calls after which a process is replaced; by default it is not
    """
    others = active_children()
    pool = ProcessPoolExecutor(
        count,
        get_context("spawn"),
        _begin,
        (begin, arguments),
        max_tasks_per_child=calls_each,
    )
    try:
        yield pool
    except BaseException:
        for child in active_children():
            if child not in others:
                child.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def submit(pool: Executor, function: Callable, calls: dict[Any, tuple]) -> dict[Future, Any]:
    """Call a function with the arguments of each call; return by its future what each is called."""
    # Processes are started here and take over that SIGINT is
    # blocked; one that comes meanwhile counts at the end.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return {pool.submit(function, *arguments): name for name, arguments in calls.items()}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable | None, arguments: tuple) -> None:
    """End this process, and so its kernel, with the one that started it, not at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

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
    cores = min(os.cpu_count() or 1, _allowed("cpu.max"))
    memory = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), _allowed("memory.max"))
    return max(1, int(min(cores, memory / MEMORY)))


def _allowed(name: str) -> float:
    """Read what this container may use, in cores or in bytes; infinite where nothing is said."""
    try:
        amount, *period = (CONTAINER / name).read_text(encoding="utf-8").split()
    except OSError:
        return math.inf
    if amount == "max":
        return math.inf
    return int(amount) / int(period[0]) if period else int(amount)
