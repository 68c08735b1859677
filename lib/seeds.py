"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source to its last claim, without its figures and without stopping where a claim
fails. What a seed gave is kept under `_build/seeds/`, so that an interrupted sweep goes on where it stopped; all of it goes into
`book/evidence/seeds.jsonl`.
"""

import hashlib
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

from lib import book, claims
from lib.checks import whole
from lib.evidence.margins import TABLE, digest, table
from lib.provenance import versions
from lib.workers import TaskError

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
        For an unknown chapter, or `seeds` or `jobs` < 1.
    lib.workers.TaskError
        If a chapter fails for another reason than a claim; what the other runs gave is kept.
    """
    selected, seeds = book.select(root, names), whole("seeds", seeds)
    jobs = (os.cpu_count() or 1) if jobs is None else whole("jobs", jobs)
    codes = {name: digest(root, name) for name in selected}  # all seeds run the code that is there now
    drafts = {name: book.draft(root, name) for name in selected}
    with ProcessPoolExecutor(jobs, get_context("spawn"), book.end_with_parent) as pool:
        tasks = {}
        for seed, name in product(range(seeds), selected):
            path = root / "_build" / "seeds" / _library() / f"{name}-{codes[name]}-{seed}.json"
            tasks[name, seed] = pool.submit(_one, root, name, drafts[name], seed, path)
        for _ in tqdm(as_completed(tasks.values()), total=len(tasks), unit="run", disable=None):
            pass
    _renew(root, {name: _rows(codes[name], [tasks[name, seed].result() for seed in range(seeds)]) for name in selected})
    return root / TABLE


def _library() -> str:
    """Name the code of the library: what was run with another one is run again."""
    folder = Path(__file__).parent
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def _one(root: Path, chapter: str, notebook: NotebookNode, seed: int, path: Path) -> list[dict]:
    """Return the records of one run of a chapter's draft, computed now or before."""
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
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
    book.write(path, json.dumps(records))
    return records


def _renew(root: Path, rows: dict[str, list[dict]]) -> None:
    """Replace the rows of the chapters that were run; drop those of chapters that are no more."""
    before = {name: [row for row in table(root) if row["id"].split("/")[0] == name] for name in book.select(root, [])}
    lines = [json.dumps(row, ensure_ascii=False) for chapter in (before | rows).values() for row in chapter]
    book.write(root / TABLE, "\n".join(lines) + "\n")


def _rows(code: str, runs: list[list[dict]]) -> list[dict]:
    """Turn one chapter's runs into a row for each claim."""
    origin = {"code": code, "date": datetime.now(UTC).date().isoformat(), "versions": versions()}
    return [
        {name: records[0][name] for name in ("id", "expected")}
        | {name: [record[name] for record in records] for name in ("measured", "printed", "verdict")}
        | origin
        for records in zip(*runs, strict=True)
    ]
