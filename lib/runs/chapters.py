"""The runs of the chapters: each lists its own in `book/NAME/runs.py`, as `RUNS`."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from lib.runs.run import Run

FOLDER = Path(__file__).parents[2] / "book"
WHERE = "a chapter lists its runs in book/NAME/runs.py, as RUNS"


def listed() -> list[Run]:
    """Return the runs of all chapters, by chapter."""
    return [run for path in sorted(FOLDER.glob("*/runs.py")) for run in runs_of(path.parent.name)]


def runs_of(chapter: str) -> list[Run]:
    """Return the runs of one chapter, whose names begin
    with its name; none if it has no `runs.py`.
    """
    file = f"book/{chapter}/runs.py"
    if not (FOLDER / chapter / "runs.py").is_file():
        return []
    runs = getattr(import_module(f"book.{chapter}.runs"), "RUNS", None)
    if not isinstance(runs, list):
        raise ValueError(f"{file} lists no runs: give it a list RUNS")
    strange = [run.name for run in runs if not run.name.startswith(f"{chapter}/")]
    if strange:
        raise ValueError(f"{file}: the run {strange[0]!r} must begin with {chapter!r} and a slash")
    return runs


def chosen(names: Sequence[str]) -> list[Run]:
    """Return the runs of these names, or chapters, or all: those first
    that say so; a ValueError says what is not there.
    """
    runs = listed()
    unknown = sorted({*names} - {one for run in runs for one in (run.name, run.chapter)})
    if unknown:
        raise ValueError(
            f"no such experiment: {', '.join(unknown)}; there are "
            f"{', '.join(run.name for run in runs)}; {WHERE}"
        )
    found = [run for run in runs if not names or {run.name, run.chapter} & {*names}]
    return sorted(found, key=lambda run: not run.first)


def find(name: str) -> Run:
    """Return the run of this name; a ValueError says which there are."""
    runs = {run.name: run for run in runs_of(name.split("/")[0]) or listed()}
    if name not in runs:
        raise ValueError(f"no run is called {name!r}; there are {', '.join(runs)}; {WHERE}")
    return runs[name]
