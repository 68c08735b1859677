"""The page of margins: shares of a bound, and what stands on the page of a small table."""

import json

import numpy as np
import pytest

from lib.bounds import at_least, at_most, near
from lib.site import ledger
from lib.site.book import Book
from lib.site.pages import margins


def row(bound, values, **more):
    seeds = len(values)
    verdicts = ["reproduced" if bound.holds(value) else "not reproduced" for value in values]
    found = {"measured": values, "verdict": verdicts, "printed": [None] * seeds, "rivals": {}}
    edges = {"low": [str(bound.low)] * seeds, "high": [str(bound.high)] * seeds}
    return found | edges | {"date": "2026-01-02", "versions": "numpy 1"} | more


@pytest.mark.parametrize(
    "bound, values, share",
    [
        (at_most(4), [1, 3, 2], 0.75),
        (at_most(-4), [-8, -16], 0.5),
        (at_least(-4), [-1, 3], 0.25),
        (at_least(0), [1, 2], np.nan),
        (at_most(1), [2, 3], 2),
    ],
)
def test_the_share_of_a_bound_is_one_at_its_edge(bound, values, share):
    assert margins.used(row(bound, values)) == pytest.approx(share, nan_ok=True)


def test_deviations_count_from_the_mean_to_the_nearer_edge():
    values = [1.5, 2.5]  # a mean of 2, with a deviation of 0.5
    for bound, distance in ((at_most(4), 2), (at_least(-2), 4), (near(3, 1), 0)):
        assert margins.deviations(row(bound, values)) == pytest.approx(distance / 0.5)


def test_a_bound_may_be_drawn_too():
    edges = {"low": [2, 4], "high": [4, 6]}  # 0.1 and 0.3 off centre
    drawn = row(near(0, 1), [3.1, 5.3], verdict=["new", "new"], **edges)
    assert margins.used(drawn) == pytest.approx(0.3)
    assert margins.deviations(drawn) == pytest.approx((1 - 0.2) / 0.1)


def test_the_page_shows_what_hangs_on_the_seed(tmp_path, monkeypatch):
    (tmp_path / "book" / "quality").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n  - file: book/one.ipynb\n")
    (tmp_path / "book" / "one.md").write_text("# The one\n")
    today = margins.digest(Book(tmp_path), "one")
    rivals = {"chance": [0.5, 0.9, 1.5], "zero": [0, 0, 0]}
    rows = [
        row(at_most(2), [1, 1.9, 2.1], id="one/hangs", code=today),
        row(at_most(2), [1, 1, 1], id="one/still", code=today),
        row(near(0, 1), [0.1, -0.2, 0.15], id="one/firm", code=today),
        row(near(0, 1), [0.5, 2, 0.15], id="one/older", code="0"),
        row(at_least(1), [2, 2, 2], id="one/rival", code=today, rivals=rivals),
    ]
    (tmp_path / margins.TABLE).write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(ledger, "records", lambda book: [{}] * 9)
    words = margins.margins(Book(tmp_path))
    assert words["checked"].startswith(
        "4 of the 9 claims have been run with the current code, with 3 seeds each. For 2 of them"
    )
    assert "every seed. 2 measure a number that no seed changes" in words["checked"]
    assert "older" not in "".join(words.values())
    hanging = words["hanging"]
    shown = "{ref}`one: hangs <one-hangs>` | reproduced with 2 of 3 | ≤ 2 | 1 | 1.9 | 2.1 | 105% |"
    assert shown in hanging
    assert "{ref}`one: rival <one-rival>` | reproduced; “chance” passes with 1 of 3 |" in hanging
    assert "zero" not in hanging
    shown = "{ref}`still <one-still>` | reproduced | ≤ 2 | 1 | 1 | 1 | 50% | – |"
    assert words["chapters"].startswith("## The one\n") and shown in words["chapters"]
    closest = [line.split("`")[1].split()[1] for line in words["closest"].splitlines()[4:]]
    assert closest == ["hangs", "still", "rival", "firm"]


def test_without_seeds_the_page_says_so_once(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n  - file: book/one.ipynb\n")
    monkeypatch.setattr(ledger, "records", lambda book: [{}] * 9)
    monkeypatch.setattr(margins, "digest", lambda book, name: "today")
    words = margins.margins(Book(tmp_path))
    assert words["checked"].startswith("None of the 9 claims has been run")
    assert words["hanging"] == words["closest"] == words["chapters"] == ""
