"""What the ledger takes from the claims."""

from collections import Counter
from pathlib import Path

from lib import claims
from lib.claims import NEW, VERDICTS
from lib.markdown import table
from lib.site.pages import margins
from lib.site.toc import chapters, title

HEADS = ("claim", "statement", "measured", "seeds", "chapter", "verdict")


def what_replicates(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts and the table of all claims, in which each row is linked to its cell."""
    names = {chapter: f"{number}. {title(root, chapter)}" for number, chapter in enumerate(chapters(root), 1)}
    seeds = {row["id"]: margins.summary(row) for row in margins.current(root)}
    rows = [_row(record, seeds.get(record["id"], ""), names[record["chapter"]]) for record in records]
    return counts(records) | {"claims": table(HEADS, rows)}


def _row(record: dict, seeds: str, title: str) -> list[str]:
    """Link the claim's name to its cell, colour the verdict, and say what was seen instead or what would decide."""
    chapter, name = record["id"].split("/")
    why = f". {record['verdict'].capitalize()}: {record['why']}" if record["why"] else ""
    _, statement, measured, expected, rivals, verdict = claims.cells(record | {"statement": record["statement"] + why})
    numbers = f"{measured}, expected {expected}" + (f". Rivals: {rivals}" if rivals else "")
    place = f'<span id="what_replicates-{chapter}-{name}"></span>{{ref}}`{name} <{chapter}-{name}>`'
    return [place, statement, numbers, seeds, title, f"[{verdict}]{{.{verdict.replace(' ', '-')}}}"]


def counts(records: list[dict]) -> dict[str, str]:
    """Count the statements of the documents, the claims with rivals, the rivals, and the claims of each verdict."""
    count = Counter(record["verdict"] for record in records)
    numbers = {
        "documents": len(records) - count[NEW],
        "contested": sum(bool(record["rivals"]) for record in records),
        "rivals": sum(len(record["rivals"]) for record in records),
    } | {verdict.replace(" ", "_"): count[verdict] for verdict in VERDICTS}
    return {name: str(number) for name, number in numbers.items()}
