"""Change the formulas, one place at a time, and see whether a test fails.

mutmut proposes the changes. A fixed number in each module is drawn by a hash of the change alone,
so that the draw stays when other lines move. pytest collects the tests once; then a fork for each
mutant takes over its code and runs the tests that reach the function, the fastest first, until one
fails. A mutant that survives either shows what no test looks at, or computes the same.

`python -m tests.tools.mutants [MODULE ...]` prints what it finds; without names it tries all and
writes `book/quality/mutants.json`, from which the page "How this book is tested" takes its table.
"""

import argparse
import ast
import hashlib
import importlib
import inspect
import json
import math
import multiprocessing
import os
import platform
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType, FunctionType

import pytest
from hypothesis import Phase, settings

from lib import files
from lib.site.pages import tables

ROOT = Path(__file__).parents[2]
PLACES = (
    "lib/theory/[!_]*.py",
    "lib/kernels/[!_]*.py",
    "lib/measures.py",
    "book/*/theory.py",
    "book/*/measures.py",
    "book/localization/tiling.py",
    "book/piecewise_linear/*regions.py",
    "book/piecewise_linear/tangent_kernels.py",
    "book/practice/arithmetic.py",
    "book/practice/random_hierarchy.py",
    "book/two_point/toys.py",
)
FOUND = [path.relative_to(ROOT) for place in PLACES for path in sorted(ROOT.glob(place))]
# by its name, under that of the chapter: there is a `theory.py` in each
MODULES = {
    ".".join(path.with_suffix("").parts[-2 if path.parts[0] == "book" else -1 :]): path.as_posix()
    for path in FOUND
}
TESTS = ["tests/theory", "tests/test_kernels.py", "tests/test_measures.py", "tests/test_checks.py"]
TESTS += [  # those of a chapter's formulas, and those that belong to no one module
    path.relative_to(ROOT).as_posix()
    for path in sorted(ROOT.glob("tests/*/test_*.py"))
    if (ROOT / "book" / path.parent.name).is_dir()
    and (
        f"{path.parent.name}.{path.stem.removeprefix('test_')}" in MODULES
        or not (ROOT / "book" / path.parent.name / path.name.removeprefix("test_")).exists()
    )
]
BUDGET = 30  # mutants in each module
PATIENCE = 5  # seconds of the processor for a test, and
TIMES = 10  # this many times what it takes without a mutant
CORES = len(os.sched_getaffinity(0))
MEMORY = 2**34  # bytes that a mutant may ask for
CAUGHT = 77  # how a fork says so; 1 would be an error of ours
RESULTS = {CAUGHT: "caught", -signal.SIGXCPU: "timed out", 0: "survived"}
PACKAGES = ("mutmut", "pytest", "hypothesis", "numpy", "scipy", "torch", "xarray")


@dataclass(frozen=True)
class Change:
    """One change in one line of a function."""

    module: str
    function: str
    was: str
    now: str
    nth: int  # among equal changes in the function

    def place(self) -> str:
        """Return the place in the draw, which depends on the change alone."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def original(self) -> FunctionType:
        """Return the function that has the formula, inside of what checks its arguments."""
        found = importlib.import_module(self.module.removesuffix(".py").replace("/", "."))
        for name in self.function.split("."):
            found = inspect.getattr_static(found, name)
        return inspect.unwrap(getattr(found, "__func__", found))


def main() -> int:
    """Try the mutants of all modules, or of those named; return 1
    if tests cannot be run or fail without a mutant.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.mutants", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "names", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)} (default: all)"
    )
    names = parser.parse_args().names
    if unknown := sorted({*names} - {*MODULES}):
        parser.error(f"there is no module {', '.join(unknown)}; there are {', '.join(MODULES)}")
    if find_spec("mutmut") is None:
        parser.error("mutmut is not installed: `make mutate` brings it")
    paths = [str(ROOT / path) for path in TESTS]
    return int(
        pytest.main(["-p", "no:cacheprovider", "--capture=no", *paths], [Runner(names)]) != 0
    )


def drawn(module: str) -> dict[Change, str]:
    """Return as many changes of a module's formulas as the budget
    allows, always the same, each with the changed function.
    """
    import libcst as cst
    from libcst import matchers
    from mutmut.mutation.file_mutation import create_mutations

    takes = matchers.Decorator(
        decorator=matchers.Call(func=matchers.Name("takes"))
    )  # mutmut leaves decorated functions alone
    source = cst.parse_module((ROOT / module).read_text(encoding="utf-8"))
    tree, mutations, *_ = create_mutations(
        module, matchers.replace(source, takes, cst.RemovalSentinel.REMOVE).code
    )
    names = {}
    for node in tree.body:
        parts, prefix = (
            (node.body.body, f"{node.name.value}.")
            if isinstance(node, cst.ClassDef)
            else ([node], "")
        )
        names.update(
            {part: prefix + part.name.value for part in parts if isinstance(part, cst.FunctionDef)}
        )

    def unparsed(function: cst.FunctionDef) -> str:
        return ast.unparse(ast.parse(cst.Module([function]).code))

    before = {function: unparsed(function) for function in names}
    found, seen = {}, Counter()
    for mutation in mutations:
        was, now, function = (
            mutation.original_node,
            mutation.mutated_node,
            mutation.contained_by_top_level_function,
        )
        if function in names and of_formulas(was, now):
            after = unparsed(function.deep_replace(was, now))
            lines = zip(before[function].split("\n"), after.split("\n"), strict=True)
            changed = [(old.strip(), new.strip()) for old, new in lines if old != new]
            if changed:  # not only a spelling, as 1e2 for 100.0
                found[
                    Change(module, names[function], *changed[0], seen[names[function], changed[0]])
                ] = after
                seen[names[function], changed[0]] += 1
    return {change: found[change] for change in sorted(found, key=Change.place)[:BUDGET]}


def of_formulas(was: object, now: object) -> bool:
    """Tell whether a change is in a formula.

    It is not in text, in a check of shapes, and where a value or a positional argument is None or
    gone.
    """
    import libcst as cst
    from libcst import matchers

    if isinstance(was, cst.BaseString | cst.Assign | cst.AnnAssign | cst.Lambda):
        return False
    if matchers.matches(
        was, matchers.Call(func=matchers.Name("broadcastable") | matchers.Name("fit"))
    ):
        return False
    positional = [
        [part for part in call.args if part.keyword is None]
        for call in (was, now)
        if isinstance(call, cst.Call)
    ]
    return len(positional) < 2 or positional[0] == positional[1]


class Runner:
    """A plugin of pytest that runs the collected tests on the mutants of modules."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.fork, self.failures = names, multiprocessing.get_context("fork"), []

    def pytest_collection(self) -> None:
        """Keep the examples of the tests; what fails need not be shrunk to the smallest example."""
        settings.register_profile(
            "mutants", settings.get_profile("book"), phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests without a mutant, then on each mutant of the
        draw those that reach its function; write the table.
        """
        if session.testsfailed:
            raise session.Interrupted("not all tests could be collected")
        modules = [MODULES[name] for name in self.names or MODULES]
        with self.fork.Pool(CORES, signal.signal, (signal.SIGINT, signal.SIG_DFL)) as pool:
            changes = {
                change: source
                for found in pool.map(drawn, modules)
                for change, source in found.items()
            }
        runs = self.reach(session.items, {id(change.original().__code__) for change in changes})
        todo = []
        for change, source in changes.items():
            code = id(change.original().__code__)
            tests = [(seconds, item) for seconds, item, called in runs if code in called]
            todo.append((change, source, tests))
        print(f"{len(todo)} mutants to try", flush=True)
        found = sorted(self.results(todo), key=lambda line: modules.index(line["module"]))
        for module, count in Counter(line["module"] for line in found).items():
            caught = sum(
                line["module"] == module and line["result"] != "survived" for line in found
            )
            print(f"{module}: {caught} of {count} are caught")
        if not self.names:
            self.write(found)
        return True

    def passes(self, item: pytest.Item) -> bool:
        """Run one test."""
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.failures

    def reach(
        self, items: list[pytest.Item], codes: set[int]
    ) -> list[tuple[float, pytest.Item, set[int]]]:
        """Return each test with its seconds and which codes, by their ids, it calls, the fastest
        first; stop where one fails.
        """
        parts, found = [(items[i::CORES], *self.fork.Pipe(duplex=False)) for i in range(CORES)], []
        for part, _, send in parts:
            self.fork.Process(target=self.watch, args=(part, codes, send)).start()
        for part, receive, _ in parts:
            runs, failures = receive.recv()
            if failures:
                raise pytest.UsageError("these fail without a mutant:\n" + "\n".join(failures))
            found += [
                (seconds, item, called) for (seconds, called), item in zip(runs, part, strict=True)
            ]
        return sorted(found, key=lambda run: run[0])

    def watch(self, items: list[pytest.Item], codes: set[int], answer: Connection) -> None:
        """Run tests without a mutant; send the seconds and
        the codes that each calls, and what failed.
        """
        subside()
        called, runs = set(), []

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                called.add(id(frame.f_code))

        for item in items:
            start = time.process_time()
            sys.setprofile(note)
            self.passes(item)
            sys.setprofile(None)
            runs.append((time.process_time() - start, called & codes))
            called.clear()
        answer.send((runs, self.failures))

    def attack(self, change: Change, source: str, tests: list[tuple[float, pytest.Item]]) -> None:
        """Run tests on a mutant until one fails."""
        subside()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        function = change.original()
        names = dict(function.__globals__)
        exec(source, names)
        for part in (
            "__code__",
            "__defaults__",
            "__kwdefaults__",
        ):  # for all who have imported the function
            setattr(function, part, getattr(names[function.__name__], part))
        for seconds, item in tests:
            limit = math.ceil(time.process_time() + PATIENCE + TIMES * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            if not self.passes(item):
                sys.exit(CAUGHT)

    def results(self, todo: list[tuple[Change, str, list]]) -> Iterator[dict]:
        """Try mutants, as many at a time as there are cores; yield what the table says of each."""
        running = {}
        while todo or running:
            while todo and len(running) < CORES:
                process = self.fork.Process(target=self.attack, args=todo[-1])
                process.start()
                running[process.sentinel] = process, todo.pop()[0]
            for sentinel in wait(running):
                process, change = running.pop(sentinel)
                process.join()
                result = RESULTS[process.exitcode]
                print(
                    f"{result:9}  {change.module} {change.function}: {change.was}  ->  "
                    f"{change.now}",
                    flush=True,
                )
                yield asdict(change) | {"result": result}

    def write(self, found: list[dict]) -> None:
        """Write the table, a line for each mutant, under what it comes from."""
        versions = {"python": platform.python_version()} | {
            name: version(name) for name in PACKAGES
        }
        head = {"date": date.today().isoformat(), "versions": versions, "budget": BUDGET}
        lines = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in found)
        text = f'{json.dumps(head, indent=1)[:-2]},\n "mutants": [\n  {lines}\n ]\n}}\n'
        files.write(tables.place(ROOT, "mutants"), text)


def subside() -> None:
    """Say nothing from now on, and end at Ctrl-C without a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
