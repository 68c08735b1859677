"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source to its last claim, without its figures and without stopping where a claim
fails. What a seed gave is kept under `_build/seeds/`, so that an interrupted sweep goes on where it stopped; all of it goes into
`book/evidence/seeds.jsonl`.
"""

import json
import os
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from lib import claims, files
from lib.book import execute
from lib.book.pages.margins import TABLE, digest, table
from lib.book.processes import log, side_by_side
from lib.provenance import library, versions
from lib.sweeps import TaskError

ENVIRONMENT = {"MPLBACKEND": "agg", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1"}  # of the kernels


def run(root: Path, names: list[str], seeds: int = 20, jobs: int | None = None) -> Path:
    """Run chapters with the seeds 0 … `seeds` - 1, side by side, renew their entries in the table and return where it is.

    Parameters
    ----------
    names : chapters; none means all
    jobs : how many runs at a time; by default one for every core

    Raises
    ------
    ValueError
        For an unknown chapter.
    lib.sweeps.workers.TaskError
        If a chapter fails for another reason than a claim; what the other runs gave is kept.
    """
    selected = execute.select(root, names)
    codes = {name: digest(root, name) for name in selected}  # all seeds run the code that is there now
    drafts = {name: execute.draft(root, name) for name in selected}
    kept = root / "_build" / "seeds" / library()["lib"]  # what ran with another library runs again
    calls = {
        (name, seed): (root, name, drafts[name], seed, kept / f"{name}-{codes[name]}-{seed}.json")
        for seed, name in product(range(seeds), selected)
    }
    done = {}
    with (
        side_by_side(_one, calls, jobs or os.cpu_count() or 1) as tasks,
        tqdm(total=len(calls), unit="run", disable=None) as bar,
    ):
        for (name, seed), task in tasks:
            done[name, seed] = task
            log(f"{name}, seed {seed}: {'failed' if task.exception() else 'done'}")
            bar.update()
    _renew(root, {name: _rows(codes[name], [done[name, seed].result() for seed in range(seeds)]) for name in selected})
    return root / TABLE


def _one(root: Path, chapter: str, notebook: NotebookNode, seed: int, path: Path) -> list[dict]:
    """Return the records of one run of a chapter's draft, computed now or before."""
    before = files.kept(path, json.loads)
    if before is not None:
        return before
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += f"\nseed = {seed}"
    last = max((number for number, cell in enumerate(notebook.cells) if "claims.check(" in cell.source), default=-1)
    del notebook.cells[last + 1 :]  # solutions of exercises
    folder = {"metadata": {"path": str(root / "book")}}
    client = NotebookClient(notebook, timeout=None, allow_errors=True, resources=folder, extra_arguments=["--log-level=ERROR"])
    client.execute(env=os.environ | ENVIRONMENT)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.ename != claims.ClaimChanged.__name__:
                raise TaskError(f"{chapter}, seed {seed}: {output.ename}: {output.evalue}")
    records = list(claims.collect(notebook))
    files.write(path, json.dumps(records))
    return records


def _renew(root: Path, rows: dict[str, list[dict]]) -> None:
    """Replace the rows of the chapters that were run; drop those of chapters that are no more."""
    before = {name: [row for row in table(root) if row["id"].split("/")[0] == name] for name in execute.select(root, [])}
    lines = [json.dumps(row, ensure_ascii=False) for chapter in (before | rows).values() for row in chapter]
    files.write(root / TABLE, "\n".join(lines) + "\n")


def _rows(code: str, runs: list[list[dict]]) -> list[dict]:
    """Turn one chapter's runs into a row for each claim."""
    origin = {"code": code, "date": datetime.now(UTC).date().isoformat(), "versions": versions()}
    return [
        {name: records[0][name] for name in ("id", "expected")}
        | {name: [record[name] for record in records] for name in ("measured", "printed", "verdict")}
        | origin
        for records in zip(*runs, strict=True)
    ]
