"""Which document makes the statement of a claim: a reviewed paper, a note, or unpublished notes."""

from pathlib import Path

from lib.claims import NEW
from lib.site import coverage

KINDS = ("reviewed paper", "note", "unpublished notes")


def kinds(root: Path) -> dict[str, str]:
    """Return the documents of the book by name, each with its kind, the reviewed ones first."""
    found = {_name(part): part.kind for part in coverage.documents(root)}
    return dict(sorted(found.items(), key=lambda pair: KINDS.index(pair[1])))


def by_claim(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the document of each claim that is not new: the one that its source names, or else its chapter's.

    Raises
    ------
    ValueError
        If a claim has no document, or more than one.
    """
    names = kinds(root)
    own = {chapter: _name(part) for part in coverage.documents(root) for chapter in part.minutes}
    found = {}
    for record in records:
        if record["verdict"] == NEW:
            continue
        source = record["source"].lower()
        named = [name for name in names if name.lower() in source]
        if not named and record["chapter"] in own:
            named = [own[record["chapter"]]]
        if len(named) != 1:
            given = f"claim {record['id']}: the source {record['source']!r} names "
            raise ValueError(f"{given}{len(named)} documents: want one of {', '.join(names)}")
        found[record["id"]] = named[0]
    return found


def _name(part: coverage.Document) -> str:
    return part.short.split(",")[0]
