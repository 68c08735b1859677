"""What a run is: its cases, what its results depend on, its scale."""

import re
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import small_runs as small
from hypothesis import given
from hypothesis import strategies as st

from lib.runs import Run, chapters, grid, listed, named


@dataclass(frozen=True)
class Setting:
    rate: float = 0.5
    name: str = "σ"


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_grid_has_each_combination_once(sizes):
    cases = grid(**{f"x{i}": range(n) for i, n in enumerate(sizes)})
    points = [tuple(case.values()) for case in cases.arguments]
    assert cases.shape == tuple(sizes) and len(cases) == len({*points}) == np.prod(sizes)
    assert points == sorted(points, key=lambda point: point[::-1])
    for number in range(len(cases)):
        assert cases.label(number) == ", ".join(
            f"{name}={value}" for name, value in cases.arguments[number].items()
        )


@pytest.mark.parametrize("values", [[], [1, 1], [np.nan], [None]])
def test_values_that_cannot_name_cases_are_refused(values):
    with pytest.raises(
        ValueError,
        match=r"^tau is .*: want at least one value, finite numbers or texts, each once$",
    ):
        grid(tau=values)


def test_what_no_worker_could_find_is_refused():
    with pytest.raises(
        ValueError, match="is not from the top level of a module, so no worker could find it"
    ):
        Run("topic/x", lambda device: None, grid(seed=[0]))
    with pytest.raises(ValueError, match="want chapter/experiment"):
        Run("../x", small.wave, grid(seed=[0]))


def test_a_case_s_file_depends_on_function_and_arguments_only():
    run = small.plane(steps=3)
    assert len({run.file_of(case) for case in range(12)}) == 12
    again = small.plane(
        values={"seed": [1], "delta": [2.0], "tau": [0.3]}, steps=3
    )  # in another grid, in another order
    assert run.file_of(11).name == again.file_of(0).name
    others = (
        small.plane(steps=2),
        small.plane(small.fails, steps=3),
        small.plane(values=small.GRID | {"tau": [0.1, 0.2, 0.4]}, steps=3),
    )
    assert run.file_of(11).name not in [other.file_of(11).name for other in others]


def test_settings_are_plain_values():
    run = Run(
        "topic/x", small.wave, named("row", {"one": {"setting": Setting()}}), {"record": [1, 2]}
    )
    wanted = {
        "function": "small_runs.wave",
        "fixed": {"record": [1, 2]},
        "cases": {"one": {"setting": {"rate": 0.5, "name": "σ"}}},
    }
    assert run.settings() == wanted
    with pytest.raises(
        TypeError, match=r"^the argument of a run must be a number, a text, .* not <object"
    ):
        Run("topic/x", small.wave, grid(seed=[0]), {"thing": object()}).settings()


@pytest.mark.parametrize("run", listed(), ids=lambda run: run.name)
def test_every_run_has_a_scale_beside_its_source_s(run):
    assert run.scale(len(run.cases)).count("%") == len(run.source) and run.settings()


def test_runs_have_names_of_their_own():
    names = [run.name for run in listed()]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    "runs, message",
    [
        ({}, "book/one/runs.py lists no runs: give it a list RUNS"),
        (
            {"RUNS": [Run("two/rests", small.rests, grid(seed=[0]))]},
            "book/one/runs.py: the run 'two/rests' must begin with 'one' and a slash",
        ),
    ],
)
def test_runs_that_a_chapter_does_not_own_are_refused(runs, message, tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "runs.py").touch()
    monkeypatch.setattr(chapters, "FOLDER", tmp_path)
    monkeypatch.setitem(sys.modules, "book.one.runs", SimpleNamespace(**runs))
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        listed()
