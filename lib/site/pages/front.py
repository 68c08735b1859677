"""What the front page takes: counts and findings from the claims, and a card for each chapter."""

from collections import Counter

import yaml

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
    """Return the counts, the findings, and a card of sphinx-design for each chapter.

    Raises
    ------
    ValueError
        If a finding's claim is in no chapter any more, or has not the number that it takes.
    """
    entries = guide(book)["chapters"]
    cards = []
    for number, name in enumerate(book.chapters, 1):
        title = book.title(name).split(":")[0]
        about = entries[name]["about"].strip() if name in entries else ""
        cards.append(CARD.format(number=number, title=title, name=name, about=about))
    return counts(book) | {
        "findings": findings(book),
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


def findings(book: Book) -> str:
    """Return the findings of `book/findings.yml`, each with its claim's number and a link."""
    path = book.folder / "findings.yml"
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    known = {record["id"]: record for record in ledger.records(book)}
    lines = []
    for finding in found:
        name = finding["claim"]
        if name not in known:
            raise ValueError(
                f"{path}: no chapter has the claim {name}; choose another finding or restore it"
            )
        try:
            said = finding["text"].format(**ledger.numbers(known[name]))
        except (LookupError, ValueError) as problem:
            raise ValueError(
                f"{path}: the finding of {name} takes a number that its claim lacks: {problem}"
            ) from problem
        verdict = known[name]["verdict"]
        link = f"{{ref}}`{verdict.capitalize()} <{ledger.label(name)}>`"
        lines.append(f"- {said} [{link}]{{.{verdict.replace(' ', '-')}}}")
    return "\n".join(lines)
