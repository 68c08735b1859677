"""A claim and its verdict: what a source says, and what was measured.

A claim is checked where the reader reads it. The check prints one line and leaves its record in the metadata of the notebook's
output, so that the executed notebook is the only carrier; `collect` reads the records back.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lib import markdown
from lib.checks import instance, kind, limit, number, optional, real, takes, words
from lib.markdown import escape

REPRODUCED, CORRECTED, NOT_REPRODUCED = VERDICTS = ("reproduced", "corrected", "not reproduced")
_MARK = {REPRODUCED: "✓", CORRECTED: "✎", NOT_REPRODUCED: "✗"}


class ClaimChanged(AssertionError):
    """A claim's verdict is not the one that its author declared."""


@dataclass(frozen=True)
class Bound:
    """A closed interval that a measured number must lie in."""

    low: float
    high: float
    text: str

    def __post_init__(self) -> None:
        kind("text", self.text, str)
        if not limit("low", self.low) <= limit("high", self.high):
            raise ValueError(f"low {self.low} and high {self.high}: want an interval")

    def __str__(self) -> str:
        return self.text

    def holds(self, value: float) -> bool:
        """Say whether `value` lies in the interval (NaN never does)."""
        return bool(self.low <= real("value", value) <= self.high)


@takes(low=limit)
def at_least(low: float) -> Bound:
    """Expect a number of at least `low`."""
    return Bound(low, np.inf, f"at least {low:g}")


@takes(high=limit)
def at_most(high: float) -> Bound:
    """Expect a number of at most `high`."""
    return Bound(-np.inf, high, f"at most {high:g}")


@takes(value=number, tolerance=limit)
def near(value: float, tolerance: float) -> Bound:
    """Expect a number within `tolerance` (absolute) of `value`, which is written as exactly as the tolerance asks.

    >>> bound = near(0.5, 0.1)
    >>> print(bound, bound.holds(0.55), bound.holds(0.7))
    0.5 ± 0.1 True False
    """
    if tolerance < 0:
        raise ValueError(f"tolerance is {tolerance}: want a number of at least 0")
    decimals = 2 - math.floor(math.log10(tolerance)) if 0 < tolerance < math.inf else 12
    return Bound(value - tolerance, value + tolerance, f"{round(value, decimals):.15g} ± {tolerance:g}")


@dataclass(frozen=True, repr=False)
class Claim:
    """One row of the ledger.

    Attributes
    ----------
    id : "chapter/name", unique in the book
    statement : what is claimed, in our words
    source : the place in the document
    measured : the number that decides
    printed : the same number for the statement as the source prints it, if that is wrong
    expected : the bound, in words
    verdict : one of `VERDICTS`
    why : for a claim that is not reproduced, what was seen instead
    """

    id: str
    statement: str
    source: str
    measured: float
    expected: str
    verdict: str
    printed: float | None = None
    why: str = ""

    def __repr__(self) -> str:
        why = f": {self.why}" if self.why else ""
        return f"{_MARK[self.verdict]} {self.verdict} | {self.statement} | expected {self.expected} | {self.source}{why}"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict, dict]:
        record = asdict(self)
        for name in ("measured", "printed"):  # JSON knows no infinity
            if record[name] is not None and not np.isfinite(record[name]):
                record[name] = str(record[name])
        return {"text/plain": repr(self)}, {"claim": record}


@takes(
    id=words, statement=words, source=words, measured=real, expected=instance(Bound), printed=optional(real), why=instance(str)
)
def check(
    id: str,
    statement: str,
    *,
    source: str,
    measured: float,
    expected: Bound,
    printed: float | None = None,
    verdict: str = REPRODUCED,
    why: str = "",
) -> None:
    """Judge a claim, record it, print its line, and insist on the declared verdict.

    The verdict follows from the numbers: *reproduced* if `measured` lies in the bound; *corrected* if, besides, the source's own
    version of the number, `printed`, lies outside it; *not reproduced* if `measured` does not lie in the bound.

    Parameters
    ----------
    id : "chapter/name", lower case with hyphens
    statement, source : what is claimed, and where
    measured : a finite or infinite real number
    expected : the bound, chosen before looking (`at_least`, `at_most`, `near`)
    printed : the number that the printed statement leads to, where the book corrects it
    verdict : the declared verdict
    why : what was seen instead; required where the verdict is "not reproduced"

    Raises
    ------
    ClaimChanged
        If the numbers lead to another verdict than the declared one.
    """
    if not re.fullmatch(r"[a-z_]+/[a-z0-9-]+", id):
        raise ValueError(f"claim id {id!r}: want chapter/name, as in products/growth-quadratic")
    if verdict not in VERDICTS:
        raise ValueError(f"claim {id}: verdict {verdict!r} is none of {', '.join(VERDICTS)}")
    if (verdict == NOT_REPRODUCED) != bool(why):
        raise ValueError(f"claim {id}: `why` goes with the verdict {NOT_REPRODUCED!r}, and only with it")
    if (verdict == CORRECTED) != (printed is not None):
        raise ValueError(f"claim {id}: `printed` goes with the verdict {CORRECTED!r}, and only with it")

    if not expected.holds(measured):
        found = NOT_REPRODUCED
    elif printed is None or expected.holds(printed):
        found = REPRODUCED
    else:
        found = CORRECTED
    claim = Claim(id, statement, source, measured, str(expected), found, printed, why)
    _checked[id] = claim
    from IPython.display import display

    display(claim)
    if found != verdict:
        beside = "" if printed is None else f", printed statement gives {printed:g}"
        raise ClaimChanged(f"claim {id} is {found}, not {verdict}: measured {measured:g}{beside}, expected {expected}")


_checked: dict[str, Claim] = {}  # by this session, for `table`


def table() -> None:
    """Display the claims that this session has checked, with the measured numbers."""
    from IPython.display import Markdown, display

    display(Markdown(as_table([asdict(claim) for claim in _checked.values()])))


HEADS = ("claim", "statement", "expected", "measured", "verdict")


def as_table(records: Iterable[dict]) -> str:
    """Write records as a Markdown table."""
    return markdown.table(HEADS, map(cells, records))


def cells(record: dict) -> list[str]:
    """Write the cells of a record's row."""
    statement = f"{escape(record['statement'])} *({escape(record['source'])})*"
    return [record["id"].split("/")[1], statement, record["expected"], measured_text(record), record["verdict"]]


def measured_text(record: dict) -> str:
    """Write what a record measured, and beside it what the printed statement leads to."""
    text = f"{float(record['measured']):.3g}"
    return text if record["printed"] is None else f"{text} (as printed: {float(record['printed']):.3g})"


def collect(notebook: dict) -> Iterator[dict]:
    """Yield the records of all claims in an executed notebook (its JSON), in order."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "claim" in output.get("metadata", {}):
                yield output["metadata"]["claim"]
