"""How far every claim stays from its bound, over many seeds; the table comes from
`python -m lib seeds`.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from lib import markdown
from lib.bounds import Bound
from lib.claims import NOT_DECIDED, NOT_REPRODUCED
from lib.site import ledger
from lib.site.book import Book
from lib.site.digests import digest

TABLE = Path("book") / "quality" / "seeds.jsonl"  # a claim in each line
CLOSEST = 15


def margins(book: Book) -> dict[str, str]:
    """Return the counts, and the claims: where the seed decides, near their bounds, by chapter."""
    rows = current(book)
    hanging = [row for row in rows if len(set(row["verdict"])) > 1 or passing(row)]
    origins = sorted({f"{row['date']}, {row['versions']}" for row in rows})
    inside = [row for row in rows if not (np.isnan(used(row)) or _outside(row))]
    closest = sorted(inside, key=used, reverse=True)[:CLOSEST]
    title = "## Verdicts that depend on the seed\n\n"
    nearest = "## Nearest to their bounds\n\n"
    chapters = [_chapter(book, name, rows) for name in book.chapters if rows]
    return {
        "checked": _checked(rows, len(ledger.records(book)), len(rows) - len(hanging)),
        "looked": str(len(ledger.after_looking(book))),
        "origin": "; ".join(origins) or "not yet run with the current code",
        "hanging": title + _shown(hanging, "{0}: {1}") if hanging else "",
        "closest": nearest + _shown(closest, "{0}: {1}") if closest else "",
        "chapters": "\n\n".join(chapters),
    }


def _checked(rows: list[dict], all_claims: int, firm: int) -> str:
    """Say how many claims were run with how many seeds, and what came out."""
    if not rows:
        return f"None of the {all_claims} claims has been run so with the current code yet."
    still = sum(len(set(row["measured"])) == 1 for row in rows)
    counts = sorted({len(row["measured"]) for row in rows})
    seeds = " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))
    which = "All" if len(rows) == all_claims else f"{len(rows)} of the"
    same = "all" if firm == len(rows) else firm
    return (
        f"{which} {all_claims} claims have been run with the current code, with "
        f"{seeds} seeds each. For {same} of them every seed gives the same verdict, and every "
        f"rival fails with every seed. {still} measure a number that no seed changes: nothing in "
        "them is drawn, or they read a stored run."
    )


@cache
def current(book: Book) -> list[dict]:
    """Return the rows of the table that were made with the code of today."""
    codes = {digest(book, name) for name in book.notebooks}
    return [row for row in table(book) if row["code"] in codes]


def summary(row: dict) -> str:
    """Say how firm a verdict is: the seeds, and the share of the bound that the worst uses."""
    verdicts = row["verdict"]
    times = verdicts.count(verdicts[0])
    if times < len(verdicts):
        return f"{times} of {len(verdicts)}"
    moves = not np.isnan(used(row)) and len(set(row["measured"])) > 1
    return f"{times}; {_share_text(row)}" if moves else f"{times}"


def _chapter(book: Book, chapter: str, rows: list[dict]) -> str:
    """Write a chapter's section, and whether a notebook has not run yet as it is today."""
    own = [row for row in rows if row["id"].split("/")[0] == chapter]
    parts = [f"## {book.title(chapter)}"]
    if own:
        parts += [f"With {len(own[0]['measured'])} seeds:", _shown(own)]
    if {digest(book, name) for name in book.notebooks_of(chapter)} - {row["code"] for row in own}:
        parts.append(f"Not yet run with the current code: `python -m lib seeds {chapter}`.")
    return "\n\n".join(parts)


def table(book: Book) -> list[dict]:
    """Read the table: a row for each claim, with the numbers and the verdict of every seed.

    Numbers that JSON does not know are texts, which `float` reads.
    """
    path = book.root / TABLE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return list(map(json.loads, lines))


def used(row: dict) -> float:
    """Return the share of its bound that the worst seed uses, or, if it lies outside, the nearest;
    NaN without a scale.
    """
    shares = _numbers(list(map(Bound.share, _bounds(row), _numbers(row["measured"]))))
    return shares.min() if _outside(row) else shares.max()


def _outside(row: dict) -> bool:
    return row["verdict"][0] in (NOT_REPRODUCED, NOT_DECIDED)


def _numbers(texts: list) -> np.ndarray:
    return np.array(texts, dtype=float)


def _bounds(row: dict) -> list[Bound]:
    return list(map(Bound, _numbers(row["low"]), _numbers(row["high"])))


def deviations(row: dict) -> float:
    """Return the mean distance to the nearer edge of the bound in standard deviations; infinity
    where nothing moves.
    """
    gaps = _numbers([row["low"], row["high"]]) - _numbers(row["measured"])
    gaps = gaps[np.isfinite(gaps).all(axis=1)]
    gaps = gaps[np.ptp(gaps, axis=1) > 0]
    away = abs(gaps.mean(axis=1)) / gaps.std(axis=1)
    return away.min(initial=np.inf)


def passing(row: dict) -> dict[str, int]:
    """Return the rivals that lie in the bound, each with the number of seeds that let it pass."""
    bounds = _bounds(row)
    found = {}
    for name, scores in row["rivals"].items():
        if times := sum(map(Bound.holds, bounds, _numbers(scores))):
            found[name] = times
    return found


def _shown(rows: list[dict], name: str = "{1}") -> str:
    """Show a row for each claim, named by its chapter {0} and its name in there {1}."""
    heads = ["claim", "verdict", "bound", "least", "median", "greatest", "uses", "σ"]
    return markdown.table(heads, [_row(row, name.format(*row["id"].split("/"))) for row in rows])


def _row(row: dict, name: str) -> list[str]:
    verdicts = row["verdict"]
    numbers = _numbers(row["measured"])
    times = verdicts.count(verdicts[0])
    seeds = len(verdicts)
    said = [verdicts[0] if times == seeds else f"{verdicts[0]} with {times} of {seeds}"]
    for rival, passed in passing(row).items():
        said.append(f"“{rival}” passes with {passed} of {seeds}")
    bounds = _bounds(row)
    texts = list(dict.fromkeys(map(str, bounds)))
    shown = texts[0] if len(texts) == 1 else f"{texts[0]} … {texts[-1]}"  # it may be drawn, too
    return [
        ledger.link(name, row["id"]),
        "; ".join(said),
        shown.replace("at most", "≤").replace("at least", "≥"),
        *map(bounds[0].shown, (numbers.min(), np.median(numbers), numbers.max())),
        _share_text(row),
        _deviations_text(deviations(row)),
    ]


def _share_text(row: dict) -> str:
    share = used(row)
    if np.isnan(share):
        return "–"
    return f"{share:.0%}" if share < 100 else f"{share:.0e}"


def _deviations_text(away: float) -> str:
    if not np.isfinite(away):
        return "–"
    if away >= 1000:
        return f"{away:.0e}"
    return f"{away:.0f}" if away >= 3 else f"{away:.1f}"
