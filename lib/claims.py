"""A claim and its verdict: what a source says, what was
measured, and which wrong alternatives fail.

A claim is checked where the reader reads it. The check prints one line and leaves its record in the
metadata of the notebook's output, so that the executed notebook is the only carrier; `collect`
reads the records back.

A record's numbers are floats. JSON knows no infinity: in notebooks and in `_build/claims.json`
those that are not finite are spelled "inf", "-inf" and "nan", which `float` reads.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib import markdown
from lib.bounds import Bound
from lib.checks import instance, limit, number, numbers, optional, real, takes, words
from lib.markdown import escape, people, sentence

VERDICTS = REPRODUCED, CORRECTED, SLIP, NOT_REPRODUCED, NOT_DECIDED, NEW = (
    "reproduced",  # the source's statement holds
    "corrected",  # the source's statement fails as printed, ours holds
    "slip",  # a misprint, a wrong step or a wrong axis of the source; its statement still holds
    "not reproduced",  # the source's own setting, at a scale that can decide, gives another result
    "not decided",  # not run at a scale that can decide; the claim says what would
    "new",  # beyond the source: our own statement, verified
)
_MARK = dict(zip(VERDICTS, "✓✎✎✗?✚", strict=True))
# where the numbers lie
_INSIDE = (REPRODUCED, NEW)
_MENDED = (CORRECTED, SLIP)
_OUTSIDE = (NOT_REPRODUCED, NOT_DECIDED)

ROUNDING = 1e-6  # a bound up to here is for what rounding and solvers leave
EPSILON = 1e-15  # no number is more exact

# whether a contradiction stops the chapter; a sweep over seeds records it instead
insist: bool = True


class ClaimChanged(AssertionError):
    """The numbers contradict the verdict that the author declared."""


class RivalPasses(AssertionError):
    """A wrong alternative lies in the bound: the bound is too weak, or the claim says nothing."""


class StillMoving(AssertionError):
    """A run was stopped before the quantity of a claim had settled."""


def _spelled(value: Any) -> Any:
    """Spell numbers that JSON does not know."""
    if isinstance(value, dict):
        return {name: _spelled(part) for name, part in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _read(value: Any) -> Any:
    """Undo `_spelled`."""
    if isinstance(value, dict):
        return {name: _read(part) for name, part in value.items()}
    return float(value) if value in ("inf", "-inf", "nan") else value


def _name(name: str, value: str) -> str:
    """Return the name of a claim."""
    if not re.fullmatch(r"[a-z_]+/[a-z0-9-]+", words(name, value)):
        raise ValueError(f"claim id {value!r}: want chapter/name, as in products/growth-quadratic")
    return value


def _rivals(name: str, value: Mapping[str, float]) -> dict[str, float]:
    """Return rivals with plain numbers, which may be infinite
    but not NaN: such a rival was not computed.
    """
    instance(Mapping)(name, value)
    return {
        words(name, rival): limit(f"{name}[{rival!r}]", score) for rival, score in value.items()
    }


FIELDS = {
    "id": _name,
    "statement": words,
    "measure": words,
    "source": words,
    "measured": real,
    "low": limit,
    "high": limit,
    "verdict": words,
    "rivals": _rivals,
    "printed": optional(real),
    "why": instance(str),
}


@dataclass(frozen=True, repr=False)
class Claim:
    """One row of the ledger: what `check` was given, with the
    ends of the bound and the verdict that was found.
    """

    id: str
    statement: str
    measure: str
    source: str
    measured: float
    low: float
    high: float
    verdict: str
    rivals: Mapping[str, float] = field(default_factory=dict)
    printed: float | None = None
    why: str = ""

    def __post_init__(self) -> None:
        for name, check in FIELDS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        Bound(self.low, self.high)  # refuses what is no interval
        if self.verdict not in VERDICTS:
            raise ValueError(
                f"claim {self.id}: verdict {self.verdict!r} is none of {', '.join(VERDICTS)}"
            )

    def __repr__(self) -> str:
        record = asdict(self)
        parts = [sentence(self.statement), sentence(numbers_text(record))]
        parts += [f"rivals: {sentence(rivals_text(record))}"] if self.rivals else []
        parts += [sentence(words) for words in (self.source, self.why) if words]
        return f"{_MARK[self.verdict]} {self.verdict} | " + " | ".join(parts)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict, dict]:
        return {"text/plain": repr(self)}, {"claim": _spelled(asdict(self))}


def _refuse(claim: Claim) -> None:
    """Raise a ValueError where `why` or `printed` does not go with the declared verdict."""
    given = {"why": bool(claim.why), "printed": claim.printed is not None}
    for name, verdicts in (("why", _OUTSIDE), ("printed", _MENDED)):
        if given[name] != (claim.verdict in verdicts):
            raise ValueError(
                f"claim {claim.id}: `{name}` goes with the verdicts {' and '.join(verdicts)}, and "
                "only with them"
            )


def verdict_of(claim: Claim) -> str:
    """Return the verdict that a claim's numbers give: the
    declared one if they leave it to choose from.

    >>> verdict_of(Claim("a/b", "it grows", "share", "Eq. 7", 77, -np.inf, 0.001, "reproduced"))
    'not reproduced'
    """
    expected = Bound(claim.low, claim.high)
    if not expected.holds(claim.measured):
        possible = _OUTSIDE
    elif claim.printed is None or expected.holds(claim.printed):
        possible = _INSIDE
    else:
        possible = _MENDED
    return claim.verdict if claim.verdict in possible else possible[0]


def judge(claim: Claim) -> None:
    """Insist on the declared verdict and on rivals that fail.

    Raises
    ------
    ClaimChanged
        If the numbers contradict the declared verdict.
    RivalPasses
        If a rival lies in the bound.
    """
    expected = Bound(claim.low, claim.high)
    found = verdict_of(claim)
    if found != claim.verdict:
        measured = f"measured {expected.shown(claim.measured)}"
        if claim.printed is not None:
            measured += f", printed statement gives {expected.shown(claim.printed)}"
        raise ClaimChanged(
            f"claim {claim.id} is {found!r}, not {claim.verdict!r}: {measured}, expected {expected}"
        )
    for name, score in claim.rivals.items():
        if expected.holds(score):
            passes = f"the rival {name!r} passes with {expected.shown(score)}, expected {expected}"
            raise RivalPasses(f"claim {claim.id}: {passes}")


def judged(record: dict) -> Claim:
    """Return the claim of a record that an executed notebook holds, judged again.

    Raises
    ------
    ValueError
        If a field is missing or of the wrong kind, or if the numbers contradict the verdict.
    """
    try:
        claim = Claim(**_read(record))
        _refuse(claim)
        judge(claim)
    except (ClaimChanged, RivalPasses) as problem:
        raise ValueError(str(problem)) from problem
    except (TypeError, ValueError) as problem:
        said = str(problem).removeprefix("Claim.__init__() ")
        raise ValueError(
            said if said.startswith("claim ") else f"claim {record.get('id')}: {said}"
        ) from problem
    return claim


@takes(expected=instance(Bound))
def check(
    id: str,
    statement: str,
    *,
    measure: str,
    source: str,
    measured: float,
    expected: Bound,
    rivals: Mapping[str, float] | None = None,
    printed: float | None = None,
    verdict: str = REPRODUCED,
    why: str = "",
) -> None:
    """Judge a claim, record it, print its line, and insist on
    the declared verdict and on rivals that fail.

    The numbers leave two verdicts to choose from. If `measured` lies in the bound, the claim is
    *reproduced*, or *new* if it is ours; if, besides, `printed` lies outside, it is *corrected*, or
    a *slip* if the source's statement stands; if `measured` lies outside, it is *not reproduced*,
    or *not decided* if the run was too small to tell.

    Parameters
    ----------
    id : "chapter/name", lower case with hyphens, unique in the book
    statement : what is claimed: one sentence, with its conditions, that a reader would repeat; in
        all texts formulas stand between dollars
    measure : what is measured, and on what
    source : its place in the document
    measured : a finite or infinite real number
    expected : the bound, chosen before looking (`at_least`, `at_most`, `near`)
    rivals : what the best of the wrong alternatives score, by the same code as `measured`
    printed : the number that the printed statement leads to, where the book mends it
    verdict : the declared verdict, one of `VERDICTS`
    why : required where `measured` lies outside: what was seen instead, or what would decide, and
        its price

    Raises
    ------
    ClaimChanged
        If the numbers contradict the declared verdict.
    RivalPasses
        If a rival lies in the bound.
    """
    ends = (expected.low, expected.high)
    numbers = (measured, *ends, verdict, rivals or {}, printed)
    claim = Claim(id, statement, measure, source, *numbers, why)
    _refuse(claim)
    shown = replace(claim, verdict=verdict_of(claim))
    _checked[id] = shown
    from IPython.display import display

    display(shown)
    if insist:
        judge(claim)


STRETCH = 0.2  # the end of a run, in which its curves should have settled


@takes(share=number, times=optional(numbers))
def settled(curve: ArrayLike, *, share: float, times: ArrayLike | None = None) -> NDArray:
    """Return the last value of a recorded curve, and refuse one that still moves.

    The curve still moves if over the last fifth of the run it covers more than `share` of what it
    covers in the whole run.

    Parameters
    ----------
    curve : shape (T, ...), the quantity along the run, for one member or for many
    share : in (0, 1)
    times : shape (T,), ascending; by default the records are equally far apart

    Returns
    -------
    shape (...)

    Raises
    ------
    StillMoving
        If any member still moves: let the run go on, or claim something about its course.

    >>> settled([0, 5, 9, 10, 10, 10], share=0.01)
    array(10.)
    """
    if not 0 < share < 1:
        raise ValueError(f"share is {share}: want a number between 0 and 1")
    values = numbers("curve", curve)
    if values.ndim == 0 or len(values) < 3:
        raise ValueError(f"curve has shape {values.shape}: want at least three records (T, ...)")
    moments = np.arange(len(values), dtype=float) if times is None else times
    if moments.shape != values.shape[:1] or np.any(np.diff(moments) <= 0):
        raise ValueError(
            f"curve and times {moments.shape}: want times that ascend, one for each of the "
            f"{len(values)} records"
        )
    late = moments >= moments[-1] - STRETCH * (moments[-1] - moments[0])
    late[-2] = True  # one record does not move
    moved = np.ptp(values[late], axis=0) / np.maximum(np.ptp(values, axis=0), np.finfo(float).tiny)
    if insist and np.any(moved > share):
        raise StillMoving(
            f"over the last {STRETCH:.0%} of the run the curve covers {moved.max():.1%} of its "
            f"whole way, more than {share:.1%}: "
            "let the run go on, or claim something about its course"
        )
    return np.where(moved > share, np.nan, values[-1])


_checked: dict[str, Claim] = {}  # by this session, for `table`


def table() -> None:
    """Display the claims that this session has checked, with the measured numbers."""
    from IPython.display import Markdown, display

    display(Markdown(as_table([asdict(claim) for claim in _checked.values()])))


HEADS = ("claim", "statement", "measured", "expected", "rivals", "verdict")


def as_table(records: Iterable[dict]) -> str:
    """Write records as a Markdown table."""
    return markdown.table(HEADS, map(cells, records))


def cells(record: dict) -> list[str]:
    """Write the cells of a record's row."""
    statement = f"{escape(record['statement'])} *({escape(record['source'])})*"
    rivals = escape(rivals_text(record))
    return [
        record["id"].split("/")[1],
        statement,
        f"{escape(record['measure'])}: {measured_text(record)}",
        bound_text(record),
        rivals,
        record["verdict"],
    ]


def bound(record: dict) -> Bound:
    """Return the bound of a record."""
    return Bound(float(record["low"]), float(record["high"]))


def bound_text(record: dict) -> str:
    """Write the bound of a record."""
    return people(str(bound(record)))


def measured_text(record: dict) -> str:
    """Write what a record measured, and beside it what the printed statement leads to."""
    text = _rounded(record) or number_text(record, record["measured"])
    if record["printed"] is None:
        return text
    return f"{text} (as printed: {number_text(record, record['printed'])})"


def number_text(record: dict, value: float) -> str:
    """Write a number with the digits that tell it from the bound of a record."""
    return people(bound(record).shown(float(value)))


def _rounded(record: dict) -> str:
    """Write what rounding has left as a power of ten; nothing for other numbers.

    >>> print(_rounded({"low": "-inf", "high": 1e-7, "measured": 3e-11, "measure": "relative"}))
    agrees to 1 in 10¹⁰
    """
    expected = bound(record)
    measured = float(record["measured"])
    if expected.low > -math.inf or not 0 <= measured <= expected.high <= ROUNDING:
        return ""
    power = math.floor(-math.log10(max(measured, EPSILON)))
    if "relative" in record["measure"]:
        return f"agrees to 1 in {people(f'1e{power}')}"
    return f"below {people(f'1e-{power}')}"


def numbers_text(record: dict) -> str:
    """Write what was measured, the number, and the bound of a record."""
    return f"{record['measure']}: {measured_text(record)}, expected {bound_text(record)}"


def rivals_text(record: dict) -> str:
    """Write the rivals of a record, which fail, with their numbers."""
    return "; ".join(
        f"{name}: {number_text(record, score)}" for name, score in record["rivals"].items()
    )


def undecided(record: dict, why: str) -> tuple[dict, dict]:
    """Return as an output's data and metadata the claim of a
    record whose cell could not be executed.
    """
    found = _read(record) | {
        "measured": math.nan,
        "verdict": NOT_DECIDED,
        "rivals": {},
        "printed": None,
        "why": why,
    }
    return Claim(**found)._repr_mimebundle_()


def collect(notebook: dict) -> Iterator[dict]:
    """Yield the records of all claims in an executed notebook (its JSON), in order."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "claim" in output.get("metadata", {}):
                yield output["metadata"]["claim"]
