"""The page of margins: shares of a bound, and what stands on the page of a small table."""

import json

import numpy as np
import pytest

from lib.bounds import at_least, at_most, near
from lib.site import ledger
from lib.site.book import Book
from lib.site.pages import margins


def row(bound, values, verdicts=None, name="one/claim", code="0"):
    verdicts = verdicts or [
        "reproduced" if bound.holds(value) else "not reproduced" for value in values
    ]
    edges = {"low": [bound.low] * len(values), "high": [bound.high] * len(values)}
    found = {
        "id": name,
        "measured": values,
        **edges,
        "printed": [None] * len(values),
        "verdict": verdicts,
        "rivals": {},
    }
    return found | {"code": code, "date": "2026-01-02", "versions": "numpy 1"}


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
    for bound, distance in (
        (at_most(4), 2),
        (at_least(-2), 4),
        (near(3, 1), 0),
    ):  # from a mean of 2, with a deviation of 0.5
        assert margins.deviations(row(bound, [1.5, 2.5])) == pytest.approx(distance / 0.5)
    drawn = row(near(0, 1), [3.1, 5.3], ["new", "new"]) | {
        "low": [2, 4],
        "high": [4, 6],
    }  # 0.1 and 0.3 off centre
    assert margins.used(drawn) == pytest.approx(0.3)
    assert margins.deviations(drawn) == pytest.approx((1 - 0.2) / 0.1)


def test_the_page_shows_what_hangs_on_the_seed(tmp_path, monkeypatch):
    (tmp_path / "book" / "quality").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n  - file: book/one.ipynb\n")
    (tmp_path / "book" / "one.md").write_text("# The one\n")
    today = margins.digest(Book(tmp_path), "one")
    rows = [
        row(at_most(2), [1, 1.9, 2.1], name="one/hangs", code=today),
        row(at_most(2), [1, 1, 1], name="one/still", code=today),
        row(near(0, 1), [0.1, -0.2, 0.15], name="one/firm", code=today),
        row(near(0, 1), [0.5, 2, 0.15], name="one/older"),
        row(at_least(1), [2, 2, 2], name="one/rival", code=today)
        | {"rivals": {"chance": [0.5, 0.9, 1.5], "zero": [0, 0, 0]}},
    ]
    spelled = json.dumps(rows).replace("-Infinity", '"-inf"').replace("Infinity", '"inf"')
    (tmp_path / margins.TABLE).write_text("\n".join(map(json.dumps, json.loads(spelled))))
    monkeypatch.setattr(ledger, "records", lambda book: [{}] * 9)
    words = margins.margins(Book(tmp_path))
    assert words["checked"].startswith(
        "4 of the 9 claims have been run with the current code, with 3 seeds each. For 2 of them"
    )
    assert "every seed. 2 measure a number that no seed changes" in words["checked"]
    assert (
        "{ref}`one: hangs <one-hangs>` | reproduced with 2 of 3 | ≤ 2 | 1 | 1.9 | 2.1 | 105% |"
        in words["hanging"]
    )
    deviations = abs(np.mean([0.1, -0.2, 0.15]) - 1) / np.std([0.1, -0.2, 0.15])
    assert "older" not in "".join(words.values())
    assert (
        words["chapters"].startswith("## The one\n")
        and f"| 20% | {deviations:.0f} |" in words["chapters"]
    )
    assert (
        "{ref}`one: rival <one-rival>` | reproduced; “chance” passes with 1 of 3 | ≥ 1 |"
        in words["hanging"]
    )
    assert "zero" not in words["hanging"]
    assert (
        "{ref}`still <one-still>` | reproduced | ≤ 2 | 1 | 1 | 1 | 50% | – |" in words["chapters"]
    )
    assert [line.split("`")[1] for line in words["closest"].splitlines()[2:]] == [
        "one: hangs <one-hangs>",
        "one: still <one-still>",
        "one: rival <one-rival>",
        "one: firm <one-firm>",
    ]
