"""Call a function for many tasks: in this process, in new ones beside it, or on a Dask cluster."""

import asyncio
import hashlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import xarray as xr
from threadpoolctl import threadpool_limits

from lib.fingerprint import code
from lib.provenance import PACKAGES, device_name, versions

PATIENCE = 8  # seconds to wait for a scheduler's answer
# Dask asks malloc to give freed memory back at once; then each training step would wait for fresh pages. In bytes.
MALLOC = {"nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25, "nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28}
REMEDY = "install this repository there, at the same commit, and start it again"
# Ctrl-C is for the process that has the workers: it ends them.
IGNORE_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"


class ComputationFailed(RuntimeError):
    """Cases cannot be computed; the message says which and why."""


@contextmanager
def cluster(workers: int | None = None, scheduler: str | None = None, preload: str = "") -> Iterator[Any]:
    """Yield a Dask client of so many new processes here, or of a running cluster; given neither, None.

    New processes begin with the code `preload`.
    A ValueError says that Dask is not installed, or that no scheduler answers at the address. Dask's processes exchange pickles,
    so that anyone who can reach their ports can run code there.
    """
    if workers is None and scheduler is None:
        yield None
        return
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as problem:
        raise ValueError(f"workers need Dask ({problem}): pip install distributed, as pinned in requirements.txt") from None
    if scheduler is not None:
        try:
            asyncio.run(asyncio.wait_for(_knock(scheduler), PATIENCE))  # a Client would wait much longer
        except Exception as problem:  # whatever it is that answers there
            reason = str(problem).split("\n")[0] or "silence"
            raise ValueError(f"scheduler {scheduler!r} does not answer ({reason}); want one like tcp://10.0.0.1:8786") from None
        with Client(scheduler) as client:
            yield client
        return
    settings = {"worker.preload": [f"{IGNORE_CTRL_C}\n{preload}"], "scheduler.worker-saturation": 1.0} | MALLOC
    dask.config.set({f"distributed.{name}": value for name, value in settings.items()})
    quiet = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}, "silence_logs": "CRITICAL"}
    with LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=0, **quiet) as local, Client(local) as client:
        yield client


async def _knock(address: str) -> None:
    """Raise an exception unless a Dask scheduler answers."""
    from distributed.core import rpc

    async with rpc(address) as there:
        if (found := (await there.identity())["type"]) != "Scheduler":
            raise ValueError(f"this is a {found}")


def compute(
    function: Callable[..., xr.Dataset], tasks: Sequence[Mapping[str, Any]], client: Any = None
) -> Iterator[tuple[int, xr.Dataset | Exception]]:
    """Yield the number of each task and what the function returns or raises: in order here, or as workers deliver.

    The function has one thread, so that its sums have the same last digits everywhere. Workers are given all tasks at once, and
    one that is free takes the next, also if it joined later. ComputationFailed says that one has another library, or that the
    scheduler is lost.
    """
    if client is None:
        with one_thread():  # here for all tasks, since it takes milliseconds
            yield from ((number, _call(function, arguments)) for number, arguments in enumerate(tasks))
        return
    from distributed import KilledWorker, as_completed

    _check_workers(client)
    numbers = {client.submit(_task, function, given, library(), pure=False): number for number, given in enumerate(tasks)}
    try:
        for future in (completed := as_completed(list(numbers))):
            if future.status in ("pending", "lost"):  # its worker has died with the result: it is computed again
                completed.add(future)
                continue
            number, problem = numbers.pop(future), future.exception() if future.status == "error" else None
            if isinstance(problem, KilledWorker):
                yield number, RuntimeError(f"workers died on it, the last one {problem.last_worker.address}; out of memory?")
            elif problem is not None:
                raise ComputationFailed(f"the cluster has another library: {' '.join(str(problem).split())}; {REMEDY}")
            elif future.status != "finished":
                raise ComputationFailed(f"the scheduler {client.scheduler.address} is gone; what was finished is kept")
            else:
                yield number, future.result()
            future.release()  # not in its __del__, which would swallow a Ctrl-C
    finally:
        client.cancel(list(numbers))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread within this context; `threadpool_limits` alone does not reach the threads that training starts."""
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


def _check_workers(client: Any) -> None:
    """Raise ComputationFailed unless all workers have the library as it is here; wait for a first worker.

    One that has no library at all would end at its first task, and the client would wait for ever.
    """

    def probe() -> str:  # within this function, so that it travels whole to a worker that has no library
        try:
            return import_module("lib.runs.workers").library()
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"

    if not client.scheduler_info()["workers"]:
        print(f"waiting for a first worker of {client.scheduler.address}", file=sys.stderr)
        client.wait_for_workers(1)
    for address, found in client.run(probe, on_error="ignore").items():  # one that is dying has no answer
        if found != library():
            raise ComputationFailed(f"worker {address} has another library: {found}, not {library()}; {REMEDY}")


def _task(function: Callable[..., xr.Dataset], arguments: Mapping[str, Any], expected: str) -> xr.Dataset | Exception:
    """Call the function on a worker, which must have the library that the client has."""
    from distributed import get_worker

    if library() != expected:
        raise ValueError(f"worker {get_worker().address}: {library()}, not {expected}")
    with one_thread():
        return _call(function, arguments)


def _call(function: Callable[..., xr.Dataset], arguments: Mapping[str, Any]) -> xr.Dataset | Exception:
    """Call the function, and note where the result comes from."""
    start, device = time.perf_counter(), device_name(arguments["device"])
    try:
        found = function(**arguments)
        if not isinstance(found, xr.Dataset) or not found.data_vars:
            raise ValueError(f"the function returned {type(found).__name__}: want a Dataset with variables")
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        problem.add_note(f"{Path(place.filename).name}, line {place.lineno}")
        return problem
    found.attrs = {
        "seconds": time.perf_counter() - start,
        "device": device,
        "versions": versions(*PACKAGES),
        "code": code(function),
    }
    return found


@cache
def library() -> str:
    """Say what results depend on: a hash of our sources, and the versions of what they use."""
    folder, sources = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sources.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return f"lib {sources.hexdigest()[:12]}, {versions(*PACKAGES)}"
