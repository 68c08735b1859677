"""One thread for a task, here as on workers: several would take sums in another order, and their last digits would differ."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock
from typing import Any

LIBRARIES = ("torch", "numba")
LINKED = ("numpy._core._multiarray_umath", "scipy.linalg._fblas")  # to OpenBLAS, whose functions go by one of these names
OPENBLAS = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # for a library that is loaded meanwhile

_lock, _inside, _undo = Lock(), 0, ExitStack()  # a worker may have several tasks in hand: the first one sets, the last one undoes


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch, numba and OpenBLAS use one thread within this context; a library that is loaded within it stays with one."""
    global _inside
    with _lock:
        _inside += 1
        for ask, tell in _settings():
            if _inside == 1:
                _undo.callback(tell, ask())
            tell(1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _undo.close()


def _settings() -> Iterator[tuple[Callable[[], Any], Callable[[Any], None]]]:
    """Yield how to ask for each number of threads that can be set in this process, and how to tell it."""
    for name in VARIABLES:
        yield partial(os.environ.get, name), partial(_export, name)
    for library in filter(None, map(sys.modules.get, LIBRARIES)):
        yield library.get_num_threads, library.set_num_threads
    for module in filter(None, map(sys.modules.get, LINKED)):
        library = ctypes.CDLL(module.__file__)
        for name in OPENBLAS:
            if hasattr(library, name.format("set")):
                yield library[name.format("get")], library[name.format("set")]


def _export(name: str, value: Any) -> None:
    os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = str(value)
