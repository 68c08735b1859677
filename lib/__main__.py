"""The command line: `python -m lib run | build | pdf | report | store | seeds | new`.

`store` needs torch, NumPy, SciPy, xarray and tqdm only, and Dask where it is given workers; what the others need is imported when
they are called.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lib import claims, results
from lib.provenance import PROFILES, resolve_device
from lib.workers import cluster


def parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    top = argparse.ArgumentParser(
        prog="python -m lib",
        description="Execute the chapters, collect their claims, build the site. Run it from the folder that holds _toc.yml.",
        epilog="example: python -m lib run products --profile quick && python -m lib build",
    )
    commands = top.add_subparsers(dest="command", required=True)

    run = commands.add_parser(
        "run",
        help="execute chapters with papermill",
        description="Execute chapters (book/NAME.md) with papermill. By default the executed pair book/NAME.ipynb is replaced,"
        " once the whole chapter has succeeded; a chapter that fails keeps its last good notebook, and the exit status is 1.",
        epilog="example: python -m lib run single_neuron --profile paper --device cuda --output ../paper",
    )
    run.add_argument("chapters", nargs="*", metavar="CHAPTER", help="a chapter's name, as in _toc.yml (default: all)")
    run.add_argument("--profile", choices=PROFILES, default="quick", help="quick: live and small; paper: the source's scale")
    run.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto takes a GPU where there is one")
    run.add_argument("--seed", type=int, default=0, help="the seed of everything random (default: 0)")
    run.add_argument("--jobs", type=int, metavar="N", help="chapters at a time (default: one for every core)")
    run.add_argument("--output", type=Path, metavar="DIR", help="write the executed notebooks here and leave book/ untouched")

    build = commands.add_parser("build", help="build the site from the executed notebooks, every warning an error")
    build.add_argument("--output", type=Path, metavar="DIR", help="build under DIR/_build (default: _build)")

    pdf = commands.add_parser("pdf", help="print the built site into one PDF; needs Chromium")
    pdf.add_argument(
        "--site", type=Path, metavar="DIR", default=Path("_build/html"), help="the built site (default: _build/html)"
    )
    pdf.add_argument("--output", type=Path, metavar="FILE", default=Path("_build/book.pdf"), help="default: _build/book.pdf")

    report = commands.add_parser("report", help="collect the claims into _build/claims.json and the pages written from them")
    report.add_argument("--notebooks", type=Path, metavar="DIR", help="read executed notebooks from DIR; writes the JSON only")

    store = commands.add_parser(
        "store",
        help="compute the stored runs in book/results/",
        description="Compute the experiments that are too heavy for a laptop and keep them in book/results/. What is there with"
        " the same settings is left alone, and a run that was interrupted goes on where it stopped.",
        epilog="example: python -m lib store two_point/dynamics --device cuda",
    )
    store.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="topic or topic/experiment (default: all)")
    store.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto takes a GPU where there is one")
    store.add_argument("--workers", type=int, metavar="N", help="compute sweeps on N processes (default: in this one)")
    store.add_argument(
        "--scheduler", metavar="ADDRESS", help="compute sweeps on a running Dask cluster, like tcp://10.0.0.1:8786"
    )

    seeds = commands.add_parser(
        "seeds",
        help="check every claim with many seeds",
        description="Run chapters with the seeds 0, 1, ..., at the quick profile, and keep what each claim measured in"
        " book/evidence/seeds.jsonl. What was run before with the same code cells is not run again.",
        epilog="example: python -m lib seeds synthesis --count 20 && python -m lib report",
    )
    seeds.add_argument("chapters", nargs="*", metavar="CHAPTER", help="a chapter's name, as in _toc.yml (default: all)")
    seeds.add_argument("--count", type=int, default=20, metavar="N", help="how many seeds (default: 20)")
    seeds.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one for every core)")

    new = commands.add_parser(
        "new",
        help="start a chapter from the template",
        description="Write book/NAME.md, lib/theory/NAME.py and tests/theory/test_NAME.py from the template, which passes all"
        " checks, and add the chapter to _toc.yml and book/course.yml.",
        epilog="example: python -m lib new my_topic && python -m lib run my_topic",
    )
    new.add_argument("name", metavar="NAME", help="small letters, words joined by _")
    return top


def summary(results: Sequence) -> str:
    """Lay out how the chapters went: seconds, peak memory, claims by verdict, and the cell that failed."""
    lines = [f"{'chapter':<20}{'seconds':>9}{'peak MiB':>10}" + "".join(f"{verdict:>16}" for verdict in claims.VERDICTS)]
    for result in results:
        counts = "".join(f"{result.verdicts[verdict]:>16}" for verdict in claims.VERDICTS)
        lines.append(
            f"{result.chapter:<20}{result.seconds:>9.1f}{result.peak_mib:>10.0f}" + ("  failed" if result.error else counts)
        )
    lines += [f"failed: {result.error}" for result in results if result.error]
    return "\n".join(lines)


def store(names: Sequence[str], device: str) -> int:
    """Compute the stored runs that are named, by topic or in full; no names means all."""
    from lib.experiments import RUNS

    known = {run.name: run for run in RUNS}
    chosen = [run for run in RUNS if not names or {run.name, run.name.split("/")[0]} & set(names)]
    unknown = sorted(set(names) - set(known) - {name.split("/")[0] for name in known})
    if unknown:
        raise ValueError(f"no such experiment: {', '.join(unknown)}; there are {', '.join(known)}")
    for run in chosen:
        print(results.store(run, device))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    options, root = parser().parse_args(arguments), Path.cwd()
    try:
        if options.command == "store":
            with cluster(options.workers, options.scheduler):
                return store(options.experiments, resolve_device(options.device))
        from lib import book, template

        if options.command == "run":
            settings = book.Settings(options.profile, options.device, options.seed)
            results = book.run(root, options.chapters, settings, options.jobs, options.output)
            print(summary(results))
            return int(any(result.error for result in results))
        if options.command == "build":
            book.build(root, options.output)
        elif options.command == "seeds":
            from lib import seeds

            print(seeds.run(root, options.chapters, options.count, options.jobs))
        elif options.command == "pdf":
            from lib import pdf

            print(f"{pdf.write(root, options.site, options.output)} pages in {options.output}")
        elif options.command == "new":
            for path in template.new(root, options.name):
                print(path.relative_to(root))
        else:
            print(f"{len(book.report(root, options.notebooks))} claims in _build/claims.json")
    except ValueError as problem:
        print(f"lib {options.command}: {problem}", file=sys.stderr)
        return 2
    except RuntimeError as failure:
        print(f"lib {options.command}: {failure}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        return failure.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
