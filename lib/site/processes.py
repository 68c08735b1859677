"""Calls side by side, in processes that end when this one does."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from dask.system import cpu_count

MEMORY = 2 * 2**30  # bytes that a chapter may take

Key = TypeVar("Key")

_over: Event  # in each process: whether what waits is not to begin


@contextmanager
def side_by_side(
    function: Callable[..., Any], calls: Mapping[Key, tuple], jobs: int, calls_per_process: int | None = None
) -> Iterator[Iterator[tuple[Key, Future]]]:
    """Call a function in `jobs` processes; within this context iterate over the key and the future of each call as it ends.

    Ctrl-C reaches neither the processes nor their kernels: this process ends them. So they print no tracebacks, and a kernel that
    is asked to end does not complain about the interrupt that jupyter_client sends it first.
    """
    context = get_context("spawn")
    over = context.Event()
    with ProcessPoolExecutor(jobs, context, _begin, (over,), max_tasks_per_child=calls_per_process) as pool:
        try:
            with uninterrupted():
                keys = {pool.submit(_call, function, *arguments): key for key, arguments in calls.items()}
            yield ((keys[task], task) for task in as_completed(keys))
        except BaseException:
            over.set()  # one that runs a notebook ends its kernel when it is terminated, and lives on
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            raise


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, unless all is over: a process holds its next calls already."""
    if _over.is_set():
        raise CancelledError
    return function(*arguments)


def _begin(over: Event) -> None:
    """End this process, and so its kernel, as soon as the one that started it is gone, however that ended."""
    global _over
    _over = over

    def watch() -> None:
        parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def at_once() -> int:
    """Return how many chapters this process has cores and memory for, whatever the machine has."""
    from distributed.system import memory_limit

    return max(1, min(cpu_count(), memory_limit() // MEMORY))


def log(line: str) -> None:
    """Say how things go, where no bar shows it; in one piece, since several processes write."""
    if not sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Start within this context processes that Ctrl-C does not reach; if it is pressed meanwhile, it counts at the end."""
    pressed = []
    resource_tracker.ensure_running()  # now, since its start would undo what the next line blocks
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit what is blocked
    ours = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))  # a thread of BLAS may take it in
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, ours)
    if pressed:
        raise KeyboardInterrupt
