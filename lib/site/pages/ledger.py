"""What the ledger takes from the claims."""

from collections import Counter

from lib import claims
from lib.claims import NEW, VERDICTS
from lib.markdown import table
from lib.site.book import Book
from lib.site.ledger import after_looking, coloured, label, link, records
from lib.site.names import former
from lib.site.pages import margins

HEADS = ("claim", "statement", "measured", "seeds", "chapter", "verdict")
SEEDS = (
    "*Seeds* gives the number of seeds with which the current code has checked a claim, and the "
    "fraction of the claim's bound that the worst seed uses; {doc}`margins` gives the details."
)
NO_SEEDS = "No claim has been checked with many seeds by the current code yet; see {doc}`margins`."


def what_replicates(book: Book) -> dict[str, str]:
    """Return the counts and the table of all claims, in which each row is linked to its cell."""
    rows = [HEADS, *(_row(book, record) for record in records(book))]
    seeds = SEEDS
    if not any(row[3] for row in rows[1:]):
        rows = [[*row[:3], *row[4:]] for row in rows]
        seeds = NO_SEEDS
    looked = str(len(after_looking(book)))
    return counts(book) | {"claims": table(rows[0], rows[1:]), "seeds": seeds, "looked": looked}


def _row(book: Book, record: dict) -> list[str]:
    """Link the claim's name to its cell, colour the verdict, and say why it is another one."""
    id = record["id"]
    chapter, name = id.split("/")
    why = f". {record['verdict'].capitalize()}: {record['why']}" if record["why"] else ""
    told = record | {"statement": record["statement"] + why}
    _, statement, measured, expected, rivals, verdict = claims.cells(told)
    numbers = f"{measured}, expected {expected}"
    if id in after_looking(book):
        numbers += " (bound set after looking)"
    if rivals:
        numbers += f". Rivals: {rivals}"
    labels = map(label, [id, *former(book, id)])
    anchors = "".join(f'<span id="what_replicates-{one}"></span>' for one in labels)
    seeds = [margins.summary(row) for row in margins.current(book) if row["id"] == id]
    number = book.chapters.index(chapter) + 1
    return [
        anchors + link(name, id),
        statement,
        numbers,
        "".join(seeds),
        f"{number}. {book.title(chapter)}",
        coloured(verdict, verdict),
    ]


def counts(book: Book) -> dict[str, str]:
    """Count the documents' statements, the claims with rivals, the rivals, and the verdicts."""
    count = Counter(record["verdict"] for record in records(book))
    rivals = [len(record["rivals"]) for record in records(book)]
    numbers = {
        "documents": count.total() - count[NEW],
        "contested": len(rivals) - rivals.count(0),
        "rivals": sum(rivals),
    }
    numbers |= {verdict.replace(" ", "_"): count[verdict] for verdict in VERDICTS}
    return {name: str(number) for name, number in numbers.items()}
