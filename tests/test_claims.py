"""The ledger of claims: bounds, verdicts, what is displayed and recorded, and what is read back."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from lib import claims
from lib.claims import ClaimChanged, at_least, at_most, near

MEASURED = 0.987654321
GOOD = {
    "id": "products/rate",
    "statement": "it grows",
    "source": "Eq. 7",
    "measured": MEASURED,
    "expected": at_least(0.95),
}
CORRECTED = {"verdict": "corrected", "printed": 0.5}
NOT_REPRODUCED = {"measured": 0.5, "verdict": "not reproduced", "why": "it shrinks"}


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """Collect what is displayed, and begin with an empty session."""
    objects = []
    monkeypatch.setattr("IPython.display.display", objects.append)
    monkeypatch.setattr(claims, "_checked", {})
    return objects


def check(**changes):
    arguments = GOOD | changes
    claims.check(arguments.pop("id"), arguments.pop("statement"), **arguments)


def output_of(claim):
    """Make the notebook output that IPython makes of a displayed claim."""
    data, metadata = DisplayFormatter().format(claim)
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def notebook_of(*objects):
    cells = [{"cell_type": "code", "outputs": [output_of(thing)]} for thing in objects]
    return json.loads(json.dumps({"cells": [{"cell_type": "markdown"}, *cells]}, allow_nan=False))


@pytest.mark.parametrize(
    "bound, inside, outside",
    [
        (at_least(0.5), [0.5, 1e300, np.inf], [np.nextafter(0.5, 0), -np.inf]),
        (at_most(0.5), [0.5, -1e300, -np.inf], [np.nextafter(0.5, 1), np.inf]),
        (near(2, 0.25), [1.75, 2, 2.25], [np.nextafter(1.75, 0), np.nextafter(2.25, 3), -2, np.inf]),
        (near(-1, 0), [-1], [1, np.nextafter(-1, 0)]),
    ],
)
def test_bounds_include_their_edges_and_nothing_beyond(bound, inside, outside):
    assert all(bound.holds(value) for value in inside)
    assert not any(bound.holds(value) for value in outside)
    assert bound.holds(np.float32(inside[0])) is True  # a plain bool


@pytest.mark.parametrize("bound", [at_least(-np.inf), at_most(np.inf), near(0, np.inf)])
def test_nan_never_holds(bound):
    assert not bound.holds(np.nan)


def test_bounds_read_as_words():
    assert [str(bound) for bound in (at_least(0.95), at_most(1e-9), near(2, 0.1))] == [
        "at least 0.95",
        "at most 1e-09",
        "2 ± 0.1",
    ]


@given(st.floats(-1e3, 1e3), st.floats(1e-9, 10))
def test_a_bound_is_written_to_a_hundredth_of_its_tolerance(value, tolerance):
    centre, width = map(float, str(near(value, tolerance)).split(" ± "))
    assert abs(centre - value) <= tolerance / 100
    assert width == pytest.approx(tolerance, rel=1e-5)


@pytest.mark.parametrize(
    "changes, verdict",
    [
        ({}, "reproduced"),
        (CORRECTED, "corrected"),
        (CORRECTED | {"printed": np.nan}, "corrected"),
        (NOT_REPRODUCED, "not reproduced"),
        (NOT_REPRODUCED | {"measured": np.nan}, "not reproduced"),
    ],
)
def test_the_verdict_follows_from_the_numbers(shown, changes, verdict):
    check(**changes)
    (claim,) = shown
    assert claim.verdict == verdict
    assert (claim.id, claim.statement, claim.source, claim.expected) == (
        "products/rate",
        "it grows",
        "Eq. 7",
        "at least 0.95",
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"measured": 0.5}, "is not reproduced, not reproduced: measured 0.5, expected at least 0.95"),
        ({"measured": np.nan}, "is not reproduced, not reproduced: measured nan"),
        (CORRECTED | {"printed": 0.96}, "is reproduced, not corrected: .* printed statement gives 0.96"),
        (CORRECTED | {"measured": 0.5}, "is not reproduced, not corrected"),
        (CORRECTED | {"measured": 0.5, "printed": 0.96}, "is not reproduced, not corrected"),
        (NOT_REPRODUCED | {"measured": MEASURED}, "is reproduced, not not reproduced"),
    ],
)
def test_another_verdict_than_the_declared_one_is_an_error(shown, changes, message):
    with pytest.raises(ClaimChanged, match=f"products/rate {message}"):
        check(**changes)
    assert [claim.verdict for claim in shown] == [message.split("is ")[1].split(",")[0]]  # what was found is shown all the same


@pytest.mark.parametrize(
    "changes, message",
    [
        *(({"id": bad}, "want chapter/name") for bad in ("rate", "products/", "/rate", "Products/rate", "products/a/b")),
        *(({"id": bad}, "want chapter/name") for bad in ("products/a_b", "products/Rate", "products/rate\n", " products/rate")),
        ({"verdict": "replicated"}, "'replicated' is none of reproduced, corrected, not reproduced"),
        ({"why": "for fun"}, "`why` goes with"),
        (CORRECTED | {"why": "for fun"}, "`why` goes with"),
        (NOT_REPRODUCED | {"why": ""}, "`why` goes with"),
        ({"printed": 0.5}, "`printed` goes with"),
        (NOT_REPRODUCED | {"printed": 0.5}, "`printed` goes with"),
        ({"verdict": "corrected"}, "`printed` goes with"),
    ],
)
def test_malformed_claims_are_refused(shown, changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)
    assert not shown


@pytest.mark.parametrize("measured", [np.float32(0.96875), np.array(0.96875), 1, True])
def test_numbers_are_recorded_as_plain_floats(shown, measured):
    check(measured=measured)
    assert type(shown[0].measured) is float


@pytest.mark.parametrize("changes", [{}, CORRECTED, NOT_REPRODUCED | {"measured": 0.123456789}])
def test_the_text_has_the_verdict_and_the_bound_but_no_measured_number(shown, changes):
    check(**changes)
    output = output_of(shown[0])
    text = output["data"].pop("text/plain")
    assert not output["data"]
    assert "\n" not in text
    for part in (
        GOOD["statement"],
        GOOD["source"],
        "at least 0.95",
        changes.get("verdict", "reproduced"),
        changes.get("why", ""),
    ):
        assert part in text
    assert re.findall(r"\d+\.\d+", text) == ["0.95"]


def test_the_output_carries_the_exact_record(shown):
    check(**CORRECTED)
    assert output_of(shown[0])["metadata"]["claim"] == {
        "id": "products/rate",
        "statement": "it grows",
        "source": "Eq. 7",
        "measured": MEASURED,
        "printed": 0.5,
        "expected": "at least 0.95",
        "verdict": "corrected",
        "why": "",
    }


def test_collect_reads_the_records_back_in_order(shown):
    check()
    check(id="products/other", **NOT_REPRODUCED)
    first, second = shown
    notebook = notebook_of(first, "no claim", second)
    assert list(claims.collect(notebook)) == [asdict(first), asdict(second)]
    assert list(claims.collect({"cells": []})) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"measured": np.inf},
        NOT_REPRODUCED | {"measured": np.nan},
        CORRECTED | {"printed": np.nan},
        CORRECTED | {"printed": -np.inf},
    ],
)
def test_a_number_that_is_not_finite_survives_the_notebook(shown, changes):
    check(**changes)
    (record,) = claims.collect(notebook_of(shown[0]))
    for name in ("measured", "printed"):
        if name in changes:
            assert str(float(record[name])) == str(changes[name])
            assert f"{changes[name]}" in claims.as_table([record])


def test_table_lists_the_session_with_the_measured_numbers(shown):
    check()
    check(id="products/other", **CORRECTED)
    check()  # run again: still one row
    claims.table()
    rows = shown[-1].data.splitlines()
    assert rows[0] == "| claim | statement | expected | measured | verdict |"
    assert rows[2] == "| rate | it grows *(Eq. 7)* | at least 0.95 | 0.988 | reproduced |"
    assert rows[3] == "| other | it grows *(Eq. 7)* | at least 0.95 | 0.988 (as printed: 0.5) | corrected |"
    assert len(rows) == 4


def test_a_statement_is_shown_as_it_is_written(shown):
    check(statement="|w| < *2* in <script>alert(1)</script> & `code`", source="p. 3 | p. 4")
    (row,) = claims.as_table([asdict(shown[0])]).splitlines()[2:]
    statement = r"\|w\| \< \*2\* in \<script>alert(1)\</script> \& \`code\`"
    assert row == rf"| rate | {statement} *(p. 3 \| p. 4)* | at least 0.95 | 0.988 | reproduced |"
