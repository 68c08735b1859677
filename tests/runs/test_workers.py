"""Workers: a real cluster on this machine, workers that are killed or have another library, wrong addresses."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import dask
import pytest
import small_runs as small
from distributed import LocalCluster

from lib.__main__ import main
from lib.experiments.piecewise_linear import distances
from lib.runs import Run, count, grid, load, workers
from lib.runs.precompute import precompute
from lib.runs.workers import ComputationFailed, cluster

HERE = Path(__file__).parents[1]
LOCAL = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}


@pytest.fixture(scope="module")
def address():
    """Two workers for several tests; each test connects with a client of its own."""
    settings = {"distributed.scheduler.worker-saturation": 1.0, "distributed.scheduler.allowed-failures": 1}
    with dask.config.set(settings), LocalCluster(n_workers=2, **LOCAL) as local:
        yield local.scheduler_address


def test_workers_compute_what_one_process_does(root):
    cases, fixed = grid(tau=[0.3, 1.0], delta=[0.0], seed=[0, 1, 2]), {"steps": 50, "record": [0, 50]}
    here, there = (Run(name, distances, cases, fixed, batch=3) for name in ("a/here", "a/there"))
    threads = Run("topic/threads", small.threads, grid(seed=[0]))
    precompute(here)
    with cluster(2) as client:
        precompute(there, client=client)
        precompute(threads, client=client)
    assert small.same(small.read(here.path), small.read(there.path)) and len(small.case_files(root)) == 13
    assert load(threads).threads.values.tolist() == [1]


def test_a_worker_that_dies_costs_its_case_only(address, tmp_path, listed):
    listed(run := small.plane(small.dies_once, mark=str(tmp_path / "mark")))
    assert main(["store", "--device", "cpu", "--scheduler", address]) == 0
    whole = load(run)
    precompute(small.plane())
    assert small.same(whole.drop_attrs(deep=False), load(small.plane()).drop_attrs(deep=False))


def test_a_case_that_kills_its_workers_is_named_and_the_others_kept(address):
    said = r"(?s)1 of 12 failed.*topic/plane, tau=0.2, delta=2.0, seed=1: .*workers died on it, the last one tcp:"
    with cluster(scheduler=address) as client, pytest.raises(ComputationFailed, match=said):
        precompute(small.plane(small.dies), client=client)
    assert count(load(small.plane(small.dies))) == "11 of 12"


@pytest.mark.parametrize("found", [r"lib [0-9a-f]{12}, .*", "ModuleNotFoundError: No module named 'lib.runs'.*"])
def test_a_worker_with_another_library_or_none_is_refused(tmp_path, capfd, found):
    """It is a worker that finds the library on another path."""
    if found.startswith("lib"):
        shutil.copytree(HERE.parent / "lib", tmp_path / "lib")
        (tmp_path / "lib" / "measures.py").write_text("# changed")
    else:
        (tmp_path / "lib.py").touch()
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads=1", "--no-dashboard"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [tmp_path, HERE]))}
    said = rf"worker tcp://.* has another library: {found}, not lib [0-9a-f]{{12}}, .*; install this repository there"
    with LocalCluster(n_workers=0, **LOCAL) as local:
        process = subprocess.Popen([*command, local.scheduler_address], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            with cluster(scheduler=local.scheduler_address) as client, pytest.raises(ComputationFailed, match=said):
                precompute(small.plane(), client=client)
        finally:
            process.kill()
            process.wait()
    assert f"waiting for a first worker of {local.scheduler_address}\n" in capfd.readouterr().err


def test_a_wrong_address_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        quiet, gone = (f"tcp://127.0.0.1:{one.getsockname()[1]}" for one in (silent, closed))
        closed.close()
        for wrong in (quiet, gone, "nonsense"):
            assert main(["store", "--device", "cpu", "--scheduler", wrong]) == 2
            out, err = capsys.readouterr()
            assert out == "" and err.count("\n") == 1
            assert err.startswith(f"lib store: scheduler {wrong!r} does not answer (")
            assert err.endswith("; want one like tcp://10.0.0.1:8786\n")


def test_without_dask_workers_are_refused_in_one_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["store", "--device", "cpu", "--workers", "2"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("lib store: workers need Dask (") and "pip install distributed" in err and err.count("\n") == 1
