"""Which stored runs the cells of a notebook load, and which cells depend on them.

A page loads a run by its full name, written out: `runs.load("two_point/digits")`. A cell depends on what it loads, and on the
cells that define or change the names whose values it takes.
"""

import ast
import symtable
from collections.abc import Collection, Iterator, Mapping, Sequence

from nbformat import NotebookNode

from lib.fingerprint import from_outside

SKIP = ("skip-execution", "nbval-skip")  # tags: papermill and nbval leave the cell out


def loaded(notebook: NotebookNode) -> list[str]:
    """Name the runs that a notebook loads, in order."""
    found = (name for cell in notebook.cells if (tree := _parsed(cell)) for name in _loads(tree))
    return list(dict.fromkeys(found))


def dependent(notebook: NotebookNode, runs: Collection[str]) -> list[tuple[NotebookNode, set[str]]]:
    """Return the cells that depend on some runs, each with those on which it depends."""
    cells: list[tuple[NotebookNode, set[str]]] = []
    names: dict[str, set[str]] = {}  # a name to the runs on which its value depends
    imported: set[str] = set()
    for cell in notebook.cells:
        tree = _parsed(cell)
        if tree is None:
            continue
        behind = {name for name in _loads(tree) if name in runs}
        for name in _used(tree.body, set()):
            behind |= names.get(name, set())
        imported |= _imported(tree)
        for name in _bound(tree) | _written(tree) - imported:
            names[name] = behind
        if behind:
            cells.append((cell, behind))
    return cells


def skip(notebook: NotebookNode, incomplete: Mapping[str, str]) -> None:
    """Tag the cells that depend on incomplete runs, so that they are not executed, and note which of their cases are done."""
    for cell, names in dependent(notebook, incomplete):
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), *SKIP]
        cell.metadata["incomplete"] = "; ".join(f"{name}: {incomplete[name]}" for name in sorted(names))


def _parsed(cell: NotebookNode) -> ast.Module | None:
    """Parse a code cell; None for text, and for what is no Python."""
    try:
        return ast.parse(cell.source) if cell.cell_type == "code" else None
    except SyntaxError:
        return None


def _loads(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "runs.load" and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


def _used(statements: Sequence[ast.stmt], own: set[str]) -> Iterator[str]:
    """Yield the names whose values statements take from earlier cells: those that they use and have not bound before.

    `own` are the names bound so far; it grows.
    """
    for statement in statements:
        if isinstance(statement, ast.For | ast.With):
            heads = [node for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)]
            names = [node for head in heads for node in ast.walk(head) if isinstance(node, ast.Name)]
            yield from {node.id for node in names if isinstance(node.ctx, ast.Load)} - own
            own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
            yield from _used(statement.body, own)
        else:
            yield from from_outside(ast.unparse(statement)) - own
            if isinstance(statement, ast.AugAssign):
                yield from _names(statement.target) - own
            elif not isinstance(statement, ast.If | ast.While | ast.Try):  # these may bind a name, or not
                own |= _bound(statement)


def _bound(tree: ast.AST) -> set[str]:
    """Name what a cell or a statement binds, outside of functions and comprehensions."""
    top = symtable.symtable(ast.unparse(tree), "cell", "exec")
    return {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned()}


def _written(tree: ast.Module) -> set[str]:
    """Name what a cell changes in place: by `name[…] = …`, `name.part = …`, or a call like `name.append(…)`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= _names(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found |= _names(node.value.func.value)
    return found


def _imported(tree: ast.Module) -> set[str]:
    """Name the modules, classes and functions that a cell imports."""
    top = symtable.symtable(ast.unparse(tree), "cell", "exec")
    return {symbol.get_name() for symbol in top.get_symbols() if symbol.is_imported()}


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
