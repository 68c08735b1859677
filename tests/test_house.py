"""Few modules, each with one idea that it names, and nothing that nobody calls."""

import ast
import re
from pathlib import Path

import jupytext
import pytest

from lib.site.book import Book
from tests.tools import mutants

ROOT = Path(__file__).parents[1]
MODULES = {
    path: path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("lib/**/*.py"), *ROOT.glob("book/**/*.py")])
}
BY_OTHERS = {"setup", "__getattr__", "ClaimRenderer"}  # Sphinx, Python, myst-nb
BY_OTHERS |= {"BlockingKernel", "differences", "tolerances"}  # nbval through conftest.py


def called(source, exports=False):
    """Return the names that code takes from what it imports, and
    those that it imports, unless only to hand them on.
    """
    nodes = [*ast.walk(ast.parse(source))]
    imports = [
        alias
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    modules = {alias.asname or alias.name for alias in imports}
    taken = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[0] in modules
    }
    return taken if exports else taken | {alias.name for alias in imports}


def test_few_modules_lie_outside_the_folders():
    assert (
        len([path for path in (ROOT / "lib").glob("*.py") if not path.stem.startswith("__")]) <= 12
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_holds_and_is_short(path):
    assert ast.get_docstring(ast.parse(MODULES[path]))
    assert len(MODULES[path].splitlines()) <= 480


def test_hidden_files_are_nobody_s():
    """macOS writes a `._NAME` beside each file on some disks, and `glob` finds it."""
    patterns = [
        found for source in MODULES.values() for found in re.findall(r"glob\((.+)\)", source)
    ]
    assert len(patterns) > 5
    assert not [pattern for pattern in patterns if re.search(r"(^f?\"|/)\*\.", pattern)]


def test_something_calls_each_function_of_the_library():
    pages = [ROOT / "book" / f"{name}.md" for name in Book(ROOT).notebooks]
    pages += [*ROOT.glob("book/*/lab.md"), *ROOT.glob("book/*/problems.md")]
    cells = [
        "\n".join(cell.source for cell in jupytext.read(page).cells if cell.cell_type == "code")
        for page in pages
    ]
    by_chapters = BY_OTHERS.union(*map(called, cells))
    elsewhere = {
        path: called(source, path.name == "__init__.py") for path, source in MODULES.items()
    }
    for path, source in MODULES.items():
        known = by_chapters.union(*(names for other, names in elsewhere.items() if other != path))
        tree = ast.parse(source)
        known |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        defined = {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert defined <= known, f"{path}: nobody calls {', '.join(sorted(defined - known))}"


def test_names_of_tests_have_at_most_ten_words():
    names = [
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def test_(\w+)", path.read_text())
    ]
    assert len(names) > 500
    assert [name for name in names if len(name.split("_")) > 10] == []


def imported(path):
    """Return the modules that a module imports when it runs, not for its annotations only."""
    nodes = [node for node in ast.parse(MODULES[path]).body if not isinstance(node, ast.If)]
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[0] for name in names}


def test_mutants_see_every_module_of_formulas():
    folders = [*ROOT.glob("book/*/[!_]*.py"), *ROOT.glob("lib/theory/[!_]*.py")]
    formulas = {
        path.relative_to(ROOT).as_posix() for path in folders if "torch" not in imported(path)
    }
    others = {f"book/{chapter}/runs.py" for chapter in Book(ROOT).chapters}
    others.add("book/practice/pictures.py")  # reads files
    others.add("book/two_point/placement.py")  # trains
    others.add("book/localization/ring_settings.py")  # names and numbers only
    seen = set(mutants.MODULES.values())
    assert formulas - others <= seen
    assert len(seen) == len(mutants.FOUND)
    assert all((ROOT / path).exists() for path in [*seen, *mutants.TESTS])


def test_only_runs_py_of_a_chapter_makes_runs():
    making = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("book/*/*.py")
        if path.name != "runs.py" and "Run" in called(MODULES[path])
    ]
    assert not making, f"{', '.join(making)}: list runs in the chapter's runs.py, as RUNS"
