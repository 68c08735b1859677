"""Execute the chapters with papermill: the lesson `book/NAME.md` and the evidence page `book/evidence/NAME.md`.

Papermill executes each source into its pair, `NAME.ipynb` beside it, which is committed and published.
`root` is the folder that holds `_toc.yml`.
"""

import base64
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import jupytext
import papermill
from dask.system import cpu_count
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from papermill.exceptions import PapermillExecutionError
from PIL import Image
from tqdm import tqdm

from lib import claims, files
from lib.provenance import resolve_device
from lib.site import kernel, ledger, slices
from lib.site.processes import at_once, log, side_by_side
from lib.site.toc import chapters, notebooks, source


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
    cells: tuple[tuple[float, str], ...] = ()  # seconds of each and its name

    def __str__(self) -> str:
        if self.error:
            return f"{self.chapter}: failed"
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return f"{self.chapter}: done in {self.seconds:.0f} s; {counts or 'no claims'}"


def select(root: Path, names: list[str], lesson: bool = False) -> list[str]:
    """Check that `names` are chapters of this library's book (none: all), and name their notebooks, or only their lessons."""
    kernel.refuse_another_library(root)
    known = chapters(root)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"no such chapter: {', '.join(unknown)}; the book has {', '.join(known)}")
    selected = [name for name in known if name in names] if names else known
    return selected if lesson else notebooks(root, selected)


def draft(root: Path, chapter: str) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs, with cell ids that do not change from day to day."""
    notebook = jupytext.reads(source(root, chapter), fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
    notebook.metadata.pop("jupytext", None)
    return notebook


def execute(
    root: Path, chapter: str, settings: Settings, output: Path, position: int = 0, incomplete: Mapping[str, str] | None = None
) -> Result:
    """Execute one chapter into `output`; the file there changes only if every cell succeeds.

    Runs in a process of its own, so that the peak memory is this chapter's. Cells that depend on `incomplete` runs are left out,
    and their claims are not decided.
    """
    log(f"{chapter}: started")
    signal.signal(signal.SIGTERM, _interrupt)
    start, error, verdicts, begun, cells = time.perf_counter(), "", Counter(), [], ()
    try:
        source = draft(root, chapter)
        slices.skip(source, incomplete or {})
        notebook = papermill.execute_notebook(
            source,
            None,
            parameters=settings._asdict(),
            cwd=str(root / "book"),
            kernel_manager_class=kernel.Kernel,
            extra_arguments=["--log-level=ERROR"],
            coalesce_streams=True,  # how a kernel chops its output differs from run to run
            on_cell_execute=lambda cell, cell_index: begun.append(_cell(cell_index, cell)),
            progress_bar={"desc": chapter, "position": position, "leave": False, "disable": None},
        )
        _leave_undecided(notebook, root / "book" / f"{chapter}.ipynb")
        _refuse(notebook)
        cells = tuple(_times(notebook))
        _tidy(notebook, settings)
        _lighten(notebook)
        files.write(output / f"{chapter}.ipynb", jupytext.writes(notebook, fmt="ipynb") + "\n")
        verdicts = Counter(record["verdict"] for record in claims.collect(notebook))
    except PapermillExecutionError as failure:
        error = f"{chapter}, cell {failure.cell_index} ({_first_line(failure.source)}): {failure.ename}: {failure.evalue}"
    except DeadKernelError:
        error = f"{chapter}, {begun[-1]}: the kernel died, most likely for lack of memory{kernel.last_words()}"
    except KeyboardInterrupt:  # papermill has ended the kernel
        error = f"{chapter}: interrupted"
    except Exception as failure:  # whatever it is, the other chapters go on and the summary names it
        error = f"{chapter}: {type(failure).__name__}: {failure}{'' if begun else kernel.last_words()}"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Result(chapter, time.perf_counter() - start, peak, verdicts, error, cells)


def _interrupt(*_: object) -> None:
    """Raise KeyboardInterrupt, once, so that who ends this process ends its kernel, too; nobody listens to it any more."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    raise KeyboardInterrupt


def _first_line(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip()), "empty")


def _cell(number: int, cell: NotebookNode) -> str:
    return f"cell {number} ({_first_line(cell.source)})"


def _times(notebook: NotebookNode) -> Iterator[tuple[float, str]]:
    """Yield the seconds that each cell took, and the cell."""
    for number, cell in enumerate(notebook.cells):
        if seconds := cell.metadata.get("papermill", {}).get("duration"):
            yield seconds, _cell(number, cell)


def _leave_undecided(notebook: NotebookNode, committed: Path) -> None:
    """Put the claims of cells that were left out into their outputs, as not decided."""
    if not any("incomplete" in cell.metadata for cell in notebook.cells) or not committed.is_file():
        return
    before = {cell.source: cell for cell in jupytext.read(committed, fmt="ipynb").cells}
    for cell in notebook.cells:
        if "incomplete" in cell.metadata and cell.source in before:
            found = [
                claims.undecided(record, cell.metadata["incomplete"])
                for record in claims.collect({"cells": [before[cell.source]]})
            ]
            cell.outputs = [new_output("display_data", data, metadata=metadata) for data, metadata in found]


def _refuse(notebook: NotebookNode) -> None:
    """Raise if a cell left the kernel early, which papermill takes for a success, wrote on stderr or drew no figure."""
    for number, cell in enumerate(notebook.cells):
        outputs = cell.get("outputs", [])
        if any(output.output_type == "error" for output in outputs):
            raise RuntimeError(f"{_cell(number, cell)} ended the chapter early")
        if said := "".join(output.text for output in outputs if output.get("name") == "stderr"):
            raise RuntimeError(f"{_cell(number, cell)} wrote to stderr, which the page would show: {_first_line(said)}")
        kinds = {kind for output in outputs for kind in output.get("data", {})}
        drawn = "figure" in cell.metadata.get("mystnb", {}) and "incomplete" not in cell.metadata
        if drawn and not kinds & {"image/png", "image/svg+xml", "text/html"}:
            raise RuntimeError(f"{_cell(number, cell)} has a caption but drew no figure")


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


def run(
    root: Path,
    names: list[str],
    settings: Settings,
    jobs: int | None = None,
    output: Path | None = None,
    lesson: bool = False,
    incomplete: Mapping[str, str] | None = None,
) -> list[Result]:
    """Execute chapters side by side, each notebook in a process of its own, and return how each went, in the book's order.

    Parameters
    ----------
    names : chapters; none means all
    jobs : how many at a time; by default as many as this process has cores and memory for
    output : folder for the executed notebooks; by default `book/`, and the ledger is then collected, too
    lesson : leave the evidence pages out
    incomplete : runs that are not whole, and how far they are; what depends on them is left out

    Raises
    ------
    ValueError
        Before any work: for an unknown chapter, a device that is not there, an output that is not a folder, or the library of
        another book.
    """
    selected = select(root, names, lesson)
    if settings.device == "cuda":
        resolve_device("cuda")
    place = output or root / "book"
    files.prepare(place)
    jobs = min(jobs or at_once(), len(selected))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cpu_count() // jobs)))
    calls = {name: (root, name, settings, place, position, incomplete) for position, name in enumerate(selected, start=1)}
    results = {}
    with (
        side_by_side(execute, calls, jobs, calls_per_process=1) as tasks,
        tqdm(total=len(selected), desc="chapters", unit="chapter", disable=None) as bar,
    ):
        for name, task in tasks:
            try:
                results[name] = task.result()
            except BrokenProcessPool:
                error = f"{name}: the process that executes it was killed, most likely for lack of memory; run it again"
                results[name] = Result(name, 0.0, 0.0, error=error)
            log(str(results[name]))
            bar.update()
            bar.set_postfix_str(f"{name} {'failed' if results[name].error else 'done'}")
    if output is None:
        ledger.report(root)
    return [results[name] for name in selected]
