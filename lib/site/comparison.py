"""What a fresh execution must give again: each claim and each printed text, number by number."""

import json
import math
import re
from pathlib import Path

from lib import claims
from lib.site import lists

TOLERANCE = 1e-3  # of a number
ROUNDING = 1e-8  # the size of what rounding and solvers leave, which differs between processors
SHARE = 1e-2  # of its bound, which such a remainder may not exceed either
CONTEXT = 40  # characters before a number that differs

NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
FIGURES = {"image/png", "text/html"}
# packages and device; the claims once more
OF_THE_MACHINE = ("provenance.stamp(", "claims.table()")


def tolerances(root: Path) -> dict[str, dict]:
    """Return the entries of what is compared loosely, by what they name.

    They name a claim, or the words with which a text begins; their tolerance is `relative` to the
    larger number, or `absolute`.
    """
    return {entry["what"]: entry for entry in lists.read(root, "loosely_compared")}


def differences(
    source: str, committed: list[dict], fresh: list[dict], loose: dict[str, dict]
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
    kinds, others = (", ".join(map(_kind, outputs)) or "none" for outputs in (committed, fresh))
    if others != kinds:
        return [f"the outputs are now {others}, committed are {kinds}"]
    lines = []
    for before, now in zip(committed, fresh, strict=True):
        if _kind(before) == "claim":
            lines += _in_claims(before, now, loose)
        elif _kind(before) != "figure":
            text = _text(before)
            known = [loose[what] for what in loose if text.strip().startswith(what)]
            lines += _in_texts("printed", text, _text(now), *(known or [{}])[:1])
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


def _in_claims(before: dict, now: dict, loose: dict[str, dict]) -> list[str]:
    """Compare the records of two claims, and the committed line with its record."""
    old = before["metadata"]["claim"]
    new = now["metadata"]["claim"]
    name = f"claim {new['id']}"
    rivals = {rival: old["rivals"].get(rival) for rival in new["rivals"]}  # in order
    same = rivals.keys() == old["rivals"].keys()
    if same and repr(claims.judged(old | {"rivals": rivals})) != before["data"]["text/plain"]:
        return [f"{name}: the committed line does not say what its record says"]
    edge = min(abs(float(old[end])) for end in ("low", "high"))
    rounding = {"absolute": min(ROUNDING, SHARE * edge)}
    told = [json.dumps(record, sort_keys=True, ensure_ascii=False) for record in (old, new)]
    return _in_texts(name, *told, loose.get(new["id"], rounding))


def _in_texts(name: str, before: str, now: str, allowed: dict) -> list[str]:
    """Compare two texts: numbers within the tolerance, all else exactly, but for blanks."""
    if NUMBER.sub("#", before).split() != NUMBER.sub("#", now).split():
        return [f"{name} is now {now!r}, committed is {before!r}"]
    lines = []
    relative = allowed.get("relative", TOLERANCE)
    absolute = allowed.get("absolute", 0)
    for old, new in zip(NUMBER.finditer(before), NUMBER.findall(now), strict=True):
        if not math.isclose(_number(old[0]), _number(new), rel_tol=relative, abs_tol=absolute):
            place = before[max(0, old.start() - CONTEXT) : old.end()].strip()
            lines.append(f"{name} is now {new}, committed is {old[0]}, in {place!r}")
    return lines


def _number(text: str) -> float:
    return float(text.replace("−", "-"))
