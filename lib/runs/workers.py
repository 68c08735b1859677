"""Call a function for many tasks: in this process, or in new ones beside it."""

import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr
from threadpoolctl import threadpool_limits

from lib.fingerprint import code
from lib.processes import results
from lib.provenance import PACKAGES, UNKNOWN, commit, device_name, versions
from lib.runs.run import ROOT

DIED = (
    "a process died, perhaps for want of memory; what was finished is kept: "
    "start again, with fewer processes"
)


class ComputationFailed(RuntimeError):
    """Cases cannot be computed; the message says which and why."""


def compute(
    function: Callable[..., xr.Dataset],
    tasks: Sequence[Mapping[str, Any]],
    pool: Executor | None = None,
) -> Generator[tuple[int, xr.Dataset | BaseException]]:
    """Yield the number of each task and what the function returns
    or raises: in order here, or as processes deliver.

    The function has one thread, so that its sums have the same last digits everywhere.
    ComputationFailed says that a process has died.
    """
    if pool is None:
        with one_thread():  # here for all tasks, since it takes milliseconds
            for number, arguments in enumerate(tasks):
                yield number, _call(function, arguments)
        return
    calls = {number: (function, arguments) for number, arguments in enumerate(tasks)}
    died = False
    for number, future in results(pool, _task, calls):
        found = future.exception() or future.result()
        if isinstance(found, BrokenProcessPool):
            died = True
        else:
            yield number, found
    if died:
        raise ComputationFailed(DIED)


@contextmanager
def one_thread() -> Generator[None]:
    """Compute with one thread within this context; `threadpool_limits` alone does not reach the
    threads that training starts.
    """
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)


def _task(
    function: Callable[..., xr.Dataset], arguments: Mapping[str, Any]
) -> xr.Dataset | Exception:
    """Call the function in another process."""
    with one_thread():
        return _call(function, arguments)


def _call(
    function: Callable[..., xr.Dataset], arguments: Mapping[str, Any]
) -> xr.Dataset | Exception:
    """Call the function, and note where the result comes from."""
    start, device = time.perf_counter(), device_name(arguments["device"])
    try:
        found = function(**arguments)
        if not isinstance(found, xr.Dataset) or not found.data_vars:
            raise ValueError(
                f"the function returned {type(found).__name__}: want a Dataset with variables"
            )
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        # in words, since not every exception can be sent by another process
        return ComputationFailed(f"{type(problem).__name__}: {problem}; {where}")
    found.attrs = {
        "seconds": time.perf_counter() - start,
        "device": device,
        "versions": versions(*PACKAGES),
        "code": code(function),
        "commit": commit(ROOT) or UNKNOWN,
    }
    return found
