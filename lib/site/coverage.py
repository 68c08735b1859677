"""Where each figure, theorem and statement of a document is in the book, at which scale, with which verdict, and how to rerun it.

`book/coverage/DOCUMENT.yml` gives a document's `title`, what readers call it (`short`: its name, then the part, if it is one),
its `kind`, the `chapters` that treat it, with the minutes that `lib run` takes for each, and its `items`. An item has

    item      its name in the document: Figure 1(b), Theorem 2, Phase 1, third formula
    says      what it shows or states, in a line
    chapter   the chapter that treats it (default: the document's first)
    where     the label of a figure, an equation, a section or a claim of the book (default: the first claim)
    ours      our scale in numbers: networks, steps × rate, data, seeds
    source    the document's, likewise
    follows   `text`, or the public code that our experiment follows: NAME/FILE, with a NAME from `book/repositories.yml`
    differs   where our experiment differs from that code, apart from its scale
    claims    the claims that judge it, by their names in the chapter or as chapter/name
    runs      the precomputed runs behind it, as topic/name
    missing   why it is not in the book

The verdicts come from the claims, the price of a run from its file. `{coverage} DOCUMENT` shows the table: on an evidence page
the items of its chapter, on any other page all of them. The page "Where is Figure 5?" also shows which experiments follow which
code, and pages of chapters link words such as "the authors' code" to it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr
import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from lib import markdown
from lib.claims import VERDICTS
from lib.markdown import escape
from lib.runs.freshness import freshness
from lib.site import ledger, public_code, toc

# How a place is written, by the beginning of its label; others are sections, exercises and claims.
ROLES = {"eq": "Eq.&nbsp;{{eq}}`{}`", "fig": "{{numref}}`{}`"}


@dataclass(frozen=True)
class Item:
    """A figure, table, theorem, formula, experiment or statement of a document; the fields are those of the file."""

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

    def __post_init__(self) -> None:
        if bool(self.missing) == bool(self.claims or self.where):
            raise ValueError(f"{self.item}: want a claim or a label, or `missing` with the reason")
        if bool(self.missing) == bool(self.follows):
            raise ValueError(f"{self.item}: want `follows`, which is text or NAME/FILE of public code, unless it is missing")
        if (self.follows in ("", public_code.TEXT)) == bool(self.differs):
            raise ValueError(f"{self.item}: want `differs` if it follows code, and only then")


@dataclass(frozen=True)
class Document:
    """A document and its items; `minutes` is what `lib run` takes for each chapter that treats it."""

    name: str
    title: str
    short: str
    kind: str
    minutes: dict[str, float]
    items: tuple[Item, ...]


def path(root: Path, name: str) -> Path:
    """Return the file of a document."""
    return root / "book" / "coverage" / f"{name}.yml"


def read(root: Path, name: str) -> Document:
    """Read the coverage of a document.

    Raises
    ------
    ValueError
        If there is no such file, or if it or an item lacks something.
    """
    try:
        found = yaml.safe_load(path(root, name).read_text(encoding="utf-8"))
        first = next(iter(found["chapters"]))
        items = tuple(_item({"chapter": first} | item) for item in found["items"])
        return Document(name, found["title"], found["short"], found["kind"], found["chapters"], items)
    except (OSError, yaml.YAMLError, LookupError, TypeError, ValueError) as problem:
        raise ValueError(f"{path(root, name)} cannot be read: {problem}") from problem


def _item(found: dict[str, Any]) -> Item:
    names = [name if "/" in name else f"{found['chapter']}/{name}" for name in found.get("claims", ())]
    return Item(**found | {"claims": tuple(names), "runs": tuple(found.get("runs", ()))})


def documents(root: Path) -> list[Document]:
    """Read the coverage of all documents."""
    return [read(root, file.stem) for file in sorted((root / "book" / "coverage").glob("*.yml"))]


def table(root: Path, document: Document, records: list[dict], chapter: str = "") -> str:
    """Write the items of a document, or those that a chapter treats, as a table in MyST.

    Raises
    ------
    ValueError
        If an item names a claim that no notebook has.
    """
    verdicts = {record["id"]: record["verdict"] for record in records}
    heads = [document.short, "here", "scale", "verdict", "recomputed by"]
    rows = [_row(root, document, item, verdicts) for item in document.items if chapter in ("", item.chapter)]
    commands = {row[-1] for row in rows if row[-1]}
    if len(commands) > 1:
        return markdown.table(heads, rows)
    return markdown.table(heads[:-1], [row[:-1] for row in rows]) + "".join(f"\n\nRecomputed by {one}." for one in commands)


def _row(root: Path, document: Document, item: Item, verdicts: dict[str, str]) -> list[str]:
    unknown = [claim for claim in item.claims if claim not in verdicts]
    if unknown:
        raise ValueError(f"{path(root, document.name)}, {item.item}: no notebook has the claim {', '.join(unknown)}")
    name = f'<span id="{anchor(document, item)}"></span>**{escape(item.item)}:** {escape(item.says)}'
    scale = _scale(item)
    if item.missing:
        return [name, "", scale, f"missing: {escape(item.missing)}", ""]
    judged = [_verdict(verdict, [claim for claim in item.claims if verdicts[claim] == verdict]) for verdict in VERDICTS]
    said = "; ".join(filter(None, judged)) or "no claim"
    place = ROLES.get(item.where.split("-")[0], "{{ref}}`{}`").format(item.where)
    here = place if item.where else f"{{ref}}`{item.claims[0].split('/')[1]} <{label(item.claims[0])}>`"
    return [name, here, scale, said, _commands(root, document, item)]


def _scale(item: Item) -> str:
    """Write our scale and the document's, and where the code is that we follow."""
    said = [f"{whose}: {escape(words)}" for whose, words in (("ours", item.ours), ("source", item.source)) if words]
    if item.differs:
        said.append(f"{{ref}}`code <{public_code.LABEL}>`: {escape(item.follows)}")
    return "; ".join(said)


def anchor(document: Document, item: Item) -> str:
    """Return the id of an item's row."""
    return nodes.make_id(f"{document.name} {item.item}")


def label(claim: str) -> str:
    """Return the label of a claim."""
    return claim.replace("/", "-")


def _verdict(verdict: str, claims: list[str]) -> str:
    """Write a verdict, linked to the claims that have it."""
    if not claims:
        return ""
    links = [f"{{ref}}`{words} <{label(claim)}>`" for words, claim in zip([verdict, *range(2, 99)], claims, strict=False)]
    return f"[{links[0]}]{{.{verdict.replace(' ', '-')}}}" + "".join(f", {link}" for link in links[1:])


def _commands(root: Path, document: Document, item: Item) -> str:
    """Write the commands that recompute an item, each with its time and the state of the result."""
    if not item.runs:
        return f"`python -m lib run {item.chapter}`, {_time(60 * document.minutes[item.chapter])}"
    return "; ".join(recomputed(root, run) for run in item.runs)


def recomputed(root: Path, run: str) -> str:
    """Write the command that recomputes a run, its time, and whether the result is of today's code."""
    with xr.open_dataset(root / "book" / "results" / f"{run}.nc") as found:
        known = found.attrs
    return f"`python -m lib store --again {run}`, {_time(known['seconds'])}, {known['device']}; {freshness(known)}"


def _time(seconds: float) -> str:
    return f"{max(1, seconds / 60):.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def where(root: Path) -> dict[str, str]:
    """Return what the page "Where is Figure 5?" takes: a table for each document, and the tables of public code."""
    sections = [f"## {one.title}\n\n```{{coverage}} {one.name}\n```" for one in documents(root)]
    return {
        "documents": "\n\n".join(sections),
        "repositories": public_code.repository_table(root),
        "experiments": _experiments(root),
    }


def _experiments(root: Path) -> str:
    """Write a table of the experiments that the documents have: whether ours follows the text or code, and what differs."""
    rows = []
    for document in documents(root):
        for item in document.items:
            if item.missing or not (item.source or item.differs):
                continue  # nothing was run for it by the authors
            by_text = item.follows == public_code.TEXT
            followed = "the text" if by_text else public_code.link(root, item.follows)
            rows.append([f"{document.short}: {escape(item.item)}", followed, escape(item.differs)])
    return markdown.table(["experiment", "ours follows", "what differs, apart from the scale"], rows)


class Coverage(SphinxDirective):
    """Show the coverage of a document: `{coverage} DOCUMENT`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, as if it were written there."""
        root, name = Path(self.env.srcdir), self.arguments[0]
        chapter = self.env.docname.removeprefix(f"book/{toc.EVIDENCE}") if toc.EVIDENCE in self.env.docname else ""
        for file in (__file__, path(root, name), *(root / "book" / f"{notebook}.ipynb" for notebook in toc.notebooks(root))):
            self.env.note_dependency(str(file))
        try:
            written = table(root, read(root, name), ledger.read(root), chapter)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        parsed = nodes.Element()
        self.state.nested_parse(StringList(written.splitlines(), name), self.content_offset, parsed)
        for found in parsed.findall(nodes.table):
            found["classes"].append("coverage")
        return parsed.children
