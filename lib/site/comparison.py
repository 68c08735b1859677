"""What a fresh execution must give again: each claim and each printed text, number by number."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import yaml

from lib import claims

TOLERANCE = 1e-3  # of a number
ROUNDING = 1e-8  # the size of what rounding and solvers leave, which differs between processors
SHARE = 1e-2  # of its bound, which such a remainder may not exceed either
LIST = Path("book") / "loosely_compared.yml"

NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
FIGURES = {"image/png", "text/html"}
OF_THE_MACHINE = ("provenance.stamp(", "claims.table()")  # packages and device; the claims once more


class Tolerance(NamedTuple):
    """How far two numbers may lie apart: relative to the larger one, or absolutely."""

    relative: float = TOLERANCE
    absolute: float = 0.0


def loosely_compared(root: Path) -> list[dict]:
    """Read the list of claims and printed texts that are compared loosely, each with its tolerance and the reason."""
    path = root / LIST
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []


def tolerances(root: Path) -> dict[str, Tolerance]:
    """Return the tolerances of what is compared loosely, by a claim's name or by the words with which a text begins."""
    return {
        entry["what"]: Tolerance(entry.get("relative", TOLERANCE), entry.get("absolute", 0.0)) for entry in loosely_compared(root)
    }


def differences(source: str, committed: list[dict], fresh: list[dict], loose: dict[str, Tolerance]) -> list[str]:
    """Say in a line each where a fresh execution of a cell differs from the committed one.

    Parameters
    ----------
    source : the code of the cell
    committed, fresh : its outputs, as a notebook holds them; figures are not compared
    loose : the tolerances of what is compared loosely, as `tolerances` returns them
    """
    if source.strip().startswith(OF_THE_MACHINE):
        return []
    kinds = [_kind(output) for output in committed]
    if [_kind(output) for output in fresh] != kinds:
        found = ", ".join(_kind(output) for output in fresh)
        return [f"the outputs are now {found or 'none'}, committed are {', '.join(kinds) or 'none'}"]
    lines = []
    for kind, before, now in zip(kinds, committed, fresh, strict=True):
        if kind == "claim":
            lines += _in_claims(before, now, loose)
        elif kind != "figure":
            lines += _in_texts(_text(before), _text(now), loose)
    return lines


def _kind(output: dict) -> str:
    if "claim" in output.get("metadata", {}):
        return "claim"
    if FIGURES & set(output.get("data", {})):
        return "figure"
    return output.get("name", "text")


def _text(output: dict) -> str:
    if "text" in output:
        return output["text"]
    return output["data"].get("text/markdown", output["data"]["text/plain"])


def _in_claims(before: dict, now: dict, loose: dict[str, Tolerance]) -> list[str]:
    """Compare two claims: words exactly, numbers within the tolerance; and the committed line with its record."""
    old, new = before["metadata"]["claim"], now["metadata"]["claim"]
    name = f"claim {new['id']}"
    numbers, others = _numbers(old), _numbers(new)
    if _words(old) != _words(new) or numbers.keys() != others.keys():
        return [f"{name}: its words, its verdict or the names of its rivals are not the committed ones"]
    in_order = old | {"rivals": {rival: old["rivals"][rival] for rival in new["rivals"]}}
    if repr(claims.judged(in_order)) != before["data"]["text/plain"]:
        return [f"{name}: the committed line does not say what its record says"]
    edge = min(abs(numbers["low"]), abs(numbers["high"]))
    rounding = Tolerance(absolute=min(ROUNDING, SHARE * edge))
    tolerance = loose.get(new["id"], rounding)
    return [
        f"{name}: {field} is now {others[field]:.10g}, committed is {number:.10g}"
        for field, number in numbers.items()
        if not same(number, others[field], tolerance)
    ]


def _words(record: dict) -> list[str]:
    return [record[field] for field in ("id", "statement", "source", "verdict", "why")]


def _numbers(record: dict) -> dict[str, float]:
    """Return the numbers of a record by name."""
    found = {field: float(record[field]) for field in ("low", "high", "measured")}
    if record["printed"] is not None:
        found["printed"] = float(record["printed"])
    return found | {f"the rival {name!r}": float(score) for name, score in record["rivals"].items()}


def _in_texts(before: str, now: str, loose: dict[str, Tolerance]) -> list[str]:
    """Compare two printed texts: numbers within the tolerance, all else exactly, but for blanks."""
    if NUMBER.sub("#", before).split() != NUMBER.sub("#", now).split():
        return [f"printed is now {now!r}, committed is {before!r}"]
    known = [loose[beginning] for beginning in loose if before.strip().startswith(beginning)]
    tolerance = known[0] if known else Tolerance()
    return [
        f"printed is now {new}, committed is {old}, in {before.strip().splitlines()[0]!r}"
        for old, new in zip(NUMBER.findall(before), NUMBER.findall(now), strict=True)
        if not same(_read(old), _read(new), tolerance)
    ]


def _read(number: str) -> float:
    return float(number.replace("−", "-"))


def same(first: float, second: float, tolerance: Tolerance) -> bool:
    """Say whether two numbers agree within a tolerance; infinite ones and NaN agree only with themselves."""
    if math.isnan(first):
        return math.isnan(second)
    return math.isclose(first, second, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
