"""Every claim that is not new is made by one document."""

from pathlib import Path

import pytest

from lib.claims import NEW
from lib.site import documents, ledger

ROOT = Path(__file__).parents[2]


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
def test_a_source_names_its_document_or_is_its_chapters(source, chapter, name):
    assert documents.by_claim(ROOT, [record(source, chapter)]) == {f"{chapter}/claim": name}


@pytest.mark.parametrize("source, count", [("Theorem 2", 0), ("Kunin et al.; van Rossem & Saxe", 2)])
def test_a_source_without_one_document_is_refused(source, count):
    with pytest.raises(ValueError, match=f"claim synthesis/claim: the source '{source}' names {count} documents: want one of"):
        documents.by_claim(ROOT, [record(source)])


def test_every_claim_of_a_document_has_one():
    records = ledger.read(ROOT)
    made_by = documents.by_claim(ROOT, records)
    assert made_by.keys() == {record["id"] for record in records if record["verdict"] != NEW}
    assert list(documents.kinds(ROOT).values()) == ["reviewed paper", "reviewed paper", "note", "unpublished notes"]
