"""The runs of the chapters: each lists its own in `book/NAME/runs.py`, as `RUNS`."""

from importlib import import_module
from pathlib import Path

from lib.runs.run import Run

FOLDER = Path(__file__).parents[2] / "book"


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


def find(name: str) -> Run:
    """Return the run of this name; a ValueError says which there are."""
    runs = {run.name: run for run in runs_of(name.split("/")[0]) or listed()}
    if name not in runs:
        raise ValueError(f"no run is called {name!r}; there are {', '.join(runs)}")
    return runs[name]
