"""Processes beside this one: they find what this one finds, and one
that dies loses what it computes and nothing else.
"""

import pytest
import small_runs as small
import small_threads
import torch

from book.piecewise_linear.experiments import distances
from lib.processes import processes
from lib.runs import Run, count, grid, load
from lib.runs.precompute import precompute
from lib.runs.workers import ComputationFailed


def test_processes_compute_what_one_process_does(root):
    cases, fixed = (
        grid(tau=[0.3, 1.0], delta=[0.0], seed=[0, 1, 2]),
        {"steps": 50, "record": [0, 50]},
    )
    here, there = (Run(name, distances, cases, fixed, batch=3) for name in ("a/here", "a/there"))
    precompute(here)
    with processes(2) as pool:
        precompute(there, pool=pool)
    assert (
        small.same(small.read(here.path), small.read(there.path))
        and len(small.case_files(root)) == 12
    )


def test_a_run_computes_with_one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    here, there = (
        Run(name, small_threads.threads, grid(seed=[0])) for name in ("a/here", "a/there")
    )
    precompute(here)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    with processes(1) as pool:
        precompute(there, pool=pool)
    assert load(here).threads.values.tolist() == load(there).threads.values.tolist() == [1]


def test_a_process_that_dies_leaves_what_is_finished(tmp_path):
    run = small.plane(small.dies_once, mark=str(tmp_path / "mark"))
    with (
        processes(2) as pool,
        pytest.raises(ComputationFailed, match=r"a process died.*finished is kept: start again"),
    ):
        precompute(run, pool=pool)
    with processes(2) as pool:
        precompute(run, pool=pool)
    found = load(run)
    precompute(small.plane())
    assert count(found) == "12 of 12"
    assert small.same(found.drop_attrs(deep=False), load(small.plane()).drop_attrs(deep=False))


def test_an_exception_that_cannot_be_sent_is_named():
    run = Run("topic/stubborn", small.stubborn, grid(seed=[0]))
    with processes(1) as pool, pytest.raises(ComputationFailed, match="Stubborn: too large"):
        precompute(run, pool=pool)
