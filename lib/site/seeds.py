"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source to its last claim, without its figures and without stopping where a claim
fails. What a seed gave is kept under `_build/seeds/`, and all of it goes into `book/quality/seeds.jsonl`. Both serve until
something that the claims depend on changes (`lib.site.digests`); new seeds are added to those in the table.
"""

import json
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from tqdm import tqdm

from lib import claims, files
from lib.provenance import versions
from lib.runs.workers import ComputationFailed
from lib.site import execute
from lib.site.digests import digest
from lib.site.kernel import Kernel
from lib.site.pages.margins import TABLE
from lib.site.processes import at_once, log, side_by_side
from lib.site.toc import chapters, notebooks

ENVIRONMENT = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}  # of the kernels: no figures, and one core each
BEFORE = "from lib import claims\nclaims.insist = False"


def run(root: Path, names: list[str], seeds: int = 20, jobs: int | None = None) -> Path:
    """Run chapters with the seeds 0 … `seeds` - 1, side by side, renew their entries in the table and return where it is.

    Parameters
    ----------
    names : chapters; none means all
    jobs : how many runs at a time; by default as many as this process has cores and memory for

    Raises
    ------
    ValueError
        For an unknown chapter.
    lib.runs.workers.ComputationFailed
        If a chapter fails for another reason than a claim; what the other runs gave is kept.
    """
    selected = execute.select(root, names)
    codes = {name: digest(root, name) for name in selected}  # all seeds run the code that is there now
    kept = root / "_build" / "seeds"
    before = {name: [row for row in _table(root) if row["code"] == codes[name]] for name in selected}
    known = {name: min((len(row["measured"]) for row in rows), default=0) for name, rows in before.items()}
    calls = {
        (name, seed): (root, name, execute.draft(root, name), seed, kept / f"{name}-{codes[name]}-{seed}.json")
        for seed, name in product(range(seeds), selected)
        if seed >= known[name]
    }
    done = {}
    with (
        side_by_side(_one, calls, jobs or at_once()) as tasks,
        tqdm(total=len(calls), unit="run", disable=None) as bar,
    ):
        for (name, seed), task in tasks:
            done[name, seed] = task
            log(f"{name}, seed {seed}: {'failed' if task.exception() else 'done'}")
            bar.update()
    for name in selected:
        found = [done[name, seed].result() for seed in range(known[name], seeds)]
        before[name] = _joined(before[name], _rows(codes[name], found)) if found else before[name]
    _renew(root, before)
    return root / TABLE


def _one(root: Path, chapter: str, notebook: NotebookNode, seed: int, path: Path) -> list[dict]:
    """Return the records of one run of a chapter's draft, computed now or before."""
    if (before := files.kept(path, json.loads)) is not None:
        return before
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += f"\nseed = {seed}"
    last = max((number for number, cell in enumerate(notebook.cells) if "claims.check(" in cell.source), default=-1)
    notebook.cells = [new_code_cell(BEFORE), *notebook.cells[: last + 1]]  # no solutions of exercises
    folder = {"metadata": {"path": str(root / "book")}}
    client = NotebookClient(
        notebook,
        timeout=None,
        allow_errors=True,
        resources=folder,
        kernel_manager_class=Kernel,
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute(env=ENVIRONMENT)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise ComputationFailed(f"{chapter}, seed {seed}: {output.ename}: {output.evalue}")
    records = list(claims.collect(notebook))
    files.write(path, json.dumps(records))
    return records


def _renew(root: Path, rows: dict[str, list[dict]]) -> None:
    """Replace the rows of the chapters whose notebooks were run; drop those of chapters that are no more."""
    kept = {name: [row for row in _table(root) if row["id"].split("/")[0] == name] for name in chapters(root)}
    for name in kept.keys() & rows.keys():
        kept[name] = [row for notebook in notebooks(root, [name]) for row in rows[notebook]]
    lines = [json.dumps(row, ensure_ascii=False) for row in chain(*kept.values())]
    files.write(root / TABLE, "\n".join(lines) + "\n")


def _table(root: Path) -> list[dict]:
    """Read the table as it is written: numbers that JSON does not know are texts."""
    path = root / TABLE
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _joined(before: list[dict], after: list[dict]) -> list[dict]:
    """Put the numbers of further seeds behind those that rows of the table have."""
    return [_longer(*pair) for pair in zip(before, after, strict=True)] if before else after


def _longer(first: dict, more: dict) -> dict:
    row = {name: first[name] + more[name] for name in ("measured", "low", "high", "printed", "verdict")}
    rivals = {name: first["rivals"][name] + more["rivals"][name] for name in first["rivals"]}
    versions = "; ".join(dict.fromkeys([*first["versions"].split("; "), more["versions"]]))
    return first | row | {"rivals": rivals, "date": more["date"], "versions": versions}


def _rows(code: str, runs: list[list[dict]]) -> list[dict]:
    """Turn one chapter's runs into a row for each claim."""
    origin = {"code": code, "date": datetime.now(UTC).date().isoformat(), "versions": versions()}
    return [
        {"id": records[0]["id"]}
        | {name: [record[name] for record in records] for name in ("measured", "low", "high", "printed", "verdict")}
        | {"rivals": {name: [record["rivals"][name] for record in records] for name in records[0]["rivals"]}}
        | origin
        for records in zip(*runs, strict=True)
    ]
