"""What the library declares: all that it imports outside the site, in ranges that hold the pins."""

import ast
import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
CALLED = {
    "PIL": "pillow",
    "IPython": "ipython",
    "mpl_toolkits": "matplotlib",
}  # packages by their modules, where they differ
OURS = {"lib", "book"}


def imported(path):
    """Return the top-level modules that a file imports, also within its functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return {name.split(".")[0] for name in found} - sys.stdlib_module_names - OURS


def test_the_library_declares_what_it_imports_outside_the_site():
    files = [*ROOT.glob("lib/**/*.py"), *ROOT.glob("book/**/*.py")]
    site = ROOT / "lib" / "site"
    names = set().union(*(imported(path) for path in files if not path.is_relative_to(site)))
    assert {CALLED.get(name, name) for name in names} == set(DECLARED)


def test_only_the_command_line_knows_the_site():
    for path in ROOT.glob("lib/**/*.py"):
        if not path.is_relative_to(ROOT / "lib" / "site") and path.name != "__main__.py":
            assert "lib.site" not in re.findall(
                r"(?:from|import) (lib\.site)", path.read_text(encoding="utf-8")
            ), path


def test_the_pins_lie_in_the_declared_ranges():
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w.-]+)==([^\s#]+)", text, re.MULTILINE))
    for name, wanted in DECLARED.items():
        assert wanted.specifier.contains(pins[name]), name
        assert "==" not in str(wanted.specifier), name
