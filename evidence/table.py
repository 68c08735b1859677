"""The tables in `book/quality/`: read, renewed in part, written."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from evidence import Refusal
from lib import files
from lib.book.pages import tables

ROOT = Path(__file__).parents[1]


def place(name: str) -> Path:
    """Return where a table is kept."""
    return tables.place(ROOT, name)


def known(name: str) -> dict:
    """Read a table; where there is none, it is empty."""
    path = place(name)
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise Refusal(f"{path} is not whole ({problem}): restore or delete it") from problem


def keep(name: str, table: Mapping) -> None:
    """Write a table."""
    files.write(place(name), json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def merged(before: Iterable[dict], fresh: Iterable[dict], key: Sequence[str], chosen: Callable[[dict], bool]) -> list[dict]:
    """Put fresh rows in the places of old ones with the same key; drop what was chosen and is no more; keep the others."""

    def by_key(rows: Iterable[dict]) -> dict[tuple, dict]:
        return {tuple(row[name] for name in key): row for row in rows}

    old, new = by_key(before), by_key(fresh)
    kept = {which: row for which, row in old.items() if which in new or not chosen(row)}
    return list((kept | new).values())


def renewed(before: Mapping, now: Mapping, names: Iterable[str], same: Iterable[str]) -> dict:
    """Note in the provenance of a table which of its rows are made anew today; these must be made as the others were.

    Raises
    ------
    Refusal
        If the provenance differs in one of the entries that must be the same, or there is no table.
    """
    if not before:
        raise Refusal("there is no table yet: make it whole first, without names")
    if other := [name for name in same if before.get(name) != now[name]]:
        raise Refusal(f"the table was made with other {', '.join(other)}: make it anew, without names")
    return {**before, "renewed": before.get("renewed", {}) | dict.fromkeys(names, now["date"])}


def total(seconds: Iterable[float | None]) -> float | None:
    """Add seconds up; None if some are not known, or there are none."""
    found = list(seconds)
    return sum(found) if found and None not in found else None
