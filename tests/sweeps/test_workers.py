"""Workers: a real cluster on this machine, workers that are killed, that lack the library or have another, wrong addresses."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sweep_functions as functions
from distributed import Client, LocalCluster

from lib import experiments, results
from lib.__main__ import main
from lib.provenance import library
from lib.sweeps import Sweep, run, workers
from lib.sweeps.workers import TaskError, cluster, compute

HERE = Path(__file__).parents[1]

LOCAL = "127.0.0.1:0"
GRID = {"tau": [0.1, 0.2, 0.3], "delta": [1.0, 2.0]}


def sweep(function=functions.wave, **fixed):
    return Sweep("topic/plane", function, GRID, [0, 1], fixed)


def shards(folder):
    return list(Path(folder).rglob("*.nc"))


@pytest.fixture(scope="module")
def address():
    """Two workers for all tests; each test connects with a client of its own."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=LOCAL, silence_logs="CRITICAL") as local:
        yield local.scheduler_address


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.mkdir()
    return path


@pytest.mark.parametrize("size", [1, 3, 100])
def test_workers_compute_what_one_process_does(address, tmp_path, size):
    here = run(sweep(), tmp_path / "here", shard_size=size)
    with cluster(scheduler=address):
        there = run(sweep(), tmp_path / "there", shard_size=size)
    assert here.drop_vars("process").identical(there.drop_vars("process"))
    assert set(here.process.values.flat) == {os.getpid()} and os.getpid() not in there.process
    assert [path.name for path in sorted(shards(tmp_path / "here"))] == [path.name for path in sorted(shards(tmp_path / "there"))]


@pytest.mark.fault("kill -9", "a worker of a sweep", "every shard; the one in its hands goes to another worker")
def test_a_worker_that_dies_costs_its_shard_only(address, tmp_path, log):
    with cluster(scheduler=address):
        found = run(sweep(functions.dies_once, mark=str(log / "mark")), tmp_path / "shards")
    (log / "mark").unlink()
    assert found.drop_vars("process").identical(run(sweep(), tmp_path / "here").drop_vars("process"))
    assert {path.name.rsplit("-", 1)[0] for path in log.iterdir()} >= {"0.2-1.0-0", "0.3-2.0-1"}


@pytest.mark.fault("kill -9", "every worker that takes one certain shard", "all other shards")
def test_a_shard_that_kills_its_workers_is_named_and_the_others_kept(address, tmp_path, log, record_property):
    message = r"^topic/plane, shard tau=0.2, delta=2.0, seed=1: workers died on it again and again, the last one tcp://.*memory"
    with cluster(scheduler=address), pytest.raises(TaskError, match=message) as named:
        run(sweep(functions.dies, log=str(log)), tmp_path / "shards")
    assert len(shards(tmp_path / "shards")) == 11
    record_property("said", str(named.value))


def test_an_error_of_the_function_is_told(address, tmp_path, log):
    message = "^topic/plane, shard tau=0.2, delta=.*, seed=1: RuntimeError: the power is gone$"
    with cluster(scheduler=address), pytest.raises(TaskError, match=message) as caught:
        run(sweep(functions.fails, log=str(log)), tmp_path / "shards")
    assert isinstance(caught.value.__cause__, RuntimeError) and shards(tmp_path / "shards")


def test_processes_are_started_with_one_thread_each(tmp_path):
    with cluster(workers=1):
        tasks = [(name, {"key": name}) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]
        found = dict(compute(os.getenv, tasks))
    assert {name: one.result for name, one in found.items()} == {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    with pytest.raises(ValueError, match=r"No .*client"):
        Client.current()


def test_a_task_is_asked_for_when_a_worker_is_free(address):
    """Whether the next one fits into the time is then asked late enough, and nothing that was begun is lost."""
    asked, found = [], []

    def tasks():
        while len(found) < 5:
            assert len(asked) < len(found) + 2  # two workers
            asked.append(len(asked))
            yield asked[-1], {"key": "PATH"}

    with cluster(scheduler=address):
        for key, _ in compute(os.getenv, tasks()):
            found.append(key)
    assert sorted(found) == asked and 5 <= len(asked) <= 6


def test_a_worker_that_joins_is_given_work_while_another_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "JOINED", 0.2)
    one, two = tmp_path / "one", tmp_path / "two"
    tasks = [("one", {"mine": str(one), "other": str(two)}), ("two", {"mine": str(two), "other": str(one)})]
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=LOCAL, silence_logs="CRITICAL") as local:

        def join():
            while not one.exists():
                time.sleep(0.02)
            local.scale(2)

        joining = threading.Thread(target=join)
        joining.start()
        with cluster(scheduler=local.scheduler_address):
            met = dict(compute(functions.meets, tasks))
        joining.join()
    assert met["one"].result and met["two"].result


def test_a_scheduler_that_goes_is_named(tmp_path):
    local = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=LOCAL, silence_logs="CRITICAL")
    waiting = {"mine": str(tmp_path / "one"), "other": str(tmp_path / "never")}
    with local, cluster(scheduler=local.scheduler_address), pytest.raises(TaskError, match=r"^alone: .* is gone"):
        closing = threading.Timer(1, local.close)
        closing.start()
        dict(compute(functions.meets, [("alone", waiting)]))
    closing.join()


@pytest.mark.skipif(sys.platform != "linux", reason="the settings are those of Linux' own malloc")
def test_workers_keep_memory_that_is_freed():
    with cluster(workers=1):
        ((_, faults),) = compute(functions.page_faults, [("faults", {"count": 200, "pages": 1024})])
    assert faults.result < 200 * 1024 / 20


def worker_elsewhere(address, path, folder):
    """Start a worker that finds the library on another path."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads=1", "--no-dashboard"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("how", ["none", "other"])
def test_a_worker_with_another_library_is_refused(tmp_path, capfd, how):
    path = [tmp_path, HERE]
    if how == "none":
        (tmp_path / "lib.py").touch()
        message = "ModuleNotFoundError: No module named 'lib.provenance'; 'lib' is not a package"
    else:
        shutil.copytree(HERE.parent / "lib", tmp_path / "lib")
        (tmp_path / "lib" / "kernels.py").write_text("# changed")
        message = f"lib [0-9a-f]{{12}}, not {library()['lib']}"
    with LocalCluster(n_workers=0, dashboard_address=LOCAL, silence_logs="CRITICAL") as local:
        process = worker_elsewhere(local.scheduler_address, path, tmp_path)
        try:
            with (
                cluster(scheduler=local.scheduler_address),
                pytest.raises(ValueError, match=rf"worker tcp://.* has another library: {message}; install this .* same commit"),
            ):
                run(sweep(), tmp_path / "shards")
        finally:
            process.kill()
            process.wait()
    assert f"waiting for a first worker of {local.scheduler_address}\n" in capfd.readouterr().err


def test_a_worker_that_joins_later_is_asked_too():
    assert workers._task({"x": 1.0}, abs_, library()).result == 1.0
    with pytest.raises(ValueError, match=r"this worker has another library: numpy .*, not 0.1$"):
        workers._task({"x": 1.0}, abs_, library() | {"numpy": "0.1"})


def abs_(x):
    return abs(x)


def test_a_wrong_address_is_one_line(capsys, monkeypatch, address):
    monkeypatch.setattr(workers, "PATIENCE", 1)
    silent = socket.create_server(("127.0.0.1", 0))
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    with Client(address) as client:
        worker = next(iter(client.scheduler_info()["workers"]))
    for wrong, reason in {
        f"tcp://127.0.0.1:{port}": "Timed out",
        f"tcp://127.0.0.1:{silent.getsockname()[1]}": "silence",
        worker: "this is a Worker",
        "nonsense": "missing port",
        "ftp://here:1": "unknown address scheme",
        "": "missing port",
    }.items():
        start = time.monotonic()
        assert main(["store", "--device", "cpu", "--scheduler", wrong]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and time.monotonic() - start < 10
        assert err.startswith(f"lib store: scheduler {wrong!r} does not answer ({reason}")
        assert err.endswith("; an address is like tcp://10.0.0.1:8786\n")
    silent.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "workers and scheduler: want one of them"),
        (["--workers", "0"], "workers is 0: want a positive integer"),
        (["--workers", "-1"], "workers is -1: want a positive integer"),
    ],
    ids=["both", "zero", "negative"],
)
def test_wrong_options_are_one_line(capsys, options, message):
    assert main(["store", "--device", "cpu", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"lib store: {message}") and err.count("\n") == 1


def test_without_dask_workers_are_refused_in_one_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["store", "--device", "cpu", "--workers", "2"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("lib store: workers need Dask (") and "pip install distributed" in err and err.count("\n") == 1


def test_store_computes_sweeps_on_workers(address, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "ROOT", tmp_path)

    def experiment(device):
        return run(sweep(), tmp_path / "shards", shard_size=4)

    stored = results.Run("topic/plane", experiment, "piece", {"all": {}})
    monkeypatch.setattr(experiments, "RUNS", [stored])
    assert main(["store", "--device", "cpu", "--scheduler", address]) == 0
    found = results.load(stored)
    assert found.sizes["tau"] == 3 and os.getpid() not in found.process
