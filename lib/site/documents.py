"""Which document makes the statement of a claim: a reviewed paper, a note, or unpublished notes."""

from lib.claims import NEW
from lib.site import coverage, ledger
from lib.site.book import Book

KINDS = ("reviewed paper", "note", "unpublished notes")


def kinds(book: Book) -> dict[str, str]:
    """Return the documents of the book by name, each with its kind, the reviewed ones first."""
    found = {_name(part): part.kind for part in coverage.documents(book)}
    return dict(sorted(found.items(), key=lambda pair: KINDS.index(pair[1])))


def by_claim(book: Book) -> dict[str, str]:
    """Return the document of each claim that is not new: that of its source, or its chapter's."""
    own = {chapter: _name(part) for part in coverage.documents(book) for chapter in part.minutes}
    found = {}
    for record in ledger.records(book):
        if record["verdict"] != NEW:
            named = [name for name in kinds(book) if name.lower() in record["source"].lower()]
            if not named and record["chapter"] not in own:
                wanted = "a file in book/coverage/ that names the chapter, or a document's `short`"
                raise ValueError(
                    f"{record['id']} has the source {record['source']!r}: want {wanted}"
                )
            found[record["id"]] = named[0] if named else own[record["chapter"]]
    return found


def _name(part: coverage.Document) -> str:
    return part.short.split(",")[0]
