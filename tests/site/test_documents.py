"""Every claim that is not new is made by one document."""

from pathlib import Path

import pytest

from lib.claims import NEW
from lib.site import documents, ledger
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[2])


def record(source, chapter="synthesis"):
    return {"id": f"{chapter}/claim", "chapter": chapter, "verdict": "reproduced", "source": source}


@pytest.mark.parametrize(
    "source, chapter, name",
    [
        ("Kunin et al., Theorem 2", "synthesis", "Kunin et al."),
        ("product-depth note, Setup", "products", "Product-depth note"),
        ("van Rossem & Saxe, Eq. 7", "synthesis", "van Rossem & Saxe"),
        ("Section 1", "localization", "Localization notes"),
    ],
)
def test_a_source_names_its_document_or_is_its_chapters(monkeypatch, source, chapter, name):
    monkeypatch.setattr(ledger, "records", lambda book: [record(source, chapter)])
    assert documents.by_claim(BOOK) == {f"{chapter}/claim": name}


def test_every_claim_of_a_document_has_one():
    records = ledger.records(BOOK)
    made_by = documents.by_claim(BOOK)
    for record in records:
        assert (
            sum(name.lower() in record["source"].lower() for name in documents.kinds(BOOK)) < 2
        ), record["id"]
    assert made_by.keys() == {record["id"] for record in records if record["verdict"] != NEW}
    kinds = list(documents.kinds(BOOK).values())
    assert kinds == sorted(kinds, key=documents.KINDS.index)


def test_a_chapter_without_document_is_named(monkeypatch):
    monkeypatch.setattr(ledger, "records", lambda book: [record("Section 2", "my_topic")])
    with pytest.raises(ValueError, match="my_topic/claim has the source 'Section 2': want a file"):
        documents.by_claim(BOOK)
