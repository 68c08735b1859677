"""The ledger of claims: bounds, verdicts, rivals, what is displayed and recorded, what is read
back, and runs that have ended.
"""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from lib import claims
from lib.bounds import at_least, at_most, near
from lib.claims import ClaimChanged, RivalPasses, StillMoving, settled

MEASURED = 0.987654321
GOOD = {
    "id": "products/rate",
    "statement": "it grows",
    "measure": "share of ten",
    "source": "Eq. 7",
    "measured": MEASURED,
    "expected": at_least(0.95),
}
NEW = {"verdict": "new"}
CORRECTED = {"verdict": "corrected", "printed": 0.5}
SLIP = {"verdict": "slip", "printed": 0.5}
NOT_REPRODUCED = {"measured": 0.5, "verdict": "not reproduced", "why": "it shrinks"}
NOT_DECIDED = {"measured": np.nan, "verdict": "not decided", "why": "a night would tell"}
EVERY_VERDICT = [{}, NEW, CORRECTED, SLIP, NOT_REPRODUCED, NOT_DECIDED]


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
        (at_least(0.5), [0.5, 1e300, np.inf], [np.nextafter(0.5, 0), -np.inf, np.nan]),
        (at_most(0.5), [0.5, -1e300, -np.inf], [np.nextafter(0.5, 1), np.inf, np.nan]),
        (
            near(2, 0.25),
            [1.75, 2, 2.25],
            [np.nextafter(1.75, 0), np.nextafter(2.25, 3), -2, np.inf],
        ),
        (near(-1, 0), [-1], [1, np.nextafter(-1, 0)]),
        (near(0, np.inf), [0], [np.nan]),
    ],
)
def test_bounds_include_their_edges_and_nothing_beyond(bound, inside, outside):
    assert all(bound.holds(value) for value in inside)
    assert not any(bound.holds(value) for value in outside)
    assert bound.holds(np.float32(inside[0])) is True  # a plain bool


@given(
    st.floats(allow_nan=False),
    st.floats(-1e3, 1e3),
    st.floats(1e-9, 10),
    st.sampled_from([at_least, at_most, near]),
)
def test_written_numbers_lie_on_their_side_of_the_bound(value, edge, tolerance, kind):
    bound = near(edge, tolerance) if kind is near else kind(edge)
    assert bound.holds(float(bound.shown(value))) == bound.holds(value)
    centre, width = map(float, str(near(edge, tolerance)).split(" ± "))
    assert abs(centre - edge) <= tolerance / 100 and width == pytest.approx(tolerance, rel=1e-3)


@pytest.mark.parametrize(
    "changes", [*EVERY_VERDICT, CORRECTED | {"printed": np.nan}, NOT_DECIDED | {"measured": 0.5}]
)
def test_the_verdict_follows_from_the_numbers(shown, changes):
    check(**changes)
    assert [claim.verdict for claim in shown] == [changes.get("verdict", "reproduced")]


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"measured": 0.5},
            "is 'not reproduced', not 'reproduced': measured 0.5, expected at least 0.95",
        ),
        ({"measured": np.nan}, "is 'not reproduced', not 'reproduced': measured nan"),
        (
            CORRECTED | {"printed": 0.96},
            "is 'reproduced', not 'corrected': .* printed statement gives 0.96",
        ),
        (CORRECTED | {"measured": 0.5}, "is 'not reproduced', not 'corrected'"),
        (NOT_REPRODUCED | {"measured": MEASURED}, "is 'reproduced', not 'not reproduced'"),
        (NOT_DECIDED | {"measured": MEASURED}, "is 'reproduced', not 'not decided'"),
        (NEW | {"measured": 0.5}, "is 'not reproduced', not 'new'"),
        (SLIP | {"printed": 0.96}, "is 'reproduced', not 'slip'"),
    ],
)
def test_another_verdict_than_the_declared_one_is_an_error(shown, changes, message):
    with pytest.raises(ClaimChanged, match=f"products/rate {message}"):
        check(**changes)
    assert [claim.verdict for claim in shown] == [
        message.split("'")[1]
    ]  # what was found is shown all the same


@pytest.mark.parametrize(
    ("changes", "rival"), [*zip(EVERY_VERDICT, 3 * [0.95, np.inf], strict=True)]
)
def test_a_rival_within_the_bound_is_an_error(shown, changes, rival):
    with pytest.raises(
        RivalPasses,
        match=r"products/rate: the rival 'labels alone' passes with .*, expected at least 0.95",
    ):
        check(**changes, rivals={"chance": 0.1, "labels alone": rival})
    assert len(shown) == 1


def test_a_sweep_over_seeds_records_contradictions_instead_of_stopping(shown, monkeypatch):
    monkeypatch.setattr(claims, "insist", False)
    check(measured=0.5)
    check(rivals={"chance": 0.99})
    assert [claim.verdict for claim in shown] == ["not reproduced", "reproduced"]
    assert np.isnan(settled([0, 1, 2, 3], share=0.1))


@pytest.mark.parametrize(
    "changes, message",
    [
        *(
            ({"id": bad}, "want chapter/name")
            for bad in ("rate", "Products/rate", "products/a/b", "products/rate\n")
        ),
        ({"verdict": "replicated"}, "'replicated' is none of reproduced, corrected, slip, not"),
        ({"why": "for fun"}, "`why` goes with"),
        (NOT_REPRODUCED | {"why": ""}, "`why` goes with"),
        ({"rivals": {"chance": np.nan}}, r"rivals\['chance'\] is nan"),
        ({"printed": 0.5}, "`printed` goes with"),
        ({"verdict": "corrected"}, "`printed` goes with"),
    ],
)
def test_malformed_claims_are_refused(shown, changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)
    assert not shown


def test_formulas_are_plain_in_the_line_only(shown):
    texts = {
        "source": r"§2, $\tau \to 0$",
        "rivals": {r"$\lVert w\rVert$ alone": 0.5},
    } | NOT_DECIDED
    check(statement=r"$\delta \ge 0$ it_is", **texts | {"why": r"needs $10^{6}$ steps"})
    assert repr(shown[0]) == (
        "? not decided | δ ≥ 0 it_is | share of ten: nan, expected at least 0.95 | rivals: ‖w‖ "
        "alone: 0.5 | §2, τ → 0"
        " | needs 10⁶ steps"
    )
    row = claims.as_table([asdict(shown[0])]).splitlines()[-1]
    assert (
        row.startswith(r"| rate | $\delta \ge 0$ it\_is *(§2, $\tau \to 0$)* |")
        and r"$\lVert w\rVert$ alone: 0.5" in row
    )


def test_collect_reads_the_exact_records_back(shown):
    check(
        **CORRECTED | {"measured": np.float32(0.96875), "printed": np.nan},
        rivals={"chance": 0.1, "none": -np.inf},
    )
    check(id="products/other", **NOT_REPRODUCED)
    first, second = claims.collect(notebook_of(shown[0], "no claim", shown[1]))
    assert first == {
        "id": "products/rate",
        "statement": "it grows",
        "measure": "share of ten",
        "source": "Eq. 7",
        "measured": 0.96875,
        "low": 0.95,
        "high": "inf",
        "rivals": {"chance": 0.1, "none": "-inf"},
        "printed": "nan",
        "verdict": "corrected",
        "why": "",
    }
    assert second == asdict(shown[1]) | {"high": "inf"} and claims.bound(first) == GOOD["expected"]


def test_a_table_lists_the_claims_of_the_session(shown):
    check()
    check(id="products/other", **CORRECTED)
    statement = "|w| < *2* in <script>alert(1)</script> & `code`"
    check(
        statement=statement, source="p. 3 | p. 4", rivals={"a | b": 0.5}
    )  # run again: still one row
    claims.table()
    title, _, first, second = shown[-1].data.splitlines()
    assert title == "| claim | statement | measured | expected | rivals | verdict |"
    escaped = r"\|w\| \< \*2\* in \<script>alert(1)\</script> \& \`code\`"
    assert (
        first
        == rf"| rate | {escaped} *(p. 3 \| p. 4)* | share of ten: 0.988 | at least 0.95 | a \| b: 0.5 | reproduced |"
    )
    assert (
        second
        == "| other | it grows *(Eq. 7)* | share of ten: 0.988 (as printed: 0.5) | at least 0.95 |  | corrected |"
    )


RAMP = np.r_[np.linspace(0, 1, 50), np.ones(50)]  # moves in the first half of the run only


def test_a_settled_curve_gives_its_last_value():
    assert settled([3.0, 3, 3], share=0.01) == 3  # never moved
    assert settled(np.stack([RAMP, 2 - 5 * RAMP], axis=1), share=0.01).tolist() == [1, -3]
    moves = np.sin(np.linspace(0, 99, 100))
    for curve in (moves, np.stack([RAMP, moves], axis=1)):
        with pytest.raises(
            StillMoving, match=r"over the last 20% of the run .* more than 5.0%: let the run go on"
        ):
            settled(curve, share=0.05)


@given(st.floats(0.02, 5))
def test_an_exponential_settles_when_its_formula_says_so(rate):
    times = np.linspace(0, 10, 2001)
    left = np.exp(-rate * 10 * 0.8) - np.exp(-rate * 10)
    whole = 1 - np.exp(-rate * 10)
    for share, settles in ((1.02 * left / whole + 1e-3, True), (0.9 * left / whole - 1e-9, False)):
        if not 0 < share < 1:
            continue
        if settles:
            settled(np.exp(-rate * times), share=share, times=times)
        else:
            with pytest.raises(StillMoving):
                settled(np.exp(-rate * times), share=share, times=times)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"share": 0}, "share is 0"),
        ({"curve": [1, 2]}, "at least three records"),
        ({"times": [0, 1, 1]}, "want times that ascend"),
        ({"times": [0, 1]}, "want times that ascend"),
    ],
)
def test_a_curve_that_cannot_be_judged_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        settled(**{"curve": [1, 2, 3], "share": 0.1} | changes)
