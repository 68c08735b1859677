"""The pipeline: execute the chapters, collect their claims, build the site.

The sources are `book/*.md`; papermill executes each into its pair `book/*.ipynb`, which is committed and published.
Every function takes the book's root, the folder that holds `_toc.yml`.
"""

import base64
import fcntl
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import jupytext
import papermill
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from PIL import Image
from tqdm import tqdm

from lib import claims, pages
from lib.checks import kind, one_of, text, whole
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
    kind("names", names, list, tuple)
    known = chapters(root)
    unknown = sorted(set(names) - set(known), key=str)
    if unknown:
        raise ValueError(f"names: no such chapter: {', '.join(unknown)}; the book has {', '.join(known)}")
    return [name for name in known if name in names] if names else known


def draft(root: Path, chapter: str) -> NotebookNode:
    """Read a chapter's source as a notebook without outputs, with cell ids that do not change from day to day."""
    kind("root", root, Path)
    text(chapter=chapter)
    source = root / "book" / f"{chapter}.md"
    if not source.is_file():
        raise ValueError(f"chapter {chapter!r}: there is no {source}")
    notebook = jupytext.read(source)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03}"
    notebook.metadata.pop("jupytext", None)
    return notebook


def execute(root: Path, chapter: str, settings: Settings, output: Path, position: int = 0) -> Result:
    """Execute one chapter into `output`; the file there changes only if every cell succeeds.

    Runs in a process of its own, so that the peak memory is this chapter's.
    """
    kind("root", root, Path)
    text(chapter=chapter)
    kind("settings", settings, Settings)
    kind("output", output, Path)
    start = time.perf_counter()
    work = root / "_build" / "run"
    work.mkdir(parents=True, exist_ok=True)
    source, partial = work / f"{chapter}.draft-{os.getpid()}.ipynb", work / f"{chapter}.{os.getpid()}.ipynb"
    error, verdicts = "", Counter()
    try:
        jupytext.write(draft(root, chapter), source)
        notebook = papermill.execute_notebook(
            os.path.relpath(source),  # papermill writes it into the notebook: a folder's name may have letters that C has not
            os.path.relpath(partial),
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
    kind("settings", settings, Settings)
    if jobs is not None:
        jobs = whole("jobs", jobs)
    if output is not None:
        kind("output", output, Path)
    selected = select(root, names)
    missing = [f"book/{name}.md" for name in selected if not (root / "book" / f"{name}.md").is_file()]
    if missing:
        raise ValueError(f"_toc.yml names a chapter without a source: {', '.join(missing)}")
    one_of("profile", settings.profile, PROFILES)
    whole("seed", settings.seed, 0)
    cores = os.cpu_count() or 1
    jobs = min(cores, len(selected)) if jobs is None else jobs

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // jobs)))
    os.environ["TQDM_DISABLE"] = "1"  # bars inside a chapter would end up in its outputs
    _remove_abandoned(root)
    results = []
    with (
        ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent, max_tasks_per_child=1) as pool,
        tqdm(total=len(selected), desc="chapters", unit="chapter", disable=None) as bar,
    ):
        tasks = {
            pool.submit(execute, root, name, settings, output or root / "book", position): name
            for position, name in enumerate(selected, start=1)
        }
        for task in as_completed(tasks):
            try:
                results.append(task.result())
            except BrokenProcessPool:
                error = f"{tasks[task]}: the process that executes it was killed, most likely for want of memory; run it again"
                results.append(Result(tasks[task], 0.0, 0.0, error=error))
            bar.update()
            bar.set_postfix_str(f"{results[-1].chapter} {'failed' if results[-1].error else 'done'}")
    if output is None:
        report(root)
    return sorted(results, key=lambda result: selected.index(result.chapter))


def end_with_parent() -> None:
    """End this process, and so its kernel, as soon as the one that started it is gone, however that ended."""

    def watch() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _remove_abandoned(root: Path) -> None:
    """Remove what runs that were killed have left: files that bear the number of a process that is no more."""
    for path in [*root.glob("_build/run/*.ipynb"), *root.glob("_build/*.partial"), *root.glob("book/*.partial")]:
        number = re.search(r"(\d+)\.(ipynb|partial)$", path.name)
        try:
            os.kill(int(number[1]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except PermissionError:  # it runs, and is somebody else's
            pass


def ledger(root: Path, notebooks: Path | None = None) -> list[dict]:
    """Collect the claims of all executed chapters, each with its chapter and the profile it ran at.

    Raises
    ------
    ValueError
        If a notebook is not whole.
    """
    records = []
    if notebooks is not None:
        kind("notebooks", notebooks, Path)
    for chapter in chapters(root):
        path = (notebooks or root / "book") / f"{chapter}.ipynb"
        if path.is_file():
            try:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                place = {"chapter": chapter, "profile": notebook["metadata"].get("run", {}).get("profile")}
                records += [{**record, **place} for record in claims.collect(notebook)]
            except (ValueError, TypeError, LookupError, AttributeError) as problem:
                raise ValueError(f"{path} is no whole notebook ({problem}): run `python -m lib run {chapter}`") from problem
    return records


def report(root: Path, notebooks: Path | None = None) -> list[dict]:
    """Write the ledger to `_build/claims.json`; for the book's own notebooks renew the pages written from it, too."""
    records = ledger(root, notebooks)
    if notebooks is not None and not notebooks.is_dir():
        raise ValueError(f"notebooks: there is no folder {notebooks}")
    write(root / "_build" / "claims.json", json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    if notebooks is None:
        for name, text in pages.generated(root, records).items():
            page = root / name
            if not page.is_file() or page.read_text(encoding="utf-8") != text:  # a page that stays is not built again
                write(page, text)
    return records


def build(root: Path, output: Path | None = None) -> None:
    """Build the site from the executed notebooks, every warning an error, into `output`/_build/html (default: the root).

    Only what has changed is built, unless the build before did not succeed (it may have left half a page, or a warning that would
    not come again) or is dated in the future (then changes do not show).

    Raises
    ------
    ValueError
        If a chapter has not been executed yet or its notebook is not whole, or if another build is at work there.
    subprocess.CalledProcessError
        If Jupyter Book reports a warning or an error.
    """
    if output is not None:
        kind("output", output, Path)
    missing = [name for name in chapters(root) if not (root / "book" / f"{name}.ipynb").is_file()]
    if missing:
        raise ValueError(f"not executed yet: {', '.join(missing)}; run `python -m lib run {' '.join(missing)}` first")
    report(root)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "-W", "-n", "--keep-going", str(root)]
    command += ["--path-output", str(output)] if output else []
    with _building((output or root) / "_build") as (lock, anew):
        subprocess.run(command + ["--all"] * anew, check=True, pass_fds=[lock])


@contextmanager
def _building(folder: Path) -> Iterator[tuple[int, bool]]:
    """Keep the file `building` in the folder, locked, until the build succeeds; tell its descriptor and whether to build anew.

    The lock is the build's, too, so that it holds as long as either process lives.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark, memory = folder / "building", folder / ".doctrees" / "environment.pickle"
    unfinished = mark.exists()
    with mark.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another build is at work in {folder}: wait until it has finished") from None
        future = memory.exists() and memory.stat().st_mtime > time.time()
        if unfinished or future:
            reason = "did not succeed" if unfinished else "is dated in the future"
            print(f"the last build in {folder} {reason}: every page is built anew", file=sys.stderr)
        yield lock.fileno(), unfinished or future
        mark.unlink()


def write(path: Path, text: str) -> None:
    """Replace a file at once or not at all."""
    kind("path", path, Path)
    kind("text", text, str)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
