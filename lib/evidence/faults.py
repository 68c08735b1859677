"""What was killed, filled, closed and spoilt, and where else the book was run; the tables come from `make faults` and from
`python tests/elsewhere.py`.
"""

from pathlib import Path
from textwrap import shorten

from lib.evidence import read

LONGEST = 180  # characters that are quoted

TEXT = """\
# Faults

{tried} faults were tried, in {cases} cases; the library survived {survived}. To survive is to leave the last good state, or what
was finished, and to say in a line what happened, where there is somebody left to say it. Each fault is a test that asserts what
stands under *left*; what was *said* is quoted from the run.{skipped}

Made by `make faults`; {origin}. The quick ones among them run with `make test`."""

LEFT = """\
## What is left

A stored run has no checksum: one that is cut is refused, one in which a digit was altered is not noticed, except by git. A shard
of a sweep has one. The lock on a build and the end of the processes of a killed run were tried on Linux only; Windows has no such
locks. A full disk and a folder that is read-only are real here, mounted in a namespace; where the system forbids that, these
tests are skipped. A build that is killed leaves pages of two builds; the next one makes all of them anew."""

OTHERS = """\
## Elsewhere

The same commands in other places: a few tests, MNIST, one chapter, and the build. Tried place by place by what `{command}` calls,
those that failed at first again once they were mended, the last time on {date}; {machine}."""


def page(root: Path) -> str:
    """Write the page: the faults, then the other places.

    Raises
    ------
    ValueError
        If a table is missing or not whole.
    """
    faults, elsewhere = read(root, "faults", "make faults"), read(root, "elsewhere", "python tests/elsewhere.py")
    rows = faults["faults"]
    tried = [row for row in rows if set(row["outcomes"]) != {"skipped"}]
    skipped = [row["done"] for row in rows if row not in tried]
    text = TEXT.format(
        tried=len(tried),
        cases=sum(outcome != "skipped" for row in tried for outcome in row["outcomes"]),
        survived="all" if all(map(_survived, tried)) else sum(map(_survived, tried)),
        skipped=f" Not tried here: {'; '.join(skipped)}." if skipped else "",
        origin="; ".join(sorted({"{date} as {user}, {machine}, {versions}".format(**row) for row in rows})),
    )
    return "\n\n".join([text, _faults(rows), OTHERS.format(**elsewhere), _places(elsewhere["places"]), LEFT]) + "\n"


def _survived(row: dict) -> bool:
    return "failed" not in row["outcomes"] and "passed" in row["outcomes"]


def _faults(rows: list[dict]) -> str:
    lines = ["| fault | done | left | said | cases | seconds | survived |", "|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row["kind"]):
        words = shorten(row["said"][0], LONGEST, placeholder=" …").replace("`", "'") if row["said"] else ""
        said = f"`{_cell(words)}`" if words else "–"
        survived = "yes" if _survived(row) else "**no**" if "failed" in row["outcomes"] else "not tried"
        cells = [
            row["kind"],
            _cell(row["done"]),
            _cell(row["left"]),
            said,
            len(row["outcomes"]),
            f"{row['seconds']:.0f}",
            survived,
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _places(rows: list[dict]) -> str:
    names = list(rows[0]["tried"])
    lines = ["| place | Python | " + " | ".join(names) + " |", "|---" * (2 + len(names)) + "|"]
    for row in rows:
        outcomes = [_outcome(row["tried"][name]) for name in names]
        lines.append("| " + " | ".join([row["place"], row["python"].removeprefix("Python "), *outcomes]) + " |")
    return "\n".join(lines)


def _outcome(tried: dict) -> str:
    return f"well, {tried['seconds']} s" if tried["status"] == 0 else f"**failed**: `{_cell(tried['said'])}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
