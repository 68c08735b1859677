"""The stored results are of today's code: all by their fingerprints,
and a case of each cheap function's cheapest run by its numbers.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
import xarray as xr
import yaml

from lib.runs import dictionary, freshness, listed
from lib.runs.again import AGAIN, compare, recompute

ROOT = Path(__file__).parents[1]
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
RUNS = listed()
CHEAP = 60  # seconds of a case
# These do not call the training loop, or only after long preparations.
OWN_LOOP = (
    "localization/entropy",
    "localization/predicted",
    "localization/tiles",
    "piecewise_linear/authors_teachers",
    "practice/photographs",
)


def seconds(run):
    """Return what a case takes: the first, if it was computed again, or else the mean."""
    with xr.open_dataset(run.path) as found:
        check = json.loads(found.attrs.get("verified", "{}"))
        return check.get("seconds", found.attrs["seconds"] / found.sizes["case"])


def cheapest():
    """Return the cheapest run of each function, the code being the same in all, if it is cheap."""
    found = {}
    for run in sorted(RUNS, key=seconds, reverse=True):
        found[run.function] = run
    return [run for run in RUNS if run in found.values() and seconds(run) < CHEAP]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_stored_result_is_current_or_verified(run):
    state = freshness.of_file(run.path).state
    assert state in (freshness.CURRENT, freshness.VERIFIED), (
        f"python -m lib store --again {run.name}"
    )


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_stored_result_says_what_it_is(run):
    again = f".venv/bin/python -m lib store --again {run.name} --cases 1"
    remedy = f"complete results/README.md, then {again}"
    with xr.open_dataset(run.path, engine="scipy") as found:
        assert found.attrs["title"] == dictionary.title(run), remedy
        assert found.attrs["license"] == CFF["preferred-citation"]["license"]
        commits = found.attrs["commit"].split("; ")
        assert all(re.fullmatch("[0-9a-f]{40}(-dirty)?|unknown", commit) for commit in commits)
        known = dictionary.meanings(run)
        for name, one in found.variables.items():
            said = one.attrs.get("units"), one.attrs.get("long_name")
            assert said == known.get(name), (name, remedy)


@pytest.mark.parametrize("chapter", sorted({run.chapter for run in RUNS}))
def test_a_dictionary_has_no_other_variables(chapter):
    path = ROOT / "book" / chapter / "results" / "README.md"
    assert path.is_file(), f"{path} is missing: a table of variables, as another chapter has"
    text = path.read_text(encoding="utf-8")
    named = [name for name, *_ in dictionary.ROW.findall(text)]
    assert len(named) == len(set(named)) == text.count("\n| `")
    found = set()
    for run in RUNS:
        if run.chapter == chapter:
            with xr.open_dataset(run.path, engine="scipy") as result:
                names = set(result.variables)
            own = {f"{run.path.stem}/{name}" for name in names} & set(named)
            found |= own | {name for name in names if f"{run.path.stem}/{name}" not in own}
    assert found == set(named)


@pytest.mark.slow
@pytest.mark.parametrize("run", cheapest(), ids=lambda run: run.name)
def test_a_case_has_the_stored_numbers(run):
    shutil.rmtree(
        run.file_of(0, folder=AGAIN).parent, ignore_errors=True
    )  # what an earlier test has computed
    before, progress = recompute(run, "cpu", cases=1)
    found = progress.joined()
    differences = compare(run, before.sel(case=found.case), found)
    assert all(one.within for one in differences), "\n".join(map(str, differences))


class Trains(Exception):
    """Raised where a run would begin to train."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", [run for run in RUNS if run.name not in OWN_LOOP], ids=lambda run: run.name
)
def test_a_run_can_be_computed_with_its_own_arguments(run, monkeypatch):
    def trains(*_, **__):
        raise Trains

    monkeypatch.setattr("lib.training.loop._run", trains)
    with pytest.raises(Trains):
        run.function(**run.fixed, **run.arguments([0]), device="cpu")
