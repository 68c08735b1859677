"""The tables that say where a document's figures, theorems and statements are."""

import pytest
import xarray as xr

from lib.claims import CORRECTED, REPRODUCED
from lib.fingerprint import code
from lib.site import coverage

FILE = """\
title: A paper on one thing
short: Paper
kind: note
chapters: {one: 2, two: 90}
items:
  - {item: Figure 1(b), says: it grows, claims: [grows, two/stays, shrinks], ours: "8 networks", source: "1 network"}
  - {item: Theorem 2, says: "$a|b$", where: eq-one-two, chapter: two, claims: [stays]}
  - {item: Figure 3, says: a field, where: fig-one-field, runs: [one/fields]}
  - {item: Figure 4, says: the rest, missing: too dear}
"""
RECORDS = [
    {"id": "one/grows", "verdict": REPRODUCED},
    {"id": "one/shrinks", "verdict": REPRODUCED},
    {"id": "two/stays", "verdict": CORRECTED},
]


@pytest.fixture
def root(tmp_path):
    for folder in ("coverage", "results/one"):
        (tmp_path / "book" / folder).mkdir(parents=True)
    coverage.path(tmp_path, "paper").write_text(FILE)
    settings = '{"function": "lib.measures.two_points"}'
    known = {"seconds": 9000.0, "device": "a GPU", "settings": settings, "code": code("lib.measures.two_points")}
    run = xr.Dataset({"x": 1.0}, attrs=known)
    run.to_netcdf(tmp_path / "book" / "results" / "one" / "fields.nc")
    return tmp_path


def rows(root, chapter=""):
    written = coverage.table(root, coverage.read(root, "paper"), RECORDS, chapter)
    return [line.strip("| ").split(" | ") for line in written.splitlines()[2:]]


def test_an_item_has_its_place_scale_verdicts_command_and_time(root):
    figure, theorem, field, rest = rows(root)
    assert figure == [
        '<span id="paper-figure-1-b"></span>**Figure 1(b):** it grows',
        "{ref}`grows <one-grows>`",
        "ours: 8 networks; source: 1 network",
        "[{ref}`reproduced <one-grows>`]{.reproduced}, {ref}`2 <one-shrinks>`; [{ref}`corrected <two-stays>`]{.corrected}",
        "`python -m lib run one`, 2 min",
    ]
    assert "$a\\|b$" in theorem[0] and theorem[1] == "Eq.&nbsp;{eq}`eq-one-two`"
    assert theorem[-1] == "`python -m lib run two`, 90 min"
    assert field[1] == "{numref}`fig-one-field`" and "no claim" in field
    assert field[-1] == "`python -m lib store --again one/fields`, 2.5 h, a GPU; current"
    assert "missing: too dear" in rest


def test_a_chapter_has_its_own_items_and_says_a_command_that_is_always_the_same_once(root):
    written = coverage.table(root, coverage.read(root, "paper"), RECORDS, "two")
    assert written.splitlines()[0] == "| Paper | here | scale | verdict |"
    assert "Theorem 2" in written and "Figure" not in written
    assert written.endswith("\n\nRecomputed by `python -m lib run two`, 90 min.")


@pytest.mark.parametrize(
    "old, new, message",
    [("claims: [grows, two/stays, shrinks], ", "", "want a claim or a label"), ("says: it grows", "sais: it grows", "sais")],
)
def test_a_file_that_lacks_something_is_named(root, old, new, message):
    coverage.path(root, "paper").write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=rf"paper\.yml cannot be read: .*{message}"):
        coverage.read(root, "paper")


def test_a_claim_that_is_gone_is_named(root):
    with pytest.raises(ValueError, match=r"paper\.yml, Figure 1\(b\): no notebook has the claim one/grows"):
        coverage.table(root, coverage.read(root, "paper"), RECORDS[1:])
