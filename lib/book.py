"""The pipeline: execute the chapters, collect their claims, build the site.

The sources are `book/*.md`; papermill executes each into its pair `book/*.ipynb`, which is committed and published.
Every function takes the book's root, the folder that holds `_toc.yml`.
"""

import base64
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import jupytext
import papermill
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from PIL import Image
from tqdm import tqdm

from lib import claims, pages
from lib.provenance import PROFILES
from lib.toc import chapters


class Settings(NamedTuple):
    """What a run hands to every chapter; the names are those in the chapters' `parameters` cell."""

    profile: str = "quick"
    device: str = "auto"
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """How the execution of one chapter went."""

    chapter: str
    seconds: float
    peak_mib: float
    verdicts: Counter = field(default_factory=Counter)
    error: str = ""


def select(root: Path, names: list[str]) -> list[str]:
    """Check that `names` are chapters; no names means all of them."""
    known = chapters(root)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"no such chapter: {', '.join(unknown)}; the book has {', '.join(known)}")
    return [name for name in known if name in names] if names else known


def draft(root: Path, chapter: str) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs, with cell ids that do not change from day to day."""
    notebook = jupytext.read(root / "book" / f"{chapter}.md")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
    notebook.metadata.pop("jupytext", None)
    return notebook


def execute(root: Path, chapter: str, settings: Settings, output: Path, position: int = 0) -> Result:
    """Execute one chapter into `output`; the file there changes only if every cell succeeds.

    Runs in a process of its own, so that the peak memory is this chapter's.
    """
    start = time.perf_counter()
    work = root / "_build" / "run"
    work.mkdir(parents=True, exist_ok=True)
    source, partial = work / f"{chapter}.draft-{os.getpid()}.ipynb", work / f"{chapter}.{os.getpid()}.ipynb"
    error, verdicts = "", Counter()
    try:
        jupytext.write(draft(root, chapter), source)
        notebook = papermill.execute_notebook(
            source,
            partial,
            parameters=settings._asdict(),
            cwd=str(root / "book"),
            extra_arguments=["--log-level=ERROR"],
            coalesce_streams=True,  # how a kernel chops its output differs from run to run
            progress_bar={"desc": chapter, "position": position, "leave": False, "disable": None},
        )
        _refuse_exits(notebook)
        _tidy(notebook, settings)
        _lighten(notebook)
        write(output / f"{chapter}.ipynb", jupytext.writes(notebook, fmt="ipynb") + "\n")
        verdicts = Counter(record["verdict"] for record in claims.collect(notebook))
    except PapermillExecutionError as failure:
        error = f"{chapter}, cell {failure.cell_index} ({_first_line(failure.source)}): {failure.ename}: {failure.evalue}"
    except DeadKernelError:
        cell = _running_cell(json.loads(partial.read_text(encoding="utf-8")))
        error = f"{chapter}, cell {cell}: the kernel died, most likely for want of memory"
    except Exception as failure:  # whatever it is, the other chapters go on and the summary names it
        error = f"{chapter}: {type(failure).__name__}: {failure}"
    finally:
        source.unlink(missing_ok=True)
        partial.unlink(missing_ok=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Result(chapter, time.perf_counter() - start, peak, verdicts, error)


def _first_line(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip()), "empty")


def _running_cell(notebook: dict) -> str:
    started = [number for number, cell in enumerate(notebook["cells"]) if cell["metadata"]["papermill"]["start_time"]]
    return f"{started[-1]} ({_first_line(''.join(notebook['cells'][started[-1]]['source']))})"


def _refuse_exits(notebook: NotebookNode) -> None:
    """Raise if a cell left the kernel early: papermill takes SystemExit for a success."""
    for number, cell in enumerate(notebook.cells):
        if any(output.output_type == "error" for output in cell.get("outputs", [])):
            raise RuntimeError(f"cell {number} ({_first_line(cell.source)}) ended the chapter early")


def _tidy(notebook: NotebookNode, settings: Settings) -> None:
    """Drop what differs from run to run, hide the injected parameters, and note the settings."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("language_info", None)
    notebook.metadata["run"] = settings._asdict()
    for cell in notebook.cells:
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "cell-parameters"
            cell.metadata["tags"].append("remove-cell")


def _lighten(notebook: NotebookNode) -> None:
    """Give every figure a palette of 256 colours, its own: a third of the size, and no eye sees it."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                figure = Image.open(BytesIO(base64.b64decode(output.data["image/png"]))).convert("RGB")
                lean = BytesIO()
                figure.quantize(256, dither=Image.Dither.NONE).save(lean, "png", optimize=True)
                output.data["image/png"] = base64.b64encode(lean.getvalue()).decode()


def run(root: Path, names: list[str], settings: Settings, jobs: int | None = None, output: Path | None = None) -> list[Result]:
    """Execute chapters side by side, each in a process of its own, and return how each went, in the book's order.

    Parameters
    ----------
    names : chapters; none means all
    jobs : how many at a time; by default one for every core
    output : folder for the executed notebooks; by default `book/`, where the pages written from the ledger are then renewed, too

    Raises
    ------
    ValueError
        For an unknown chapter or profile, or `jobs` < 1.
    """
    selected = select(root, names)
    missing = [f"book/{name}.md" for name in selected if not (root / "book" / f"{name}.md").is_file()]
    if missing:
        raise ValueError(f"_toc.yml names a chapter without a source: {', '.join(missing)}")
    if settings.profile not in PROFILES:
        raise ValueError(f"profile {settings.profile!r}: want {' or '.join(PROFILES)}")
    cores = os.cpu_count() or 1
    jobs = min(cores, len(selected)) if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"jobs {jobs}: want at least 1")

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // jobs)))
    os.environ["TQDM_DISABLE"] = "1"  # bars inside a chapter would end up in its outputs
    results = []
    with (
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool,
        tqdm(total=len(selected), desc="chapters", unit="chapter", disable=None) as bar,
    ):
        tasks = [
            pool.submit(execute, root, name, settings, output or root / "book", position)
            for position, name in enumerate(selected, start=1)
        ]
        for task in as_completed(tasks):
            results.append(task.result())
            bar.update()
            bar.set_postfix_str(f"{results[-1].chapter} {'failed' if results[-1].error else 'done'}")
    if output is None:
        report(root)
    return sorted(results, key=lambda result: selected.index(result.chapter))


def ledger(root: Path, notebooks: Path | None = None) -> list[dict]:
    """Collect the claims of all executed chapters, each with its chapter and the profile it ran at."""
    records = []
    for chapter in chapters(root):
        path = (notebooks or root / "book") / f"{chapter}.ipynb"
        if path.is_file():
            notebook = json.loads(path.read_text(encoding="utf-8"))
            place = {"chapter": chapter, "profile": notebook["metadata"].get("run", {}).get("profile")}
            records += [{**record, **place} for record in claims.collect(notebook)]
    return records


def report(root: Path, notebooks: Path | None = None) -> list[dict]:
    """Write the ledger to `_build/claims.json`; for the book's own notebooks renew the pages written from it, too."""
    if notebooks is not None and not notebooks.is_dir():
        raise ValueError(f"no folder {notebooks}")
    records = ledger(root, notebooks)
    write(root / "_build" / "claims.json", json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    if notebooks is None:
        for name, text in pages.generated(root, records).items():
            page = root / name
            if not page.is_file() or page.read_text(encoding="utf-8") != text:  # a page that stays is not built again
                write(page, text)
    return records


def build(root: Path, output: Path | None = None) -> None:
    """Build the site from the executed notebooks, every warning an error, into `output`/_build/html (default: the root).

    Raises
    ------
    ValueError
        If a chapter has not been executed yet.
    subprocess.CalledProcessError
        If Jupyter Book reports a warning or an error.
    """
    missing = [name for name in chapters(root) if not (root / "book" / f"{name}.ipynb").is_file()]
    if missing:
        raise ValueError(f"not executed yet: {', '.join(missing)}; run `python -m lib run {' '.join(missing)}` first")
    report(root)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "-W", "-n", "--keep-going", str(root)]
    subprocess.run(command + (["--path-output", str(output)] if output else []), check=True)


def write(path: Path, text: str) -> None:
    """Replace a file at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
