"""Sweeps: labels, shards that are kept and resumed, what is spoilt or malformed."""

import errno
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import psutil
import pytest
import sweep_functions as functions
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from lib import progress, provenance
from lib.sweeps import Sweep, run
from lib.sweeps import shards as shards_module
from lib.sweeps.workers import TaskError

HERE = Path(__file__).parent

GRID = {"tau": [0.1, 0.2, 0.3], "delta": [1.0, 2.0]}


def sweep(function=functions.wave, grid=GRID, seeds=(0, 1), name="topic/plane", **fixed):
    return Sweep(name, function, grid, seeds, fixed)


def shards(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def calls(log):
    return sorted(path.name.rsplit("-", 1)[0] for path in Path(log).iterdir())


ALL = sorted(f"{tau}-{delta}-{seed}" for tau in GRID["tau"] for delta in GRID["delta"] for seed in (0, 1))


def same(one, other):
    """Compare bitwise: values, types, labels and attributes."""
    one, other = one.drop_vars("process"), other.drop_vars("process")
    assert one.identical(other)
    for name in one.variables:
        assert one[name].dtype == other[name].dtype and one[name].values.tobytes() == other[name].values.tobytes(), name
    return True


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.mkdir()
    return path


# what comes out


def test_the_result_is_labelled_and_keeps_types_and_attributes(tmp_path):
    found = run(sweep(), tmp_path)
    assert dict(found.sizes) == {"tau": 3, "delta": 2, "seed": 2, "step": 3}
    assert found.height.dims == ("tau", "delta", "seed", "step") and found.number.dims == ("tau", "delta", "seed")
    for at in ({"tau": 0.3, "delta": 2.0, "seed": 1}, {"tau": 0.1, "delta": 1.0, "seed": 0}):
        expected = functions.wave(*(np.array([value]) for value in at.values())).isel(member=0)
        np.testing.assert_array_equal(found.height.sel(at), expected.height)
    assert [found[name].dtype.str for name in ("height", "short", "number", "high")] == ["<f8", "<f4", "<i8", "|b1"]
    assert found.height.attrs == {"units": "m"} and found.label.values.tolist() == ["first", "", "ü"]
    assert set(found.coords) == {"tau", "delta", "seed", "step", "label"}


def coordinates(**arguments):
    """Return what was asked for."""
    return xr.Dataset({f"{name}_": ("member", values) for name, values in arguments.items()})


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**31), 2**31 - 1)
VALUES = (
    st.lists(NUMBERS, min_size=1, max_size=3, unique_by=float)
    | st.lists(st.text("abü", max_size=3), min_size=1, max_size=3, unique=True)
    | st.lists(st.booleans(), min_size=1, max_size=2, unique=True)
)


@given(
    grid=st.dictionaries(st.sampled_from(["tau", "delta", "depth", "rate"]), VALUES, max_size=3),
    seeds=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3, unique=True),
    size=st.integers(1, 40),
)
def test_every_member_gets_its_own_coordinates_and_label(tmp_path_factory, grid, seeds, size):
    folder = tmp_path_factory.mktemp("grid")
    for _ in range(2):  # computed, then read
        found = run(Sweep("any/grid", coordinates, grid, seeds), folder, shard_size=size)
        assert list(found.coords) == [*grid, "seed"] and found.seed.values.tolist() == list(seeds)
        for name, values in found.coords.items():
            assert found[f"{name}_"].dims == (*grid, "seed")
            assert bool((found[f"{name}_"] == values).all())
        for name, values in grid.items():
            assert found[name].values.tolist() == list(values)


@pytest.mark.parametrize("size", [3, 5, 12, 100])
def test_the_shard_size_does_not_matter(tmp_path, log, size):
    one = run(sweep(log=str(log)), tmp_path / "shards")
    assert len(shards(tmp_path / "shards")) == 12
    assert same(one, run(sweep(log=str(log)), tmp_path / "shards", shard_size=size))
    assert calls(log) == sorted(2 * ALL)  # a shard of another size is another computation


def test_not_a_number_keeps_its_bits(tmp_path):
    one, two = run(Sweep("a/b", odd, {}, [1, 2]), tmp_path), run(Sweep("a/b", odd, {}, [1, 2]), tmp_path)
    bits = one.value.values.view(np.uint64)
    np.testing.assert_array_equal(bits, two.value.values.view(np.uint64))
    assert bits.tolist() == [0xFFF8000000000001] * 2


def odd(seed):
    return xr.Dataset({"value": ("member", np.full(len(seed), 0xFFF8000000000001, np.uint64).view(float))})


# what is kept


def test_what_is_finished_is_not_computed_again(tmp_path, log):
    one = run(sweep(log=str(log)), tmp_path / "shards", shard_size=5)
    before = [path.stat().st_mtime_ns for path in shards(tmp_path / "shards")]
    assert same(one, run(sweep(log=str(log)), tmp_path / "shards", shard_size=5)) and calls(log) == ALL
    assert [path.stat().st_mtime_ns for path in shards(tmp_path / "shards")] == before and len(before) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": 2},
        {"grid": GRID | {"delta": [1.0, 2.5]}},
        {"seeds": [0, 5]},
        {"function": functions.low},
    ],
    ids=["fixed", "grid", "seeds", "function"],
)
def test_other_settings_are_computed_and_the_old_shards_kept(tmp_path, log, changed):
    one = run(sweep(log=str(log)), tmp_path / "shards", shard_size=12)
    two = run(sweep(**{"log": str(log)} | changed), tmp_path / "shards", shard_size=12)
    assert len(calls(log)) == 24 and not one.equals(two)
    assert same(one, run(sweep(log=str(log)), tmp_path / "shards", shard_size=12)) and len(calls(log)) == 24


def test_a_larger_grid_computes_what_is_new(tmp_path, log):
    run(sweep(log=str(log)), tmp_path / "shards")
    found = run(sweep(log=str(log), seeds=[1, 2, 0]), tmp_path / "shards")
    assert calls(log) == sorted(ALL + [member[:-1] + "2" for member in ALL if member.endswith("0")])
    assert found.number.values[0, 0].tolist() == [7, 14, 0]


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def bare(data):
    """Read a shard without its header, in which the seconds are."""
    return xr.load_dataset(BytesIO(data), engine="scipy").drop_attrs(deep=False).drop_vars("process")


@pytest.mark.fault("truncated NetCDF", "a sweep's shard, cut, altered, exchanged", "the other shards; this one is computed anew")
def test_a_spoilt_shard_is_computed_again(tmp_path, log, capfd, record_property):
    one = run(sweep(log=str(log)), tmp_path / "shards", shard_size=6)
    first, second = shards(tmp_path / "shards")
    whole = first.read_bytes()
    other = shards(tmp_path / "other") if run(sweep(), tmp_path / "other", shard_size=6) else ()
    height = one.height.values.astype(">f8")
    where = next(at for at in (whole.find(height[0, 0, 0].tobytes()), whole.find(height[2, 0, 0].tobytes())) if at > 0)
    spoilt = [b"", b"CDF\x02", b"not a file", whole[:-1], whole[: len(whole) // 2], whole[::-1], flip(whole, where)]
    spoilt += [second.read_bytes(), other[0].read_bytes(), whole.replace(b"height", b"weight"), whole.replace(b'"m"', b'"k"')]
    for number, data in enumerate(spoilt):
        assert data != whole
        first.write_bytes(data)
        capfd.readouterr()
        assert same(one, run(sweep(log=str(log)), tmp_path / "shards", shard_size=6)), number
        error = capfd.readouterr().err
        assert error.startswith(f"{first} cannot be used (") and error.endswith("): computed anew\n") and error.count("\n") == 1
        assert bare(first.read_bytes()).identical(bare(whole)) and len(calls(log)) == 12 + 6 * (number + 1)
    record_property("said", error.strip())


def test_no_flipped_byte_goes_unnoticed_or_matters(tmp_path, log, capfd):
    one = run(sweep(log=str(log)), tmp_path / "shards", shard_size=12)
    (path,) = shards(tmp_path / "shards")
    whole = path.read_bytes()
    for at in range(0, len(whole), 29):
        path.write_bytes(flip(whole, at))
        assert same(one, run(sweep(log=str(log)), tmp_path / "shards", shard_size=12)), at


@pytest.mark.fault("full disk", "a sweep, at its fifth shard", "four shards, nothing half-written; started again, it goes on")
def test_a_full_disk_is_one_clear_error_and_leaves_nothing_half_written(tmp_path, log, monkeypatch):
    write, written = Path.write_bytes, []

    def full(path, data):
        if len(written) == 4:
            write(path, data[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(
        OSError, match=r"to .*topic/plane: No space left on device; finished shards are kept; free some"
    ) as caught:
        run(sweep(log=str(log)), tmp_path / "shards")
    assert caught.value.errno == errno.ENOSPC and str(tmp_path / "shards/topic/plane") in str(caught.value)
    assert len(shards(tmp_path / "shards")) == 4 and all(path.suffix == ".nc" for path in shards(tmp_path / "shards"))
    monkeypatch.undo()
    assert same(run(sweep(log=str(log)), tmp_path / "shards"), run(sweep(), tmp_path / "whole"))
    assert len(calls(log)) == 13  # the shard that found no room, again


def test_a_shard_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    write = Path.write_bytes

    def killed(path, data):
        write(path, data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        run(sweep(), tmp_path)
    assert shards(tmp_path) == []


def test_what_a_killed_run_left_half_written_is_removed_in_time(tmp_path):
    folder = tmp_path / "topic" / "plane"
    folder.mkdir(parents=True)
    old, new = (folder / f".{name}.partial" for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 4000, time.time() - 4000))
    run(sweep(), tmp_path)
    assert not old.exists() and new in shards(tmp_path)  # the new one may be in the hands of another run


SCRIPT = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(HERE)!r})
import sweep_functions
from lib import sweeps

def main(folder, log, hold, count):
    grid = {GRID!r}
    with sweeps.cluster(int(count) or None):
        sweeps.run(sweeps.Sweep("topic/plane", sweep_functions.wave, grid, [0, 1], {{"log": log, "hold": hold}}), folder)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (HERE.parent, HERE.parents[1])))}


def wait_for(condition, seconds=300):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path, log):
    """Start a sweep in another process; its members with tau .2 and delta 2 wait for the file `hold` to go."""
    (script := tmp_path / "script.py").write_text(SCRIPT)
    (hold := tmp_path / "hold").touch()
    started = []

    def start(count=0):
        started.append(subprocess.Popen([sys.executable, script, tmp_path / "shards", log, hold, str(count)], env=ENVIRONMENT))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.fault(
    "kill -9", "a sweep, in one process and with two workers", "finished shards; started again, it goes on to the same bits"
)
@pytest.mark.parametrize("count", [0, 2], ids=["here", "workers"])
def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path, log, start, count):
    killed, hold = start(count), tmp_path / "hold"
    wait_for(lambda: len(list((tmp_path / "shards").rglob("*.nc"))) >= 6 and {"0.2-2.0-0", "0.2-2.0-1"} & set(calls(log)))
    family = psutil.Process(killed.pid).children(recursive=True)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in shards(tmp_path / "shards") if path.suffix == ".nc"}
    hold.unlink()
    psutil.wait_procs(family, timeout=300)  # workers end when they see that they are alone
    assert 6 <= len(kept) <= 11 and start(count).wait(300) == 0
    assert all(path.stat().st_mtime_ns == modified for path, modified in kept.items())
    again = calls(log)
    assert sorted(set(again)) == ALL and sum(again.count(member) == 1 for member in ALL) >= len(kept)
    found = run(sweep(log=str(log), hold=str(hold)), tmp_path / "shards")
    assert same(found, run(sweep(), tmp_path / "whole")) and len(calls(log)) == len(again)


@pytest.mark.fault("two at once", "one sweep in one folder, twice", "both end well, in the same bits")
def test_two_runs_at_once_share_a_folder(tmp_path, log, start):
    both, hold = [start(), start()], tmp_path / "hold"
    wait_for(lambda: calls(log).count("0.2-2.0-0") == 2)  # both have the same shard in hand
    hold.unlink()
    assert [process.wait(300) for process in both] == [0, 0]
    assert len(shards(tmp_path / "shards")) == 12
    found = run(sweep(log=str(log), hold=str(hold)), tmp_path / "shards")
    assert same(found, run(sweep(), tmp_path / "whole"))


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
"""


@pytest.mark.fault("full disk", "a sweep that may write no file of more than 400 bytes", "nothing half-written")
def test_a_file_that_the_system_refuses_is_one_clear_error(tmp_path, log, record_property):
    (script := tmp_path / "script.py").write_text(LIMITED + SCRIPT)
    command = [sys.executable, script, tmp_path / "shards", log, tmp_path / "hold", "0"]
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    folder = tmp_path / "shards/topic/plane"
    last = f"OSError: [Errno {errno.EFBIG}] a shard cannot be written to {folder}: {os.strerror(errno.EFBIG)}; finished"
    assert found.stderr.splitlines()[-1].startswith(last), found.stderr
    assert shards(tmp_path / "shards") == []
    record_property("said", found.stderr.splitlines()[-1])


@pytest.mark.fault("clock", "a sweep's shards dated 1970, and 2100", "every shard, as it was: dates do not matter")
@pytest.mark.parametrize("year", [1970, 2100])
def test_the_date_of_a_shard_does_not_matter(tmp_path, log, year):
    one = run(sweep(log=str(log)), tmp_path / "shards")
    for path in shards(tmp_path / "shards"):
        os.utime(path, 2 * ((year - 1970) * 365.25 * 86400,))
    assert same(one, run(sweep(log=str(log)), tmp_path / "shards")) and calls(log) == ALL


# what is refused


def test_an_error_of_the_function_names_the_shard_and_keeps_the_others(tmp_path, log):
    with pytest.raises(
        TaskError, match=r"^topic/plane, shard tau=0.2, delta=1.0, seed=1: RuntimeError: the power is gone$"
    ) as caught:
        run(sweep(functions.fails, log=str(log)), tmp_path / "shards")
    assert isinstance(caught.value.__cause__, RuntimeError) and len(shards(tmp_path / "shards")) == 5
    with pytest.raises(TaskError, match=r"shard tau=0.1, delta=2.0, seed=1 to tau=0.2, delta=1.0, seed=1 \(3 members\): Runtime"):
        run(sweep(functions.fails, log=str(log)), tmp_path / "more", shard_size=3)


def test_errors_may_be_collected(tmp_path, log):
    with pytest.raises(TaskError) as caught:
        run(sweep(functions.fails, log=str(log), seeds=[1, 2]), tmp_path / "shards", errors="collect")
    first, *said = str(caught.value).splitlines()
    assert first == "2 of 12 failed, the others are kept:" and len(shards(tmp_path / "shards")) == 10
    place = "  topic/plane, shard tau=0.2, delta={}, seed=1: RuntimeError: the power is gone"
    assert said == [place.format(1.0), place.format(2.0)]
    with pytest.raises(TaskError, match=r"^topic/plane, shard .* \(12 members\): RuntimeError: the power is gone$"):
        run(sweep(functions.fails, log=str(log)), tmp_path / "one", shard_size=12, errors="collect")


MODULE = '''
"""What a sweep calls."""
import numpy as np
import xarray as xr
from lib.kernels import kernel_distance

FACTOR = 2
OTHER = 3
RUNS = [FACTOR]


def twice(seed):
    return xr.Dataset({"value": ("member", scaled(seed))})


def scaled(seed):
    """Scale."""
    return FACTOR * seed  # a comment


def unused(seed):
    return kernel_distance(seed, seed)
'''
CHANGES = {
    "nothing": ("", "", False),
    "a constant": ("FACTOR = 2", "FACTOR = 5", True),
    "a formula": ("* seed", "+ seed", True),
    "a comment": ("a comment", "another", False),
    "a docstring": ("Scale.", "Multiply.", False),
    "an import": ("import numpy as np", "import numpy", False),
    "what is not used": ("OTHER = 3", "OTHER = 4", False),
    "another function": ("(seed, seed)", "(seed, 2 * seed)", False),
    "a list of runs": ("[FACTOR]", "[FACTOR, OTHER]", False),
    "what is done on import": ("RUNS =", "np.seterr(under='ignore')\nRUNS =", True),
}


@pytest.mark.parametrize(("old", "new", "anew"), CHANGES.values(), ids=CHANGES)
def test_a_shard_is_computed_anew_if_its_code_does_something_else(tmp_path, monkeypatch, old, new, anew):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number, text in enumerate([MODULE, MODULE.replace(old, new)]):
        (tmp_path / "swept.py").write_text(f"{text}# {number}")
        for cached in (provenance._reached, provenance._Source.of):
            cached.cache_clear() if hasattr(cached, "cache_clear") else cached.__func__.cache_clear()
        sys.modules.pop("swept", None)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        run(Sweep("any/code", importlib.import_module("swept").twice, {}, [1, 2]), tmp_path / "shards")
        found.append(len(shards(tmp_path / "shards")))
    monkeypatch.delitem(sys.modules, "swept")
    assert found == [2, 4 if anew else 2]


def test_shards_carry_where_they_come_from(tmp_path):
    run(sweep(), tmp_path, shard_size=5)
    for path in shards(tmp_path):
        made = json.loads(xr.load_dataset(path, engine="scipy").attrs["made"])
        assert made["seconds"] > 0 and made["device"].startswith("CPU (") and "numpy 2" in made["versions"]
        assert made["code"] == provenance.code(functions.wave)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no dataset", "the function returned DataArray: want a Dataset"),
        ("empty", "the function returned no variables"),
        ("one too few", "the function returned 2 members for 3"),
        ("no member", "mean: want variables whose first dimension is member"),
        ("member last", "height, short: want variables whose first dimension is member"),
        ("labels itself", "tau: the sweep labels these itself; leave them out"),
        ("own dimension", "delta: the sweep labels these itself; leave them out"),
        ("objects", "thing: want numbers, booleans or texts"),
        ("large", r"what the function returned cannot be kept as NetCDF \(.*int64.*\)"),
        ("attribute", r"what the function returned cannot be kept as NetCDF \(.*set.*\)"),
        *[("other variable", "more: other"), ("missing variable", "short: other"), ("other type", "short: other")],
        *[("other coordinate", "step: other"), ("other label", "label: other"), ("other unit", "height: other")],
        ("other size", "height, label, short, step: other dimensions, sizes, type, values or attributes than in another shard"),
    ],
)
def test_what_is_malformed_is_refused_by_name(tmp_path, how, message):
    with pytest.raises(ValueError, match=rf"^topic/plane, shard tau=0.1, delta=2.0, seed=1 to .* \(3 members\): {message}"):
        run(sweep(functions.spoils, how=how), tmp_path, shard_size=3)
    assert len(shards(tmp_path)) == 1


def test_old_shards_that_do_not_fit_with_new_ones_are_refused(tmp_path):
    def changed(**arguments):
        return functions.low(log=None, **arguments).rename(height="depth")

    changed.__module__, changed.__qualname__ = functions.wave.__module__, functions.wave.__qualname__
    first, second, both = ({"tau": tau, "delta": [1.0]} for tau in ([0.1], [0.2], [0.1, 0.2]))
    message = rf"shard tau=0.2, .*depth, height: .*; if the function has changed, delete {tmp_path}/topic/plane"
    run(sweep(grid=first), tmp_path)
    with pytest.raises(ValueError, match=message):  # one is there, one is made
        run(sweep(changed, grid=both), tmp_path)
    run(sweep(changed, grid=second), tmp_path)
    with pytest.raises(ValueError, match=message):  # both are there
        run(sweep(changed, grid=both), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {"tau": []}}, r"tau is \[\]: want at least one value, finite numbers or texts, each once"),
        ({"grid": {"tau": [1, 1.0]}}, r"tau is \[1.0, 1.0\]: want at least one value"),
        ({"grid": {"tau": [[1]]}}, r"tau is \[\[1\]\]: want"),
        ({"grid": {"tau": 1.0}}, r"tau is 1.0: want"),
        ({"grid": {"tau": [None]}}, r"tau is \[None\]: want"),
        ({"grid": {"tau": [1, float("inf")]}}, r"tau is \[1.0, inf\]: want .* finite numbers"),
        ({"seeds": [0.5]}, r"seeds is \[0.5\]: want at least one value, whole numbers"),
        ({"grid": {"seed": [1]}}, "seed: want each name once among grid, fixed, seed and member"),
        ({"grid": {"member": [1]}}, "member: want each name once"),
        ({"tau": 1}, "tau: want each name once"),
        ({"thing": object()}, "fixed: want numbers, texts, and lists and mappings of these"),
        ({"function": lambda: None}, "has no name that a worker could find: want a function from a module's top level"),
        ({"function": object()}, "has no name"),
        ({"name": "../plane"}, "want topic/experiment"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_sweep_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        sweep(**change)


def greedy(seed, places):
    seed += 100
    places.append(1)
    return xr.Dataset({"value": ("member", seed), "places": ("member", np.full(len(seed), len(places)))})


def test_a_function_may_change_its_arguments(tmp_path):
    for _ in range(2):
        found = run(Sweep("a/b", greedy, {}, [0, 1, 2], {"places": []}), tmp_path)
        assert found.value.values.tolist() == [100, 101, 102] and found.places.values.tolist() == [1, 1, 1]
    assert len(shards(tmp_path)) == 3


# progress, and what is needed


def test_progress_counts_members_and_not_what_was_there(tmp_path, monkeypatch, capfd):
    seen = []

    def bar(total, name, unit, *, initial=0, show=True):
        seen.append((total, name, unit, initial, show))
        return progress.Lines(total, name, unit, initial)

    monkeypatch.setattr(shards_module.progress, "bar", bar)
    run(sweep(grid=GRID | {"tau": [0.1]}), tmp_path)
    run(sweep(), tmp_path, progress=False)
    finished = "topic/plane, finished shards"
    assert seen[:2] == [(4, finished, "shard", 0, True), (4, "topic/plane", "member", 0, True)]
    assert seen[2:] == [(12, finished, "shard", 0, False), (12, "topic/plane", "member", 4, False)]
    assert capfd.readouterr().err == ""  # nothing in the first minute


BARE = """
import sys
absent = ["torch", "dask", "distributed", "cloudpickle", "matplotlib", "numba"]
sys.modules.update(dict.fromkeys(absent))
import tempfile, numpy as np, xarray as xr
from lib import sweeps

def double(seed):
    return xr.Dataset({"value": ("member", 2 * seed)})

found = sweeps.run(sweeps.Sweep("a/b", double, {}, range(3)), tempfile.mkdtemp())
print(found.value.values.tolist())
"""


def test_a_bare_machine_suffices_without_workers():
    command = [sys.executable, "-c", BARE]
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert found.stdout == "[0, 2, 4]\n", found.stderr
