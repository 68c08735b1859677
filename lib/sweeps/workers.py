"""Workers: independent calls of a function, in this process or on Dask's workers, each result handed over as it arrives.

`cluster` brings workers; `compute` uses those that are there. Dask is imported only where workers are asked for.
"""

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from copy import deepcopy
from importlib import import_module
from itertools import chain, islice
from multiprocessing import resource_tracker
from typing import Any, NamedTuple, TypeVar

from lib.checks import instance, optional, takes, whole
from lib.provenance import device_name, library
from lib.sweeps.threads import one_thread

Key = TypeVar("Key", bound=Hashable)

PATIENCE = 8  # seconds to wait for a scheduler's answer
JOINED = 5.0  # seconds after which a worker that has joined is given work
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


class TaskError(RuntimeError):
    """A task cannot be computed; the message says which and why."""


class Found(NamedTuple):
    """What a function returned, and how: its seconds, device and versions."""

    result: Any
    made: dict[str, Any]


def several(failed: Sequence[TaskError], tasks: int) -> TaskError:
    """Make one error of those of some tasks."""
    if len(failed) == 1:
        return failed[0]
    return TaskError("\n  ".join([f"{len(failed)} of {tasks} failed, the others are kept:", *map(str, failed)]))


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


@contextmanager
@takes(workers=optional(whole), scheduler=optional(instance(str)))
def cluster(workers: int | None = None, scheduler: str | None = None) -> Iterator[None]:
    """Compute on workers within this context: on new processes here, on a running cluster, or, given neither, without any.

    Parameters
    ----------
    workers : number of processes to start on this machine, one thread each
    scheduler : address of a running Dask scheduler, like "tcp://10.0.0.1:8786"; Dask's processes send each other pickles, so that
        whoever reaches their ports can run programs there

    Raises
    ------
    ValueError
        If both are given, if Dask is not installed or if no scheduler answers at the address.
    """
    if workers is None and scheduler is None:
        yield
        return
    if workers is not None and scheduler is not None:
        raise ValueError("workers and scheduler: want one of them, processes here or a cluster that is running")
    try:
        from distributed import Client, LocalCluster
    except ImportError as problem:
        raise ValueError(f"workers need Dask ({problem}): pip install distributed, as pinned in requirements.txt") from None
    if scheduler is None:
        quiet = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}, "silence_logs": "ERROR"}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        with uninterrupted():
            local = LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=0, env=threads, **quiet)
        with local, Client(local):
            try:
                yield
            except KeyboardInterrupt:
                _abandon(local)
                raise
        return
    try:
        asyncio.run(asyncio.wait_for(_knock(scheduler), PATIENCE + 1))
    except Exception as problem:  # whatever it is that answers there
        reason = str(problem).split("\n")[0] or "silence"
        raise ValueError(f"scheduler {scheduler!r} does not answer ({reason}); an address is like tcp://10.0.0.1:8786") from None
    with Client(scheduler):
        yield


def _abandon(local: Any) -> None:
    """Kill our workers, which would else finish what they have in hand."""
    for nanny in local.workers.values():
        nanny.auto_restart = False
        if nanny.pid:
            os.kill(nanny.pid, signal.SIGKILL)


async def _knock(address: str) -> None:
    """Raise an exception unless a Dask scheduler answers; a Client that gets no answer would not go quietly."""
    from distributed.core import connect

    comm = await connect(address, timeout=PATIENCE)
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
    finally:
        comm.abort()
    if answer.get("type") != "Scheduler":
        raise ValueError(f"this is a {answer.get('type')}")


def compute(
    function: Callable[..., Any], tasks: Iterable[tuple[Key, Mapping[str, Any]]], *, errors: str = "raise"
) -> Iterator[tuple[Key, Found | TaskError]]:
    """Yield each task's key and what the function returns for its arguments: in order here, or as workers deliver.

    Each task is computed with one thread, so that its result is bitwise the same here and there. A task is asked for only when it
    can begin: here when the one before it is done, there when a worker has a thread for it.
    A task whose worker dies goes to another worker; Dask gives it up when it has outlived more than three (its setting
    `distributed.scheduler.allowed-failures`). Workers are asked first whether they have the same library; one that joins later
    is asked with each task.

    Parameters
    ----------
    function : from the top level of a module that workers have
    tasks : pairs of a key and arguments by name; str(key) names the task in errors
    errors : "raise" the first one and cancel the other tasks, or "collect": yield a TaskError in place of what was found

    Raises
    ------
    ValueError
        If a worker has another library, or none.
    TaskError
        If the function raises, workers keep dying on a task, or the scheduler is lost.
    """
    client = _client()
    results = _here(function, tasks) if client is None else _there(client, function, tasks)
    with closing(results):
        for key, result in results:
            if isinstance(result, TaskError) and errors == "raise":
                raise result from result.__cause__
            yield key, result


def _here(function: Callable[..., Any], tasks: Iterable[tuple[Key, Mapping[str, Any]]]) -> Iterator[tuple[Key, Any]]:
    """Compute tasks in this process."""
    for key, arguments in tasks:
        try:
            result = _timed(function, arguments)
        except Exception as problem:
            result = _failed(key, problem)
        yield key, result


def _there(
    client: Any, function: Callable[..., Any], tasks: Iterable[tuple[Key, Mapping[str, Any]]]
) -> Iterator[tuple[Key, Any]]:
    """Compute tasks on workers; each is asked for only when a thread is free for it."""
    from distributed import KilledWorker

    tasks, keys = iter(tasks), {}  # keys: of the futures that are out
    first = next(tasks, None)
    if first is None:
        return
    _check_workers(client, function.__module__)
    tasks = chain([first], tasks)
    try:
        while True:
            free = max(sum(client.nthreads().values()), 1) - len(keys)
            for key, arguments in islice(tasks, max(free, 0)):
                keys[client.submit(_task, arguments, function=function, expected=library(), pure=False)] = key
            if not keys:
                return
            for future in _done(keys):
                key = keys.pop(future)
                try:
                    result = future.result()
                except KilledWorker as problem:
                    reason = f"workers died on it again and again, the last one {problem.last_worker.address}; out of memory?"
                    result = _failed(key, problem, reason)
                except CancelledError as problem:
                    raise _failed(key, problem, f"the scheduler {client.scheduler.address} is gone ({problem})") from problem
                except Exception as problem:
                    result = _failed(key, problem)
                yield key, result
                future.release()
    finally:
        client.cancel(list(keys))


def _done(futures: Collection[Any]) -> list[Any]:
    """Return those that are done; wait for one, but no longer than until it is time to ask for workers that have joined."""
    from distributed import wait

    with suppress(TimeoutError, CancelledError):
        wait(list(futures), timeout=JOINED, return_when="FIRST_COMPLETED")
    return [future for future in futures if future.done()]


def _failed(key: Key, problem: BaseException, reason: str = "") -> TaskError:
    """Return the error of a task."""
    error = TaskError(f"{key}: {reason or f'{type(problem).__name__}: {problem}'}")
    error.__cause__ = problem
    return error


def _timed(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Found:
    """Call the function with arguments that are its own to change, and time it."""
    device, start = arguments.get("device", "cpu"), time.perf_counter()
    with one_thread():
        result = function(**deepcopy(dict(arguments)))
    seconds = time.perf_counter() - start
    known = library()
    said = ", ".join(f"{package} {known[package]}" for package in ("torch", "numpy", "scipy", "xarray"))
    name = device_name(device) if device in ("cpu", "cuda") else str(device)
    return Found(result, {"seconds": seconds, "device": name, "versions": said})


def _client() -> Any:
    """Return Dask's current client, or None; where Dask was not imported there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.Client.current()
    except ValueError:
        return None


def _keep_freed_memory() -> None:
    """Undo what Dask asks of Linux' malloc for its workers, to give memory back at once: each step would wait for fresh pages."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for parameter, size in ((M_MMAP_THRESHOLD, 2**25), (M_TRIM_THRESHOLD, 2**28)):
            libc.mallopt(parameter, size)


def _task(arguments: Mapping[str, Any], function: Callable[..., Any], expected: Mapping[str, str]) -> Any:
    if differences := _differences(library(), expected):
        raise ValueError(f"this worker has another library: {differences}")
    _keep_freed_memory()
    return _timed(function, arguments)


def _differences(found: Mapping[str, str], expected: Mapping[str, str]) -> str:
    odd = [name for name in expected if found.get(name) != expected[name]]
    return ", ".join(f"{name} {found.get(name, 'absent')}, not {expected[name]}" for name in odd)


def _check_workers(client: Any, module: str) -> None:
    """Raise ValueError unless all workers have `module` and the library as it is here; wait for a first worker."""

    def probe() -> dict[str, str] | str:  # within this function, so that it travels whole to a worker that has no library
        try:
            import_module(module)
            return import_module("lib.provenance").library()
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"

    if not client.scheduler_info()["workers"]:
        print(f"waiting for a first worker of {client.scheduler.address}", file=sys.stderr)
        client.wait_for_workers(1)
    for address, found in client.run(probe).items():
        reason = found if isinstance(found, str) else _differences(found, library())
        if reason:
            raise ValueError(
                f"worker {address} has another library: {reason};"
                " install this repository there (pip install -r requirements.txt), at the same commit, and start it again"
            )
