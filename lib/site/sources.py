"""The names of our own code: where each is shown on the site, and where cells and modules use them.

The page `book/library/PACKAGE` shows a package of `lib`, `book/library` the modules beside the
packages, `book/NAME/code` the code of a chapter. Code is read, never imported.
"""

import ast
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from lib.site.book import Book

LANGUAGES = ("python", "ipython3")  # of blocks of code in pages and notebooks
SCOPES = ast.FunctionDef | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def package(page: str) -> str:
    """Return the package that a page shows; "" if none."""
    match page.split("/"):
        case ["book", "library", *names]:
            return ".".join(["lib", *names])
        case ["book", chapter, "code"]:
            return f"book.{chapter}"
    return ""


class Module:
    """A module that a page shows.

    Attributes
    ----------
    name : in full, like `lib.theory.linear`
    page : the page that shows its package
    """

    def __init__(self, name: str, page: str, path: Path) -> None:
        self.name = name
        self.page = page
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.source)

    @cached_property
    def meanings(self) -> dict[str, str]:
        """What each name at the top means, in full: what the module defines, what it imports."""
        found = {name: f"{self.name}.{name}" for node in self.tree.body for name in defined(node)}
        for node in self.tree.body:
            found |= imported(node)
        return found


def defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines: a function, a class, constants."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return _stored(statement)
    return []


def imported(node: ast.AST) -> dict[str, str]:
    """Return the names that an import binds, each with what it means in full."""
    if isinstance(node, ast.ImportFrom):
        return {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    if isinstance(node, ast.Import):
        return {one.asname: one.name for one in node.names if one.asname}
    return {}


def _stored(node: ast.AST) -> list[str]:
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    return [one.id for one in names if isinstance(one.ctx, ast.Store)]


@cache
def modules(book: Book) -> dict[str, Module]:
    """Read by full name the modules that the site shows; commands and empty modules are not."""
    found = {}
    for page in book.pages:
        name = package(page)
        for path in sorted(book.root.joinpath(*name.split(".")).glob("[!.]*.py")) if name else []:
            if path.stem != "__main__":
                own = f"{name}.{path.stem}".removesuffix(".__init__")
                found[own] = Module(own, page, path)
    return found


def find(book: Book, name: str) -> str:
    """Return under which full name the site shows what a dotted name means; "" if it does not."""
    known = modules(book)
    module = name
    while module and module not in known:
        module = module.rpartition(".")[0]
    first = name[len(module) :].lstrip(".").split(".")[0]
    if not module or not first:
        return module
    meaning = known[module].meanings.get(first, "")
    return meaning if meaning == f"{module}.{first}" else find(book, meaning)


def owner(book: Book, name: str) -> Module:
    """Return the module that has a full name, or what it names."""
    known = modules(book)
    return known.get(name) or known[name.rpartition(".")[0]]


def place(book: Book, name: str) -> tuple[str, str]:
    """Return the page where a name is shown, and the anchor there: none for a package."""
    page = owner(book, name).page
    return page, "" if name == package(page) else f"#{name}"


class Use(NamedTuple):
    """A name of ours in a text: where it begins and ends, and under which name it is shown."""

    start: int
    end: int
    name: str


def uses(book: Book, code: str, meanings: dict[str, str]) -> list[Use]:
    """Find the names of ours in a piece of code; what it imports is added to the meanings."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # the output of a command, an excerpt
        return []
    reader = _Reader(book, code, meanings)
    reader.visit(tree)
    return sorted(reader.found)


class _Reader(ast.NodeVisitor):
    """Collect the uses of names; arguments and variables of a function are no such names."""

    def __init__(self, book: Book, code: str, meanings: dict[str, str]) -> None:
        self.book = book
        self.code = code
        self.meanings = meanings
        self.lines = code.splitlines(keepends=True)
        self.found: list[Use] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name | ast.Attribute):
            self._name(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._imports(node)
        elif isinstance(node, SCOPES):
            outer = self.meanings
            own = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            own.update(_stored(node))
            self.meanings = {name: full for name, full in outer.items() if name not in own}
            self.generic_visit(node)
            self.meanings = outer
        else:
            self.generic_visit(node)

    def _name(self, node: ast.Name | ast.Attribute) -> None:
        chain = []
        value: ast.expr = node
        while isinstance(value, ast.Attribute):
            chain.insert(0, value.attr)
            value = value.value
        if not isinstance(value, ast.Name):
            self.visit(value)
        elif value.id in self.meanings and isinstance(value.ctx, ast.Load):
            self._add(node, ".".join([self.meanings[value.id], *chain]))

    def _imports(self, node: ast.Import | ast.ImportFrom) -> None:
        self.meanings.update(imported(node))
        module = ""
        if isinstance(node, ast.ImportFrom):
            module = f"{node.module}."
            start = self._offset(node.lineno, node.col_offset) + len("from ")
            self._add_at(start, start + len(module) - 1, module[:-1])
        for one in node.names:
            self._add(one, module + one.name)

    def _add(self, node: ast.expr | ast.alias, name: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        self._add_at(start, self._offset(node.end_lineno, node.end_col_offset), name)

    def _add_at(self, start: int, end: int, name: str) -> None:
        if self.code[start - 1 : start] == "@":  # of a decorator, highlighted with it
            start -= 1
        if shown := find(self.book, name):
            self.found.append(Use(start, end, shown))

    def _offset(self, line: int, column: int) -> int:
        """Return where a place is in the text; the parser counts the bytes of a line."""
        before = sum(map(len, self.lines[: line - 1]))
        return before + len(self.lines[line - 1].encode()[:column].decode())


@cache
def users(book: Book) -> dict[str, list[str]]:
    """Return by the name that the site shows the notebooks whose cells use it."""
    found: dict[str, dict[str, None]] = {}
    for notebook in book.notebooks:
        meanings: dict[str, str] = {}
        for cell in book.notebook(notebook)["cells"]:
            if cell["cell_type"] == "code":
                for use in uses(book, "".join(cell["source"]), meanings):
                    found.setdefault(use.name, {})[notebook] = None
    return {name: list(notebooks) for name, notebooks in found.items()}
