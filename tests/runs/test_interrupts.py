"""Ctrl-C and the end of a budget, at any moment: a line, what is finished is kept, nothing runs on."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
import small_runs as small
import xarray as xr

from lib import interrupts
from lib.runs.precompute import _decode

REPOSITORY = Path(__file__).parents[2]
CASES = 16
# It collects garbage all the time, with a callback that takes a while: an
# exception that is raised there is printed, and nobody catches it.
SCRIPT = f"""
import gc, sys, time
from pathlib import Path

from lib import interrupts

def rests(number, device, seconds):
    import xarray as xr
    time.sleep(seconds)
    return xr.Dataset({{"value": ((), float(number))}})

if __name__ == "__main__":
    interrupts.note()
    root = Path(sys.argv[1])
    (root / "ready").touch()
    gc.callbacks.append(lambda phase, info: time.sleep(0.001))
    from lib.__main__ import main
    from lib.runs import Run, chapters, grid, run
    gc.set_threshold(200)
    run.ROOT = root
    seconds = {{"seconds": float(sys.argv[2])}}
    runs = [Run("tiny/rests", rests, grid(number=range({CASES})), seconds)]
    chapters.listed = lambda: runs
    sys.exit(main(["store", "--device", "cpu", *sys.argv[3:]]))
"""
INTERRUPTED = "lib store: interrupted; finished cases are kept\n"


@pytest.fixture
def start(tmp_path):
    """Start `lib store` of tiny cases in a folder of its own; return it, the folder and its mark."""
    (script := tmp_path / "tiny.py").write_text(SCRIPT)

    def start(*options, seconds=0.02):
        mark = uuid4().hex
        (root := tmp_path / mark).mkdir()
        ours = {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "MARK": mark}
        process = subprocess.Popen(
            [sys.executable, script, root, str(seconds), *options],
            env=os.environ | ours,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # a job in a shell's background ignores Ctrl-C, one under nohup the end of its
            # terminal, and so would what they start
            preexec_fn=lambda: [signal.signal(end, signal.SIG_DFL) for end in interrupts.ENDS],
        )
        small.wait_for((root / "ready").exists)
        return process, root, mark

    return start


def marked(mark):
    """Return the processes that were started with this mark in their environment."""
    found = []
    for one in psutil.process_iter():
        try:
            if one.environ().get("MARK") == mark and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
        except psutil.Error:
            continue
    return found


def ended(process, root, mark):
    """Wait for the end; return the status, what was said, and how many cases are kept."""
    said, complained = process.communicate(timeout=60)
    small.wait_for(lambda: not marked(mark), seconds=5)
    kept = sorted(
        float(_decode(path.read_bytes()).value) for path in (root / "_build").rglob("*.nc")
    )
    result = root / "book/tiny/results/rests.nc"
    assert result.exists() == bool(kept)
    if kept:
        assert sorted(xr.load_dataset(result, engine="scipy").value.values) == kept
    assert not list(root.rglob("*.partial"))
    return process.returncode, said, complained, len(kept)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--workers", "2", "--budget", "1h")])
def test_ctrl_c_at_any_moment_is_one_line(start, options):
    begin = time.monotonic()
    assert ended(*start(*options))[0] == 0
    whole = time.monotonic() - begin
    moments = random.Random(str(options))
    stopped = 0
    for _ in range(15):
        process, *rest = start(*options)
        time.sleep(moments.uniform(0, whole))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        status, said, complained, kept = ended(process, *rest)
        if status == 0:  # it had finished
            assert (complained, kept) == ("", CASES)
        else:
            stopped += 1
            assert (status, complained) == (130, INTERRUPTED), said
    assert stopped >= 5


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "3"])
@pytest.mark.parametrize("seconds", [0.1, 0.37, 5.0])
def test_a_budget_ends_at_any_moment_in_one_line(start, workers, seconds):
    before = time.monotonic()
    found = ended(*start("--workers", workers, "--budget", "1s", seconds=seconds))
    assert time.monotonic() - before < 15  # also amid a case
    assert found[:3] == (0, "time is up; what was finished is kept\n", "")
    assert found[3] < CASES


@pytest.mark.slow
@pytest.mark.parametrize(
    "number, send",
    [(signal.SIGTERM, os.killpg), (signal.SIGTERM, os.kill), (signal.SIGHUP, os.kill)],
)
def test_the_end_of_a_job_keeps_what_is_finished(start, number, send):
    process, root, mark = start("--workers", "2", seconds=0.3)
    small.wait_for(lambda: len(small.case_files(root)) >= 2)
    send(process.pid, number)
    status, _, complained, kept = ended(process, root, mark)
    assert (status, complained) == (128 + number, INTERRUPTED)
    assert 2 <= kept < CASES


@pytest.fixture(params=interrupts.ENDS, ids=lambda number: number.name)
def end(request):
    """Handle a signal as in a terminal; a shell's background ignores Ctrl-C, and nohup another."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_is_noted_and_then_obeyed(end):
    with interrupts.handled(late=True):
        signal.raise_signal(end)
        with pytest.raises(KeyboardInterrupt) as noted:
            interrupts.obey()
    assert noted.value.args == (end,)
    interrupts.obey()
    with interrupts.handled(late=False), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(end)
    assert signal.getsignal(end) is signal.default_int_handler
    with interrupts.limit(0.0), pytest.raises(interrupts.OutOfTime):
        interrupts.obey()


def test_a_caller_that_ignores_its_children_hides_no_failure():
    """Else what a build starts would seem to succeed, whatever it says."""
    script = (
        "import subprocess, sys; from lib import interrupts; interrupts.note(); "
        "sys.exit(subprocess.run([sys.executable, '-c', 'raise SystemExit(3)']).returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert done.returncode == 3


def test_a_job_in_the_background_goes_on(end):
    signal.signal(end, signal.SIG_IGN)
    for late in (True, False):
        with interrupts.handled(late):
            signal.raise_signal(end)
            interrupts.obey()
