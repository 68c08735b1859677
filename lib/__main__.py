"""The command line: `python -m lib run | build | serve | pdf | course | report | store | seeds`.

`store` needs torch, NumPy, SciPy, numba, xarray, threadpoolctl, tqdm, and pooch to fetch data;
what the others need is imported when they are called.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 such a Python stumbles in the next line
    sys.exit("lib needs Python 3.11 to 3.14: make setup, then .venv/bin/python -m lib")
if sys.platform == "win32":  # which lacks what is imported below
    sys.exit("lib works on Linux and macOS; on Windows, use WSL")

if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))  # until `files.refuse_place` has seen this folder

from lib import files, interrupts

if __name__ == "__main__":
    interrupts.note()  # what is imported below takes a while
    files.lead_nowhere()

import argparse
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from lib.options import duration, integer, place, portion, refuse_options
from lib.site.book import Book

NO_DATA = 3  # the exit status where chapters failed for want of a data set only

# What Ctrl-C leaves.
LEFT = {
    "run": "; finished chapters are kept",
    "build": "; the next build rebuilds every page",
    "store": "; finished cases are kept",
    "seeds": "; finished runs are kept",
}
LATE = ("run", "store", "seeds")  # these wait for processes, and obey Ctrl-C between their results


def parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    top = argparse.ArgumentParser(
        prog="python -m lib",
        description="Execute the chapters, collect their claims, build the site. Run it from "
        "the folder that holds _toc.yml.",
        epilog="example: python -m lib run products --profile quick && python -m lib build",
    )
    commands = top.add_subparsers(dest="command", required=True)

    chapters = argparse.ArgumentParser(add_help=False)
    chapters.add_argument(
        "chapters",
        nargs="*",
        metavar="CHAPTER",
        help="a chapter's name, as in _toc.yml (default: all)",
    )
    device = argparse.ArgumentParser(add_help=False)
    device.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="auto uses a GPU if there is one",
    )

    def command(name: str, call: Callable, help: str, **more: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=call.__doc__, **more)
        made.set_defaults(call=call)
        return made

    run = command(
        "run",
        run_chapters,
        "execute chapters with papermill",
        parents=[chapters, device],
        epilog="example: python -m lib run single_neuron --profile paper --device cuda --budget 2h",
    )
    run.add_argument("--lesson", action="store_true", help="leave the evidence pages out")
    run.add_argument(
        "--profile",
        choices=("quick", "paper"),
        default="quick",
        help="quick: small; paper: compute every run",
    )
    run.add_argument(
        "--seed",
        type=partial(integer, least=0),
        default=0,
        help="seed of all random numbers (default: 0)",
    )
    run.add_argument(
        "--jobs",
        type=integer,
        metavar="N",
        help="chapters run at once (default: set by cores and memory)",
    )
    run.add_argument(
        "--output",
        type=place,
        metavar="DIR",
        help="write the executed notebooks here and leave book/ untouched",
    )
    run.add_argument(
        "--budget",
        type=duration,
        metavar="TIME",
        help="with the paper profile: compute runs no longer than this",
    )

    build = command("build", build_site, "build the site from the executed notebooks")
    build.add_argument(
        "--output", type=place, metavar="DIR", help="build under DIR/_build (default: _build)"
    )

    serve = command(
        "serve", serve_site, "serve the built site on this machine, where its code runs"
    )
    serve.add_argument(
        "--port",
        type=partial(integer, most=65535),
        metavar="N",
        default=8000,
        help="default: 8000",
    )

    pdf = command("pdf", print_site, "print the built site to one PDF; needs Chromium")
    pdf.add_argument(
        "--site",
        type=place,
        metavar="DIR",
        default=Path("_build/html"),
        help="default: _build/html",
    )
    pdf.add_argument(
        "--output",
        type=place,
        metavar="FILE",
        default=Path("_build/book.pdf"),
        help="default: _build/book.pdf",
    )
    pdf.add_argument(
        "--slides",
        action="store_true",
        help="print the slides instead, each deck into _build/slides/NAME.pdf",
    )

    course = command("course", write_course, "write the labs and problem sets as notebooks")
    course.add_argument(
        "--key",
        type=partial(integer, least=0),
        metavar="N",
        help="give the problem sets other numbers than the book's, those of this key",
    )

    report = command(
        "report",
        report_claims,
        "collect the claims into _build/claims.json, and check the decimals of the text",
        epilog="example: python -m lib report --notebooks executed",
    )
    which = report.add_mutually_exclusive_group()
    which.add_argument(
        "--notebooks",
        type=place,
        metavar="DIR",
        help="read executed notebooks from DIR, and check no text",
    )
    which.add_argument(
        "--numbers",
        action="store_true",
        help="first propose lines there for decimals that have none, or none that holds, and "
        "print them: judge them",
    )
    report.add_argument(
        "--freeze",
        action="store_true",
        help="list the claims' names in book/names.txt, for a release",
    )

    store = command(
        "store",
        store_runs,
        "precompute what is too heavy for a laptop, into book/NAME/results/",
        parents=[device],
        epilog="example: python -m lib store --plan; python -m lib store piecewise_linear "
        "--budget 2h --workers 2;"
        " python -m lib store --again localization/pulses --cases 1",
    )
    store.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="chapter or chapter/experiment (default: all)",
    )
    store.add_argument(
        "--workers",
        type=integer,
        metavar="N",
        default=1,
        help="processes that compute (default: 1)",
    )
    store.add_argument(
        "--plan",
        action="store_true",
        help="compute nothing; say what is done, what is missing, and how long",
    )
    store.add_argument(
        "--budget", type=duration, metavar="TIME", help="stop after this time, e.g. 2h, 30m or 90s"
    )
    store.add_argument(
        "--batch",
        type=integer,
        metavar="N",
        help="cases in a call, where a run takes several (default: 1; more on a GPU)",
    )
    store.add_argument(
        "--again",
        action="store_true",
        help="compute stored cases anew, compare, and record that they agree",
    )
    store.add_argument(
        "--cases",
        type=integer,
        metavar="K",
        help="with --again: so many cases, spread over the stored ones",
    )
    store.add_argument(
        "--replace",
        action="store_true",
        help="with --again: put all cases in the place of the result",
    )
    store.add_argument(
        "--case-range",
        type=portion,
        metavar="i/n",
        help="compute every n-th missing case, as job i of n that share this folder; a later "
        "`store` joins the results",
    )

    seeds = command(
        "seeds",
        run_seeds,
        "check every claim with many seeds",
        parents=[chapters],
        epilog="example: python -m lib seeds synthesis --count 20",
    )
    seeds.add_argument(
        "--count", type=integer, default=20, metavar="N", help="how many seeds (default: 20)"
    )
    seeds.add_argument(
        "--jobs", type=integer, metavar="N", help="runs at once (default: set by cores and memory)"
    )
    return top


def summary(finished: Sequence) -> str:
    """Lay out how the chapters went, the slowest cells, and the cells that failed."""
    cells = sorted((cell for result in finished for cell in result.cells), reverse=True)
    lines = list(map(str, finished))
    lines += [f"{seconds:>7.1f} s  {cell}" for seconds, cell in cells[:10] if seconds >= 1]
    errors = [f"failed: {result.error}" for result in finished if result.error]
    if errors:
        errors[-1] += files.closed("\n".join(errors))
    lines += errors
    return "\n".join(lines)


def run_chapters(options: argparse.Namespace) -> int:
    """Execute chapters with papermill: the lesson book/NAME.md and the evidence page
    book/NAME/evidence.md. By default NAME.ipynb is replaced once the whole notebook has succeeded;
    if it fails, the last good notebook is kept, and the exit status is 1, or 3 if all that is wrong
    is that a data set, like MNIST, cannot be had. With --profile paper no stored result is read:
    each run that a page loads is computed, resumable, under _build/runs/; the notebooks go to
    _build/paper/ and book/ stays as it is; a table compares each claim with the committed one, and
    the exit status is 1 if a verdict has changed.
    """
    from lib.site import execute, paper

    settings = execute.Settings(options.profile, options.device, options.seed)
    book = Book(Path.cwd())
    given = (book, options.chapters, settings, options.jobs, options.output, options.lesson)
    rows = []
    if options.profile == "paper":
        finished, rows = paper.run(*given, options.budget)
        print(summary(finished), paper.table(rows), sep="\n\n")
    elif options.budget:
        raise ValueError("--budget goes with --profile paper")
    else:
        finished = execute.run(*given)
        print(summary(finished))
    wrong = [row for row in rows if row.changed or paper.FAILED in row.why]
    failed = [result for result in finished if result.error]
    if failed and not wrong and all(result.no_data for result in failed):
        return NO_DATA
    return int(bool(wrong or failed))


def build_site(options: argparse.Namespace) -> None:
    """Build the site from the executed notebooks; every warning is an error."""
    from lib.site import build

    build.build(Book(Path.cwd()), options.output)


def serve_site(options: argparse.Namespace) -> None:
    """Serve the built site at an address of this machine, with a key in it, until Ctrl-C. The open
    cells of its pages run, in a kernel for each page, which ends when the page is left.
    """
    from lib.site import live

    site = Path("_build/html")
    if not (site / "index.html").is_file():
        raise ValueError("make book comes first")
    live.serve(Path.cwd(), site.resolve(), options.port)


def print_site(options: argparse.Namespace) -> None:
    """Print the built site to one PDF, or its slides; needs Chromium."""
    from lib.site import pdf

    if options.slides:
        for path in pdf.slides(options.site, Path("_build/slides")):
            print(path)
    else:
        pages = pdf.write(Book(Path.cwd()), options.site, options.output)
        print(f"{pages} pages in {options.output}")


def write_course(options: argparse.Namespace) -> None:
    """Write the labs and problem sets into _build/course/, and again with their solutions, and with
    the answers to the quizzes, into _build/solutions/. A problem set has nbgrader's cells: the
    first folder holds its release version, the second its source version. Equations have the
    numbers of the built site: build it first.
    """
    from lib.site import handouts, shown
    from lib.site.myst import References

    book = Book(Path.cwd())
    references = References(book, shown.read(book, Path("_build/html")))
    for folder, solved in (("course", False), ("solutions", True)):
        for path in handouts.write(references, Path("_build", folder), solved, options.key):
            print(path)


def report_claims(options: argparse.Namespace) -> None:
    """Collect the claims of the executed notebooks into _build/claims.json, and see that each
    decimal of the text comes from where book/quality/numbers/ says.
    """
    from lib.site import ledger, names, numbers

    elsewhere = options.notebooks
    if elsewhere and not elsewhere.is_dir():
        raise ValueError(f"notebooks: there is no folder {elsewhere}")
    book = Book(Path.cwd(), elsewhere)
    ledger.write(book)
    if options.freeze:
        names.freeze(book)
    print(f"{len(ledger.records(book))} claims in _build/claims.json")
    if options.numbers:
        for line in numbers.record(book):
            print(line)
    if not elsewhere:
        print(f"{numbers.check(book)[0]} decimals and percentages of the text checked")


def run_seeds(options: argparse.Namespace) -> None:
    """Run chapters with the seeds 0, 1, ..., with the quick profile, and keep what each claim
    measured in book/quality/seeds.jsonl. Seeds that the table has are kept until something that the
    claims depend on changes.
    """
    from lib.site import seeds

    print(seeds.run(Book(Path.cwd()), options.chapters, options.count, options.jobs))


def store_runs(options: argparse.Namespace) -> None:
    """Precompute the experiments that are too heavy for a laptop and keep their results in
    book/NAME/results/. Finished cases are not computed again, and an interrupted run resumes. With
    --again, stored cases are computed anew with today's code and compared with the result.
    """
    from lib.interrupts import limit, obey
    from lib.processes import processes
    from lib.provenance import resolve_device
    from lib.runs import OutdatedResult, chapters
    from lib.runs.again import again
    from lib.runs.precompute import plan, precompute, refuse_batch
    from lib.runs.workers import ComputationFailed

    chosen = chapters.chosen(options.experiments)
    refuse_options(options)
    refuse_batch(chosen, options.batch)
    device = resolve_device(options.device)
    failed = []
    if options.plan:
        print(plan(chosen, device))
        return
    with processes(options.workers) as pool, limit(options.budget):
        for run in chosen:
            obey()
            try:
                if options.again:
                    said = again(run, device, pool, options.cases, options.replace)
                else:
                    precompute(run, device, pool, options.batch, options.case_range)
                    said = run.path
                print(said, flush=True)
            except (ComputationFailed, OutdatedResult) as problem:
                failed.append(str(problem))  # the others may be computed all the same
    if failed:
        raise ComputationFailed("\n".join(failed))


def carry_out(options: argparse.Namespace) -> int:
    """Run one command; return its status: 1 after a failure, 2 for a mistake, said in a line."""
    wrong = False
    try:
        files.refuse_place()
        files.choose_temporary()
        return options.call(options) or 0
    except ModuleNotFoundError as problem:
        wrong, said = True, f"{problem.name} is not installed: make setup"
    except ValueError as problem:
        wrong, said = True, str(problem)
    except OSError as problem:
        if problem.errno not in files.DISK:
            raise
        where = problem.filename2 or problem.filename
        said = f"{where}: " if where else ""
        said += f"{problem.strerror}; fix that and start again: what was finished is kept"
    except RuntimeError as problem:
        if not foreseen(problem):
            raise
        said = str(problem)
    print(f"lib {options.command}: {said}{files.closed(said)}", file=sys.stderr)
    return 2 if wrong else 1


def foreseen(problem: RuntimeError) -> bool:
    """Tell whether an error's message is for readers."""
    from lib.data import DataUnavailable
    from lib.runs import OutdatedResult
    from lib.runs.workers import ComputationFailed

    return isinstance(problem, (DataUnavailable, OutdatedResult, ComputationFailed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the command line says; return the exit status, as a shell gives it: 130 after
    Ctrl-C.
    """
    options = parser().parse_args(arguments)
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(errors="backslashreplace")  # a Greek letter must not stop a line
    try:
        with interrupts.handled(late=options.command in LATE):
            status = carry_out(options)
            if status == 0:
                interrupts.obey()
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except interrupts.OutOfTime:
        print("time is up; what was finished is kept")
        return 0
    except KeyboardInterrupt as end:
        print(f"lib {options.command}: interrupted{LEFT.get(options.command, '')}", file=sys.stderr)
        return 128 + (end.args[0] if end.args else signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
