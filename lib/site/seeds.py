"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, without its figures and without stopping where a claim fails.
What a seed gave is kept under `_build/seeds/`, and all of it goes into `book/quality/seeds.jsonl`.
Both serve until something that the claims depend on changes (`lib.site.digests`); new seeds are
added to those in the table.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from lib import claims, files
from lib.processes import at_once, processes, results
from lib.progress import log
from lib.provenance import versions
from lib.runs.workers import ComputationFailed
from lib.site import execute
from lib.site.book import Book
from lib.site.digests import digest
from lib.site.jupyter_kernel import Kernel
from lib.site.pages.margins import TABLE, table

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
    rows = {}
    calls = {}
    for name in execute.select(book, names):
        code = digest(book, name)
        rows[name] = [row for row in table(book) if row["code"] == code]
        done = len(rows[name][0]["measured"]) if rows[name] else 0
        notebook = execute.draft(book, name)
        for seed in range(done, seeds):
            path = book.root / "_build" / "seeds" / f"{name}-{code}-{seed}.json"
            calls[seed, name] = (book.folder, name, notebook, seed, path)
    tasks = {}
    with processes(jobs or at_once()) as pool:
        for call, task in results(pool, _one, {call: calls[call] for call in sorted(calls)}):
            tasks[call] = task
            seed, name = call
            log(f"{name}, seed {seed}: {'failed' if task.exception() else 'done'}")
    for seed, name in sorted(tasks):
        rows[name] = _extended(rows[name], tasks[seed, name].result(), digest(book, name))
    lines = []
    for chapter in book.chapters:
        own = [row for row in table(book) if row["id"].split("/")[0] == chapter]
        if chapter in rows:
            own = [row for name in book.notebooks_of(chapter) for row in rows[name]]
        lines += [json.dumps(row, ensure_ascii=False) + "\n" for row in own]
    files.write(book.root / TABLE, "".join(lines))
    return book.root / TABLE


def _one(folder: Path, name: str, notebook: NotebookNode, seed: int, path: Path) -> list[dict]:
    """Return the records of one run of a notebook's draft, computed now or before."""
    if (before := files.kept(path, json.loads)) is not None:
        return before
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source += f"\nseed = {seed}"
    notebook.cells.insert(0, new_code_cell(BEFORE))
    client = NotebookClient(
        notebook,
        resources={"metadata": {"path": str(folder)}},
        kernel_manager_class=Kernel,
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        client.execute(env=ENVIRONMENT)
    except CellExecutionError as problem:
        said = f"{name}, seed {seed}: {problem.ename}: {problem.evalue}"
        raise ComputationFailed(said) from None
    records = list(claims.collect(notebook))
    files.write(path, json.dumps(records))
    return records


def _extended(rows: list[dict], records: list[dict], code: str) -> list[dict]:
    """Put the numbers of a further seed behind those that the rows of a notebook have."""
    today = datetime.now(UTC).date().isoformat()
    longer = []
    for number, record in enumerate(records):
        row = rows[number] if rows else {"rivals": {}, "versions": versions()}
        series = {name: [*row.get(name, []), record[name]] for name in SERIES}
        rivals = {
            name: [*row["rivals"].get(name, []), score] for name, score in record["rivals"].items()
        }
        made = dict.fromkeys([*row["versions"].split("; "), versions()])
        origin = {"code": code, "date": today, "versions": "; ".join(made)}
        longer.append({"id": record["id"], **series, "rivals": rivals, **origin})
    return longer
