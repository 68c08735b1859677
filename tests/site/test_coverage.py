"""The tables that say where a document's figures, theorems and statements are."""

import csv
from codecs import BOM_UTF8

import pytest
import xarray as xr

from lib.claims import CORRECTED, REPRODUCED
from lib.fingerprint import code
from lib.site import coverage, ledger
from lib.site.book import Book

FILE = """\
title: A paper on one thing
short: Paper
kind: note
chapters: {one: 2, two: 90}
items:
  - {item: Figure 1(b), says: it grows, claims: [grows, two/stays, shrinks], ours: "8 networks", source: "1 network",
     follows: code/run me.py, differs: ours is slower}
  - {item: Theorem 2, says: "$a|b$", where: eq-one-two, chapter: two, claims: [stays], follows: text}
  - {item: Figure 3, says: a field, where: fig-one-field, runs: [one/fields], source: "1 field", follows: text}
  - {item: Figure 4, says: the rest, missing: too dear}
"""
REPOSITORIES = """\
code: {repository: owner/code, commit: 0123456789abcdef, date: 2024-05-06, licence: none stated, about: the code of the paper}
"""
RECORDS = [
    {"id": "one/grows", "verdict": REPRODUCED},
    {"id": "one/shrinks", "verdict": REPRODUCED},
    {"id": "two/stays", "verdict": CORRECTED},
]


@pytest.fixture
def book(tmp_path, monkeypatch):
    for folder in ("coverage", "one/results"):
        (tmp_path / "book" / folder).mkdir(parents=True)
    book = Book(tmp_path)
    monkeypatch.setattr(ledger, "records", lambda book: RECORDS)
    coverage.path(book, "paper").write_text(FILE)
    (tmp_path / "book" / "repositories.yml").write_text(REPOSITORIES)
    settings = '{"function": "lib.measures.inverse_participation_ratio"}'
    known = {
        "seconds": 9000.0,
        "device": "a GPU",
        "settings": settings,
        "code": code("lib.measures.inverse_participation_ratio"),
    }
    run = xr.Dataset({"x": 1.0}, attrs=known)
    run.to_netcdf(tmp_path / "book" / "one" / "results" / "fields.nc")
    return book


def folded(time, item, commands):
    aside = f'<span class="visually-hidden"> for {item}</span>'
    words = f'<span class="recompute-in">recompute in </span>{time}{aside}'
    return f'<details class="recompute"><summary>{words}</summary>{commands}</details>'


def rows(book, chapter=""):
    written = coverage.table(book, coverage.read(book, "paper"), chapter)
    return [line.strip("| ").split(" | ") for line in written.splitlines()[2:]]


def test_an_item_has_its_place_scale_verdicts_command_and_time(book):
    figure, theorem, field, rest = rows(book)
    assert figure == [
        '<span id="paper-figure-1-b"></span>**Figure 1(b):** it grows',
        '{ref}`the claim <one-grows>`: <span data-verdict="reproduced"></span>'
        "[{ref}`reproduced <one-grows>`]{.reproduced}, {ref}`2 <one-shrinks>`; "
        '<span data-verdict="corrected"></span>[{ref}`corrected <two-stays>`]{.corrected}',
        "ours: 8 networks; [source: 1 network]{.source-scale}; "
        "{ref}`code <where-code>`: code/run me.py",
        folded("2 min", "Figure 1(b)", "`.venv/bin/python -m lib run one`, 2 min"),
    ]
    assert "$a\\|b$" in theorem[0] and theorem[1].startswith("Eq.&nbsp;{eq}`eq-one-two`: ")
    assert theorem[-1] == folded("90 min", "Theorem 2", "`.venv/bin/python -m lib run two`, 90 min")
    assert field[1] == '{numref}`fig-one-field`: <span data-verdict="none">no claim</span>'
    command = "`.venv/bin/python -m lib store --again one/fields`, 2.5 h, a GPU; current"
    assert field[-1] == folded("2.5 h", "Figure 3", command)
    assert rest[1] == '<span data-verdict="missing">missing</span>: too dear'


def test_a_chapter_has_its_own_items(book):
    written = coverage.table(book, coverage.read(book, "paper"), "two")
    assert written.splitlines()[0] == "| Paper | here | scale |"
    assert "Theorem 2" in written and "Figure" not in written
    assert written.endswith("\n\nRecomputed by `.venv/bin/python -m lib run two`, 90 min.")


def test_a_claim_that_is_gone_is_named(book, monkeypatch):
    monkeypatch.setattr(ledger, "records", lambda book: RECORDS[1:])
    with pytest.raises(
        ValueError, match=r"paper\.yml, Figure 1\(b\): no notebook has the claim one/grows"
    ):
        coverage.table(book, coverage.read(book, "paper"))


def test_links_lead_to_all_rows_and_a_file_has_them(book, tmp_path):
    index = coverage.where(book)["index"]
    assert index.startswith('- **Paper:** <a href="#paper-figure-1-b">Figure 1(b)</a> · <a href="#')
    coverage.write_csv(book, tmp_path / "where.csv")
    with (tmp_path / "where.csv").open(encoding="utf-8-sig") as opened:
        first, theorem, *_ = csv.DictReader(opened)
    assert (tmp_path / "where.csv").read_bytes().startswith(BOM_UTF8)  # for spreadsheets
    assert first["claims"] == "one/grows two/stays one/shrinks"
    assert first["verdicts"] == "reproduced; corrected" and theorem["says"] == "$a|b$"


def test_a_page_lists_which_code_each_experiment_follows(book):
    words = coverage.where(book)
    file = "https://github.com/owner/code/blob/0123456789abcdef/run%20me.py"
    assert words["experiments"].splitlines()[2:] == [
        f"| Paper: Figure 1(b) | [code: run me.py]({file}) | ours is slower |",
        "| Paper: Figure 3 | the text |  |",
    ]
    commit = "[`0123456789`](https://github.com/owner/code/tree/0123456789abcdef)"
    row = f"| owner/code | {commit} | 2024-05-06 | none stated | the code of the paper |"
    assert words["repositories"].splitlines()[2:] == [row]
