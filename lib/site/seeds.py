"""Every claim over many seeds, so that no verdict hangs on a lucky one.

Each chapter runs once for each seed, from its source to its last claim, without its figures and without stopping where a claim
fails. What a seed gave is kept under `_build/seeds/`, with the modules of lib and the stored results that the run used: it serves
until one of these changes. All of it goes into `book/quality/seeds.jsonl`.
"""

import ast
import hashlib
import json
import os
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path

from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from tqdm import tqdm

from lib import claims, files
from lib.fingerprint import syntax
from lib.provenance import versions
from lib.runs.workers import ComputationFailed
from lib.site import execute
from lib.site.kernel import HOME, Kernel
from lib.site.pages.margins import TABLE, digest
from lib.site.processes import at_once, log, side_by_side
from lib.site.toc import chapters, notebooks

ENVIRONMENT = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}  # of the kernels: no figures, and one core each
BEFORE = """\
def _watch(opened, path):
    import sys
    sys.addaudithook(lambda event, given: event == "open" and opened.add(path(str(given[0]))))
    return opened
import os
_opened = _watch(set(), os.path.abspath)  # a name that no chapter uses
from lib import claims
claims.insist = False"""
AFTER = """\
import json, sys
_modules = {module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "lib"}
print(json.dumps(sorted(_modules | {path for path in _opened if path.endswith(".nc")})))"""


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
    drafts = {name: execute.draft(root, name) for name in selected}
    kept, sources = root / "_build" / "seeds", _sources()
    calls = {
        (name, seed): (root, name, drafts[name], seed, sources, kept / f"{name}-{codes[name]}-{seed}.json")
        for seed, name in product(range(seeds), selected)
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
    _renew(root, {name: _rows(codes[name], [done[name, seed].result() for seed in range(seeds)]) for name in selected})
    return root / TABLE


def _sources() -> dict[str, str]:
    """Name what a run can use: what each module of lib does, what each stored result holds."""
    modules = {path: syntax(ast.parse(path.read_bytes())).encode() for path in HOME.glob("lib/**/*.py")}
    stored = {path: path.read_bytes() for path in HOME.glob("book/results/**/*.nc")}
    return {str(path.relative_to(HOME)): hashlib.sha256(held).hexdigest()[:16] for path, held in (modules | stored).items()}


def _one(root: Path, chapter: str, notebook: NotebookNode, seed: int, sources: dict[str, str], path: Path) -> list[dict]:
    """Return the records of one run of a chapter's draft, computed now or before."""
    before = files.kept(path, json.loads)
    if before is not None and all(sources.get(name) == digest for name, digest in before["used"].items()):
        return before["records"]
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source += f"\nseed = {seed}"
    last = max((number for number, cell in enumerate(notebook.cells) if "claims.check(" in cell.source), default=-1)
    notebook.cells = [new_code_cell(BEFORE), *notebook.cells[: last + 1], new_code_cell(AFTER)]  # no solutions of exercises
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
    names = [os.path.relpath(used, HOME) for used in json.loads(notebook.cells[-1].outputs[0].text)]
    records = list(claims.collect(notebook))
    files.write(path, json.dumps({"used": {name: sources[name] for name in names if name in sources}, "records": records}))
    return records


def _renew(root: Path, rows: dict[str, list[dict]]) -> None:
    """Replace the rows of the chapters whose notebooks were run; drop those of chapters that are no more."""
    path = root / TABLE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = {name: [line for line in lines if json.loads(line)["id"].split("/")[0] == name] for name in chapters(root)}
    for name in kept.keys() & rows.keys():
        found = chain(*(rows[notebook] for notebook in notebooks(root, [name])))
        kept[name] = [json.dumps(row, ensure_ascii=False) for row in found]
    files.write(path, "\n".join(chain(*kept.values())) + "\n")


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
