"""The book at the scale of its sources: every run that the pages load is computed here, and every claim compared.

`python -m lib run --profile paper` prints what is to be computed and how long it takes, computes it case by case, resumable,
under `_build/runs/`, executes the notebooks into `_build/paper/`, and lays each claim's number beside the committed one.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from lib import claims, files, runs
from lib.claims import NOT_DECIDED
from lib.progress import OutOfTime, duration, limit
from lib.provenance import device_name, resolve_device
from lib.runs.precompute import Progress
from lib.runs.workers import ComputationFailed, processes
from lib.site import execute, slices

FOLDER = Path("_build") / "paper"
TABLE = "comparison.json"
FAILED = ", others failed"


class Row(NamedTuple):
    """A claim: its number and verdict in the committed notebook and here; `why` says which of its runs is incomplete."""

    id: str
    committed: str
    verdict: str
    here: str
    found: str
    why: str

    @property
    def changed(self) -> bool:
        """Whether the verdict is another one."""
        return not self.why and self.found != self.verdict


def run(
    root: Path,
    names: list[str],
    settings: execute.Settings,
    jobs: int | None = None,
    output: Path | None = None,
    lesson: bool = False,
    budget: float | None = None,
) -> tuple[list[execute.Result], list[Row]]:
    """Compute all runs that chapters load, execute the chapters, and compare their claims; the table is kept as JSON.

    Parameters
    ----------
    names, settings, jobs, lesson : as of `execute.run`
    output : folder for the executed notebooks (default: `_build/paper`)
    budget : seconds after which runs are computed no further; by default all are computed
    """
    selected = execute.select(root, names, lesson)
    device, place = resolve_device(settings.device), output or root / FOLDER
    files.prepare(place)
    runs.at("paper", device)
    wanted = list(dict.fromkeys(name for notebook in selected for name in slices.loaded(execute.draft(root, notebook))))
    lacking = compute(wanted, device, jobs or 1, budget)
    finished = execute.run(root, names, settings, jobs, place, lesson, lacking)
    rows = [row for notebook in selected for row in compare(root, place, notebook)]
    rows.sort(key=lambda row: (not row.changed, bool(row.why)))
    written = [row._asdict() | {"changed": row.changed} for row in rows]
    files.write(place / TABLE, json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    return finished, rows


def compute(names: Sequence[str], device: str, jobs: int, budget: float | None) -> dict[str, str]:
    """Compute runs, those with the least left first; return of each that is incomplete "x of y cases"."""
    known = [Kept(name, device) for name in names]
    if not known:
        return {}
    try:
        with limit(budget), processes(jobs if jobs > 1 else None, runs.at, "paper", device) as pool:
            print(plan(known, device, jobs), flush=True)
            if any([one.measure() for one in known]):
                print(plan(known, device, jobs), flush=True)
            for one in sorted(known, key=Kept.left):
                one.compute(pool)
    except OutOfTime:
        print("time is up; what was finished is kept", flush=True)
    lacking = {}
    for before in known:
        one = Kept(before.name, device)
        if one.done < one.total:
            lacking[one.name] = f"{one.done:,} of {one.total:,} cases" + FAILED * before.failed
    return lacking


class Kept:
    """What is finished of a run on a device, and how long the rest takes."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device
        self.progress = Progress(runs.find(name), device, stored=False)
        self.total = len(self.progress.run.cases)
        self.todo = self.progress.collect(range(self.total))
        self.done = self.total - len(self.todo)
        self.failed = False

    def measure(self) -> bool:
        """Compute a first case, if no case tells how long one takes here; say whether that was so."""
        if self.done:
            return False
        size = self.progress.run.batch if self.device == "cuda" else 1
        self.progress.compute(self.todo[:size])
        self.todo = self.todo[size:]
        self.done = self.total - len(self.todo)
        return True

    def left(self) -> float:
        """Return the seconds that the missing cases take."""
        return len(self.todo) * self.progress.seconds / max(self.done, 1)

    def compute(self, pool: Executor | None) -> None:
        """Compute the missing cases; those that fail are named, and the other runs go on."""
        try:
            self.progress.compute(self.todo, pool)
        except ComputationFailed as problem:
            self.failed = True
            print(problem, flush=True)


def plan(known: Sequence[Kept], device: str, jobs: int) -> str:
    """Lay out what is to be computed, and how long it takes."""
    left = [duration(one.left()) if one.done else "?" for one in known]
    done = [f"{one.name:<36}{one.done:>6,} of {one.total:>6,} cases done" for one in known]
    lines = [f"{said}{time:>10} left" for said, time in zip(done, left, strict=True)]
    known_time = duration(sum(one.left() for one in known) / jobs)
    more = ", and what is unknown (?)" if "?" in left else ""
    end = f"left on {device_name(device)}, jobs {jobs}: {known_time}{more}"
    return "\n".join(["paper profile, computed here:", *lines, end])


def compare(root: Path, place: Path, notebook: str) -> Iterator[Row]:
    """Yield a row for each claim of a committed notebook that was executed here, too."""
    committed, found = (_records(folder / f"{notebook}.ipynb") for folder in (root / "book", place))
    for name, before in committed.items():
        if name in found:
            yield _row(before, found[name])


def _row(before: dict, after: dict) -> Row:
    verdict = after["verdict"]
    passing = [rival for rival, score in after["rivals"].items() if claims.bound(after).holds(float(score))]
    if passing:
        verdict = f"{verdict}, but “{passing[0]}” passes"
    why = after["why"] if verdict == NOT_DECIDED and after["why"] != before["why"] else ""
    return Row(before["id"], claims.measured_text(before), before["verdict"], claims.measured_text(after), verdict, why)


def _records(path: Path) -> dict[str, dict]:
    if not path.is_file():
        return {}
    return {record["id"]: record for record in claims.collect(json.loads(path.read_text(encoding="utf-8")))}


def table(rows: Sequence[Row]) -> str:
    """Write the rows as text: changed verdicts first, claims whose run is incomplete last."""
    changed = [row for row in rows if row.changed]
    lines = [("claim", "committed", "here", "verdict")]
    for row in rows:
        verdict = f"{row.verdict} → {row.found}" if row.changed else row.found
        lines.append((row.id, row.committed, "" if row.why else row.here, f"{verdict}: {row.why}" if row.why else verdict))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    undecided = sum(bool(row.why) for row in rows)
    return "\n".join([*text, f"{len(rows)} claims, {len(changed)} with another verdict, {undecided} whose run is incomplete"])
