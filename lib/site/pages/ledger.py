"""What the ledger takes from the claims."""

from collections import Counter
from pathlib import Path

from lib import claims
from lib.claims import NEW, VERDICTS
from lib.markdown import table
from lib.site.ledger import after_looking
from lib.site.names import former
from lib.site.pages import margins
from lib.site.toc import chapters, title

HEADS = ("claim", "statement", "measured", "seeds", "chapter", "verdict")


def what_replicates(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts and the table of all claims, in which each row is linked to its cell."""
    names = {chapter: f"{number}. {title(root, chapter)}" for number, chapter in enumerate(chapters(root), 1)}
    seeds = {row["id"]: margins.summary(row) for row in margins.current(root)}
    looked = after_looking(root)
    rows = []
    for record in records:
        mark = "bound set after looking" if record["id"] in looked else ""
        labels = [record["id"], *former(root, record["id"])]
        rows.append(_row(record, labels, mark, seeds.get(record["id"], ""), names[record["chapter"]]))
    return counts(records) | {"claims": table(HEADS, rows), "looked": str(len(looked))}


def _row(record: dict, labels: list[str], mark: str, seeds: str, title: str) -> list[str]:
    """Link the claim's name to its cell, colour the verdict, and say what was seen instead or what would decide."""
    chapter, name = record["id"].split("/")
    why = f". {record['verdict'].capitalize()}: {record['why']}" if record["why"] else ""
    _, statement, measured, expected, rivals, verdict = claims.cells(record | {"statement": record["statement"] + why})
    numbers = f"{measured}, expected {expected}"
    if mark:
        numbers += f" ({mark})"
    if rivals:
        numbers += f". Rivals: {rivals}"
    anchors = [f'<span id="what_replicates-{label.replace("/", "-")}"></span>' for label in labels]
    place = f"{''.join(anchors)}{{ref}}`{name} <{chapter}-{name}>`"
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
