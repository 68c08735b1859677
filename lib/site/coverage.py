"""Where each figure, theorem and statement of a document is in the book, at which scale, with which
verdict, and how to rerun it.

`book/coverage/DOCUMENT.yml` gives a document's `title`, what readers call it (`short`: its name,
then the part, if it is one), its `kind`, the `chapters` that treat it, with the minutes that
`lib run` takes for each, and its `items`. An item has

    item      its name in the document: Figure 1(b), Theorem 2, Phase 1, third formula says
    what it shows or states, in a line chapter   the chapter that treats it (default: the document's
    first) where     the label of a figure, an equation, a section or a claim of the book (default:
    the first claim) ours      our scale in numbers: networks, steps × rate, data, seeds source
    the document's, likewise follows   `text`, or the public code that our experiment follows:
    NAME/FILE, with a NAME from `book/repositories.yml` differs   where our experiment differs from
    that code, apart from its scale claims    the claims that judge it, by their names in the
    chapter or as chapter/name runs      the precomputed runs behind it, as chapter/name missing
    why it is not in the book

The verdicts come from the claims, the price of a run from its file. `{coverage} DOCUMENT` shows the
table: on a page of a chapter the items of this chapter, on any other page all of them. The page
"Where is Figure 5?" also shows which experiments follow which code, and pages of chapters link
words such as "the authors' code" to it.
"""

import csv
import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr
import yaml
from docutils import nodes
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from lib import markdown
from lib.claims import VERDICTS
from lib.markdown import escape
from lib.runs.freshness import freshness
from lib.runs.run import result_file
from lib.site import ledger, public_code
from lib.site.book import Book, book_of

# How a place is written, by the beginning of its label; others are sections, exercises and claims.
COST = re.compile(r"(?<=`, )[\d.]+ (?:min|h)")  # behind a command
ROLES = {"eq": "Eq.&nbsp;{{eq}}`{}`", "fig": "{{numref}}`{}`"}


@dataclass(frozen=True)
class Item:
    """A figure, table, theorem, formula, experiment or statement
    of a document; the fields are those of the file.
    """

    item: str
    says: str
    chapter: str
    where: str = ""
    ours: str = ""
    source: str = ""
    follows: str = ""
    differs: str = ""
    claims: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class Document:
    """A document and its items; `minutes` is what `lib run`
    takes for each chapter that treats it.
    """

    name: str
    title: str
    short: str
    kind: str
    minutes: dict[str, float]
    items: tuple[Item, ...]


def path(book: Book, name: str) -> Path:
    """Return the file of a document."""
    return book.folder / "coverage" / f"{name}.yml"


@cache
def read(book: Book, name: str) -> Document:
    """Read the coverage of a document.

    Raises
    ------
    ValueError
        If there is no such file, or if it or an item lacks something.
    """
    file = path(book, name)
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        minutes = found.pop("chapters")
        items = tuple(_item(item, next(iter(minutes))) for item in found.pop("items"))
        return Document(name, minutes=minutes, items=items, **found)
    except (OSError, yaml.YAMLError, LookupError, TypeError) as problem:
        raise ValueError(f"{file} cannot be read: {problem}") from problem


def _item(found: dict[str, Any], first: str) -> Item:
    chapter = found.setdefault("chapter", first)
    names = found.get("claims", [])
    found["claims"] = tuple(name if "/" in name else f"{chapter}/{name}" for name in names)
    return Item(**found)


def documents(book: Book) -> list[Document]:
    """Read the coverage of all documents."""
    return [read(book, file.stem) for file in sorted(path(book, "").parent.glob("[!.]*.yml"))]


def table(book: Book, document: Document, chapter: str = "") -> str:
    """Write the items of a document, or those that a chapter treats, as a table in MyST.

    Raises
    ------
    ValueError
        If an item names a claim that no notebook has.
    """
    heads = [document.short, "here", "scale", "recomputed by"]
    items = [item for item in document.items if chapter in ("", item.chapter)]
    rows = [_row(book, document, item) for item in items]
    commands = {row[-1] for row in rows if row[-1]}
    if len(commands) > 1:
        return markdown.table(
            heads,
            [
                [*row[:-1], _folded(row[-1], item.item)]
                for row, item in zip(rows, items, strict=True)
            ],
        )
    shown = markdown.table(heads[:-1], [row[:-1] for row in rows])
    return "\n\n".join([shown, *(f"Recomputed by {one}." for one in commands)])


def _row(book: Book, document: Document, item: Item) -> list[str]:
    anchored = f'<span id="{anchor(document, item)}"></span>'
    name = f"{anchored}**{escape(item.item)}:** {escape(item.says)}"
    scale = _scale(item)
    if item.missing:
        why = escape(item.missing)
        return [name, f'<span data-verdict="missing">missing</span>: {why}', scale, ""]
    judged = []
    for verdict, claims in _verdicts(book, document, item).items():
        links = [ledger.link(str(number), claim) for number, claim in enumerate(claims, start=1)]
        links[0] = ledger.coloured(verdict, ledger.link(verdict, claims[0]))
        judged.append(f'<span data-verdict="{verdict}"></span>' + ", ".join(links))
    if item.where:
        here = ROLES.get(item.where.split("-")[0], "{{ref}}`{}`").format(item.where)
    else:
        here = ledger.link("the claim", item.claims[0])
    said = "; ".join(judged) or '<span data-verdict="none">no claim</span>'
    return [name, f"{here}: {said}", scale, _commands(book, document, item)]


def _folded(commands: str, item: str) -> str:
    """Fold the commands for an item behind the time that they take."""
    if not commands:
        return ""
    times = "; ".join(COST.findall(commands))
    aside = f'<span class="visually-hidden"> for {escape(item)}</span>'
    within = _("recompute in")  # where no column says it
    words = f'<span class="recompute-in">{within} </span>'
    summary = f"<summary>{words}{times}{aside}</summary>"
    return f'<details class="recompute">{summary}{commands}</details>'


def _verdicts(book: Book, document: Document, item: Item) -> dict[str, list[str]]:
    """Return the claims that judge an item, by their verdict."""
    verdicts = {record["id"]: record["verdict"] for record in ledger.records(book)}
    if lost := [claim for claim in item.claims if claim not in verdicts]:
        file = path(book, document.name)
        raise ValueError(f"{file}, {item.item}: no notebook has the claim {lost[0]}")
    found = {}
    for verdict in VERDICTS:
        claims = [claim for claim in item.claims if verdicts[claim] == verdict]
        if claims:
            found[verdict] = claims
    return found


def _scale(item: Item) -> str:
    """Write our scale and the document's, and where the code is that we follow."""
    said = []
    if item.ours:
        said.append(f"ours: {escape(item.ours)}")
    if item.source:
        said.append(f"[source: {escape(item.source)}]{{.source-scale}}")
    if item.differs:
        said.append(f"{{ref}}`code <{public_code.LABEL}>`: {escape(item.follows)}")
    return "; ".join(said)


def anchor(document: Document, item: Item) -> str:
    """Return the id of an item's row."""
    return nodes.make_id(f"{document.name} {item.item}")


def _commands(book: Book, document: Document, item: Item) -> str:
    """Write the commands that recompute an item, each with its time and the result's state."""
    if not item.runs:
        seconds = 60 * document.minutes[item.chapter]
        return f"`.venv/bin/python -m lib run {item.chapter}`, {_time(seconds)}"
    said = []
    for run in item.runs:
        with xr.open_dataset(result_file(book.folder, run)) as found:
            known = found.attrs
        cost = f"{_time(known['seconds'])}, {known['device']}; {freshness(known)}"
        said.append(f"`.venv/bin/python -m lib store --again {run}`, {cost}")
    return ";<br>".join(said)


def _time(seconds: float) -> str:
    return f"{max(1, seconds / 60):.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def where(book: Book) -> dict[str, str]:
    """Return what the page "Where is Figure 5?" takes: links to
    the items, a table for each document, and of code.
    """
    sections = [f"## {one.title}\n\n```{{coverage}} {one.name}\n```" for one in documents(book)]
    return {
        "index": "\n".join(map(_links, documents(book))),
        "documents": "\n\n".join(sections),
        "repositories": public_code.repository_table(book),
        "experiments": _experiments(book),
    }


def _links(document: Document) -> str:
    """Write links to the rows of a document's items, in their order."""
    links = [f'<a href="#{anchor(document, one)}">{escape(one.item)}</a>' for one in document.items]
    return f"- **{document.short}:** {' · '.join(links)}"


def write_csv(book: Book, file: Path) -> None:
    """Write the items of all documents with their verdicts as a table of comma-separated values.

    Its first sign tells spreadsheets that it is in UTF-8, which some would not guess.
    """
    heads = [field.name for field in fields(Item)]
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        table = csv.writer(opened, lineterminator="\n")
        table.writerow(["document", *heads, "verdicts"])
        for document in documents(book):
            for item in document.items:
                values = [getattr(item, head) for head in heads]
                said = [
                    " ".join(value) if isinstance(value, tuple | list) else value
                    for value in values
                ]
                verdicts = "; ".join(_verdicts(book, document, item))
                table.writerow([document.short, *said, verdicts])


def _experiments(book: Book) -> str:
    """Write a table of the documents' experiments: what ours follows, and what differs."""
    rows = []
    for document in documents(book):
        for item in document.items:
            if item.missing or not (item.source or item.differs):
                continue  # nothing was run for it by the authors
            name = f"{document.short}: {escape(item.item)}"
            rows.append([name, public_code.link(book, item.follows), escape(item.differs)])
    heads = ["experiment", "ours follows", "what differs, apart from the scale"]
    return markdown.table(heads, rows)


class Coverage(SphinxDirective):
    """Show the coverage of a document: `{coverage} DOCUMENT`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, as if it were written there."""
        book = book_of(self.env.app)
        name = self.arguments[0]
        chapter = book.chapter_of(self.env.docname)
        for file in (__file__, path(book, name), *map(book.path, book.notebooks)):
            self.env.note_dependency(str(file))
        parsed = self.parse_text_to_nodes(table(book, read(book, name), chapter))
        for part in parsed:
            for found in part.findall(nodes.table):
                found["classes"].append("coverage")
        return parsed
