"""Change the formulas, one place at a time, and see whether a test fails: `make mutate`.

mutmut proposes the changes. A fixed number in each module is drawn by a hash of the change alone, so that the draw stays when
other lines move. pytest collects the tests once; then a fork for each mutant takes over its code and runs the tests that reach
the function, the fastest first, until one fails. `book/evidence/mutants.json` is written after each mutant, which is tried
again only if its function, or a file with a test that reaches it, has changed, and not if `equivalent_mutants.toml` has it.
To try all again, delete the table.
"""

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
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from itertools import chain
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "book/evidence/mutants.json"
EQUIVALENT = ROOT / "tests/equivalent_mutants.toml"
TESTS = ["tests/theory", "tests/extremes", "tests/test_kernels.py", "tests/test_measures.py", "tests/test_bad_input.py"]
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


def modules(root: Path = ROOT) -> list[str]:
    """Return the files with formulas."""
    theory = sorted(str(path.relative_to(root)) for path in (root / "lib/theory").glob("*.py") if path.name != "__init__.py")
    return [*theory, "lib/kernels.py", "lib/measures.py"]


def proposals(module: str) -> tuple[dict[Change, str], int]:
    """Return mutmut's changes of formulas, each with the changed function, and the number of all its changes.

    Left out are text (messages, names) and what breaks any line that runs: a value or a positional argument that is None or gone.
    """
    import libcst as cst
    from mutmut.mutation.file_mutation import create_mutations

    tree, mutations, *_ = create_mutations(module, (ROOT / module).read_text())
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


def draw(changes: list[Change], budget: int) -> list[Change]:
    """Return as many of the changes as the budget allows, always the same."""
    return sorted(changes, key=Change.place)[:budget]


def original(change: Change) -> FunctionType:
    """Return the function that the tests call."""
    found = importlib.import_module(change.module.removesuffix(".py").replace("/", "."))
    for name in change.function.split("."):
        found = inspect.getattr_static(found, name)
    return getattr(found, "__func__", found)


def take_over(function: FunctionType, source: str) -> None:
    """Give a function other code, for all who have imported it."""
    names = dict(function.__globals__)
    exec(source, names)
    other = names[function.__name__]
    function.__code__, function.__defaults__, function.__kwdefaults__ = other.__code__, other.__defaults__, other.__kwdefaults__


def watched(function: FunctionType, place: tuple[str, str]) -> str:
    """Return the source of a function that notes when it is called."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].body.insert(0, ast.parse(f"REACHED.add({place!r})").body[0])
    return ast.unparse(tree)


def silence() -> None:
    """Send what this process prints nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Runner:
    """A plugin of pytest that runs the collected tests on mutants."""

    def __init__(self) -> None:
        self.fork, self.failures = multiprocessing.get_context("fork"), []

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
        silence()
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
        silence()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        take_over(original(change), source)
        for seconds, item in tests:
            limit = math.ceil(time.process_time() + PATIENCE + TIMES * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            if not self.passes(item):
                sys.exit(CAUGHT)

    def results(self, todo: list[tuple[Change, str, list]]) -> Iterator[tuple[Change, str]]:
        """Try mutants, as many at a time as there are cores."""
        running = {}
        while todo or running:
            while todo and len(running) < CORES:
                change, *rest = todo.pop()
                process = self.fork.Process(target=self.attack, args=(change, *rest))
                process.start()
                running[process.sentinel] = process, change
            for sentinel in wait(running):
                process, change = running.pop(sentinel)
                process.join()
                result = RESULTS[process.exitcode]
                print(f"{result:9}  {change.module} {change.function}: {change.was}  ->  {change.now}")
                yield change, result

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
        """Run all tests without a mutant, then those that reach the function on each mutant of the draw."""
        files = {item.path: item.path.read_bytes() for item in session.items}
        with self.fork.Pool(CORES) as pool:
            found = dict(zip(modules(), pool.map(proposals, modules()), strict=True))
        functions = {(change.module, change.function): original(change) for changes, _ in found.values() for change in changes}
        sources = {place: inspect.getsource(function) for place, function in functions.items()}
        reached = self.reach(session.items, functions)
        lines = json.loads(TABLE.read_text())["mutants"] if TABLE.exists() else []
        known, listed = {change_of(mutant): mutant for mutant in lines}, reasons()
        counts = {module: {"possible": possible, "formulas": len(changes)} for module, (changes, possible) in found.items()}
        table, todo = {}, []
        for change in chain.from_iterable(draw(list(changes), BUDGET) for changes, _ in found.values()):
            tests = [(seconds, item) for seconds, item, places in reached if (change.module, change.function) in places]
            contents = [files[path] for path in sorted({item.path for _, item in tests})]
            seen = sources[change.module, change.function].encode() + b"".join(contents)
            table[change] = {"state": hashlib.sha256(seen).hexdigest()[:16], "tests": len(tests)}
            if change in known and (change in listed or known[change]["state"] == table[change]["state"]):
                table[change] |= {name: known[change][name] for name in ("result", "first")}
            else:
                todo.append((change, found[change.module][0][change], tests))
        write(counts, table)
        for change, result in self.results(todo):
            table[change] |= {"result": result, "first": known[change]["first"] if change in known else result}
            write(counts, table)
        return True


def change_of(entry: dict) -> Change:
    """Return the change that a line of a table is about."""
    return Change(entry["module"], entry["function"], entry["was"], entry["now"], entry.get("nth", 0))


def reasons() -> dict[Change, str]:
    """Return why no test can catch a mutant, as far as it is listed."""
    return {change_of(entry): entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])}


def write(counts: dict[str, dict], table: dict[Change, dict]) -> None:
    """Write the table: where it comes from, the numbers of changes, and each mutant that was tried on a line of its own."""
    why, lines = reasons(), []
    for change, found in table.items():
        reason = {"equivalent": why[change]} if found.get("result") == "survived" and change in why else {}
        if "result" in found:
            lines.append(json.dumps(asdict(change) | found | reason, ensure_ascii=False))
    head = {
        "command": "make mutate",
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "budget": BUDGET,
        "modules": counts,
    }
    TABLE.parent.mkdir(exist_ok=True)
    part = TABLE.with_suffix(".part")
    part.write_text(json.dumps(head, indent=1)[:-2] + ',\n "mutants": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")
    part.replace(TABLE)


if __name__ == "__main__":
    options = ["-p", "no:cacheprovider", "--capture=no"]
    sys.exit(pytest.main([*options, *(str(ROOT / path) for path in TESTS)], plugins=[Runner()]))
