"""Which stored runs the cells of a notebook load, and which cells depend on them.

A page loads a run by its full name, written out: `runs.load("two_point/digits")`. A cell depends on what it loads, and on the
cells that define the names it uses.
"""

import ast
from collections.abc import Collection, Iterator, Mapping

from nbformat import NotebookNode

SKIP = ("skip-execution", "nbval-skip")  # tags: papermill and nbval leave the cell out


def loaded(notebook: NotebookNode) -> list[str]:
    """Name the runs that a notebook loads, in order."""
    found = (name for cell in notebook.cells if (tree := _parsed(cell)) for name in _loads(tree))
    return list(dict.fromkeys(found))


def dependent(notebook: NotebookNode, runs: Collection[str]) -> list[tuple[NotebookNode, set[str]]]:
    """Return the cells that depend on some runs, each with those on which it depends."""
    cells: list[tuple[NotebookNode, set[str]]] = []
    names: dict[str, set[str]] = {}  # a name to the runs on which its value depends
    for cell in notebook.cells:
        tree = _parsed(cell)
        if tree is None:
            continue
        behind = {name for name in _loads(tree) if name in runs}
        for name in _used(tree):
            behind |= names.get(name, set())
        for name in _defined(tree):
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


def _used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a cell binds, and those into which it writes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from (part.id for part in ast.walk(node.value) if isinstance(part, ast.Name))
