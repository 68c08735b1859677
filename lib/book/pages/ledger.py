"""What the ledger and the errata take from the claims."""

import re
from collections import Counter
from pathlib import Path

from lib import claims
from lib.book.toc import chapters, sources, title
from lib.claims import CORRECTED, NEW, SLIP, VERDICTS
from lib.markdown import escape, sentence, table

ADMONITION = re.compile(r"^([:`]{3,})\{admonition\} (Printed.*)\n(?::.*\n)*\n?([\s\S]*?)^\1$", re.MULTILINE)

HEADS = ("claim", "statement", "measured", "verdict")


def what_replicates(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts and a table for each chapter, in which each row is linked to its cell."""
    sections = [f"## {title(root, chapter)}\n\n{table(HEADS, map(_row, rows))}" for chapter, rows in by_chapter(records).items()]
    return counts(records) | {"chapters": "\n\n".join(sections)}


def _row(record: dict) -> list[str]:
    """Link the claim's name to its cell, colour the verdict, and say what was seen instead or what would decide."""
    chapter, name = record["id"].split("/")
    why = f". {record['verdict'].capitalize()}: {record['why']}" if record["why"] else ""
    _, statement, measured, expected, rivals, verdict = claims.cells(record | {"statement": record["statement"] + why})
    numbers = f"{measured}, expected {expected}" + (f". Rivals: {rivals}" if rivals else "")
    place = f'<span id="what_replicates-{chapter}-{name}"></span>{{ref}}`{name} <{chapter}-{name}>`'
    return [place, statement, numbers, f"[{verdict}]{{.{verdict.replace(' ', '-')}}}"]


def errata(root: Path, records: list[dict]) -> dict[str, str]:
    """Return how many statements are corrected or slips, and by chapter what is wrong, as printed and as it should be."""
    mended = by_chapter([record for record in records if record["verdict"] in (CORRECTED, SLIP)])
    sections = []
    for chapter in chapters(root):
        notes = ADMONITION.findall(sources(root, chapter))
        rows = mended.get(chapter, [])
        if notes or rows:
            sections.append(f"## {title(root, chapter)}")
        for _, heading, note in notes:
            lead = "" if heading == "Printed and true" else f"**{heading}** "
            sections.append("> " + (lead + note.strip()).replace("\n", "\n> "))
        if rows:
            sections.append(table(["place", "what holds", "verdict", "bound", "as printed", "measured"], map(_erratum, rows)))
    count = counts(records)
    return {"corrected": count[CORRECTED], "slip": count[SLIP], "chapters": "\n\n".join(sections)}


def _erratum(row: dict) -> list[str]:
    bound = claims.bound(row)
    numbers = [bound.shown(float(row[name])) for name in ("printed", "measured")]
    name = row["id"].replace("/", "-")
    place = f'<span id="errata-{name}"></span>{{ref}}`{sentence(row["source"])} <{name}>`'
    return [place, escape(row["statement"]), row["verdict"], str(bound), *numbers]


def counts(records: list[dict]) -> dict[str, str]:
    """Count the statements of the documents, the claims with rivals, the rivals, and the claims of each verdict."""
    count = Counter(record["verdict"] for record in records)
    numbers = {
        "documents": len(records) - count[NEW],
        "contested": sum(bool(record["rivals"]) for record in records),
        "rivals": sum(len(record["rivals"]) for record in records),
    } | {verdict.replace(" ", "_"): count[verdict] for verdict in VERDICTS}
    return {name: str(number) for name, number in numbers.items()}


def by_chapter(records: list[dict]) -> dict[str, list[dict]]:
    """Group claims by chapter."""
    groups: dict[str, list[dict]] = {}
    for record in records:
        groups.setdefault(record["chapter"], []).append(record)
    return groups
