"""Precomputing: what is finished is kept, whatever happens; the
plan, the budget, and what the command line says.
"""

import errno
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
import small_runs as small
from threadpoolctl import threadpool_limits

from book.piecewise_linear.experiments import distances
from lib.__main__ import main
from lib.runs import Run, count, grid, load, named
from lib.runs.precompute import plan, precompute
from lib.runs.workers import ComputationFailed

REPOSITORY = Path(__file__).parents[2]


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_finished_cases_are_left_alone(root, log):
    precompute(run := small.plane(log=str(log)))
    before = {path: path.stat().st_mtime_ns for path in [run.path, *small.case_files(root)]}
    for path in before:
        os.utime(path, ns=(2**62, before[path]))  # their dates do not matter
    precompute(run)
    assert {path: path.stat().st_mtime_ns for path in before} == before and len(before) == 13
    assert len(small.calls(log)) == 12


def test_a_spoilt_case_is_computed_again(root, log, capfd):
    precompute(run := small.plane(log=str(log)))
    whole, path, other = load(run), *small.case_files(root)[:2]
    data = path.read_bytes()
    spoilt = [b"", data[:-1], other.read_bytes()[:-32] + data[-32:], flip(data, len(data) // 2)]
    for number, bad in enumerate(spoilt, start=13):
        path.write_bytes(bad)
        run.path.unlink()
        precompute(run)
        assert small.same(whole, load(run)) and len(small.calls(log)) == number
        said = capfd.readouterr().err
        assert (
            said.startswith(f"{path} cannot be used (")
            and said.endswith("): computed anew\n")
            and said.count("\n") == 1
        )


@pytest.mark.parametrize("size", [1, 5])
def test_a_gpu_s_batches_do_not_matter(root, size, log):
    precompute(single := small.plane())
    whole = load(single)
    precompute(
        run := small.plane(small.waves, batch=size if size > 1 else 2, log=str(log)), batch=size
    )
    found = load(run)
    for name in ("height", "number", "high"):
        np.testing.assert_array_equal(found[name], whole[name])
    assert len(small.case_files(root)) == 24 and len(small.calls(log)) == 12


def test_an_experiment_is_called_as_by_hand():
    fixed = {"steps": 20, "record": [0, 20]}
    run = Run(
        "real/plane", distances, grid(tau=[0.3, 1.0], delta=[-0.5, 0.5], seed=[3]), fixed, batch=4
    )
    precompute(run)
    found = load(run)
    for case in run.cases.arguments:
        with threadpool_limits(1):
            one = distances(**case, **fixed).isel(member=0)
        for name in ("train", "test", "kernel", "hamming", "moved"):
            assert found.sel(case)[name].values.tobytes() == one[name].values.tobytes(), name


def test_what_fails_leaves_the_others_and_is_named(root):
    run = small.plane(small.fails)
    with pytest.raises(ComputationFailed) as caught:
        precompute(run)
    first, *lines = str(caught.value).splitlines()
    assert first == "2 of 12 failed, the others are kept:"
    for line, delta in zip(lines, ("1.0", "2.0"), strict=True):
        wanted = rf"  topic/plane, tau=0.2, delta={delta}, seed=1: ZeroDivisionError: too small; small_runs.py, line \d+"
        assert re.fullmatch(wanted, line)
    assert count(load(run)) == "10 of 12" and len(small.case_files(root)) == 10


@pytest.mark.parametrize(
    "how, said",
    [
        ("no dataset", "returned DataArray: want a Dataset with variables"),
        ("objects", "cannot be kept as NetCDF"),
        (
            "another dimension",
            r"returned short along \['place'\], and for other cases along \['step'\]",
        ),
    ],
)
def test_what_is_unfit_is_refused_before_it_is_kept(root, how, said):
    run = Run("topic/unfit", small.spoils, grid(seed=[0, 1]), {"how": how})
    with pytest.raises(
        ComputationFailed, match=f"(?s)1 of 2 failed.*topic/unfit, seed=1: .*{said}"
    ):
        precompute(run)
    assert len(small.case_files(root)) == 1 and count(load(run)) == "1 of 2"


def test_jobs_of_an_array_take_parts(root, log):
    run = small.plane(log=str(log))
    for done, i in enumerate((3, 1, 2), start=1):
        precompute(run, part=(i, 3))
        assert len(small.calls(log)) == 4 * done and not run.path.exists()
    precompute(run)
    assert len(small.calls(log)) == 12 and count(load(run)) == "12 of 12"


# a full disk, a closed folder


def test_a_full_disk_keeps_what_was_finished(root, log, monkeypatch, listed, capsys):
    write, written = Path.write_bytes, []

    def full(path, data):
        if len(written) == 4:
            write(path, data[:50])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(path, data)

    listed(run := small.plane(log=str(log)))
    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["store", "--device", "cpu"]) == 1
    assert (
        capsys.readouterr().err
        == "lib store: No space left on device; fix that and start again: what was finished is kept\n"
    )
    monkeypatch.undo()
    monkeypatch.setattr("lib.runs.run.ROOT", root)
    assert len(small.case_files(root)) == 4 and not list(root.rglob("*.partial"))
    before = len(small.calls(log))
    precompute(run)
    assert len(small.calls(log)) == before + 8 and count(load(run)) == "12 of 12"


# kills, with a real experiment

REAL = {"tau": [0.5, 1.0], "delta": [-0.5, 0.5], "seed": [0, 1, 2]}
SCRIPT = f"""
import sys
from pathlib import Path
from book.piecewise_linear.experiments import distances
from lib.__main__ import main
from lib.runs import Run, chapters, grid, run

if __name__ == "__main__":
    run.ROOT = Path(sys.argv[1])
    runs = [Run("real/plane", distances, grid(**{REAL!r}), {{"steps": 200, "record": [0, 200]}})]
    chapters.listed = lambda: runs
    sys.exit(main(["store", "--device", "cpu", *sys.argv[2:]]))
"""


@pytest.fixture
def start(tmp_path):
    """Start `lib store` of a real experiment, in a process group of its own."""
    (script := tmp_path / "script.py").write_text(SCRIPT)
    environment, started = os.environ | {"PYTHONPATH": str(REPOSITORY)}, []

    def start(root, *options):
        command = [sys.executable, script, root, *options]
        how = {
            "start_new_session": True,
            "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        }
        started.append(
            subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **how)
        )
        return started[-1]

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
def test_killed_twice_nothing_is_lost(tmp_path, start):
    here, there = tmp_path / "killed", tmp_path / "whole"
    both = start(here, "--workers", "2")
    small.wait_for(lambda: len(small.case_files(here)) >= 2)
    os.killpg(both.pid, signal.SIGKILL)  # the power
    both.wait()
    assert not (here / "book").exists()
    first = {path: path.stat().st_mtime_ns for path in small.case_files(here)}
    last = start(here, "--workers", "1")
    small.wait_for(lambda: len(small.case_files(here)) > len(first))
    for one in psutil.Process(last.pid).children(recursive=True):
        if "spawn_main" in " ".join(one.cmdline()):
            one.kill()  # the worker
    assert "a process died" in last.communicate(timeout=300)[1] and last.returncode == 1
    assert start(here).wait(300) == 0 and start(there).wait(300) == 0
    kept = {path: path.stat().st_mtime_ns for path in small.case_files(here)}
    assert first.items() <= kept.items() and len(kept) == 12
    one, other = (root / "book/real/results/plane.nc" for root in (here, there))
    assert small.same(*(small.read(path) for path in (one, other)))


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_writes_what_is_finished(tmp_path, start):
    process = start(tmp_path, "--workers", "2")
    small.wait_for(lambda: len(small.case_files(tmp_path)) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    assert (
        process.communicate(timeout=300)[1] == "lib store: interrupted; finished cases are kept\n"
    )
    assert process.returncode == 130 and (tmp_path / "book/real/results/plane.nc").exists()


# the plan, the budget, the command line


def test_the_plan_says_what_is_there_and_how_large(root, log, monkeypatch):
    run = small.plane(source={"networks": 48, "steps": 6}, log=str(log), steps=3)
    other = Run(
        "topic/named",
        small.ragged,
        named("row", {"a": {"size": 2}, "b": {"size": 4000}}),
        source={"size": 3},
    )
    head, first, second, last = plan([run, other]).splitlines()
    assert head.split()[:4] == ["run", "state", "code", "done"] and last.endswith(
        ": 0 s, and what is unknown (?)"
    )
    assert first.split()[:5] == ["topic/plane", "missing", "0", "of", "12"] and "?" in first
    assert first.endswith("networks 0 / 48 (0 %); steps 3 / 6 (50 %)")
    assert second.endswith("size 2–4,000 / 3 (66.7–133,000 %)")
    precompute(run, part=(1, 2))
    said = plan([run])
    assert "?" not in said
    assert all(part in said for part in ("part", "6 of 12 cases", "networks 6 / 48 (12.5 %)"))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("lib.runs.precompute.device_name", lambda device: "another")
        assert "part" in plan([run]) and "?" in plan([run])  # what a case takes there is not known
    precompute(run)
    assert plan([run]).splitlines()[1].split()[1:3] == ["done", "current"]
    assert "?" not in plan([run]) and "other arguments" in plan([small.plane()])
    monkeypatch.setattr("lib.runs.freshness.code", lambda function: "another")
    assert "outdated" in plan([run])


def test_a_budget_ends_in_time_and_keeps_what_is_finished(tmp_path, listed, capsys):
    listed(run := Run("topic/waits", small.waits, grid(seed=range(3)), {"place": str(tmp_path)}))
    assert main(["store", "--device", "cpu", "--budget", "2s"]) == 0
    assert capsys.readouterr().out == "time is up; what was finished is kept\n"
    (tmp_path / "go").touch()
    assert main(["store", "--device", "cpu", "--budget", "1h"]) == 0 and load(
        run
    ).value.values.tolist() == [0, 1, 2]


def test_store_begins_with_what_decides_most(listed, capsys):
    runs = [
        Run(name, small.wave, grid(**small.GRID), first=name == "b/x")
        for name in ("a/x", "a/y", "b/x")
    ]
    listed(*runs)
    names_by_file = {str(run.path): run.name for run in runs}
    for names, made in (
        (["a/y"], ["a/y"]),
        (["a"], ["a/x", "a/y"]),
        ([], ["b/x", "a/x", "a/y"]),
        (["a/y", "b"], ["b/x", "a/y"]),
    ):
        assert main(["store", *names, "--device", "cpu"]) == 0
        assert [names_by_file[line] for line in capsys.readouterr().out.split()] == made
    assert main(["store", "unknown", "a/none"]) == 2
    assert capsys.readouterr().err == (
        "lib store: no such experiment: a/none, unknown; there are a/x, a/y, b/x; "
        "a chapter lists its runs in book/NAME/runs.py, as RUNS\n"
    )


@pytest.mark.parametrize(
    "options", [["--budget", "2"], ["--budget", "0s"], ["--case-range", "4/3"], ["--workers", "0"]]
)
def test_wrong_options_are_said(capsys, options):
    with pytest.raises(SystemExit) as stopped:
        main(["store", *options])
    assert stopped.value.code == 2 and "want" in capsys.readouterr().err


def test_a_bare_gpu_machine_suffices():
    absent = [
        "jupytext",
        "papermill",
        "matplotlib",
        "nbclient",
        "IPython",
        "ipykernel",
        "pooch",
        "requests",
        "PIL",
    ]
    modules = "book.piecewise_linear.runs, lib.runs.precompute, lib.__main__, lib.data.__main__"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent})); import {modules}; print('fine')"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert found.stdout == "fine\n", found.stderr
