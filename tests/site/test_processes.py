"""Processes that are ended: what the pool of the standard library would say about it."""

import threading
import time
from concurrent.futures.process import _ExecutorManagerThread

import pytest

from lib.site.processes import side_by_side


def test_an_interrupted_pool_says_nothing_about_processes_that_are_gone(monkeypatch):
    """Its thread raises KeyError if a process ends by itself while we end them all."""
    raised, said = [], []

    def miss(self, cause):
        raised.append(self)
        raise KeyError(7885)

    monkeypatch.setattr(threading, "excepthook", said.append)
    with pytest.raises(KeyboardInterrupt), side_by_side(time.sleep, {"one": (0,), "two": (60,)}, 1) as ended:
        assert next(ended)[0] == "one"
        pools = [thread for thread in threading.enumerate() if isinstance(thread, _ExecutorManagerThread)]
        monkeypatch.setattr(_ExecutorManagerThread, "terminate_broken", miss)
        raise KeyboardInterrupt
    for thread in pools:
        thread.join(20)
    assert raised == pools and not said
