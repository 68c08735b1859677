"""What changed since the edition before, whose claims are kept in `book/quality/edition.json`."""

from pathlib import Path

from lib.book import changes as claims_since
from lib.book.pages.tables import read

COMMAND = "python -m lib report --since TAG --keep"


def changes(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the edition before, the counts, and tables of what changed, was added and is gone.

    Raises
    ------
    ValueError
        If the edition's table is missing or not whole.
    """
    before = read(root, "edition", COMMAND)
    try:
        found = claims_since.compare(before["claims"], map(claims_since.brief, records))
        origin = {"revision": before["revision"], "date": before["date"]}
    except (LookupError, TypeError) as problem:
        raise ValueError(f"book/quality/edition.json is not whole ({problem}): make it with `{COMMAND}`") from problem
    return origin | {
        "before": str(len(before["claims"])),
        "now": str(len(records)),
        "summary": claims_since.summary(found),
        "moves": claims_since.moves(found),
        "changed": claims_since.changed(found, root, _link),
        "added": claims_since.listed(found.added, root, _link),
        "dropped": claims_since.listed(found.dropped, root),
    }


def _link(name: str) -> str:
    return f"{{ref}}`{name} <{name.replace('/', '-')}>`"
