"""The store: runs that grow, that are killed, that are given a time or a part; the plan."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sweep_functions as functions
import xarray as xr

from lib import experiments, results
from lib.__main__ import main
from lib.experiments.piecewise_linear import distances
from lib.results import Growing, Run, StaleResult, count, load
from lib.store import OutOfTime, limit, measure, plan, store
from lib.sweeps import Sweep, TaskError

HERE = Path(__file__).parent
GRID = {"tau": [0.1, 0.2, 0.3], "delta": [1.0, 2.0]}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def log(tmp_path):
    (path := tmp_path / "log").mkdir()
    return path


def growing(grid=GRID, seeds=(0, 1), function=functions.grows, **fixed):
    return Growing(Sweep("topic/plane", function, grid, seeds, fixed), source={"networks": 48})


def calls(log):
    return sorted(path.name.rsplit("-", 1)[0] for path in Path(log).iterdir())


def same(one, other):
    """Compare what was found bitwise, but for the process."""
    names = {*one.data_vars, *one.coords} - {"process"}
    assert names == {*other.data_vars, *other.coords} - {"process"}
    for name in names:
        assert one[name].dims == other[name].dims and one[name].dtype == other[name].dtype
        text = one[name].dtype == object
        assert text or one[name].values.tobytes() == other[name].values.tobytes(), name
        assert not text or one[name].values.tolist() == other[name].values.tolist()
    return True


def expected(grid=GRID, seeds=(0, 1)):
    """Return what a plain loop finds: the heights over tau, delta, seed and step."""

    def height(*values):
        return functions.wave(*(np.array([value]) for value in values)).height.values[0]

    return np.array([[[height(tau, delta, seed) for seed in seeds] for delta in grid["delta"]] for tau in grid["tau"]])


def test_a_run_that_grew_is_what_a_loop_finds():
    found = load(growing()) if store(growing()) else None
    np.testing.assert_array_equal(found.height, expected())
    assert found.height.dims == ("tau", "delta", "seed", "step") and found.height.attrs == {"units": "m"}
    assert found.short.dtype == np.float32 and found.label.values.tolist() == ["first", "", "ü"]
    assert found.done.all() and count(found) == "12 of 12" and found.attrs["seconds"] > 0
    assert results.describe(found).startswith("stored run: CPU (")


def test_members_are_a_real_experiment_s_one_by_one():
    fixed = {"steps": 20, "record": [0, 20]}
    run = Growing(Sweep("real/plane", distances, {"tau": [0.3, 1.0], "delta": [-0.5, 0.5]}, [3], fixed), dimension="scale")
    found = load(run) if store(run) else None
    assert found.scale.values.tolist() == ["2 × 2 × 1"]
    for tau in (0.3, 1.0):
        one = distances(tau, -0.5, 3, **fixed)
        ours = found.sel(tau=tau, delta=-0.5, seed=3).isel(scale=0)
        for name in ("train", "test", "kernel", "hamming", "moved"):
            assert ours[name].values.tobytes() == one[name].values[0].tobytes(), name


def test_it_goes_on_from_its_file_alone_and_keeps_what_is_done(root, log):
    stop = root / "stop"
    stop.write_text("0.2-1.0-1")
    run = growing(stop=str(stop), log=str(log))
    with pytest.raises(KeyboardInterrupt):
        store(run)
    found = load(run)
    assert calls(log) == sorted([f"{t}-{d}-0" for t in GRID["tau"] for d in GRID["delta"]] + ["0.1-1.0-1", "0.1-2.0-1"])
    assert count(found) == "8 of 12" and int(found.done.sum()) == 8
    assert found.height.isnull().all("step").values.tolist() == (~found.done).values.tolist()
    assert found.number.dtype == float and bool(found.number.isnull().equals(~found.done))  # no whole number is made up
    shutil.rmtree(root / "_build")  # a fresh clone
    stop.unlink()
    before = len(calls(log))
    store(run)
    assert len(calls(log)) == before + 4
    whole = growing(stop=str(stop), log=str(log))
    run.path.rename(root / "grown.nc")
    shutil.rmtree(root / "_build")
    store(whole)
    assert same(xr.load_dataset(root / "grown.nc", engine="scipy"), xr.load_dataset(whole.path, engine="scipy"))


def test_seeds_and_values_can_be_added(log):
    store(growing(log=str(log), seeds=[1]))
    grid = {"tau": [0.05, 0.1, 0.2, 0.3], "delta": [2.0, 1.0]}
    larger = growing(grid, [0, 1], log=str(log))
    assert count(load(larger)) == "6 of 6"  # as the file says: it was the whole
    store(larger)
    found = load(larger)
    assert len(calls(log)) == len(set(calls(log))) == 16 == int(found.done.sum()) and found.seed.values.tolist() == [0, 1]
    np.testing.assert_array_equal(found.height, expected(grid, [0, 1]))
    with pytest.raises(StaleResult, match=r"tau 0.05, 0.3: the stored members have values that the grid has no longer; put"):
        store(growing({"tau": [0.1, 0.2], "delta": [1.0, 2.0]}, [0, 1], log=str(log)))


def test_a_value_that_is_rounded_elsewhere_is_the_same(log):
    store(growing(log=str(log)))
    shutil.rmtree(results.ROOT / "_build")
    grid = GRID | {"tau": [np.nextafter(value, 1) for value in GRID["tau"]]}
    store(growing(grid, log=str(log)))
    assert len(calls(log)) == 12


@pytest.mark.parametrize("size", [1, 4, 5])
def test_the_size_of_a_shard_does_not_matter(size):
    store(growing(), shard_size=size)
    np.testing.assert_array_equal(load(growing()).height, expected())
    assert len(list((results.ROOT / "_build/store/topic/plane").iterdir())) == -(-12 // size)


def test_jobs_take_parts_and_leave_the_file_alone(root, log):
    run = growing(log=str(log))
    for i in (3, 1, 2):
        assert store(run, part=(i, 3)) == root / "_build/store/topic/plane" and not run.path.exists()
        assert len(calls(log)) == 4 * {3: 1, 1: 2, 2: 3}[i]
    store(run)
    assert len(calls(log)) == 12 and count(load(run)) == "12 of 12"


def test_other_settings_are_refused_and_made_anew(log):
    store(growing())
    other = growing(log=str(log))
    with pytest.raises(StaleResult, match="topic/plane was made with other settings"):
        load(other)
    assert "stale" in plan([other])
    store(other)
    assert len(calls(log)) == 12 and "stale" not in plan([other])


def breaks(tau, delta, seed, device):
    if tau[0] == 0.2 and seed[0] == 1:
        raise ZeroDivisionError("too small")
    return functions.wave(tau, delta, seed)


def test_a_member_that_raises_leaves_the_others():
    run = growing(function=breaks)
    with pytest.raises(
        TaskError, match=r"^2 of 12 failed, the others are kept:\n  topic/plane, shard tau=0.2, delta=1.0, seed=1: Z"
    ):
        store(run)
    assert count(load(run)) == "10 of 12"


# runs of pieces


def piece(size, log, device="cpu"):
    (Path(log) / f"{size}-{time.time_ns()}").touch()
    return xr.Dataset({"value": ("step", np.arange(size) / 7)}, {"step": np.arange(size)})


def pieces(log, *sizes):
    return Run("topic/pieces", piece, "row", {f"of {size}": {"size": size, "log": str(log)} for size in sizes}, {"size": 4})


def test_pieces_can_be_added_to_a_file_too(log):
    store(pieces(log, 2, 4))
    shutil.rmtree(results.ROOT / "_build")
    store(pieces(log, 2, 3, 4))
    assert sorted(name.split("-")[0] for name in os.listdir(log)) == ["2", "3", "4"]
    found = load(pieces(log, 2, 3, 4))
    assert found.row.values.tolist() == ["of 2", "of 3", "of 4"]
    np.testing.assert_array_equal(found.value, [[0, 1 / 7, np.nan, np.nan], [0, 1 / 7, 2 / 7, np.nan], np.arange(4) / 7])


def test_pieces_that_have_the_run_s_dimension_can_be_added_too():
    def run(*sizes):
        return Run("topic/grown", sized, "points", {str(size): {"size": size} for size in sizes}, {"size": 4})

    store(run(2))
    store(run(2, 3))
    found = load(run(2, 3))
    assert found.value.dims == ("points",) and found.points.values.tolist() == ["2", "3"]
    np.testing.assert_array_equal(found.value, [4, 9])


def sized(size, device="cpu"):
    return xr.Dataset({"value": ("points", [size**2])}, {"points": [size]})


# the plan, and time


def test_the_plan_counts_beyond_the_source_too():
    run = Run("topic/large", sized, "points", {"one": {"size": 4000}}, source={"size": 3})
    assert "size 4,000 / 3 (133,000 %)" in plan([run])


def test_the_plan_says_what_is_there_and_how_large(root, log, capsys, monkeypatch):
    run, other = growing(seeds=[0]), pieces(log, 2, 4)
    head, first, second, last = plan([run, other]).splitlines()
    assert head.split("  ")[0] == "run" and first.split()[:5] == ["topic/plane", "missing", "0", "of", "6"]
    assert first.endswith("networks 0 / 48 (0 %)") and "?" in first and second.endswith("size 2–4 / 4 (50–100 %)")
    assert last.endswith("0 s, and 2 of unknown length (--measure times them)")
    measure([run, other])
    _, first, second, last = plan([run, other]).splitlines()
    assert "1 of 6 members" in first and "1 of 2 pieces" in second and "?" not in first + second and "unknown" not in last
    assert not run.path.exists() or count(load(run)) == "1 of 6"
    monkeypatch.setattr(experiments, "RUNS", [run, other])
    assert main(["store", "--device", "cpu"]) == 0 and main(["store", "--device", "cpu", "--plan"]) == 0
    said = capsys.readouterr().out
    assert "topic/plane   done   6 of 6 members" in said and "networks 6 / 48 (12.5 %)" in said


def test_the_store_begins_with_what_decides_most(log, capsys, monkeypatch):
    assert set(experiments.FIRST) <= {run.name for run in experiments.RUNS}
    run, other = growing(seeds=[0]), pieces(log, 2)
    monkeypatch.setattr(experiments, "RUNS", [run, other])
    monkeypatch.setattr(experiments, "FIRST", (other.name,))
    assert main(["store", "--device", "cpu", "--plan"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:3]] == [other.name, run.name]


def test_code_that_was_changed_is_seen(monkeypatch):
    run = growing()
    store(run)
    monkeypatch.setattr("lib.store.code", lambda function: "another")
    assert "done, older code" in plan([run])


@pytest.mark.parametrize("run", experiments.RUNS, ids=lambda run: run.name)
def test_every_run_says_a_scale_that_it_has(run):
    assert set(run.scale()) == set(run.source) - {"networks"}


def test_what_does_not_fit_into_the_time_is_not_begun(log):
    run = growing(log=str(log))
    measure([run])
    store(run, until=time.monotonic() - 1)
    assert len(calls(log)) == 1
    with pytest.raises(OutOfTime), limit(0.1) as until:
        assert until > time.monotonic()
        time.sleep(5)


SLOW = """
import signal, sys, time
from pathlib import Path
import xarray as xr
from lib import experiments, results
from lib.__main__ import main
from lib.sweeps import Sweep

def waits(seed, device):
    if seed[0] == 2:  # now the hour is over
        (results.ROOT / "left").write_text(str(signal.getitimer(signal.ITIMER_REAL)[0]))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        time.sleep(600)
    return xr.Dataset({"value": ("member", seed)})

results.ROOT = Path(sys.argv[1])
experiments.RUNS = [results.Growing(Sweep("topic/waits", waits, {}, range(4)))]
sys.exit(main(["store", "--device", "cpu", "--budget", "1h"]))
"""


def test_a_budget_ends_in_time_and_cleanly(root):
    """The alarm of an hour is moved to where the third member is in hand, so that nothing depends on how fast this machine is."""
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
    done = subprocess.run([sys.executable, "-c", SLOW, root], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.endswith("the time is over; what was finished is kept\n")
    assert 3000 < float((root / "left").read_text()) < 3600
    assert xr.load_dataset(root / "book/results/topic/waits.nc", engine="scipy").value.values.tolist() == [0, 1]


@pytest.mark.parametrize(
    "options", [["--budget", "2"], ["--budget", "0s"], ["--shard", "0/3"], ["--shard", "4/3"], ["--shard", "x"]]
)
def test_wrong_options_are_said(capsys, options):
    with pytest.raises(SystemExit) as stopped:
        main(["store", *options])
    assert stopped.value.code == 2 and "want" in capsys.readouterr().err


# kills

KILLED = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from pathlib import Path
import sweep_functions
from lib import experiments, results
from lib.__main__ import main
from lib.sweeps import Sweep

if __name__ == "__main__":
    results.ROOT, fixed = Path(sys.argv[1]), dict(log=sys.argv[2], hold=sys.argv[3])
    experiments.RUNS = [results.Growing(Sweep("topic/plane", sweep_functions.grows, {GRID!r}, [0, 1], fixed))]
    sys.exit(main(["store", "--device", "cpu", *sys.argv[4:]]))
"""


def wait_for(condition, seconds=300):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.mark.fault(
    "kill -9", "`lib store` of a run that grows, its worker, and both at once", "every member, and in the end the same bits"
)
def test_killed_three_times_nothing_is_lost(request, root, log, tmp_path):
    (script := tmp_path / "script.py").write_text(KILLED)
    hold, folder = tmp_path / "hold", root / "_build/store/topic/plane"
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}

    def start(*options):
        command = [sys.executable, script, root, log, hold, *options]
        process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
        request.addfinalizer(partial(end, process))
        return process

    def shards():
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.nc")}

    hold.touch()  # members at τ = .2, δ = 2 wait
    parent = start()
    wait_for(lambda: "0.2-2.0-0" in calls(log))
    parent.kill()
    assert parent.wait() == -signal.SIGKILL
    first = shards()
    assert len(first) == 3
    both = start("--workers", "2")
    wait_for(lambda: calls(log).count("0.2-2.0-0") == 2)  # one worker waits; how far the other is does not matter
    os.killpg(both.pid, signal.SIGKILL)  # the power
    both.wait()
    kept = shards()
    assert len(kept) >= 3 and first.items() <= kept.items()
    (folder / ".half.nc.partial").write_bytes(b"CDF")
    seen = len(calls(log))
    last = start("--workers", "1")
    wait_for(lambda: len(calls(log)) > seen)
    (worker,) = {one for one in children(last.pid) if "spawn_main" in command(one)} or [None]
    os.kill(worker, signal.SIGKILL)
    hold.unlink()
    assert last.wait(300) == 0
    assert kept.items() <= shards().items() and len(shards()) == 12
    grown = load(growing(log=str(log), hold=str(hold)))
    assert count(grown) == "12 of 12"
    np.testing.assert_array_equal(grown.height, expected())


def end(process):
    """Kill a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def children(pid):
    threads = [one.name for one in Path(f"/proc/{pid}/task").iterdir()]
    found = [child for thread in threads for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
    return [int(child) for child in found]


def command(pid):
    with suppress(OSError):  # it may have ended
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""
