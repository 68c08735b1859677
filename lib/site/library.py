r"""The library on the site: pages that show a package, and links from code to the source of a name.

`{library}` shows the package of its page, module by module, each after those that it imports:
docstrings with their formulas, the lessons and evidence pages that use a function, and the source.
"""

import ast
import re
from graphlib import TopologicalSorter
from html import unescape
from itertools import groupby
from typing import Any

from docutils import nodes
from docutils.utils import new_document
from myst_parser.mocking import MockRSTParser
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import LoggingReporter, SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from lib import markdown
from lib.site import sources
from lib.site.book import Book, book_of
from lib.site.sources import Module

# A section of a docstring, up to an empty line, and an item of it: `name : what it is`, or a name
# above what is said of it.
SECTION = re.compile(r"^(\w+)\n-{3,}\n((?:.+\n?)+)", re.MULTILINE)
ITEM = re.compile(r"^([\w*]+(?:, [\w*]+)*)(?: : |\n +)", re.MULTILINE)
TAG = re.compile(r"(<[^>]*>)")
DEFINITION = ast.FunctionDef | ast.ClassDef


def overview(book: Book) -> dict[str, str]:
    """Return what the page on the library takes: its packages, and the code of the chapters."""
    rows: dict[bool, list[list[str]]] = {True: [], False: []}
    for page in book.pages:
        name = sources.package(page)
        if name not in ("", "lib"):
            about = ast.get_docstring(sources.modules(book)[name].tree) or ""
            first = " ".join(about.split("\n\n")[0].split())
            rows[name.startswith("lib.")].append([f"{{doc}}`{name} </{page}>`", first])
    tables = [markdown.table(["package", "what it holds"], rows[shared]) for shared in rows]
    return dict(zip(("packages", "chapters"), tables, strict=True))


def ordered(modules: list[Module]) -> list[Module]:
    """Put each module behind those that it imports; the package itself comes first."""
    by_name = {module.name: module for module in modules}
    graph = {}
    for module in modules:
        meant = [full for node in module.tree.body for full in sources.imported(node).values()]
        graph[module.name] = [
            name
            for name in by_name
            if any(f"{full}.".startswith(f"{name}.") for full in meant) and name != module.name
        ]
    package = modules[0].name
    graph[package] = []
    names = list(TopologicalSorter(graph).static_order())
    return [by_name[name] for name in sorted(names, key=lambda name: name != package)]


class Library(SphinxDirective):
    """Show the package of a page: `{library}`."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each module, after what the package says of itself."""
        self.book = book_of(self.env.app)
        known = sources.modules(self.book)
        modules = [module for module in known.values() if module.page == self.env.docname]
        for path in (*(one.path for one in modules), *map(self.book.path, self.book.notebooks)):
            self.env.note_dependency(str(path))
        shown = []
        for module in ordered(modules):
            if module is modules[0]:
                shown += self._docstring(module, module.tree)
            else:
                section = _section(module.name, module.name)
                section += self._docstring(module, module.tree)
                section += self._parts(module)
                shown.append(section)
        return shown

    def _parts(self, module: Module) -> list[nodes.Node]:
        """Show the parts of a module in order.

        A public function or class is a section, a private one its code. The statements between two
        of them are one block of code.
        """
        lines = module.source.split("\n")
        docstring, *body = module.tree.body
        shown: list[nodes.Node] = []
        first = docstring.end_lineno or 0
        for defines, group in groupby(body, lambda node: isinstance(node, DEFINITION)):
            statements = list(group)
            for part in [[one] for one in statements] if defines else [statements]:
                last = part[-1].end_lineno or 0
                numbered = dict(enumerate(lines[first:last], start=first + 1))
                names = [name for one in part for name in sources.defined(one)]
                first = last
                if defines and not names[0].startswith("_"):
                    shown.append(self._public(module, part[0], numbered))
                else:
                    block = self._code(module, numbered)
                    block["ids"] = [f"{module.name}.{name}" for name in names]
                    shown.append(block)
        return shown

    def _public(self, module: Module, node: Any, lines: dict[int, str]) -> nodes.section:
        """Show a function or class: its docstring, where it is used, the code without docstring."""
        name = f"{module.name}.{node.name}"
        section = _section(name, node.name)
        section += self._docstring(module, node)
        if users := sources.users(self.book).get(name):
            links = ", ".join(f"{{doc}}`/book/{user}`" for user in users)
            section += self.parse_text_to_nodes(f"*Used in* {links}")
        if ast.get_docstring(node) and node.body[1:]:
            for number in range(node.body[0].lineno, node.body[0].end_lineno + 1):
                del lines[number]
        section += self._code(module, lines)
        return section

    def _code(self, module: Module, lines: dict[int, str]) -> nodes.literal_block:
        text = "\n".join(lines.values()).strip("\n")
        found = sources.uses(self.book, text, module.meanings.copy())
        return nodes.literal_block(text, text, language="python", uses=found)

    def _docstring(self, module: Module, node: Any) -> list[nodes.Node]:
        """Show a docstring, with links from the names of ours in it."""
        parsed = new_document(str(module.path), self.state.document.settings)
        parsed.reporter = LoggingReporter.from_reporter(parsed.reporter)  # a fault is a warning
        text = SECTION.sub(_listed, ast.get_docstring(node) or "")
        MockRSTParser().parse("\n" * node.body[0].lineno + text, parsed)
        arguments = node.args if isinstance(node, ast.FunctionDef) else ast.Pass()
        own = {one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg)}
        for literal in list(parsed.findall(nodes.literal)):
            first, *rest = literal.astext().split(".")
            meaning = ".".join([module.meanings.get(first, first), *rest])
            if first not in own and (name := sources.find(self.book, meaning)):
                link = nodes.reference("", "", literal.deepcopy(), internal=True)
                link["refuri"] = _uri(self.env.app, self.env.docname, name)
                literal.replace_self(link)
        return parsed.children


def _section(anchor: str, title: str) -> nodes.section:
    """Open a section; its anchor is as it is written, since `flow` and `Flow` are two names."""
    return nodes.section("", nodes.title("", "", nodes.literal(text=title)), ids=[anchor])


def _listed(found: re.Match) -> str:
    """Write a section of a docstring as a list under its name."""
    name, body = found.groups()
    body = re.sub(r"^ {4}", "  ", ITEM.sub(r"- ``\1``: ", body), flags=re.MULTILINE)
    return f"**{name}**\n\n{body}\n"


def _uri(app: Sphinx, here: str, name: str) -> str:
    """Return the address of what is shown under a name, from a page."""
    page, anchor = sources.place(book_of(app), name)
    return app.builder.get_relative_uri(here, page) + anchor


def outdated(app: Sphinx, env: BuildEnvironment, *changed: set[str]) -> list[str]:
    """Return the pages that lack a module; of one that has changed Sphinx knows."""
    modules = sources.modules(book_of(app)).values()
    return [one.page for one in modules if str(one.path) not in env.dependencies[one.page]]


def find_names(app: Sphinx, doctree: nodes.document) -> None:
    """Note in the blocks of code of a page which names of ours they have."""
    book = book_of(app)
    meanings: dict[str, str] = {}
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") in sources.LANGUAGES and "uses" not in block:
            block["uses"] = sources.uses(book, block.astext(), meanings)
            for use in block["uses"]:
                app.env.note_dependency(str(sources.owner(book, use.name).path))


def visit_code(translator: HTML5Translator, node: nodes.literal_block) -> None:
    """Write a block of code as ever, then link the names of ours."""
    try:
        type(translator).visit_literal_block(translator, node)
    except nodes.SkipNode:
        translator.body[-1] = _linked(translator, translator.body[-1], node.get("uses", []))
        raise


def _linked(translator: HTML5Translator, html: str, uses: list[sources.Use]) -> str:
    """Wrap names in highlighted code, each of which begins and ends with a `span`, in links."""
    begins = {use.start: use for use in uses}
    written = []
    place = 0  # in the code
    end = -1  # of the link that is open
    for piece in TAG.split(html):
        if piece.startswith("<span class") and place in begins:
            use = begins.pop(place)
            end = use.end
            uri = _uri(translator.builder.app, translator.builder.current_docname, use.name)
            written.append(f'<a class="to-source" title="{use.name}" href="{uri}">')
        written.append(piece)
        if not piece.startswith("<"):
            place += len(unescape(piece))
        elif piece == "</span>" and place == end:
            written.append("</a>")
            end = -1
    return "".join(written)
