"""Processes: they end with their context, and are as many as there is room for."""

import multiprocessing
import os
import tempfile
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import small_runs as small

from lib import processes as module
from lib.interrupts import OutOfTime, limit, obey
from lib.processes import at_once, processes, results


def test_processes_end_with_their_context(tmp_path):
    calls = {0: (0, "cpu", str(tmp_path))}
    threads = threading.active_count()
    with pytest.raises(OutOfTime), limit(0.5), processes(2) as pool:
        list(results(pool, small.waits, calls))
    assert not multiprocessing.active_children()
    assert threading.active_count() == threads  # one that ends later fails at the end of Python


def test_a_pool_without_its_process_says_so_of_each_call():
    with processes(1) as pool:
        for _ in range(2):
            found = dict(results(pool, os._exit, {"one": (1,), "two": (1,)}))
            assert {type(found[name].exception()) for name in ("one", "two")} == {BrokenProcessPool}


def test_what_processes_leave_goes_with_them():
    with pytest.raises(OutOfTime), limit(0.0), processes(1) as pool:
        left = Path(pool.submit(tempfile.mkdtemp).result())
        assert left.is_dir()
        obey()
    assert not left.parent.exists()


def test_where_a_process_dies_the_others_end():
    with processes(2) as pool:
        list(results(pool, time.sleep, {"one": (1,), "two": (1,)}))  # both are there
        pool.submit(time.sleep, 60)
        begin = time.monotonic()
        list(results(pool, os._exit, {"one": (1,)}))
    assert time.monotonic() - begin < 30


def test_a_process_that_starts_late_ends_too(monkeypatch):
    """One that ends is replaced, perhaps just after the others are killed."""
    there = multiprocessing.active_children
    unseen = [[], []]  # before the first process, and when the others are killed
    monkeypatch.setattr(module, "active_children", lambda: unseen.pop() if unseen else there())
    begin = time.monotonic()
    with pytest.raises(OutOfTime), limit(0.0), processes(1) as pool:
        pool.submit(time.sleep, 60)
        obey()
    assert time.monotonic() - begin < 30
    assert not there()


def test_new_processes_begin_with_a_call(tmp_path):
    with processes(1, (tmp_path / "begun").touch) as pool:
        assert pool.submit((tmp_path / "begun").exists).result()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 64 processors and 2⁴⁰ bytes, which says nothing of groups yet."""
    monkeypatch.setattr(module, "CONTAINER", tmp_path)
    monkeypatch.setattr(module, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(64), raising=False)
    monkeypatch.setattr(os, "sysconf", lambda name: 2**20)
    return tmp_path


@pytest.mark.parametrize(
    "groups, limits, found",
    [
        ("0::/job/step", {"job/memory.max": 6 * 2**30, "job/step/memory.max": "max"}, 3),
        ("0::/job", {"job/cpu.max": "400000 100000", "cpu.max": "max 100000"}, 4),
        (
            "4:memory:/docker/x\n1:cpu,cpuacct:/",
            {
                "memory/memory.limit_in_bytes": 10 * 2**30,
                "cpu,cpuacct/cpu.cfs_quota_us": -1,
                "cpu,cpuacct/cpu.cfs_period_us": 100000,
            },
            5,
        ),
        (
            "1:cpu,cpuacct:/job",
            {
                "cpu,cpuacct/job/cpu.cfs_quota_us": 250000,
                "cpu,cpuacct/job/cpu.cfs_period_us": 100000,
            },
            2,
        ),
        ("0::/elsewhere", {}, 64),
    ],
)
def test_a_job_has_less_room_than_its_machine(machine, groups, limits, found):
    """Schedulers limit a group below that of the machine; older systems have a folder a kind."""
    (machine / "groups").write_text(f"{groups}\n")
    for name, amount in limits.items():
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / name).write_text(f"{amount}\n")
    assert at_once() == found


@pytest.mark.parametrize(
    "cpu, memory, found",
    [
        ("max 100000", "max", 64),
        ("200000 100000", "max", 2),
        ("max 100000", str(7 * 2**30), 3),
        ("50000 100000", "max", 1),
    ],
)
def test_a_container_has_less_room_than_its_machine(machine, cpu, memory, found):
    (machine / "cpu.max").write_text(f"{cpu}\n")
    (machine / "memory.max").write_text(f"{memory}\n")
    assert at_once() == found


def test_a_process_takes_the_processors_that_it_may_use(tmp_path, monkeypatch):
    """As a scheduler or `taskset` says, not as many as the machine has; macOS cannot tell."""
    monkeypatch.setattr(module, "CONTAINER", tmp_path)
    monkeypatch.setattr(os, "sysconf", lambda name: 2**20)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 7}, raising=False)
    assert at_once() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert at_once() == 8


def test_a_system_need_not_tell_its_memory(tmp_path, monkeypatch):
    def unknown(name):
        if name == "SC_PHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return 4096

    monkeypatch.setattr(module, "CONTAINER", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(5), raising=False)
    for sysconf in (unknown, lambda name: -1 if name == "SC_PHYS_PAGES" else 4096):
        monkeypatch.setattr(os, "sysconf", sysconf)
        assert at_once() == 5
