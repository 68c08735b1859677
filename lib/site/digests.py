"""A name for all that the claims of a notebook depend on: its cells, what of ours they reach, the
stored results they read.

Words do not count: text around the cells, what claims say, labels and captions, comments and
docstrings.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

from scipy.io import netcdf_file

from lib.fingerprint import reach, syntax
from lib.runs.freshness import numbers_of
from lib.runs.run import stored
from lib.site import execute
from lib.site.book import Book

WORDS = ("measure", "source", "why")  # of `claims.check`, beside the statement


@cache
def digest(book: Book, notebook: str) -> str:
    """Name what the claims of a notebook, as `Book.notebooks` names it, depend on."""
    cells = execute.draft(book, notebook).cells
    code = "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")
    tree = ast.parse(code)
    reached = {text for name in _names(tree) for text in _reached(name).values()}
    texts = [syntax(_Wordless().visit(tree)), *sorted(reached)]
    for name, path in stored(book.folder).items():
        if name.split("/")[0] == book.chapter_of(notebook) or name in code:
            texts.append(_result(path))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


class _Wordless(ast.NodeTransformer):
    """Leave out texts of several words, which name curves and rivals, and the words of claims."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Leave out a text of several words."""
        return ast.Constant("") if isinstance(node.value, str) and " " in node.value else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave out what a claim says."""
        if ast.unparse(node.func) == "claims.check":
            del node.args[1:2]
            node.keywords = [word for word in node.keywords if word.arg not in WORDS]
        return self.generic_visit(node)


def _names(tree: ast.Module) -> list[str]:
    """List the dotted names of what cells import, and of what they take from imported modules."""
    imported = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.append((node.value.id, node.attr))
    taken = [f"{imported[module]}.{name}" for module, name in found if module in imported]
    return [*imported.values(), *taken]


@cache
def _reached(name: str) -> dict[str, str]:
    """Return what a name of ours reaches; nothing of other packages, and of modules."""
    try:
        return reach(name)
    except ValueError:
        return {}


def _result(path: Path) -> str:
    """Hash the numbers of a result, whatever its attributes."""
    with netcdf_file(path, mmap=False) as found:
        return numbers_of(found)
