"""Which stored runs the cells of a notebook load, and which cells depend on them.

A page loads a run by its full name, written out: `runs.load("two_point/digits")`. A cell depends on
what it loads, and on the cells that define or change the names whose values it takes.
"""

import ast
import symtable
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from nbformat import NotebookNode

from lib.fingerprint import from_outside

SKIP = ("skip-execution", "nbval-skip")  # tags: papermill and nbval leave the cell out


def loaded(notebook: NotebookNode) -> list[str]:
    """Name the runs that a notebook loads, in order."""
    found = (name for _, tree in _parsed(notebook) for name in _loads(tree))
    return list(dict.fromkeys(found))


def dependent(notebook: NotebookNode, runs: Collection[str]) -> list[tuple[NotebookNode, set[str]]]:
    """Return the cells that depend on some runs, each with those on which it depends."""
    cells: list[tuple[NotebookNode, set[str]]] = []
    names: dict[str, set[str]] = {}  # a name to the runs on which its value depends
    imported: set[str] = set()
    for cell, tree in _parsed(notebook):
        behind = {name for name in _loads(tree) if name in runs}
        for name in _used(tree.body, set()):
            behind |= names.get(name, set())
        imported |= _symbols(tree, symtable.Symbol.is_imported)
        for name in _bound(tree) | _written(tree) - imported:
            names[name] = behind
        if behind:
            cells.append((cell, behind))
    return cells


def skip(notebook: NotebookNode, incomplete: Mapping[str, str]) -> None:
    """Tag the cells that depend on incomplete runs, so that they are not executed.

    Note in them which of their cases are done.
    """
    for cell, names in dependent(notebook, incomplete):
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), *SKIP]
        missing = [f"{name}: {incomplete[name]}" for name in sorted(names)]
        cell.metadata["incomplete"] = "; ".join(missing)


def _parsed(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, ast.Module]]:
    """Yield the code cells, parsed, but for what is no Python."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            try:
                yield cell, ast.parse(cell.source)
            except SyntaxError:
                continue


def _loads(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "runs.load":
            yield ast.literal_eval(node.args[0])


def _used(statements: Sequence[ast.stmt], own: set[str]) -> Iterator[str]:
    """Yield the names whose values statements take from earlier cells: those not bound before.

    `own` are the names bound so far; it grows.
    """
    for statement in statements:
        if isinstance(statement, ast.For | ast.With):
            parts = ast.iter_child_nodes(statement)
            names = _names(*(part for part in parts if not isinstance(part, ast.stmt)))
            yield from {node.id for node in names if isinstance(node.ctx, ast.Load)} - own
            own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
            yield from _used(statement.body, own)
            continue
        yield from from_outside(ast.unparse(statement)) - own
        if isinstance(statement, ast.AugAssign):
            yield from {node.id for node in _names(statement.target)} - own
        elif not isinstance(statement, ast.If | ast.While | ast.Try):  # may bind a name, or not
            own |= _bound(statement)


def _bound(tree: ast.AST) -> set[str]:
    """Name what a cell or a statement binds, outside of functions and comprehensions."""
    return _symbols(tree, symtable.Symbol.is_assigned)


def _symbols(tree: ast.AST, kind: Callable[[symtable.Symbol], bool]) -> set[str]:
    top = symtable.symtable(ast.unparse(tree), "cell", "exec")
    return {symbol.get_name() for symbol in top.get_symbols() if kind(symbol)}


def _written(tree: ast.Module) -> set[str]:
    """Name what a cell changes in place: by `name[…] = …`, `name.part = …`, `name.append(…)`."""
    changed = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                changed.append(node.value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=called))):
                changed.append(called)
    return {node.id for node in _names(*changed)}


def _names(*trees: ast.AST) -> list[ast.Name]:
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)]
