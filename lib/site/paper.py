"""The book at the scale of its sources: every run that the pages
load is computed here, and every claim compared.

`python -m lib run --profile paper` prints what is to be computed and how long it takes, computes it
case by case, resumable, under `_build/runs/`, executes the notebooks into `_build/paper/`, and lays
each claim's number beside the committed one.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from lib import claims, files, runs
from lib.interrupts import OutOfTime, limit
from lib.processes import processes, results
from lib.progress import duration
from lib.provenance import device_name, resolve_device
from lib.runs import results as stored
from lib.runs.precompute import Progress
from lib.runs.workers import ComputationFailed
from lib.site import execute, slices
from lib.site.book import Book

TABLE = "comparison.json"
FAILED = ", others failed"


class Row(NamedTuple):
    """A claim: its number and verdict in the committed notebook and
    here; `why` says which of its runs is incomplete.
    """

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
    book: Book,
    names: list[str],
    settings: execute.Settings,
    jobs: int | None,
    output: Path | None,
    lesson: bool,
    budget: float | None,
) -> tuple[list[execute.Result], list[Row]]:
    """Compute all runs that chapters load, execute the chapters, and compare their claims.

    The table is kept as JSON.

    Parameters
    ----------
    names, settings, jobs, lesson : as of `execute.run`
    output : folder for the executed notebooks (default: `_build/paper`)
    budget : seconds after which runs are computed no further; by default all are computed
    """
    selected = execute.select(book, names, lesson)
    device = resolve_device(settings.device)
    folder = output or book.root / "_build" / "paper"
    files.prepare(folder)
    runs.at("paper", device)
    wanted = [name for one in selected for name in slices.loaded(execute.draft(book, one))]
    lacking = compute(dict.fromkeys(wanted), device, jobs or 1, budget)
    finished = execute.run(book, names, settings, jobs, folder, lesson, lacking)
    here = Book(book.root, folder)
    rows = [row for name in selected for row in compare(book.notebook(name), here.notebook(name))]
    rows.sort(key=lambda row: (not row.changed, bool(row.why)))
    written = [row._asdict() | {"changed": row.changed} for row in rows]
    files.write(folder / TABLE, json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    return finished, rows


def compute(names: Iterable[str], device: str, jobs: int, budget: float | None) -> dict[str, str]:
    """Compute runs, those with the least left first; tell of each that is incomplete how far."""
    known = [Progress(runs.find(name), device, stored=False) for name in names]
    todo = {one: one.collect(range(len(one.run.cases))) for one in known}
    if not known:
        return {}
    failed = set()

    def attempt(one: Progress, cases: list[int], pool: Executor) -> None:
        try:
            one.compute(cases, pool)
        except ComputationFailed as problem:  # the other runs go on
            failed.add(one)
            print(problem, flush=True)

    try:
        with processes(jobs, runs.at, "paper", device) as pool:
            # Time begins when a process has imported the functions.
            list(results(pool, id, {one: (one.run.function,) for one in known}))
            with limit(budget):
                print(plan(known, device, jobs), flush=True)
                new = [one for one in known if not one.done]
                # A first case tells how long the others take, if it leaves them time.
                quick = [one for one in new if stored_seconds(one) <= (budget or math.inf) / 10]
                for one in sorted(quick, key=stored_seconds):
                    size = one.run.batch if device == "cuda" else 1
                    attempt(one, todo[one][:size], pool)
                    del todo[one][:size]
                if new:
                    print(plan(known, device, jobs), flush=True)
                for one in sorted(known, key=lambda one: (not one.done, left(one))):
                    attempt(one, todo[one], pool)
    except OutOfTime:
        print("time is up; what was finished is kept", flush=True)
    lacking = {}
    for one in known:
        total = len(one.run.cases)
        if one.done < total:
            others = FAILED if one in failed else ""
            lacking[one.run.name] = f"{one.done:,} of {total:,} cases{others}"
    return lacking


def stored_seconds(one: Progress) -> float:
    """Return what a case took for the stored result, on whatever device; 0 without one."""
    try:
        found = stored.read(one.run)
    except runs.OutdatedResult:
        return 0.0
    return found.attrs["seconds"] / found.sizes["case"] if found else 0.0


def left(one: Progress) -> float:
    """Return the seconds that the missing cases of a run take, as far as that is known."""
    return (len(one.run.cases) - one.done) * (one.seconds_each() or 0)


def plan(known: Sequence[Progress], device: str, jobs: int) -> str:
    """Lay out what is to be computed, and how long it takes."""
    lines = ["paper profile, computed here:"]
    for one in known:
        time = duration(left(one)) if one.done else "?"
        done = f"{one.done:>6,} of {len(one.run.cases):>6,} cases done"
        lines.append(f"{one.run.name:<36}{done}{time:>10} left")
    whole = duration(sum(map(left, known)) / jobs)
    more = "" if all(one.done for one in known) else ", and what is unknown (?)"
    return "\n".join([*lines, f"left on {device_name(device)}, jobs {jobs}: {whole}{more}"])


def compare(committed: dict, executed: dict) -> Iterator[Row]:
    """Yield a row for each claim of a committed notebook that was executed here, too."""
    found = {record["id"]: record for record in claims.collect(executed)}
    for before in claims.collect(committed):
        after = found.get(before["id"])
        if after is None:
            continue
        verdict = after["verdict"]
        bound = claims.bound(after)
        passing = [rival for rival, score in after["rivals"].items() if bound.holds(float(score))]
        if passing:
            verdict = f"{verdict}, but “{passing[0]}” passes"
        not_executed = math.isnan(float(after["measured"]))
        yield Row(
            before["id"],
            claims.measured_text(before),
            before["verdict"],
            claims.measured_text(after),
            verdict,
            after["why"] if not_executed else "",
        )


def table(rows: Sequence[Row]) -> str:
    """Write the rows as text: changed verdicts first, claims whose run is incomplete last."""
    lines = []
    for row in rows:
        here = row.here
        verdict = row.found
        if row.changed:
            verdict = f"{row.verdict} → {row.found}"
        elif row.why:
            here = ""
            verdict = f"{row.found}: {row.why}"
        lines.append((row.id, row.committed, here, verdict))
    heads = ("claim", "committed", "here", "verdict")
    text = tabulate(lines, heads, tablefmt="plain", disable_numparse=True)
    changed = sum(row.changed for row in rows)
    undecided = sum(bool(row.why) for row in rows)
    end = f"{changed} with another verdict, {undecided} whose run is incomplete"
    return f"{text}\n{len(rows)} claims, {end}"
