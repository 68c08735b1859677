"""What the front page takes: counts of the claims, and a card for each chapter."""

from collections import Counter

from lib.claims import NEW, VERDICTS
from lib.markdown import table
from lib.site import documents, ledger
from lib.site.book import Book
from lib.site.pages.course import guide
from lib.site.pages.ledger import counts

GRID = ":::::{{grid}} 1 2 3 3\n:gutter: 2\n:class-container: chapter-cards\n\n{}\n:::::"
CARD = """\
::::{{grid-item-card}} {number}. {title}
:link: {name}
:link-type: doc
{about}
::::"""


def front(book: Book) -> dict[str, str]:
    """Return the counts, and a card of sphinx-design for each chapter."""
    cards = []
    for number, name in enumerate(book.chapters, 1):
        title = book.title(name).split(":")[0]
        about = guide(book)["chapters"].get(name, {"about": ""})["about"].strip()
        cards.append(CARD.format(number=number, title=title, name=name, about=about))
    return counts(book) | {
        "cards": GRID.format("\n\n".join(cards)),
        "by_document": by_document(book),
        "looked": str(len(ledger.after_looking(book))),
    }


def by_document(book: Book) -> str:
    """Return a table of the documents, each with its kind and the verdicts on its statements."""
    made_by = documents.by_claim(book)
    verdicts = [verdict for verdict in VERDICTS if verdict != NEW]
    count = Counter((made_by.get(one["id"]), one["verdict"]) for one in ledger.records(book))
    rows = []
    for name, kind in documents.kinds(book).items():
        numbers = [count[name, verdict] for verdict in verdicts]
        rows.append([name, kind, sum(numbers), *numbers])
    return table(["document", "kind", "statements", *verdicts], rows)
