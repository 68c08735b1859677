"""Results: laid out over coordinates, grown, refused when outdated or spoilt."""

import re
import shutil

import numpy as np
import pytest
import small_runs as small
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import netcdf_file

from lib import runs
from lib.runs import OutdatedResult, Run, count, describe, dictionary, grid, load, named
from lib.runs.again import compare, recompute
from lib.runs.precompute import Progress, precompute

REMEDY = "compute it with: python -m lib store topic/plane"


def test_a_result_is_what_a_loop_finds():
    precompute(small.plane())
    found = load(small.plane())
    for case in small.plane().cases.arguments:
        one, wanted = found.sel(case), small.wave(**case)
        for name in ("height", "short", "number", "high"):
            np.testing.assert_array_equal(one[name], wanted[name])
    assert found.height.dims == ("tau", "delta", "seed", "step") and found.number.dims == (
        "tau",
        "delta",
        "seed",
    )
    assert found.height.attrs == {"units": "m"} and found.label.values.tolist() == [
        "first",
        "",
        "ü",
    ]
    assert [found[name].dtype.str for name in ("height", "short", "number", "high")] == [
        "<f8",
        "<f4",
        "<i4",
        "|b1",
    ]
    assert found.done.all() and count(found) == "12 of 12"
    assert describe(found).startswith("CPU (") and describe(found).endswith(
        "again: python -m lib store --again topic/plane"
    )


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(
    -(2**31), 2**31 - 1
)
TEXTS = st.text("abü", max_size=3)
VALUES = st.lists(NUMBERS, min_size=1, max_size=3, unique_by=float) | st.lists(
    TEXTS, min_size=1, max_size=3, unique=True
)


@settings(max_examples=12, deadline=None)
@given(
    values=st.dictionaries(
        st.sampled_from(["tau", "depth", "seed"]), VALUES, min_size=1, max_size=2
    ),
    part=st.integers(1, 3),
)
def test_every_case_lies_at_its_own_coordinates(values, part):
    run = Run("any/grid", small.echo, grid(**values))
    run.path.unlink(missing_ok=True)
    shutil.rmtree(run.file_of(0).parent, ignore_errors=True)
    for i in range(1, part + 1):  # in as many parts, in the wrong order
        precompute(run, part=(part + 1 - i, part))
    precompute(run)
    found = load(run)
    assert list(found.sizes) == list(values) and found.done.all()
    for name, chosen in values.items():
        assert found[name].values.tolist() == np.asarray(chosen).tolist()
        assert bool((found[f"{name}_"] == found[name]).all())


def test_cases_of_other_lengths_are_joined_by_their_labels():
    run = Run("topic/ragged", small.ragged, named("row", {"b": {"size": 3}, "a": {"size": 2}}))
    precompute(run)
    found = load(run)
    assert found.row.values.tolist() == ["b", "a"]
    np.testing.assert_array_equal(found.value, np.array([[0, 1, 2], [0, 1, np.nan]]) / 7)
    np.testing.assert_array_equal(found["count"], [[0, 1, 2], [0, 1, np.nan]])


@pytest.mark.parametrize("order", [[False, True], [True, False]])
def test_what_a_case_lacks_is_nan(order):
    run = Run("topic/biased", small.biased, grid(bias=order))
    precompute(run)
    assert load(run).value.values.tolist() == [1, 1]
    assert load(run).offset.sel(bias=True) == 2 and load(run).offset.sel(bias=False).isnull()
    before, progress = recompute(run, "cpu", cases=1)
    assert all(one.within for one in compare(run, before.sel(case=[0]), progress.joined()))


def test_it_grows_by_values_seeds_and_names(root, log):
    precompute(small.plane(values=small.GRID | {"seed": [1]}, log=str(log)))
    shutil.rmtree(root / "_build")  # a fresh clone
    larger = small.plane(
        values={"tau": [0.05, 0.1, 0.2, 0.3], "delta": [2.0, 1.0], "seed": [0, 1]}, log=str(log)
    )
    found = load(larger)
    assert count(found) == "6 of 16" and found.sizes["tau"] == 3
    precompute(larger)
    assert len(small.calls(log)) == len({*small.calls(log)}) == 16
    precompute(whole := Run("topic/whole", small.wave, larger.cases, {"log": str(log)}))
    assert small.same(load(larger), load(whole))


def test_a_part_is_readable_and_makes_no_number_up():
    precompute(run := small.plane(), part=(1, 5))
    progress = Progress(run, "cpu")
    progress.collect(progress.missing)
    progress.save()
    found = load(run)
    assert count(found) == "3 of 12"
    assert bool((found.height.isnull().all("step") == ~found.done).all()) and bool(
        (found.number.isnull() == ~found.done).all()
    )


def test_a_value_that_is_rounded_elsewhere_is_the_same(root, log):
    precompute(small.plane(log=str(log)))
    shutil.rmtree(root / "_build")
    precompute(
        small.plane(
            values=small.GRID | {"tau": [np.nextafter(value, 1) for value in small.GRID["tau"]]},
            log=str(log),
        )
    )
    assert len(small.calls(log)) == 12


def test_other_arguments_are_refused_and_computed_anew(log):
    precompute(small.plane())
    for other in (small.plane(log=str(log)), small.plane(small.low)):
        with pytest.raises(
            OutdatedResult,
            match=f"^the result of topic/plane was computed with other arguments .*; {REMEDY}$",
        ):
            load(other)
    precompute(other)
    assert (
        load(other).height.sel(tau=0.3, delta=2.0, seed=0).values[0]
        != load(other).height.sel(tau=0.3, delta=1.0, seed=0).values[0]
    )


def test_a_result_over_another_grid_is_refused():
    precompute(small.plane())
    said = r"has cases that topic/plane has no longer, seed 1: put them back, or delete the file$"
    for read in (load, precompute):
        with pytest.raises(OutdatedResult, match=said):
            read(small.plane(values=small.GRID | {"seed": [0, 2]}))


def test_what_is_missing_or_unknown_says_what_to_do(listed):
    with pytest.raises(OutdatedResult, match=f"^there is no result of topic/plane; {REMEDY}$"):
        load(small.plane())
    listed(small.plane())
    precompute(small.plane())
    assert small.same(runs.load("topic/plane"), load(small.plane()))
    with pytest.raises(
        ValueError,
        match=r"^no run is called 'topic/none'; there are topic/plane; a chapter lists its runs in "
        r"book/NAME/runs.py, as RUNS$",
    ):
        runs.load("topic/none")


DICTIONARY = """\
| variable | units | meaning |
|---|---|---|
| `height` | 1 | height Δ of the wave |
| `other/number` | 1 | of another run |
| `plane/number` | step | seven times the seed |
"""


def test_a_result_says_what_it_is(root):
    precompute(small.plane())
    before = load(small.plane())
    path = small.plane().path
    path.with_name("README.md").write_text(DICTIONARY, encoding="utf-8")
    path.write_bytes(dictionary.annotated(small.plane(), path.read_bytes()))
    with netcdf_file(path, mmap=False) as found:
        assert found.title.decode().startswith("topic/plane: Return numbers that belong to")
        assert found.license == b"CC-BY-4.0"
        assert re.fullmatch("[0-9a-f]{40}(-dirty)?|unknown", found.commit.decode())
    after = load(small.plane())
    assert after.height.attrs == {"units": "1", "long_name": "height Δ of the wave"}
    assert after.number.attrs == {"units": "step", "long_name": "seven times the seed"}
    assert small.same(before.drop_attrs(), after.drop_attrs())


def test_a_new_result_has_the_words_of_its_dictionary(root):
    folder = small.plane().path.parent
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(DICTIONARY, encoding="utf-8")
    precompute(small.plane())
    assert load(small.plane()).number.attrs["long_name"] == "seven times the seed"


def test_a_spoilt_result_is_refused_and_made_again(log):
    precompute(small.plane(log=str(log)))
    path = small.plane(log=str(log)).path
    whole, before = path.read_bytes(), load(small.plane(log=str(log)))
    for spoilt in (
        b"",
        b"CDF\x01",
        b"not a file",
        whole[::-1],
        whole[: len(whole) // 2],
        whole[:-17],
    ):
        path.write_bytes(spoilt)
        with pytest.raises(
            OutdatedResult, match=rf"plane.nc cannot be read \(.*\); delete it and {REMEDY}$"
        ):
            load(small.plane(log=str(log)))
    precompute(small.plane(log=str(log)))
    assert small.same(before, load(small.plane(log=str(log)))) and len(small.calls(log)) == 12
