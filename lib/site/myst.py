"""The book's Markdown, MyST, read into its directives and written for Jupyter, which knows none.

In a notebook for Jupyter a directive becomes its text, and a reference becomes the number or the
title that the site shows.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from pybtex.database import parse_file
from pybtex.richtext import Text

from lib.site.book import Book
from lib.site.findings import written
from lib.site.shown import Part, part

MARKDOWN = MarkdownIt("commonmark").enable("table")
MARKDOWN.use(dollarmath_plugin).use(colon_fence_plugin).use(myst_block_plugin)
DIRECTIVE = re.compile(r"\{([\w:-]+)\} *(.*)")
OPTION = re.compile(r":([\w-]+): *(.*)")
ROLE = re.compile(r"\{(\w+(?::\w+)?)\}`([^`<]+?)(?:\s*<([^`>]+)>)?`")
COLOURED = re.compile(r"\[(\{ref\}`[^`]+`|\*\*[^*]+\*\*)\]\{\.[\w-]+\}")  # verdicts, questions
SECTION = re.compile(r"^\((\S+)\)=\n+#+ (.+)$", re.MULTILINE)


class Directive(NamedTuple):
    """A directive of a page, like an exercise: what follows its name, its options, its text."""

    name: str
    argument: str
    options: dict[str, str]
    body: str


def directive(token: Token) -> Directive | None:
    """Read a directive from a token that is one."""
    opened = DIRECTIVE.fullmatch(token.info.strip())
    if not opened or token.type not in ("fence", "colon_fence"):
        return None
    options = {}
    lines = token.content.split("\n")
    while option := OPTION.fullmatch(lines[0]):
        options[option[1]] = option[2]
        del lines[0]
    return Directive(opened[1], opened[2], options, "\n".join(lines).strip())


def exercises(book: Book, chapter: str) -> Iterator[Directive]:
    """Yield a chapter's exercises, those of its lesson first."""
    for name in book.notebooks_of(chapter):
        for token in MARKDOWN.parse(book.text(name)):
            found = directive(token)
            if found and found.name == "exercise":
                yield found


class References:
    """What the site says where a page refers to something, and how it is said in a notebook.

    Parameters
    ----------
    book : the book
    known : what its built pages show, by label
    """

    def __init__(self, book: Book, known: Mapping[str, Part]) -> None:
        self.book = book
        self.known = known
        self.sections = {}
        for name in book.notebooks:
            self.sections |= SECTION.findall(book.text(name))
        self.sources = parse_file(book.folder / "references.bib").entries

    def number(self, label: str) -> str:
        """Return the number of an equation, a figure or an exercise; a ValueError without one."""
        if found := part(self.known, label).number:
            return found
        raise ValueError(f"{label} has no number")

    def write(self, text: str) -> str:
        """Write a text for Jupyter.

        Raises
        ------
        ValueError
            If there are no words for a directive or a reference.
        """
        lines = text.split("\n")
        for token in reversed(MARKDOWN.parse(text)):
            if (written := self._block(token)) is not None:
                assert token.map is not None  # blocks have lines
                lines[slice(*token.map)] = written.split("\n")
        text = COLOURED.sub(r"\1", "\n".join(lines))
        return ROLE.sub(self._role, text).strip()

    def _block(self, token: Token) -> str | None:
        if token.type in ("myst_target", "myst_line_comment"):
            return ""
        if token.type == "math_block_label":
            number = self.number(token.info).strip("()")
            return f"$$\n{token.content.strip()}\n\\tag{{{number}}}\n$$"
        found = directive(token)
        if not found:
            return None
        match found.name:
            case "exercise":
                opening = f"**{self.number(found.options['label'])}: {found.argument}**\n\n"
            case "solution-start" | "solution":
                opening = f"**Solution of {self.number(found.argument)}**\n\n"
            case "admonition":
                opening = f"**{found.argument}**\n\n"
            case "prf:proof":
                opening = "*Proof.* "
            case "findings":
                return self.write(written(self.book, found.body.split("\n")))
            case "coverage":
                opening = "*The coverage table is on the site.*"
            case "container" | "solution-end":
                opening = ""
            case _:
                raise ValueError(f"there are no words for {{{found.name}}}")
        return (opening + self.write(found.body)).strip()

    def _role(self, found: re.Match) -> str:
        role, target, label = found.groups()
        if label:
            return target
        if role == "doc":
            return self.book.title(target.removeprefix("/book/").removeprefix("../"))
        if role == "ref" and target in self.sections:
            return self.sections[target]
        if role in ("eq", "numref", "ref"):
            return self.number(target)
        keys = target.replace(" ", "").split(",")
        if role not in ("cite:t", "cite:p") or not set(keys) <= set(self.sources):
            raise ValueError(f"there are no words for {found[0]}")
        cited = map(self._cited, keys)
        if role == "cite:t":
            return " and ".join(f"{author} [{year}]" for author, year in cited)
        return f"[{'; '.join(map(', '.join, cited))}]"

    def _cited(self, key: str) -> tuple[str, str]:
        entry = self.sources[key]
        names = [" ".join([*one.prelast_names, *one.last_names]) for one in entry.persons["author"]]
        author = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return str(Text.from_latex(author)), entry.fields.get("year", "undated")

    def notebook(self, executed: dict) -> dict:
        """Return a copy of a notebook (its JSON) for Jupyter, with a caption below each figure.

        A notebook from elsewhere is not trusted: of a figure that moves Jupyter would leave
        scattered labels. So it shows the description until the cell is run.
        """
        cells = []
        for cell in copy.deepcopy(executed["cells"]):
            if "remove-cell" in cell["metadata"].get("tags", []):
                continue
            cells.append(cell)
            if cell["cell_type"] == "markdown":
                cell["source"] = self.write("".join(cell["source"]))
            elif name := figure(cell).get("name"):
                caption = f"**{self.number(name)}** {self.write(figure(cell)['caption'])}"
                for output in cell["outputs"]:
                    output.get("metadata", {}).get("image/png", {}).pop("dark", None)
                    if output.get("data", {}).pop("text/html", None):
                        caption += " It moves once the cell above is run."
                added = {"cell_type": "markdown", "id": f"{cell['id']}-caption", "metadata": {}}
                cells.append(added | {"source": caption})
        return executed | {"cells": cells}


def figure(cell: dict) -> dict:
    """Return what a code cell says of its figure: name and caption."""
    return cell["metadata"].get("mystnb", {}).get("figure", {})
