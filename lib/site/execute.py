"""Execute the chapters with papermill: the lesson `book/NAME.md` and `book/NAME/evidence.md`.

Papermill executes each source into its pair, `NAME.ipynb` beside it, which is committed and
published.
"""

import base64
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import jupytext
import papermill
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from papermill.exceptions import PapermillExecutionError
from PIL import Image
from yaml import YAMLError

from lib import claims, files
from lib.processes import at_once, processes, results
from lib.progress import log
from lib.provenance import resolve_device
from lib.site import jupyter_kernel, ledger, slices
from lib.site.book import Book


class Settings(NamedTuple):
    """What a run hands to every chapter; the names are those in the chapters' `parameters` cell."""

    profile: str = "quick"
    device: str = "auto"
    seed: int = 0


@dataclass
class Result:
    """How the execution of one chapter went."""

    chapter: str
    error: str = ""
    no_data: bool = False  # whether that is because a data set cannot be had
    seconds: float = 0.0
    peak_mib: float = 0.0
    verdicts: Counter = field(default_factory=Counter)
    cells: list[tuple[float, str]] = field(default_factory=list)  # seconds of each and its name

    def __str__(self) -> str:
        if self.error:
            return f"{self.chapter}: failed"
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        cost = f"{self.seconds:.0f} s, {self.peak_mib:.0f} MiB"
        return f"{self.chapter}: done in {cost}; {counts or 'no claims'}"


def select(book: Book, names: list[str], lesson: bool = False) -> list[str]:
    """Name the notebooks of chapters of this library's book (none: all), or only the lessons."""
    jupyter_kernel.refuse_another_library(book.root)
    unknown = sorted(set(names) - set(book.chapters))
    if unknown:
        there = ", ".join(book.chapters)
        raise ValueError(f"no such chapter: {', '.join(unknown)}; _toc.yml lists {there}")
    selected = [name for name in book.chapters if name in names or not names]
    return selected if lesson else book.notebooks_of(*selected)


def draft(book: Book, chapter: str) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs, with cell ids that do not change.

    Raises
    ------
    ValueError
        If its header is not whole.
    """
    try:
        notebook = jupytext.reads(book.text(chapter), fmt="md:myst")
    except YAMLError as problem:
        remedy = "copy the lines from `---` to `---` of another chapter"
        raise ValueError(f"the header of book/{chapter}.md is not whole: {remedy}") from problem
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
    notebook.metadata.pop("jupytext", None)
    return notebook


def execute(
    root: Path,
    chapter: str,
    settings: Settings,
    output: Path,
    incomplete: Mapping[str, str],
) -> Result:
    """Execute one chapter into `output`; the file there changes only if every cell succeeds.

    Runs in a process of its own, so that the peak memory is this chapter's. Cells that depend on
    `incomplete` runs are left out, and their claims are not decided.
    """
    log(f"{chapter}: started")
    book = Book(root)
    result = Result(chapter)
    begun: list[str] = []
    start = time.perf_counter()
    try:
        source = draft(book, chapter)
        slices.skip(source, incomplete)
        notebook = papermill.execute_notebook(
            source,
            None,
            parameters=settings._asdict(),
            cwd=str(book.folder),
            kernel_manager_class=jupyter_kernel.Kernel,
            extra_arguments=["--log-level=ERROR"],
            coalesce_streams=True,  # how a kernel chops its output differs from run to run
            on_cell_execute=lambda cell, cell_index: begun.append(_place(cell_index, cell.source)),
            progress_bar=False,
        )
        if incomplete:
            _leave_undecided(notebook, book.notebook(chapter))
        for number, cell in enumerate(notebook.cells):
            place = _place(number, cell.source)
            _refuse(cell, place)
            if seconds := cell.metadata.get("papermill", {}).get("duration"):
                result.cells.append((seconds, f"{chapter}, {place}"))
            _tidy(cell)
        for record in claims.collect(notebook):
            _refuse_another_name(record["id"], book.chapter_of(chapter))
            result.verdicts[record["verdict"]] += 1
        kept = {"kernelspec": notebook.metadata["kernelspec"], "run": settings._asdict()}
        notebook.metadata = NotebookNode(kept)
        files.write(output / f"{chapter}.ipynb", jupytext.writes(notebook, fmt="ipynb") + "\n")
    except PapermillExecutionError as failure:
        place = _place(failure.cell_index, failure.source)
        result.error = f"{chapter}, {place}: {failure.ename}: {failure.evalue}"
        result.no_data = failure.ename == "DataUnavailable"  # of lib.data
    except DeadKernelError:
        reason = f"the kernel died, most likely for lack of memory{jupyter_kernel.last_words()}"
        result.error = f"{chapter}, {begun[-1]}: {reason}"
    except Exception as failure:  # the other chapters go on, and the summary names it
        reason = "" if begun else jupyter_kernel.last_words()
        result.error = f"{chapter}: {type(failure).__name__}: {failure}{reason}"
    unit = 2**20 if sys.platform == "darwin" else 2**10
    result.peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    result.seconds = time.perf_counter() - start
    return result


def _first_line(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip()), "empty")


def _place(number: int, source: str) -> str:
    return f"cell {number} ({_first_line(source)})"


def _leave_undecided(notebook: NotebookNode, committed: dict) -> None:
    """Put the claims of cells that were left out into their outputs, as not decided."""
    before = {"".join(cell["source"]): cell for cell in committed["cells"]}
    for cell in notebook.cells:
        if "incomplete" in cell.metadata and cell.source in before:
            for record in claims.collect({"cells": [before[cell.source]]}):
                data, metadata = claims.undecided(record, cell.metadata["incomplete"])
                cell.outputs.append(new_output("display_data", data, metadata=metadata))


def _refuse(cell: NotebookNode, place: str) -> None:
    """Raise if a cell ended the chapter early, which papermill takes for a success.

    Also if it wrote on stderr, or drew no figure for its caption.
    """
    outputs = cell.get("outputs", [])
    if any(output.output_type == "error" for output in outputs):
        raise RuntimeError(f"{place} ended the chapter early")
    if said := "".join(output.text for output in outputs if output.get("name") == "stderr"):
        raise RuntimeError(
            f"{place} wrote to stderr, which the page would show: {_first_line(said)}"
        )
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    drawn = "figure" in cell.metadata.get("mystnb", {}) and "incomplete" not in cell.metadata
    if drawn and not kinds & {"image/png", "image/svg+xml", "text/html"}:
        raise RuntimeError(f"{place} has a caption but drew no figure")


def _refuse_another_name(claim: str, chapter: str) -> None:
    """Raise if a claim has the name of another chapter, as after a chapter was copied."""
    if not claim.startswith(f"{chapter}/"):
        raise ValueError(f"the claim {claim} stands in {chapter}: call it {chapter}/NAME")


def _tidy(cell: NotebookNode) -> None:
    """Drop what differs from run to run, and hide the injected parameters.

    Every figure gets its alternative text, and a palette of 256 colours: a third of the size, and
    no eye sees it.
    """
    cell.metadata.pop("papermill", None)
    cell.metadata.pop("execution", None)
    if "injected-parameters" in cell.metadata.get("tags", []):
        cell.id = "cell-parameters"
        cell.metadata.tags.append("remove-cell")
    alternative = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
    for output in cell.get("outputs", []):
        if "image/png" in output.get("data", {}):
            output.data["image/png"] = _lean(output.data["image/png"])
            shown = output.metadata.setdefault("image/png", {})
            if alternative:
                shown["alt"] = alternative  # where nbconvert looks for it
            if "dark" in shown:
                shown["dark"] = _lean(shown["dark"])


def _lean(figure: str) -> str:
    """Give a figure, a PNG in base64, a palette of 256 colours."""
    image = Image.open(BytesIO(base64.b64decode(figure))).convert("RGB")
    lean = BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(lean, "png", optimize=True)
    return base64.b64encode(lean.getvalue()).decode()


def run(
    book: Book,
    names: list[str],
    settings: Settings,
    jobs: int | None,
    output: Path | None,
    lesson: bool,
    incomplete: Mapping[str, str] = {},
) -> list[Result]:
    """Execute chapters side by side, each notebook in a process; return how each went, in order.

    Parameters
    ----------
    names : chapters; none means all
    jobs : how many at a time; by default as many as this process has cores and memory for
    output : folder for the executed notebooks; by default `book/`, and the ledger is then
        collected, too
    lesson : leave the evidence pages out
    incomplete : runs that are not whole, and how far they are; what depends on them is left out

    Raises
    ------
    ValueError
        Before any work: for an unknown chapter, a device that is not there, an output that is not
        a folder, or the library of another book.
    """
    selected = select(book, names, lesson)
    if settings.device == "cuda":
        resolve_device("cuda")
    folder = output or book.folder
    files.prepare(folder)
    if output is None:
        files.prepare(book.root / "_build")  # of the ledger
    jobs = min(jobs or at_once(), len(selected))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the sums are the same on any number of cores
    calls = {name: (book.root, name, settings, folder, incomplete) for name in selected}
    found = {}
    with processes(jobs, calls_each=1) as pool:
        for name, task in results(pool, execute, calls):
            try:
                found[name] = task.result()
            except BrokenProcessPool:
                reason = "the process that executes it was killed, most likely for lack of memory"
                found[name] = Result(name, f"{name}: {reason}; run it again")
            log(str(found[name]))
    if output is None:
        ledger.write(Book(book.root))
    return [found[name] for name in selected]
