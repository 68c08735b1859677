"""Fingerprints of what a function of ours does, with everything of ours that it reaches.

A stored result keeps the fingerprint of the code that computed it. It changes when a number can
change, and with nothing else: comments, docstrings, annotations, imports, names of modules and the
places of definitions do not count, nor do checks that refuse arguments. Sources are read, not
imported.
"""

import ast
import hashlib
import inspect
import symtable
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

HOME = Path(__file__).parents[1]
STDLIB = sysconfig.get_path("stdlib")
# What these modules do leaves every number as it is: checks,
# files, downloads that are compared with hashes.
ASIDE = (
    "lib.checks",
    "lib.files",
    "lib.progress",
    "lib.provenance",
    "lib.fingerprint",
    "lib.runs",
    "lib.data.fetch",
)


class Module(NamedTuple):
    """What a module defines at its top level, and the
    dotted names from which its other names come.
    """

    defined: dict[str, ast.stmt]
    imported: dict[str, str]


@cache
def code(function: FunctionType | str) -> str:
    """Hash what a function, or the one of this dotted name, does:
    its definition, and all of ours that it reaches.

    Of a function from a notebook only its own source is known.
    """
    if not isinstance(function, str) and _path(function.__module__) is None:
        return _hash([syntax(ast.parse(inspect.getsource(function).strip()))])
    start = (
        function if isinstance(function, str) else f"{function.__module__}.{function.__qualname__}"
    )
    return _hash(sorted(reach(start).values()))


def reach(name: str) -> dict[str, str]:
    """Return by its dotted name each definition that the one of this
    name reaches, itself included, and what it does.
    """
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name], others = _definition(name)
            waiting += others
    return found


def syntax(tree: ast.AST, imported: dict[str, str] | None = None) -> str:
    """Write what parsed source does, without docstrings, annotations,
    imports and refusals, the same under every Python.
    """
    return repr(_written(_Bare(imported or {}).visit(tree)))


def _hash(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def _definition(name: str) -> tuple[str, list[str]]:
    """Return what the definition of a dotted name does, and
    the dotted names of ours that it uses.
    """
    module, _, attribute = name.rpartition(".")
    if _path(module) is None or attribute not in read(module).defined:
        raise ValueError(f"no module of the book defines {name}")
    known = read(module)
    source = ast.unparse(
        _Bare(known.imported).visit(ast.parse(ast.unparse(known.defined[attribute])))
    )
    names = _Names(module, from_outside(source))
    does = repr(_written(names.visit(ast.parse(source))))
    names.outside = _aside(known.defined[attribute])
    names.visit(ast.parse(ast.unparse(known.defined[attribute])))
    return does, names.reached


def _aside(node: ast.stmt) -> set[str]:
    """Name what a definition imports itself, and its
    annotations: the methods of an argument may be called.
    """
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in part.names}
        elif isinstance(part, ast.arg | ast.AnnAssign) and part.annotation:
            names = ast.walk(part.annotation)
            found |= {name.id for name in names if isinstance(name, ast.Name)}
    return found


def from_outside(source: str) -> set[str]:
    """Name what a definition takes from its module: its local
    variables are not what is called so there.
    """
    top = symtable.symtable(source, "definition", "exec")
    found = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        found |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        inner += table.get_children()
    return found


@cache
def read(module: str) -> Module:
    """Read the definitions and imports of a module of ours."""
    path = _path(module)
    assert path is not None  # it is one of ours
    tree = ast.parse(path.read_bytes())
    defined = {name: node for node in tree.body for name in _bound(node)}
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return Module(defined, imported)


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = (
        node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", ast.Pass())]
    )
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


@cache
def _path(module: str) -> Path | None:
    """Return the file of a module of ours, or of a reader's own
    that is loaded; None for packages and notebooks.
    """
    place = HOME.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if module.split(".")[0] in ("lib", "book") and path.is_file():
            return path
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "none")
    others = {"site-packages", "dist-packages"} & {*file.parts} or file.is_relative_to(STDLIB)
    return None if others or not file.is_file() else file


@cache
def _find(name: str) -> str | None:
    """Follow a dotted name through imports to where it is
    defined; None if that is not ours, or a module.
    """
    module, _, attribute = name.rpartition(".")
    if not module or name in ASIDE or module.startswith(ASIDE) or _path(name) or not _path(module):
        return None
    known = read(module)
    if attribute in known.defined:
        return name
    return _find(known.imported[attribute]) if attribute in known.imported else None


class _Names(ast.NodeTransformer):
    """Collect what of ours a definition in `module` uses, and write each by its bare name."""

    def __init__(self, module: str, outside: set[str]) -> None:
        self.module, self.outside, self.reached = module, outside, []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Follow a name that is not a local variable."""
        return self._follow(node, f"{self.module}.{node.id}") if node.id in self.outside else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Follow `module.name`, however long the way to the module is."""
        first, *rest = ast.unparse(node).split(".")
        imported = read(self.module).imported
        if (
            first in imported
            and (found := self._follow(node, ".".join([imported[first], *rest]))) is not node
        ):
            return found
        return self.generic_visit(node)

    def _follow(self, node: ast.Name | ast.Attribute, name: str) -> ast.expr:
        found = _find(name)
        if found is None:
            return node
        self.reached.append(found)
        return ast.Name(found.rpartition(".")[2], node.ctx)


class _Bare(ast.NodeTransformer):
    """Leave out docstrings, annotations, imports, and what only refuses arguments."""

    def __init__(self, imported: dict[str, str]) -> None:
        self.imported = imported

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave out a decorator that checks, and what is returned."""
        node.decorator_list = [one for one in node.decorator_list if not self._checks(one)]
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Leave out an annotation."""
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave out an annotation; a field of a dataclass remains."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Import(self, node: ast.AST) -> ast.Pass:
        """Leave out an import."""
        return ast.Pass()

    visit_ImportFrom = visit_Assert = visit_Import

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave out a docstring, and a call that only checks."""
        aside = isinstance(node.value, ast.Constant) or self._checks(node.value)
        return ast.Pass() if aside else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        """Leave out a condition that does nothing but refuse."""
        refuses = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
        binds = any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test))
        return ast.Pass() if refuses and not binds else self.generic_visit(node)

    def _checks(self, node: ast.expr) -> bool:
        first, *rest = ast.unparse(node.func if isinstance(node, ast.Call) else node).split(".")
        return ".".join([self.imported.get(first, first), *rest]).startswith("lib.checks.")


def _written(node: object) -> object:
    """Write a tree as lists, without what does nothing and without
    empty fields, of which other Pythons show more or fewer.
    """
    if isinstance(node, list):
        return [_written(part) for part in node if not isinstance(part, ast.Pass)]
    if not isinstance(node, ast.AST):
        return node
    fields = ((name, _written(part)) for name, part in ast.iter_fields(node))
    return [type(node).__name__, *([name, part] for name, part in fields if part not in (None, []))]
