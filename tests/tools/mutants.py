"""Change the formulas, one place at a time, and see whether a test fails.

mutmut proposes the changes. A fixed number in each module is drawn by a hash of the change alone, so that the draw stays when
other lines move. pytest collects the tests once; then a fork for each mutant takes over its code and runs the tests that reach
the function, the fastest first, until one fails. `equivalent_mutants.toml` says which mutants no test can catch.
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
import textwrap
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import Phase, settings

from lib import files
from lib.site.pages import tables

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
TESTS = ["tests/theory", "tests/test_kernels.py", "tests/test_measures.py", "tests/test_checks.py"]
BUDGET = 30  # mutants in each module
PATIENCE, TIMES = 5, 10  # seconds of the processor for a test, and this many times what it takes without a mutant
CORES = len(os.sched_getaffinity(0))
MEMORY = 2**34  # bytes that a mutant may ask for
CAUGHT = 77  # how a fork says so; 1 would be an error of ours
PACKAGES = ("mutmut", "pytest", "hypothesis", "numpy", "scipy", "torch", "xarray")
RESULTS = {CAUGHT: "caught", -signal.SIGXCPU: "timed out", 0: "survived"}


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


def modules() -> list[str]:
    """Return the files with formulas."""
    theory = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "lib/theory").glob("[!_]*.py"))
    return [*theory, "lib/kernels/tangent.py", "lib/kernels/layers.py", "lib/measures.py"]


def main() -> int:
    """Try the mutants of all modules, or of those named; return 1 if tests cannot be run or fail without a mutant."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.mutants", description=__doc__.split("\n")[0])
    names = [Path(module).stem for module in modules()]
    parser.add_argument("names", nargs="*", metavar="MODULE", help=f"of {', '.join(names)} (default: all)")
    chosen = parser.parse_args().names or names
    if unknown := sorted({*chosen} - {*names}):
        parser.error(f"there is no module {', '.join(unknown)}; there are {', '.join(names)}")
    if find_spec("mutmut") is None:
        parser.error("mutmut is not installed: `make mutate` brings it")
    paths = [str(ROOT / path) for path in TESTS]
    return int(pytest.main(["-p", "no:cacheprovider", "--capture=no", *paths], [Runner(chosen)]) != 0)


def proposals(module: str) -> tuple[dict[Change, str], int]:
    """Return mutmut's changes of formulas, each with the changed function, and the number of all its changes.

    Left out are text (messages, names) and what breaks any line that runs: a value or a positional argument that is None or gone.
    """
    import libcst as cst
    from mutmut.mutation.file_mutation import create_mutations

    tree, mutations, *_ = create_mutations(module, without_checks((ROOT / module).read_text(encoding="utf-8")))
    names = {}
    for node in tree.body:
        parts, prefix = (node.body.body, f"{node.name.value}.") if isinstance(node, cst.ClassDef) else ([node], "")
        names.update({part: prefix + part.name.value for part in parts if isinstance(part, cst.FunctionDef)})

    def of_formulas(was: cst.CSTNode, now: cst.CSTNode) -> bool:
        if isinstance(was, cst.BaseString | cst.Assign | cst.AnnAssign | cst.Lambda):
            return False
        positional = [[part for part in call.args if part.keyword is None] for call in (was, now) if isinstance(call, cst.Call)]
        return len(positional) < 2 or positional[0] == positional[1]

    def unparsed(function: cst.FunctionDef) -> str:
        return ast.unparse(ast.parse(cst.Module([function]).code))

    before = {function: unparsed(function) for function in names}
    found, seen = {}, Counter()
    for mutation in mutations:
        was, now, function = mutation.original_node, mutation.mutated_node, mutation.contained_by_top_level_function
        if function in names and of_formulas(was, now):
            after = unparsed(function.deep_replace(was, now))
            lines = zip(before[function].split("\n"), after.split("\n"), strict=True)
            changed = [(old.strip(), new.strip()) for old, new in lines if old != new]
            if changed:  # not only a spelling, as 1e2 for 100.0
                change = Change(module, names[function], *changed[0], seen[names[function], changed[0]])
                found[change] = after
                seen[names[function], changed[0]] += 1
    return found, len(mutations)


def without_checks(source: str) -> str:
    """Return a module without its decorators `@takes(…)`: mutmut leaves decorated functions alone."""
    import libcst as cst
    from libcst import matchers

    takes = matchers.Decorator(decorator=matchers.Call(func=matchers.Name("takes")))
    return matchers.replace(cst.parse_module(source), takes, cst.RemovalSentinel.REMOVE).code


def draw(changes: dict[Change, str]) -> dict[Change, str]:
    """Return as many of the changes as the budget allows, always the same."""
    return {change: changes[change] for change in sorted(changes, key=Change.place)[:BUDGET]}


def original(change: Change) -> FunctionType:
    """Return the function that has the formula, inside of what checks its arguments."""
    found = importlib.import_module(change.module.removesuffix(".py").replace("/", "."))
    for name in change.function.split("."):
        found = inspect.getattr_static(found, name)
    return inspect.unwrap(getattr(found, "__func__", found))


def take_over(function: FunctionType, source: str) -> None:
    """Give a function other code, for all who have imported it."""
    names = dict(function.__globals__)
    exec(source, names)
    other = names[function.__name__]
    function.__code__, function.__defaults__, function.__kwdefaults__ = other.__code__, other.__defaults__, other.__kwdefaults__


def watched(function: FunctionType, place: tuple[str, str]) -> str:
    """Return the source of a function that notes when it is called."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list.clear()
    tree.body[0].body.insert(0, ast.parse(f"REACHED.add({place!r})").body[0])
    return ast.unparse(tree)


class Runner:
    """A plugin of pytest that runs the collected tests on the mutants of modules."""

    def __init__(self, names: Sequence[str]) -> None:
        self.start, self.fork, self.failures = time.perf_counter(), multiprocessing.get_context("fork"), []
        self.modules = [module for module in modules() if Path(module).stem in names]

    def pytest_collection(self) -> None:
        """Keep the examples of the tests; what fails need not be shrunk to the smallest example."""
        settings.register_profile("mutants", settings.get_profile("book"), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.failures.append(f"{report.nodeid}\n{report.longreprtext}")

    def passes(self, item: pytest.Item) -> bool:
        """Run one test."""
        item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.failures

    def watch(self, items: list[pytest.Item], functions: dict[tuple[str, str], FunctionType], answer: Connection) -> None:
        """Run all tests without a mutant; send the seconds and the functions that each reaches, and what failed."""
        subside()
        noted, reached = set(), []
        for place, function in functions.items():
            function.__globals__["REACHED"] = noted
            take_over(function, watched(function, place))
        for item in items:
            start = time.process_time()
            self.passes(item)
            reached.append((time.process_time() - start, set(noted)))
            noted.clear()
        answer.send((reached, self.failures))

    def attack(self, change: Change, source: str, tests: list[tuple[float, pytest.Item]]) -> None:
        """Run tests on a mutant until one fails."""
        subside()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        take_over(original(change), source)
        for seconds, item in tests:
            limit = math.ceil(time.process_time() + PATIENCE + TIMES * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            if not self.passes(item):
                sys.exit(CAUGHT)

    def results(self, todo: list[tuple[Change, str, list]]) -> Iterator[dict]:
        """Try mutants, as many at a time as there are cores; yield what the table says of each."""
        running, why = {}, reasons()
        while todo or running:
            while todo and len(running) < CORES:
                process = self.fork.Process(target=self.attack, args=todo[-1])
                process.start()
                running[process.sentinel] = process, todo.pop()[0]
            for sentinel in wait(running):
                process, change = running.pop(sentinel)
                process.join()
                line = asdict(change) | {"result": RESULTS[process.exitcode]}
                if line["result"] == "survived" and change in why:
                    line["equivalent"] = why[change]
                print(f"{line['result']:9}  {change.module} {change.function}: {change.was}  ->  {change.now}", flush=True)
                yield line

    def reach(self, items: list[pytest.Item], functions: dict[tuple[str, str], FunctionType]) -> list[tuple]:
        """Return each test with its seconds and the functions that it reaches, the fastest first, or stop where one fails."""
        parts, found = [(items[i::CORES], *self.fork.Pipe(duplex=False)) for i in range(CORES)], []
        for part, _, send in parts:
            self.fork.Process(target=self.watch, args=(part, functions, send)).start()
        for part, receive, _ in parts:
            reached, failures = receive.recv()
            if failures:
                raise pytest.UsageError("these fail without a mutant:\n" + "\n".join(failures))
            found += [(seconds, item, places) for (seconds, places), item in zip(reached, part, strict=True)]
        return sorted(found, key=lambda run: run[0])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests without a mutant, then on each mutant of the draw those that reach its function; write the table."""
        if session.testsfailed:
            raise session.Interrupted("not all tests could be collected")
        with self.fork.Pool(CORES, signal.signal, (signal.SIGINT, signal.SIG_DFL)) as pool:
            proposed = dict(zip(self.modules, pool.map(proposals, self.modules), strict=True))
        drawn = {change: now for changes, _ in proposed.values() for change, now in draw(changes).items()}
        functions = {(change.module, change.function): original(change) for change in drawn}
        reached = self.reach(session.items, functions)
        todo = [
            (change, now, [(taken, item) for taken, item, places in reached if (change.module, change.function) in places])
            for change, now in drawn.items()
        ]
        print(f"{len(todo)} mutants to try", flush=True)
        path = tables.place(ROOT, "mutants")
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"modules": {}, "mutants": []}
        first = {change_of(line): line["first"] for line in before["mutants"]}
        lines = [line | {"first": first.get(change_of(line), line["result"])} for line in self.results(todo)]
        counts = {module: {"possible": possible, "formulas": len(changes)} for module, (changes, possible) in proposed.items()}
        lines += [line for line in before["mutants"] if line["module"] not in counts]
        lines.sort(key=lambda line: modules().index(line["module"]))
        head = json.dumps(origin(before["modules"] | counts, round(time.perf_counter() - self.start)), indent=1)[:-2]
        text = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in lines)
        files.write(path, f'{head},\n "mutants": [\n  {text}\n ]\n}}\n')
        return True


def subside() -> None:
    """Say nothing from now on, and end at Ctrl-C without a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def change_of(entry: dict) -> Change:
    """Return the change that a line of a table is about."""
    return Change(entry["module"], entry["function"], entry["was"], entry["now"], entry.get("nth", 0))


def reasons() -> dict[Change, str]:
    """Return why no test can catch a mutant, as far as it is listed."""
    return {
        change_of(entry): entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    }


def origin(counts: dict[str, dict], taken: float) -> dict:
    """Say what the mutants come from: with what, when, how long it took, and the numbers of changes."""
    return {
        "command": "make mutate",
        "date": date.today().isoformat(),
        "seconds": taken,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "budget": BUDGET,
        "modules": {module: counts[module] for module in modules() if module in counts},
    }


if __name__ == "__main__":
    sys.exit(main())
