"""What was killed, filled, closed and spoilt, and where else the book was run (`make faults`, `python -m evidence elsewhere`)."""

from pathlib import Path
from textwrap import shorten

from lib.book.pages.tables import read
from lib.markdown import table

LONGEST = 180  # characters that are quoted


def faults(root: Path) -> dict[str, str]:
    """Return how many faults were tried and survived, the faults, and the other places.

    Raises
    ------
    ValueError
        If a table is missing or not whole.
    """
    rows = read(root, "faults", "make faults")["faults"]
    elsewhere = read(root, "elsewhere", "python -m evidence elsewhere")
    tried = [row for row in rows if set(row["outcomes"]) != {"skipped"}]
    skipped = "; ".join(row["done"] for row in rows if row not in tried)
    survived = sum(map(_survived, tried))
    names = list(elsewhere["places"][0]["tried"])
    return {
        "tried": str(len(tried)),
        "cases": str(sum(outcome != "skipped" for row in tried for outcome in row["outcomes"])),
        "survived": "all" if survived == len(tried) else str(survived),
        "skipped": f" Not tried here: {skipped}." if skipped else "",
        "origin": "; ".join(sorted({"{date} as {user}, {machine}, {versions}".format(**row) for row in rows})),
        "faults": table(
            ["fault", "done", "left", "said", "cases", "seconds", "survived"],
            map(_fault, sorted(rows, key=lambda row: row["kind"])),
        ),
        "command": f"`{elsewhere['command']}`",
        "date": elsewhere["date"],
        "machine": elsewhere["machine"],
        "places": table(["place", "Python", *names], [_place(row, names) for row in elsewhere["places"]]),
    }


def _survived(row: dict) -> bool:
    return "failed" not in row["outcomes"] and "passed" in row["outcomes"]


def _fault(row: dict) -> list[object]:
    said = shorten(row["said"][0], LONGEST, placeholder=" …").replace("`", "'") if row["said"] else ""
    survived = "yes" if _survived(row) else "not tried"
    if "failed" in row["outcomes"]:
        survived = "**no**"
    quoted = f"`{said}`" if said else "–"
    return [row["kind"], row["done"], row["left"], quoted, len(row["outcomes"]), f"{row['seconds']:.0f}", survived]


def _place(row: dict, names: list[str]) -> list[str]:
    return [row["place"], row["python"].removeprefix("Python "), *(_outcome(row["tried"][name]) for name in names)]


def _outcome(tried: dict) -> str:
    return f"well, {tried['seconds']} s" if tried["status"] == 0 else f"**failed**: `{tried['said']}`"
