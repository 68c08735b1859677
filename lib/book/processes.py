"""Calls side by side, in processes that end when this one does."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from lib.sweeps.workers import uninterrupted

Key = TypeVar("Key")

GRACE = 3  # seconds in which a process can end what it began


@contextmanager
def side_by_side(
    function: Callable[..., Any], calls: Mapping[Key, tuple], jobs: int, calls_per_process: int | None = None
) -> Iterator[Iterator[tuple[Key, Future]]]:
    """Call a function in `jobs` processes; within this context iterate over the key and the future of each call as it ends.

    Ctrl-C reaches neither the processes nor their kernels: this process ends them. So they print no tracebacks, and a kernel that
    is asked to end does not complain about the interrupt that jupyter_client sends it first.
    """
    with ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent, max_tasks_per_child=calls_per_process) as pool:
        try:
            with uninterrupted():
                keys = {pool.submit(function, *arguments): key for key, arguments in calls.items()}
            yield ((keys[task], task) for task in as_completed(keys))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes = active_children()
            for process in processes:
                process.terminate()
            for process in processes:  # one that runs a notebook ends its kernel at that, then takes on its next call
                process.join(GRACE)
                process.kill()
            raise


def _end_with_parent() -> None:
    """End this process, and so its kernel, as soon as the one that started it is gone, however that ended."""

    def watch() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def log(line: str) -> None:
    """Say how things go, where no bar shows it; in one piece, since several processes write."""
    if not sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")
