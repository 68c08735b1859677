"""The paper profile on a small book: what it computes and reads, its budget, and its table."""

import json
import shutil
from pathlib import Path

import pytest
import small_book
import small_runs
import xarray as xr

from lib import claims, runs
from lib.__main__ import main
from lib.runs import Run, chapters, grid, profile, run
from lib.runs.precompute import precompute
from lib.site import paper

TESTS = Path(__file__).parents[1]
SETUP = """\
from pathlib import Path
import small_runs
from lib.runs import Run, chapters, grid, run
run.ROOT = Path(__file__).parent
chapters.listed = lambda: [Run("one/rests", small_runs.rests, grid(seed=range(6)), {"seconds": SECONDS})]
"""
CELLS = (
    """\
import small_setup
from lib import bounds, claims, runs
here = runs.at(profile, device)""",
    """\
count = here.choose(quick=2, paper=5)
few = bounds.near(4, 3)
claims.check("NAME/live", "some are counted", measure="a number", source="p. 1", measured=count, expected=few)""",
    """\
kept = runs.load("one/rests")
claims.check("NAME/most", "none is large", measure="a number", source="p. 2", measured=float(kept.value.max()), expected=bounds.at_most(6))""",
    "print(kept.value.values.tolist(), here.device)",
)


def rests(seconds):
    return Run("one/rests", small_runs.rests, grid(seed=range(6)), {"seconds": seconds})


def enter(root, seconds, monkeypatch):
    """Make a book's root the place where commands work, whose cases take some seconds."""
    (root / "small_setup.py").write_text(SETUP.replace("SECONDS", str(seconds)))
    monkeypatch.chdir(root)
    monkeypatch.setenv("PYTHONPATH", f"{root}:{TESTS}")
    monkeypatch.setattr(run, "ROOT", root)
    monkeypatch.setattr(chapters, "listed", lambda: [rests(seconds)])


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A book of two chapters, executed at quick, whose stored run says that all values are 1."""
    root = small_book.write(tmp_path_factory.mktemp("executed") / "book", *CELLS)
    with pytest.MonkeyPatch.context() as monkeypatch:
        enter(root, 0.0, monkeypatch)
        stored = rests(0.0)
        precompute(stored)
        found = xr.load_dataset(stored.path)
        found["value"] = found.value * 0 + 1
        found.to_netcdf(stored.path, engine="scipy")
        shutil.rmtree(root / "_build")
        assert execute() == 0
    return root


@pytest.fixture
def book(executed, tmp_path, monkeypatch):
    """A copy of that book, for which cases may take longer."""
    monkeypatch.setattr(claims, "insist", True)  # what the paper profile sets ends with the test

    def book(seconds=0.0):
        root = shutil.copytree(executed, tmp_path / "book")
        enter(root, seconds, monkeypatch)
        listed = rests(seconds)
        settings = json.dumps(listed.settings())
        found = xr.load_dataset(listed.path).assign_attrs(settings=settings)
        found.to_netcdf(listed.path, engine="scipy")
        return root

    yield book
    profile._here = profile.Here()


def execute(*arguments):
    return main(["run", "--device", "cpu", "--jobs", "1", *arguments])


def records(root, folder, chapter="one"):
    notebook = json.loads((root / folder / f"{chapter}.ipynb").read_text())
    printed = [
        output["text"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "text" in output
    ]
    return {record["id"]: record for record in claims.collect(notebook)}, printed


def test_quick_reads_what_is_stored_and_paper_computes_all(book, capsys):
    root = book()
    committed = (root / "book" / "one.ipynb").read_bytes()
    capsys.readouterr()
    assert execute("--profile", "paper") == 0
    said = capsys.readouterr().out
    (quick, printed), (here, computed) = records(root, "book"), records(root, "_build/paper")
    assert [quick[name]["measured"] for name in ("one/live", "one/most")] == [2, 1]
    assert [here[name]["measured"] for name in ("one/live", "one/most")] == [5, 5]
    assert printed == [["[1.0, 1.0, 1.0, 1.0, 1.0, 1.0] cpu\n"]]
    assert computed == [["[0.0, 1.0, 2.0, 3.0, 4.0, 5.0] cpu\n"]]
    assert (root / "book" / "one.ipynb").read_bytes() == committed
    assert "one/rests" in said.split("left on")[0] and "1 of      6 cases done" in said, (
        "the first was measured for the plan"
    )
    assert "4 claims, 0 with another verdict, 0 whose run is incomplete" in said
    table = json.loads((root / "_build" / "paper" / paper.TABLE).read_text())
    assert [row["id"] for row in table] == ["one/live", "one/most", "two/live", "two/most"]
    assert not any(row["changed"] for row in table)


def test_a_claim_nobody_can_decide_has_no_incomplete_run():
    def notebook(measured, why):
        verdict = claims.NOT_DECIDED
        claim = claims.Claim(
            "one/open", "it is small", "share", "p. 1", measured, -1, 1, verdict, why=why
        )
        return {"cells": [{"outputs": [{"metadata": claim._repr_mimebundle_()[1]}]}]}

    (row,) = paper.compare(notebook(2.5, "a rival has 3.5"), notebook(2.4, "a rival has 3.6"))
    assert (row.here, row.found, row.why, row.changed) == ("2.4", "not decided", "", False)


def test_claims_of_incomplete_runs_are_not_decided(book, capsys):
    root = book(seconds=0.5)
    assert execute("one", "--profile", "paper", "--budget", "2s") == 0
    said = capsys.readouterr().out
    here, printed = records(root, "_build/paper")
    assert "time is up; what was finished is kept" in said
    assert (
        here["one/live"]["verdict"] == "reproduced" and here["one/most"]["verdict"] == "not decided"
    )
    (row,) = [
        row
        for row in json.loads((root / "_build" / "paper" / paper.TABLE).read_text())
        if row["id"] == "one/most"
    ]
    done = int(row["why"].split()[1])
    assert row["why"] == f"one/rests: {done} of 6 cases" and 1 <= done < 6
    assert "2 claims, 0 with another verdict, 1 whose run is incomplete" in said and not printed
    assert execute("one", "--profile", "paper") == 0
    assert f"{done} of      6 cases done" in capsys.readouterr().out, "it goes on"
    assert records(root, "_build/paper")[0]["one/most"]["measured"] == 5


def test_a_run_whose_first_case_fails_leaves_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    bad = Run("one/bad", small_runs.spoils, grid(seed=[1, 0]), {"how": "no dataset"})
    good = Run("one/good", small_runs.rests, grid(seed=range(2)), {"seconds": 0.0})
    monkeypatch.setattr(chapters, "listed", lambda: [bad, good])
    assert paper.compute([bad.name, good.name], "cpu", 1, None) == {
        "one/bad": f"1 of 2 cases{paper.FAILED}"
    }
    assert "one/bad, seed=1" in capsys.readouterr().out


def test_a_case_longer_than_the_budget_waits_for_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    slow, fast = (
        Run(f"one/{name}", small_runs.rests, grid(seed=range(3)), {"seconds": seconds})
        for name, seconds in (("slow", 30.0), ("fast", 0.0))
    )
    precompute(Run(slow.name, slow.function, slow.cases, {"seconds": 0.0}))
    found = xr.load_dataset(slow.path).assign_attrs(seconds=90.0)
    found.to_netcdf(slow.path, engine="scipy")
    monkeypatch.setattr(chapters, "listed", lambda: [slow, fast])
    assert paper.compute([slow.name, fast.name], "cpu", 1, 2.0) == {"one/slow": "0 of 3 cases"}


def test_a_verdict_that_changes_comes_first_and_ends_with_1(book, capsys):
    root = book()
    path = root / "book" / "one.md"
    path.write_text(path.read_text().replace("at_most(6)", "at_most(3)"))
    assert execute("one") == 0
    assert execute("one", "--profile", "paper") == 1
    table = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert table[1].split() == ["one/most", "1", "5", "reproduced", "→", "not", "reproduced"]
    assert table[-1] == "2 claims, 1 with another verdict, 0 whose run is incomplete"


def test_a_budget_belongs_to_the_paper_profile(capsys):
    assert main(["run", "--budget", "1h"]) == 2
    assert "--budget goes with --profile paper" in capsys.readouterr().err


def test_at_refuses_other_profiles_and_chooses():
    with pytest.raises(ValueError, match="profile is 'large': want one of quick, paper"):
        runs.at("large", "cpu")
    assert runs.at("quick", "cpu").choose(quick=1, paper=2) == 1
