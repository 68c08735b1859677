"""The ledger judges every claim of a notebook again."""

import json
import re
from pathlib import Path

import pytest

from lib import claims
from lib.__main__ import main
from lib.site import ledger, lists
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)
NOTEBOOK = ROOT / "book" / "products.ipynb"


@pytest.fixture
def report(tmp_path, monkeypatch, capsys):
    """Return a function that changes a claim of a copied notebook and gives what
    `lib report` says.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text(
        "root: book/index\nchapters:\n  - file: book/products.ipynb\n"
    )

    def tampered(name, **changes):
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        (record,) = (one for one in claims.collect(notebook) if one["id"] == f"products/{name}")
        record |= changes
        Path("book", "products.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        return main(["report"]), capsys.readouterr().err

    return tampered


def test_a_notebook_as_it_is_committed_is_collected(report):
    assert report("growth-power") == (0, "")


@pytest.mark.parametrize(
    "name, changes, said",
    [
        (
            "growth-power",
            {"measured": 77},
            "growth-power is 'not reproduced', not 'reproduced': measured 77",
        ),
        (
            "growth-power",
            {"high": 1e-5},
            "growth-power is 'not reproduced', not 'reproduced'",
        ),
        (
            "growth-power",
            {"verdict": "slip"},
            "growth-power: `printed` goes with the verdicts corrected and slip",
        ),
        ("growth-power", {"why": None}, "growth-power: why is of type NoneType"),
        ("deeper-is-faster", {"printed": 0.5}, "deeper-is-faster is 'reproduced', not 'corrected'"),
        (
            "late-cost",
            {"rivals": {"two weights": 0.001}},
            "late-cost: the rival 'two weights' passes with 0.001",
        ),
        (
            "late-cost",
            {"margin": 1},
            "late-cost: got an unexpected keyword argument 'margin'",
        ),
    ],
)
def test_a_changed_claim_is_refused_in_one_line(report, name, changes, said):
    status, line = report(name, **changes)
    assert status == 2 and line.count("\n") == 1
    assert line.startswith("lib report: ") and "products.ipynb: claim " in line and said in line


SECTION = r"^## Bounds that were set or changed after looking\n([\s\S]*?)(?=^```|\Z)"


@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_bounds_set_after_looking_are_those_of_the_evidence_page(chapter):
    listed = lists.read(ROOT, "after_looking").get(chapter, {})
    changed, kept = (set(listed.get(name, [])) for name in ("changed", "kept"))
    known = {
        record["id"].split("/")[1]
        for record in ledger.records(BOOK)
        if record["chapter"] == chapter
    }
    told = [
        text
        for name in BOOK.notebooks_of(chapter)
        for text in re.findall(SECTION, BOOK.text(name), re.MULTILINE)
    ]
    linked = set(re.findall(rf"\{{ref\}}`[^`]*<{chapter}-([\w-]+)>`", "".join(told)))
    assert changed | kept <= known and not changed & kept
    assert linked & known <= changed | kept and bool(told) == bool(changed)
