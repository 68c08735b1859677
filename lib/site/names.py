"""Names of claims: from the first release on they are frozen, and one that goes leads to another.

`book/names.txt` lists them, a name a line; behind a name that is gone stands the one to which its
links now lead.
"""

from functools import cache
from pathlib import Path

from lib import files
from lib.site import ledger
from lib.site.book import Book

NAMES = Path("book") / "names.txt"


@cache
def frozen(book: Book) -> dict[str, str]:
    """Return the released names, each with the name to which it leads: itself, unless gone."""
    path = book.root / NAMES
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {line.split()[0]: line.split()[-1] for line in lines}


def former(book: Book, name: str) -> list[str]:
    """Return the names that are gone and lead to this one."""
    return [old for old, new in frozen(book).items() if new == name and old != name]


def freeze(book: Book) -> None:
    """Add the names of all claims to the list, for a release."""
    names = frozen(book).copy()
    for record in ledger.records(book):
        names.setdefault(record["id"], record["id"])
    lines = [old if old == new else f"{old} {new}" for old, new in names.items()]
    files.write(book.root / NAMES, "\n".join(lines) + "\n")
