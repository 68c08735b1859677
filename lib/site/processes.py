"""Calls side by side, in processes that end when this one does."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

from dask.system import cpu_count

MEMORY = 2 * 2**30  # bytes that a chapter may take

Key = TypeVar("Key")


@contextmanager
def side_by_side(
    function: Callable[..., Any],
    calls: Mapping[Key, tuple],
    jobs: int,
    calls_per_process: int | None = None,
) -> Iterator[Iterator[tuple[Key, Future]]]:
    """Call a function in `jobs` processes; iterate over the key and future of each call as it ends.

    Ctrl-C ends the processes, and these their kernels.
    """
    context = get_context("spawn")
    options = {"initializer": _begin, "max_tasks_per_child": calls_per_process}
    with ProcessPoolExecutor(jobs, context, **options) as pool:
        try:
            keys = {pool.submit(function, *call): key for key, call in calls.items()}
            yield ((keys[task], task) for task in as_completed(keys))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            raise


def _begin() -> None:
    """End this process, and so its kernel, with the one that started it, not at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def at_once() -> int:
    """Return how many chapters this process has cores and memory for, whatever the machine has."""
    from distributed.system import memory_limit

    return max(1, min(cpu_count(), memory_limit() // MEMORY))


def log(line: str) -> None:
    """Say how things go, in one piece, since several processes write."""
    sys.stderr.write(f"{line}\n")
