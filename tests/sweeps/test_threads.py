"""One thread for each task: a real experiment gives the same bits here, where there are more, and on workers."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

import pytest
import torch
import xarray as xr

from lib.experiments.piecewise_linear import students
from lib.sweeps import Sweep, cluster, run
from lib.sweeps.threads import _settings, one_thread

HERE = Path(__file__).parent
SIZES = ({"points": 1000}, {"points": 300, "dimension": 40, "units": 20})


def sweeps(tau):
    grid, fixed = {"tau": tau, "delta": [-0.5, 0.5]}, {"learning_rate": 0.1, "steps": 50, "record": [0, 50]}
    return [Sweep(f"students/{size['points']}", students, grid, [0], fixed | size) for size in SIZES]


SCRIPT = """
import torch
from test_threads import run, sweeps

torch.set_num_threads(2)
for folder, tau in (("here", [0.1, 0.5]), ("both", [0.5])):
    for sweep in sweeps(tau):
        run(sweep, folder)
assert torch.get_num_threads() == 2
"""


def shards(folder):
    found = {path.relative_to(folder): xr.load_dataset(path, engine="scipy") for path in folder.rglob("*.nc")}
    return {
        path: [(name, one.values.tobytes(), one.dtype) for name, one in content.variables.items()]
        for path, content in found.items()
    }


def test_a_sweep_is_bitwise_the_same_here_on_workers_and_begun_here_but_ended_there(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (HERE, HERE.parents[1])))
    subprocess.run([sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, check=True, timeout=120)
    with cluster(workers=2):
        for folder in ("there", "both"):
            for sweep in sweeps([0.1, 0.5]):
                run(sweep, tmp_path / folder)
    here = shards(tmp_path / "here")
    assert len(here) == 8 and here == shards(tmp_path / "there") == shards(tmp_path / "both")


@pytest.fixture
def counts(monkeypatch):
    """Give torch and the environment two threads; return how to ask for all numbers."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield lambda: [int(count or 0) for count in (ask() for ask, _ in _settings())]
    torch.set_num_threads(before)


def test_numbers_of_threads_are_set_back_even_after_an_error(counts):
    before = counts()
    assert len(before) >= 5 and before.count(2) >= 2  # of the environment, torch, numba, the BLAS of NumPy and that of SciPy
    with pytest.raises(ZeroDivisionError), one_thread():
        assert set(counts()) == {1}
        _ = 1 / 0
    assert counts() == before


def test_tasks_in_hand_at_once_have_one_thread_until_the_last_one_ends(counts):
    before, meet = counts(), Barrier(2)

    def short():
        with one_thread():
            meet.wait(10)

    with one_thread():
        (other := Thread(target=short)).start()
        meet.wait(10)
        other.join()
        assert set(counts()) == {1}
    assert counts() == before
