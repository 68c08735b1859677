"""Stored results against today's code: compared, recorded,
replaced, and outdated where the code has changed.
"""

from dataclasses import replace

import numpy as np
import pytest
import small_runs as small
import xarray as xr

from lib.__main__ import main
from lib.runs import OutdatedResult, Run, grid, load
from lib.runs import freshness as fresh
from lib.runs.again import again, compare
from lib.runs.precompute import precompute


@pytest.fixture
def older(log):
    """A result of 12 cases of older code, whose numbers may be made to differ by a factor."""

    def older(factor=1.0):
        precompute(run := small.plane(log=str(log)))
        found = xr.load_dataset(run.path)
        found["height"] = found.height * factor
        found.attrs["code"] = "0123456789abcdef"
        found.to_netcdf(run.path, engine="scipy")
        for path in run.file_of(0).parent.glob("*"):
            path.unlink()
        return run

    return older


def state(run):
    return fresh.of_file(run.path).state


def test_a_result_of_older_code_is_outdated(older):
    precompute(small.plane())
    assert state(small.plane()) == fresh.CURRENT
    assert state(older()) == fresh.OUTDATED
    with pytest.raises(
        ValueError,
        match=r"^1 stored result is not of today's code: .*lib store --again topic/plane$",
    ):
        fresh.refuse_outdated(older().path.parents[2])


def test_a_sample_that_agrees_is_recorded_and_the_numbers_stay(older, log):
    run = older(1 + 1e-5)
    before, calls = load(run), len(small.calls(log))
    table = again(run, "cpu", cases=3)
    assert len(small.calls(log)) == calls + 3 and "3 of 12 stored cases" in table
    assert state(run) == fresh.VERIFIED and small.same(before, load(run))
    check = fresh.of_file(run.path).check
    assert 0 < check["difference"] < 1e-4 and check["chaotic"] == []
    assert len(check["cases"]) == 3 and check["device"].startswith("CPU") and check["blas"]
    assert (
        str(fresh.of_file(run.path))
        == f"verified on 3 of 12 cases, difference at most {check['difference']:.1g}"
    )


def test_a_result_that_differs_is_refused_and_replaced_on_request(older, log):
    run = older(1.02)
    said = r"(?s)height +largest difference of a number 0.\d+, .*, more than 0.01\n.*not the stored numbers: --replace"
    with pytest.raises(OutdatedResult, match=said):
        again(run, "cpu", cases=2)
    assert state(run) == fresh.OUTDATED
    calls = len(small.calls(log))
    again(run, "cpu", replace=True)
    assert len(small.calls(log)) == calls + 12
    assert state(run) == fresh.CURRENT
    precompute(whole := Run("topic/whole", small.wave, grid(**small.GRID)))
    np.testing.assert_array_equal(load(run).height, load(whole).height)


def test_code_that_changes_makes_a_verified_result_outdated(older, monkeypatch):
    again(run := older(), "cpu", cases=1)
    monkeypatch.setattr(fresh, "code", lambda name: "of tomorrow")
    assert state(run) == fresh.OUTDATED


def test_numbers_that_change_after_their_check_make_a_result_outdated(older):
    again(run := older(), "cpu", cases=1)
    found = xr.load_dataset(run.path)
    found.assign(height=1.5 * found.height).to_netcdf(run.path, engine="scipy")
    assert state(run) == fresh.OUTDATED


def test_whatever_lies_on_one_side_only_differs():
    labels = ["a", "b"]
    before = xr.Dataset(
        {"value": ("step", [1.0, np.nan]), "name": ("step", labels), "on": ("step", [True, False])}
    )
    before = before.assign_coords(step=[0, 1])
    for after, wanted in (
        (before, {"value": 0, "name": 0, "on": 0}),
        (before.assign(value=("step", [1.0, 2.0])), {"value": np.inf, "name": 0, "on": 0}),
        (
            before.assign(name=("step", ["a", "c"]), on=("step", [True, True])),
            {"value": 0, "name": np.inf, "on": 1},
        ),
    ):
        assert {
            one.variable: one.relative for one in compare(small.plane(), before, after)
        } == wanted
    fewer = {
        one.variable: one.within for one in compare(small.plane(), before, before.drop_vars("on"))
    }
    assert fewer == {"on": False, "value": True, "name": True}


def test_chaotic_variables_are_compared_in_mean_and_deviation():
    numbers = np.random.default_rng(0).standard_normal((2, 10_000))
    one, other = (xr.Dataset({"w": ("neuron", row)}) for row in numbers)
    run = replace(small.plane(), chaotic=("w",))
    found = [compare(run, one, after)[0] for after in (other, other + 0.2, 1.2 * other)]
    assert [difference.within for difference in found] == [True, False, False]
    assert not compare(small.plane(), one, other)[0].within


def test_the_command_compares_and_refuses_what_does_not_go_together(older, listed, capsys):
    listed(run := older(1.02))
    assert main(["store", "--again", "topic/plane", "--cases", "1", "--device", "cpu"]) == 1
    assert "--replace takes the new ones" in capsys.readouterr().err
    assert main(["store", "--again", "--replace", "--device", "cpu"]) == 0
    assert f"replaced: {run.path}" in capsys.readouterr().out
    for options in (
        ["--cases", "2"],
        ["--replace"],
        ["--again", "--plan"],
        ["--again", "--cases", "2", "--replace"],
    ):
        assert main(["store", *options]) == 2
    capsys.readouterr()
    assert main(["store", "--batch", "5"]) == 2
    assert capsys.readouterr().err.startswith(
        "lib store: --batch 5: topic/plane take one case in a call; "
    )


def test_a_run_without_a_result_says_how_to_compute_it():
    with pytest.raises(
        OutdatedResult, match="there is no result of topic/plane: python -m lib store topic/plane"
    ):
        again(small.plane(), "cpu")


def test_a_check_goes_on_after_an_interruption(older, log, monkeypatch):
    run = older()
    again(run, "cpu", cases=2)
    calls = len(small.calls(log))
    with monkeypatch.context() as stopped:
        stopped.setattr("lib.runs.again.compare", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            again(run, "cpu", cases=2)
    assert len(small.calls(log)) == calls + 2, "not those of the check before"
    again(run, "cpu", cases=2)
    assert len(small.calls(log)) == calls + 2, "those of the interrupted check"
