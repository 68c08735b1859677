"""What a fresh execution must give again: each claim and each printed text, number by number."""

import json
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

CONTEXT = 40  # characters before a number that differs

NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
FIGURES = {"image/png", "text/html"}
OF_THE_MACHINE = (
    "provenance.stamp(",
    "claims.table()",
)  # packages and device; the claims once more


class Tolerance(NamedTuple):
    """How far two numbers may lie apart: relative to the larger one, or absolutely."""

    relative: float = TOLERANCE
    absolute: float = 0.0


DEFAULT = Tolerance()


def loosely_compared(root: Path) -> list[dict]:
    """Read what is compared loosely: claims and printed texts, each with tolerance and reason."""
    path = root / LIST
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []


def tolerances(root: Path) -> dict[str, Tolerance]:
    """Return the tolerances of what is compared loosely.

    They are named by a claim's name or by the words with which a text begins.
    """
    found = {}
    for entry in loosely_compared(root):
        relative = entry.get("relative", TOLERANCE)
        found[entry["what"]] = Tolerance(relative, entry.get("absolute", 0.0))
    return found


def differences(
    source: str, committed: list[dict], fresh: list[dict], loose: dict[str, Tolerance]
) -> list[str]:
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
    others = [_kind(output) for output in fresh]
    if others != kinds:
        found = ", ".join(others) or "none"
        return [f"the outputs are now {found}, committed are {', '.join(kinds) or 'none'}"]
    lines = []
    for kind, before, now in zip(kinds, committed, fresh, strict=True):
        if kind == "claim":
            lines += _in_claims(before, now, loose)
        elif kind != "figure":
            text = _text(before)
            known = [loose[what] for what in loose if text.strip().startswith(what)]
            lines += _in_texts("printed", text, _text(now), *known[:1])
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
    """Compare the records of two claims, and the committed line with its record."""
    old = before["metadata"]["claim"]
    new = now["metadata"]["claim"]
    name = f"claim {new['id']}"
    if old["rivals"].keys() == new["rivals"].keys():
        in_order = old | {"rivals": {rival: old["rivals"][rival] for rival in new["rivals"]}}
        if repr(claims.judged(in_order)) != before["data"]["text/plain"]:
            return [f"{name}: the committed line does not say what its record says"]
    edge = min(abs(float(old[end])) for end in ("low", "high"))
    rounding = Tolerance(absolute=min(ROUNDING, SHARE * edge))
    told = [json.dumps(record, sort_keys=True, ensure_ascii=False) for record in (old, new)]
    return _in_texts(name, *told, loose.get(new["id"], rounding))


def _in_texts(name: str, before: str, now: str, tolerance: Tolerance = DEFAULT) -> list[str]:
    """Compare two texts: numbers within the tolerance, all else exactly, but for blanks."""
    if NUMBER.sub("#", before).split() != NUMBER.sub("#", now).split():
        return [f"{name} is now {now!r}, committed is {before!r}"]
    lines = []
    for old, new in zip(NUMBER.finditer(before), NUMBER.findall(now), strict=True):
        if not _same(old[0], new, tolerance):
            place = before[max(0, old.start() - CONTEXT) : old.end()].strip()
            lines.append(f"{name} is now {new}, committed is {old[0]}, in {place!r}")
    return lines


def _same(first: str, second: str, tolerance: Tolerance) -> bool:
    numbers = [float(number.replace("−", "-")) for number in (first, second)]
    return math.isclose(*numbers, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
