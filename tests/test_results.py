"""Stored runs: kept, resumed, refused when stale, and never half-written."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from lib import experiments, results
from lib.__main__ import main
from lib.data import DataUnavailable
from lib.results import Run, StaleResult, load
from lib.store import store
from lib.sweeps.workers import TaskError

REPOSITORY = Path(__file__).parents[1]
MESSAGE = "python -m lib store topic/experiment"
calls = []


@dataclass(frozen=True)
class Setting:
    rate: float = 0.5
    name: str = "σ"


def experiment(setting, size=2, device="cpu"):
    calls.append(size)
    return xr.Dataset(
        {"value": (("step",), setting.rate * np.arange(size, dtype=np.float32)), "text": ("letter", ["a", "bc"])},
        {"step": np.arange(size)},
    )


def fails(setting, size=2, device="cpu"):
    if size == 3 and not calls.count(3):
        calls.append(size)
        raise RuntimeError("the power is gone")
    return experiment(setting, size, device)


def run(function=experiment, **change):
    pieces = {"one": {"setting": Setting()}, "two": {"setting": Setting(0.25), "size": 3}}
    return Run("topic/experiment", function, "row", pieces | change)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    calls.clear()
    return tmp_path


def files(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_what_is_stored_is_loaded(root):
    path = store(run())
    assert path == root / "book/results/topic/experiment.nc" == run().path
    found = load(run())
    assert found.row.values.tolist() == ["one", "two"] and found.step.values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.value, np.array([[0, 0.5, np.nan], [0, 0.25, 0.5]], np.float32))
    assert found.value.dtype == np.float32 and found.text.values.tolist() == [["a", "bc"]] * 2
    assert json.loads(found.attrs["settings"])["pieces"]["one"] == {"setting": {"rate": 0.5, "name": "σ"}}
    assert found.attrs["seconds"] >= 0 and found.attrs["device"].startswith("CPU") and "torch 2" in found.attrs["versions"]
    assert results.describe(found) == f"stored run: {found.attrs['device']}, 0 min; {found.attrs['versions']}"


def test_a_run_that_is_there_is_left_alone():
    before = store(run()).stat()
    assert store(run()).stat().st_mtime_ns == before.st_mtime_ns and calls == [2, 3]


def test_an_interrupted_run_goes_on_where_it_stopped(root):
    with pytest.raises(RuntimeError, match="the power is gone"):
        store(run(fails))
    assert len(files(root)) == 2 and calls == [2, 3]
    with pytest.raises(StaleResult, match="other settings"):  # the file has one piece only
        load(run(fails))
    store(run(fails))
    assert calls == [2, 3, 3]  # the first piece was kept
    resumed = load(run(fails))
    run().path.unlink()
    store(run())
    np.testing.assert_array_equal(resumed.value, load(run()).value)
    assert resumed.drop_attrs().identical(load(run()).drop_attrs())


def test_a_piece_that_cannot_be_read_is_computed_again(root):
    store(run())
    run().path.unlink()
    pieces = sorted((root / "_build/store/topic/experiment").iterdir())
    pieces[0].write_bytes(b"CDF?")
    store(run())
    assert len(calls) == 3 and load(run()).sizes["row"] == 2


@pytest.mark.parametrize(
    "changed",
    [
        run(two={"setting": Setting(0.3), "size": 3}),
        run(two={"setting": Setting(0.25), "size": 4}),
        run(three={"setting": Setting()}),
        run(fails),
        Run("topic/experiment", experiment, "task", run().pieces),
    ],
    ids=["setting", "argument", "piece", "function", "dimension"],
)
def test_other_settings_are_refused_and_made_anew(changed):
    store(run())
    with pytest.raises(StaleResult, match=f"topic/experiment was made with other settings than .*; make it with: {MESSAGE}$"):
        load(changed)
    calls.append(3)  # the function that fails the first time has done so
    store(changed)
    assert load(changed).attrs["settings"] == changed.settings()


def test_a_missing_run_says_how_to_make_it():
    with pytest.raises(StaleResult, match=f"there is no stored run topic/experiment; make it with: {MESSAGE}$"):
        load(run())


def test_a_corrupt_run_is_refused_and_made_anew():
    path = store(run())
    for content in (b"", b"CDF\x01", b"not a file", path.read_bytes()[::-1]):
        path.write_bytes(content)
        with pytest.raises(StaleResult, match=rf"experiment.nc cannot be read \(.*\); delete it and make it with: {MESSAGE}$"):
            load(run())
    store(run())
    assert load(run()).sizes["row"] == 2


@pytest.mark.fault(
    "truncated NetCDF", "a stored run, cut at every 17th byte", "nothing is shown; the command that makes it anew is said"
)
def test_a_truncated_run_is_refused(record_property):
    path = store(run())
    whole = path.read_bytes()
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(StaleResult):
            load(run())
    path.write_bytes(whole[:-1])
    with pytest.raises(StaleResult) as refused:
        load(run())
    record_property("said", str(refused.value))


@pytest.mark.fault("full disk", "`lib store`, when it writes", "the stored run and the pieces as they were, nothing half-written")
def test_a_failed_writing_leaves_nothing_and_keeps_what_was_there(root, monkeypatch):
    path = store(run())
    before, kept = path.read_bytes(), files(root)

    write = Path.write_bytes

    def full(target, data):
        write(target, data[:4])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    for changed in (run(one={"setting": Setting(0.1)}), run(two={"setting": Setting()})):
        with pytest.raises(OSError, match="no space"):
            store(changed)
        assert files(root) == kept and path.read_bytes() == before


def test_what_a_killed_run_left_half_written_is_removed_in_time(root):
    path = run().path
    path.parent.mkdir(parents=True)
    old, new = (path.with_name(f".{path.name}.{number}.partial") for number in (1, 2))
    for half in (old, new):
        half.write_bytes(b"half")
    os.utime(old, 2 * (time.time() - 4000,))
    store(run())
    assert not old.exists() and new.exists()  # the new one may be in the hands of another run


def test_an_argument_must_be_plain():
    with pytest.raises(TypeError, match="must be plain or a dataclass, not"):
        store(run(one={"setting": object()}))


SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np, xarray as xr
from lib import results, store

results.ROOT = Path(sys.argv[1])

def slow(size, device):
    (results.ROOT / f"called-{size}-{time.time_ns()}").touch()
    if size == 3 and sys.argv[2] == "hang":
        time.sleep(60)
    return xr.Dataset({"value": ("step", np.arange(size) / 7)}, {"step": np.arange(size)})

run = results.Run("topic/slow", slow, "row", {"a": {"size": 2}, "b": {"size": 3}})
store.store(run)
print(results.load(run).value.values.tolist())
"""


@pytest.mark.fault(
    "kill -9", "`lib store`, in the second of two pieces", "the first piece; started again, it goes on to the same numbers"
)
def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    def start(root, mode):
        root.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(root), mode],
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            text=True,
        )

    killed = start(tmp_path / "killed", "hang")
    deadline = time.time() + 60
    while not list((tmp_path / "killed").glob("called-3-*")) and time.time() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    killed.stdout.close()
    assert not (tmp_path / "killed/book").exists()
    answers = [start(tmp_path / name, "go").communicate(timeout=60)[0].splitlines()[-1] for name in ("killed", "whole")]
    assert answers[0] == answers[1] and answers[0].startswith("[[0.0,")
    assert len(list((tmp_path / "killed").glob("called-2-*"))) == 1


def test_an_unknown_experiment_is_one_line(capsys):
    assert main(["store", "unknown", "two_point/none"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("lib store: no such experiment: two_point/none, unknown; there are two_point/dynamics, ")


def missing(device):
    raise DataUnavailable("No route gave mnist. Set MNIST_DIR")


def failing(device):
    raise TaskError("topic/plane, shard seed=1: RuntimeError: the power is gone")


def refusing(device):
    raise PermissionError(errno.EACCES, "Permission denied", "/a/file")


@pytest.mark.parametrize(
    "function, said",
    [
        (missing, "No route gave mnist. Set MNIST_DIR"),
        (failing, "topic/plane, shard seed=1: RuntimeError: the power is gone"),
        (refusing, "/a/file: Permission denied; mend that and start again: what was finished is kept"),
    ],
    ids=["data", "task", "disk"],
)
def test_what_stops_an_experiment_is_said_in_a_line(monkeypatch, capsys, function, said):
    monkeypatch.setattr(experiments, "RUNS", [Run("topic/stops", function, "row", {"all": {}})])
    assert main(["store", "--device", "cpu"]) == 1
    assert capsys.readouterr().err == f"lib store: {said}\n"


def test_an_error_of_ours_keeps_its_traceback(monkeypatch):
    def wrong(device):
        raise FileNotFoundError(errno.ENOENT, "No such file", "/a/file")

    monkeypatch.setattr(experiments, "RUNS", [Run("topic/wrong", wrong, "row", {"all": {}})])
    with pytest.raises(FileNotFoundError):
        main(["store", "--device", "cpu"])


def test_store_takes_a_topic_or_an_experiment(monkeypatch, capsys):
    runs = [Run(name, experiment, "row", run().pieces) for name in ("a/x", "a/y", "b/x")]
    monkeypatch.setattr(experiments, "RUNS", runs)
    for names, made in ((["a/y"], ["a/y"]), (["a"], ["a/x", "a/y"]), ([], ["a/x", "a/y", "b/x"]), (["a/y", "b"], ["a/y", "b/x"])):
        assert main(["store", *names, "--device", "cpu"]) == 0
        printed = [line for line in capsys.readouterr().out.splitlines() if line.endswith(".nc")]
        assert [Path(line) for line in printed] == [results.ROOT / "book/results" / f"{name}.nc" for name in made]


@pytest.mark.parametrize("module", ["lib.experiments", "lib.results", "lib.__main__"])
def test_a_bare_gpu_machine_suffices(module):
    """No notebook machinery: torch, NumPy, SciPy, xarray and tqdm."""
    absent = ["jupytext", "papermill", "matplotlib", "nbformat", "nbclient", "IPython", "ipykernel", "myst_nb", "jupyter_book"]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import {module}; print('fine')"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, timeout=60
    )
    assert found.stdout == "fine\n", found.stderr


def of_alphas(alphas, device="cpu"):
    return xr.Dataset({"diverged": ("alpha", np.full(len(alphas), -1))}, {"alpha": alphas})


@pytest.mark.parametrize("interrupted", [False, True])
def test_whole_numbers_of_pieces_that_differ_stay_what_they_are(interrupted):
    ragged = Run("topic/ragged", of_alphas, "part", {"one": {"alphas": [1.0, 2.0]}, "two": {"alphas": [2.0]}})
    path = store(ragged)
    if interrupted:  # the pieces then come from their files
        path.unlink()
        store(ragged)
    np.testing.assert_array_equal(load(ragged).diverged.sel(part="one"), [-1, -1])
    np.testing.assert_array_equal(load(ragged).diverged.sel(part="two"), [np.nan, -1])


def test_one_topic_of_experiments_loads_no_other():
    code = "import sys, lib.experiments.hierarchies; print([m for m in sys.modules if m.startswith('lib.experiments.')])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
        == "['lib.experiments.hierarchies']"
    )
