"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source, without drawing its figures and without stopping where a claim fails. What
a seed gave is kept under `_build/seeds/`, so that an interrupted sweep goes on where it stopped; all of it goes into
`book/evidence/seeds.jsonl`.
"""

import hashlib
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from nbclient import NotebookClient
from tqdm import tqdm

from lib import book, claims
from lib.provenance import versions

TABLE = Path("book") / "evidence" / "seeds.jsonl"  # a claim in each line
ENVIRONMENT = {"MPLBACKEND": "agg", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1"}  # of the kernels


def digest(root: Path, chapter: str) -> str:
    """Name the code of a chapter: another text gives the same digest, another code cell a new one."""
    code = [cell["source"] for cell in book.draft(root, chapter).cells if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


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
    RuntimeError
        If a chapter fails for another reason than a claim; what the other runs gave is kept.
    """
    selected = book.select(root, names)
    jobs = (os.cpu_count() or 1) if jobs is None else jobs
    for name, value in (("seeds", seeds), ("jobs", jobs)):
        if value < 1:
            raise ValueError(f"{name} {value}: want at least 1")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = {(name, seed): pool.submit(_one, root, name, seed) for name in selected for seed in range(seeds)}
        for _ in tqdm(as_completed(tasks.values()), total=len(tasks), unit="run", disable=None):
            pass
    _renew(root, {name: [tasks[name, seed].result() for seed in range(seeds)] for name in selected})
    return root / TABLE


def table(root: Path) -> list[dict]:
    """Read the table: a row for each claim, with the number and the verdict of every seed."""
    path = root / TABLE
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _one(root: Path, chapter: str, seed: int) -> list[dict]:
    """Return the records of one run, computed now or before."""
    path = root / "_build" / "seeds" / f"{chapter}-{digest(root, chapter)}-{seed}.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    notebook = book.draft(root, chapter)
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += f"\nseed = {seed}"
    folder = {"metadata": {"path": str(root / "book")}}
    client = NotebookClient(notebook, timeout=None, allow_errors=True, resources=folder, extra_arguments=["--log-level=ERROR"])
    client.execute(env=os.environ | ENVIRONMENT)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.ename != claims.ClaimChanged.__name__:
                raise RuntimeError(f"{chapter}, seed {seed}: {output.ename}: {output.evalue}")
    records = list(claims.collect(notebook))
    book.write(path, json.dumps(records))
    return records


def _renew(root: Path, runs: dict[str, list[list[dict]]]) -> None:
    """Replace the rows of the chapters that were run; drop those of chapters that are no more."""
    rows = {name: [row for row in table(root) if row["id"].split("/")[0] == name] for name in book.select(root, [])}
    rows |= {name: _rows(root, name, records) for name, records in runs.items()}
    lines = [json.dumps(row, ensure_ascii=False) for chapter in rows.values() for row in chapter]
    book.write(root / TABLE, "\n".join(lines) + "\n")


def _rows(root: Path, chapter: str, runs: list[list[dict]]) -> list[dict]:
    """Turn one chapter's runs into a row for each claim."""
    origin = {"code": digest(root, chapter), "date": datetime.now(UTC).date().isoformat(), "versions": versions()}
    return [
        {name: records[0][name] for name in ("id", "expected")}
        | {name: [record[name] for record in records] for name in ("measured", "printed", "verdict")}
        | origin
        for records in zip(*runs, strict=True)
    ]
