"""The page of margins: shares of a bound, and what stands on the page of a small table."""

import json

import numpy as np
import pytest

from lib.claims import at_least, at_most, near
from lib.evidence import margins


def row(bound, values, verdicts=None, name="one/claim"):
    verdicts = verdicts or ["reproduced" if bound.holds(value) else "not reproduced" for value in values]
    found = {"id": name, "expected": str(bound), "measured": values, "printed": [None] * len(values), "verdict": verdicts}
    return found | {"code": "0", "date": "2026-01-02", "versions": "numpy 1"}


@pytest.mark.parametrize(
    "bound, values, share",
    [
        (at_most(4), [1, 3, 2], 0.75),
        (at_most(4), [-1, -3], 0),
        (at_most(-4), [-8, -16], 0.5),
        (at_least(4), [8, 16], 0.5),
        (at_least(-4), [-1, 3], 0.25),
        (near(2, 0.5), [2.1, 1.6], 0.8),
        (near(2, 0), [2, 2], 0),
        (at_least(0), [1, 2], None),
        (at_most(1), [2, 3], 2),
        (at_least(4), [2, 1], 2),
    ],
)
def test_the_share_of_a_bound_is_one_at_its_edge(bound, values, share):
    assert margins.used(row(bound, values)) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize("bound, edge", [(at_most(0.3), 0.3), (at_least(7), 7), (near(1.5, 0.25), 1.75), (at_least(-2), -2)])
def test_the_share_passes_one_where_the_verdict_turns(bound, edge):
    step = 1e-6 if bound.holds(edge - 1e-6) else -1e-6
    assert margins.used(row(bound, [edge - step])) < 1 < margins.used(row(bound, [edge + step], ["reproduced"]))


@pytest.mark.parametrize("bound", [at_most(4), at_least(-2), near(3, 1)])
def test_deviations_count_from_the_mean_to_the_nearer_edge(bound):
    distance = {"at most 4": 2, "at least -2": 4, "3 ± 1": 0}[str(bound)]  # from a mean of 2, with a deviation of 0.5
    assert margins.deviations(row(bound, [1.5, 2.5])) == pytest.approx(distance / 0.5)


def test_the_page_shows_what_hangs_on_the_seed_and_counts_the_rest(tmp_path):
    (tmp_path / "book" / "evidence").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n  - file: book/one.ipynb\n")
    (tmp_path / "book" / "one.md").write_text("# The one\n")
    rows = [
        row(at_most(2), [1, 1.9, 2.1], name="one/hangs"),
        row(at_most(2), [1, 1, 1], name="one/still"),
        row(near(0, 1), [0.1, -0.2, 0.15], name="one/firm"),
    ]
    (tmp_path / margins.TABLE).write_text("\n".join(map(json.dumps, rows)))
    page = margins.page(tmp_path)
    assert "Each of 3 claims was checked with 3 seeds" in page
    assert "with every seed in 2 of\nthem. 1 measure a number that no seed changes" in page
    hanging = page.split("## Verdicts that hang on the seed")[1].split("##")[0]
    assert "{ref}`one: hangs <one-hangs>` | reproduced with 2 of 3 | ≤ 2 | 1 | 1.9 | 2.1 | 105% |" in hanging
    deviations = abs(np.mean([0.1, -0.2, 0.15]) - 1) / np.std([0.1, -0.2, 0.15])
    assert f"| 20% | {deviations:.0f} |" in page.split("## The one")[1]
    assert "{ref}`still <one-still>` | reproduced | ≤ 2 | 1 | 1 | 1 | 50% | – |" in page.split("## The one")[1]


@pytest.mark.fault("truncated table", "book/evidence/seeds.jsonl, cut", "the other files; the command is named")
def test_a_table_that_is_not_whole_is_named(tmp_path, record_property):
    path = tmp_path / margins.TABLE
    path.parent.mkdir(parents=True)
    path.write_text('{"id": "one/claim"}\n{"id": "one/cl')
    with pytest.raises(ValueError, match=r"seeds\.jsonl cannot be read \(.*\): make it with `make seeds`$") as named:
        margins.table(tmp_path)
    record_property("said", str(named.value))
