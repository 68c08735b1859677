"""Which stored runs the cells of a notebook load, and which cells depend on them.

A page loads a run by its full name, written out: `runs.load("two_point/digits")`. A cell depends on
what it loads, and on the cells that define or change the names whose values it takes.
"""

import ast
import dis
from collections.abc import Collection, Iterator, Mapping
from types import CodeType

from nbformat import NotebookNode

SKIP = ("skip-execution", "nbval-skip")  # tags: papermill and nbval leave the cell out
MAYBE = (ast.If, ast.While, ast.Try)  # may bind a name, or not


def loaded(notebook: NotebookNode) -> list[str]:
    """Name the runs that a notebook loads, in order."""
    found = (name for _, tree in _parsed(notebook) for name in _loads(tree))
    return list(dict.fromkeys(found))


def dependent(notebook: NotebookNode, runs: Collection[str]) -> list[tuple[NotebookNode, set[str]]]:
    """Return the cells that depend on some runs, each with those on which it depends."""
    cells: list[tuple[NotebookNode, set[str]]] = []
    names: dict[str, set[str]] = {}  # a name to the runs on which its value depends
    for cell, tree in _parsed(notebook):
        behind = {name for name in _loads(tree) if name in runs}
        changed = changed_by(tree) & names.keys()
        own: set[str] = set()  # bound so far in this cell
        for statement in tree.body:
            taken, bound = names_of(statement, own)
            for name in taken:
                behind |= names.get(name, set())
            if not isinstance(statement, ast.Import | ast.ImportFrom):  # which no call changes
                changed |= bound
        for name in changed:
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


def names_of(statement: ast.stmt, own: set[str]) -> tuple[set[str], set[str]]:
    """Return the names whose values a statement takes from earlier cells, and those it binds.

    They are read from its bytecode, which has them in the order of execution. `own` are the names
    that the cell has bound for sure so far; it grows.
    """
    taken = set()
    bound = set()
    branches = [part for part in ast.walk(statement) if isinstance(part, MAYBE)]
    perhaps = {name.id for name in _mentioned(*branches) if isinstance(name.ctx, ast.Store)}
    codes = [compile(ast.Module([statement], []), "cell", "exec")]
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        for step in dis.get_instructions(code):
            if step.opname == "STORE_NAME":
                bound.add(step.argval)
                own |= bound - perhaps
            elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                taken |= {step.argval} - own
    return taken, bound


def changed_by(tree: ast.AST) -> set[str]:
    """Name what a cell changes in place: by `name[…] = …`, `name.part = …`, `name.append(…)`."""
    changed = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                changed.append(node.value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=called))):
                changed.append(called)
    return {name.id for name in _mentioned(*changed)}


def _mentioned(*trees: ast.AST) -> list[ast.Name]:
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)]
