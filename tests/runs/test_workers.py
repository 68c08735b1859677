"""Processes beside this one: they find what this one finds, and one that dies loses what it computes and nothing else."""

import multiprocessing

import pytest
import small_runs as small

from lib.experiments.piecewise_linear import distances
from lib.runs import Run, count, grid, load
from lib.runs.precompute import Progress, precompute
from lib.runs.workers import ComputationFailed, processes


def test_processes_compute_what_one_process_does(root):
    cases, fixed = grid(tau=[0.3, 1.0], delta=[0.0], seed=[0, 1, 2]), {"steps": 50, "record": [0, 50]}
    here, there = (Run(name, distances, cases, fixed, batch=3) for name in ("a/here", "a/there"))
    threads = Run("topic/threads", small.threads, grid(seed=[0]))
    precompute(here)
    with processes(2) as pool:
        precompute(there, pool=pool)
        precompute(threads, pool=pool)
    assert small.same(small.read(here.path), small.read(there.path)) and len(small.case_files(root)) == 13
    assert load(threads).threads.values.tolist() == [1]


def test_a_process_that_dies_leaves_what_is_finished(tmp_path):
    run = small.plane(small.dies_once, mark=str(tmp_path / "mark"))
    with processes(2) as pool, pytest.raises(ComputationFailed, match=r"a process died.*finished is kept: start again"):
        precompute(run, pool=pool)
    with processes(2) as pool:
        precompute(run, pool=pool)
    found = load(run)
    precompute(small.plane())
    assert count(found) == "12 of 12"
    assert small.same(found.drop_attrs(deep=False), load(small.plane()).drop_attrs(deep=False))


def test_processes_end_with_their_context(tmp_path):
    progress = Progress(Run("topic/waits", small.waits, grid(seed=range(2)), {"place": str(tmp_path)}), "cpu")
    with pytest.raises(KeyboardInterrupt), processes(2) as pool:
        pool.submit(small.waits, 0, "cpu", str(tmp_path))
        raise KeyboardInterrupt
    for child in multiprocessing.active_children():
        child.join(10)
    assert not multiprocessing.active_children() and progress.done == 0


def test_new_processes_begin_with_a_call(tmp_path):
    with processes(1, (tmp_path / "begun").touch) as pool:
        assert pool.submit((tmp_path / "begun").exists).result()
