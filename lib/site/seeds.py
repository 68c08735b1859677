"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source to its last claim, without its figures and
without stopping where a claim fails. What a seed gave is kept under `_build/seeds/`, and all of it
goes into `book/quality/seeds.jsonl`. Both serve until something that the claims depend on changes
(`lib.site.digests`); new seeds are added to those in the table.
"""

import json
from concurrent.futures import as_completed
from datetime import UTC, datetime
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from lib import claims, files
from lib.processes import at_once, processes, submit
from lib.progress import log
from lib.provenance import versions
from lib.runs.workers import ComputationFailed
from lib.site import execute
from lib.site.book import Book
from lib.site.digests import digest
from lib.site.jupyter_kernel import Kernel
from lib.site.pages.margins import TABLE, written

ENVIRONMENT = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}  # no figures, and one core each
BEFORE = "from lib import claims\nclaims.insist = False"
SERIES = ("measured", "low", "high", "printed", "verdict")  # with an entry for each seed


def run(book: Book, names: list[str], seeds: int = 20, jobs: int | None = None) -> Path:
    """Run chapters with the seeds 0 … `seeds` - 1 and renew their entries; return the table's path.

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
    selected = execute.select(book, names)
    kept = book.root / "_build" / "seeds"
    before = {}
    calls = {}
    for name in selected:
        code = digest(book, name)
        before[name] = [row for row in written(book) if row["code"] == code]
        done = min((len(row["measured"]) for row in before[name]), default=0)
        notebook = execute.draft(book, name)
        for seed in range(done, seeds):
            path = kept / f"{name}-{code}-{seed}.json"
            calls[name, seed] = (book.folder, name, notebook, seed, path)
    calls = dict(sorted(calls.items(), key=lambda call: call[0][1]))
    finished = {}
    with processes(jobs or at_once()) as pool:
        tasks = submit(pool, _one, calls)
        for task in as_completed(tasks):
            name, seed = tasks[task]
            finished[name, seed] = task
            log(f"{name}, seed {seed}: {'failed' if task.exception() else 'done'}")
    for name, seed in calls:
        found = _rows(digest(book, name), finished[name, seed].result())
        pairs = zip(before[name], found, strict=True)
        before[name] = [_longer(*pair) for pair in pairs] if before[name] else found
    return _renew(book, before)


def _one(folder: Path, chapter: str, notebook: NotebookNode, seed: int, path: Path) -> list[dict]:
    """Return the records of one run of a chapter's draft, computed now or before."""
    if (before := files.kept(path, json.loads)) is not None:
        return before
    parameters = next(
        cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])
    )
    parameters.source += f"\nseed = {seed}"
    cells = notebook.cells
    while cells and "claims.check(" not in cells[-1].source:  # no solutions of exercises
        cells.pop()
    cells.insert(0, new_code_cell(BEFORE))
    client = NotebookClient(
        notebook,
        timeout=None,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
        kernel_manager_class=Kernel,
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute(env=ENVIRONMENT)
    for cell in cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                raise ComputationFailed(f"{chapter}, seed {seed}: {output.ename}: {output.evalue}")
    records = list(claims.collect(notebook))
    files.write(path, json.dumps(records))
    return records


def _rows(code: str, records: list[dict]) -> list[dict]:
    """Turn the records of one run into rows of the table."""
    origin = {"code": code, "date": datetime.now(UTC).date().isoformat(), "versions": versions()}
    rows = []
    for record in records:
        series = {name: [record[name]] for name in SERIES}
        rivals = {name: [score] for name, score in record["rivals"].items()}
        rows.append({"id": record["id"], **series, "rivals": rivals, **origin})
    return rows


def _longer(row: dict, more: dict) -> dict:
    """Put the numbers of a further seed behind those that a row has."""
    series = {name: row[name] + more[name] for name in SERIES}
    rivals = {name: scores + more["rivals"][name] for name, scores in row["rivals"].items()}
    origins = dict.fromkeys([*row["versions"].split("; "), more["versions"]])
    origin = {"date": more["date"], "versions": "; ".join(origins)}
    return row | series | {"rivals": rivals} | origin


def _renew(book: Book, rows: dict[str, list[dict]]) -> Path:
    """Replace the rows of the chapters that were run; drop those of chapters that are no more."""
    lines = []
    for chapter in book.chapters:
        kept = [row for row in written(book) if row["id"].split("/")[0] == chapter]
        notebooks = book.notebooks_of(chapter)
        if chapter in rows:
            kept = [row for name in notebooks for row in rows[name]]
        lines += [json.dumps(row, ensure_ascii=False) + "\n" for row in kept]
    files.write(book.root / TABLE, "".join(lines))
    return book.root / TABLE
