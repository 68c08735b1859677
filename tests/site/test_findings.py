"""Findings: claims word for word, which hold."""

import pytest

from lib.site import findings, ledger
from lib.site.book import Book

CLAIM = {"id": "one/rate", "statement": "It grows like $t^2$ | *fast*", "verdict": "corrected"}


@pytest.fixture
def book(tmp_path, monkeypatch):
    slip = CLAIM | {"id": "one/typo", "verdict": "slip"}
    monkeypatch.setattr(ledger, "records", lambda book: [CLAIM, slip])
    return Book(tmp_path)


def test_a_finding_is_the_statement_of_its_claim(book):
    assert findings.written(book, ["", "one/rate: So it is.", "one/rate"]).splitlines() == [
        r"1. **It grows like $t^2$ | \*fast\*.** [{ref}`Corrected <one-rate>`]{.corrected} So it is.",
        r"2. **It grows like $t^2$ | \*fast\*.** [{ref}`Corrected <one-rate>`]{.corrected}",
    ]


@pytest.mark.parametrize(
    "line, said",
    [
        ("one/gone", "finding 'one/gone': want the name of a claim"),
        ("It grows.", "finding 'It grows.': want the name of a claim"),
        ("one/typo", "finding one/typo: it is slip, want one that is reproduced, corrected, new"),
        ("one/rate: By 12 %.", "finding one/rate: a sentence without numbers may follow"),
    ],
)
def test_what_is_no_finding_is_refused(book, line, said):
    with pytest.raises(ValueError, match=said):
        findings.written(book, [line])
