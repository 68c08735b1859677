"""A name for all that the claims of a notebook depend on: its cells,
what of ours they reach, the stored results they read.

Words do not count: text around the cells, statements of claims, labels and captions, comments and
docstrings.
"""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

from scipy.io import netcdf_file

from lib.fingerprint import reach, syntax
from lib.runs.freshness import numbers_of
from lib.runs.run import stored
from lib.site.book import Book

CELL = re.compile(
    r"^```\{code-cell\}.*\n(?:---\n[\s\S]*?^---\n|(?::.*\n)*)([\s\S]*?)^```$", re.MULTILINE
)  # its options left out
WORDS = ("source", "why")  # of `claims.check`, beside the statement


@cache
def digest(book: Book, notebook: str) -> str:
    """Name what the claims of a notebook, as `Book.notebooks` names it, depend on."""
    cells = CELL.findall(book.text(notebook))
    texts = [_cell(cell) for cell in cells]
    texts += sorted({text for name in _names(cells) for text in _reached(name).values()})
    texts += map(_result, _results(book, notebook, cells))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _cell(cell: str) -> str:
    """Write what a cell does, without its words; one that is no Python stays as it is."""
    try:
        return syntax(_Wordless().visit(ast.parse(cell)))
    except SyntaxError:
        return cell


class _Wordless(ast.NodeTransformer):
    """Leave out texts of several words, which name curves and rivals, and the words of claims."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Leave out a text of several words."""
        return ast.Constant("") if isinstance(node.value, str) and " " in node.value else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave out a claim's statement, source and reason."""
        if ast.unparse(node.func) == "claims.check":
            del node.args[1:2]
            node.keywords = [word for word in node.keywords if word.arg not in WORDS]
        return self.generic_visit(node)


def _names(cells: list[str]) -> list[str]:
    """List the dotted names of what cells import of ours,
    and of what they take from modules of ours.
    """
    imported, found = {}, []
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                imported |= {
                    alias.asname or alias.name: f"{node.module}.{alias.name}"
                    for alias in node.names
                }
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in imported
            ):
                found.append(f"{imported[node.value.id]}.{node.attr}")
    return found + list(imported.values())


@cache
def _reached(name: str) -> dict[str, str]:
    """Return what a name of ours reaches; nothing of other
    packages, of modules, and of what decides no number.
    """
    try:
        return reach(name)
    except ValueError:
        return {}


def _results(book: Book, notebook: str, cells: list[str]) -> list[Path]:
    """List the stored results of a notebook's chapter, and of others those that its cells name."""
    chapter = book.chapter_of(notebook)
    named = {name for cell in cells for name in re.findall(r"\w+/\w+", cell)}
    results = stored(book.folder).items()
    return [path for name, path in results if name in named or name.split("/")[0] == chapter]


def _result(path: Path) -> str:
    """Hash the numbers of a result, whatever its attributes."""
    with netcdf_file(path, mmap=False) as found:
        return numbers_of(found)
