"""Whether a stored result is of today's code.

A result is *current* if today's code computed it, *verified* if today's code gave the same numbers
for some of its cases, and else *outdated*. The build refuses an outdated one.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scipy.io import netcdf_file

from lib.fingerprint import code
from lib.runs.run import stored

CURRENT, VERIFIED, OUTDATED = "current", "verified", "outdated"


class Freshness(NamedTuple):
    """The state of a result, and what its check found: `cases`,
    `difference`, `moments`, `device`, `blas`, `versions`.

    Where no case can be computed again, `instead` says what today's code and the code that computed
    the result were given.
    """

    state: str
    check: Mapping[str, Any]

    @property
    def by_hand(self) -> bool:
        """Whether no case was computed again."""
        return "instead" in self.check and self.state == VERIFIED

    def __str__(self) -> str:
        if self.state != VERIFIED:
            return self.state
        if self.by_hand:
            return f"checked by hand: {self.check['instead']}"
        count = len(self.check["cases"])
        cases = (
            f"{count} of {self.check['of']} cases"
            if count < self.check["of"]
            else f"all {count} cases"
        )
        said = f"verified on {cases}, difference at most {self.check['difference']:.1g}"
        if names := ", ".join(self.check["chaotic"]):
            said += f"; {names} in mean and deviation, {self.check['moments']:.1g}"
        return said


def freshness(attributes: Mapping[str, Any]) -> Freshness:
    """Judge a result by the attributes of its file."""
    try:
        today = code(json.loads(attributes["settings"])["function"])
    except ValueError:  # the function is no more
        return Freshness(OUTDATED, {})
    check = json.loads(attributes.get("verified", "{}"))
    if attributes["code"] == today:
        return Freshness(CURRENT, check)
    return Freshness(VERIFIED if check.get("code") == today else OUTDATED, check)


def of_file(path: Path) -> Freshness:
    """Judge the result in a file; numbers that are not those of its check make it outdated."""
    with netcdf_file(path, mmap=False) as found:
        judged = freshness(
            {
                name: value.decode()
                for name, value in found._attributes.items()
                if isinstance(value, bytes)
            }
        )
        changed = judged.state == VERIFIED and judged.check.get("numbers") != numbers_of(found)
    return Freshness(OUTDATED, judged.check) if changed else judged


def numbers_of(file: netcdf_file) -> str:
    """Hash the variables of an open file."""
    parts = [
        (name, one.dimensions, one[...].tobytes()) for name, one in sorted(file.variables.items())
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def refuse_outdated(folder: Path) -> None:
    """Raise a ValueError if a result in the folder `book` is
    outdated; it names the command that mends it.
    """
    if late := [name for name, path in stored(folder).items() if of_file(path).state == OUTDATED]:
        raise ValueError(
            f"{len(late)} stored result{'s are' * (len(late) > 1) or ' is'} not of today's code:"
            f" python -m lib store --again {' '.join(late)}"
        )
