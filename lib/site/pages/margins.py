"""How far every claim stays from its bound, over many seeds; the table comes from
`python -m lib seeds`.
"""

import json
from functools import cache
from operator import itemgetter
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
    inside = []
    for row in rows:
        share = used(row)
        if share is not None and row["verdict"][0] not in (NOT_REPRODUCED, NOT_DECIDED):
            inside.append((share, row))
    inside.sort(key=itemgetter(0), reverse=True)
    closest = [row for _, row in inside[:CLOSEST]]
    title = "## Verdicts that depend on the seed\n\n"
    return {
        "checked": _checked(rows, len(ledger.records(book)), len(rows) - len(hanging)),
        "looked": str(len(ledger.after_looking(book))),
        "origin": "; ".join(origins) or "not yet run with the current code",
        "hanging": title + _shown(hanging, "{0}: {1}") if hanging else "",
        "closest": _shown(closest, "{0}: {1}"),
        "chapters": "\n\n".join(_chapter(book, name, rows) for name in book.chapters),
    }


def _checked(rows: list[dict], all_claims: int, firm: int) -> str:
    """Say how many claims were run with how many seeds, and what came out."""
    if not rows:
        return f"None of the {all_claims} claims has been run so with the current code yet."
    still = sum(len(set(row["measured"])) == 1 for row in rows)
    counts = [len(row["measured"]) for row in rows]
    seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return (
        f"{len(rows)} of the {all_claims} claims have been run with the current code, with "
        f"{seeds} seeds each. For {firm} of them"
        f" every seed gives the same verdict, and every rival fails with every seed. {still} "
        "measure a number that no seed"
        " changes: nothing in them is drawn, or they read a stored run."
    )


@cache
def current(book: Book) -> list[dict]:
    """Return the rows of the table that were made with the code of today."""
    codes = {digest(book, name) for name in book.notebooks}
    return [row for row in table(book) if row["code"] in codes]


def summary(row: dict) -> str:
    """Say how firm a verdict is: the seeds, and the share
    of the bound that the worst of them uses.
    """
    times = row["verdict"].count(row["verdict"][0])
    seeds = len(row["verdict"])
    share = used(row)
    if times < seeds:
        return f"{times} of {seeds}"
    if share is None or len(set(row["measured"])) == 1:
        return f"{seeds}"
    return f"{seeds}; {_share_text(share)}"


def _chapter(book: Book, chapter: str, rows: list[dict]) -> str:
    """Write a chapter's section, and whether a notebook has not run yet as it is today."""
    own = [row for row in rows if row["id"].split("/")[0] == chapter]
    parts = [f"## {book.title(chapter)}"]
    if own:
        parts += [f"With {len(own[0]['measured'])} seeds:", _shown(own)]
    if {digest(book, name) for name in book.notebooks_of(chapter)} - {row["code"] for row in own}:
        parts.append(f"Not yet run with the current code: `python -m lib seeds {chapter}`.")
    return "\n\n".join(parts)


def written(book: Book) -> list[dict]:
    """Read the table as it is written: numbers that JSON does not know are texts."""
    path = book.root / TABLE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return list(map(json.loads, lines))


def table(book: Book) -> list[dict]:
    """Read the table: a row for each claim, with the numbers and the verdict of every seed."""
    rows = written(book)
    for row in rows:
        rivals = row["rivals"]
        for name in ("measured", "low", "high"):
            row[name] = list(map(float, row[name]))
        row["rivals"] = {name: list(map(float, rivals[name])) for name in rivals}
    return rows


def used(row: dict) -> float | None:
    """Return the share of its bound that the worst seed uses, or, if
    it lies outside, the nearest; None without a scale.
    """
    shares = []
    for bound, value in zip(_bounds(row), row["measured"], strict=True):
        share = bound.share(value)
        if share is None:
            return None
        shares.append(share)
    return min(shares) if row["verdict"][0] in (NOT_REPRODUCED, NOT_DECIDED) else max(shares)


def _bounds(row: dict) -> list[Bound]:
    return list(map(Bound, row["low"], row["high"]))


def deviations(row: dict) -> float | None:
    """Return the mean distance to the nearer edge of the bound in
    standard deviations; None where nothing moves.
    """
    edges = [
        np.subtract(row["measured"], row[edge])
        for edge in ("low", "high")
        if np.all(np.isfinite(row[edge]))
    ]
    away = [
        abs(gaps.mean()) / gaps.std()
        for gaps in edges
        if np.all(np.isfinite(gaps)) and np.ptp(gaps)
    ]
    return float(min(away)) if away else None


def passing(row: dict) -> dict[str, int]:
    """Return the rivals that lie in the bound, each with the number of seeds that let it pass."""
    times = {
        name: sum(map(Bound.holds, _bounds(row), scores)) for name, scores in row["rivals"].items()
    }
    return {name: seeds for name, seeds in times.items() if seeds}


def _shown(rows: list[dict], name: str = "{1}") -> str:
    """Show a row for each claim, named by its chapter {0} and its name in there {1}."""
    heads = ["claim", "verdict", "bound", "least", "median", "greatest", "uses", "σ"]
    return markdown.table(heads, [_row(row, name.format(*row["id"].split("/"))) for row in rows])


def _row(row: dict, name: str) -> list[str]:
    verdict = row["verdict"][0]
    numbers = np.array(row["measured"])
    times = row["verdict"].count(verdict)
    seeds = len(row["verdict"])
    said = [verdict if times == seeds else f"{verdict} with {times} of {seeds}"]
    for rival, passed in passing(row).items():
        said.append(f"“{rival}” passes with {passed} of {seeds}")
    bounds = _bounds(row)
    texts = list(dict.fromkeys(map(str, bounds)))
    shown = texts[0] if len(texts) == 1 else f"{texts[0]} … {texts[-1]}"  # it may be drawn, too
    return [
        f"{{ref}}`{name} <{ledger.label(row['id'])}>`",
        "; ".join(said),
        shown.replace("at most", "≤").replace("at least", "≥"),
        bounds[0].shown(numbers.min()),
        bounds[0].shown(np.median(numbers)),
        bounds[0].shown(numbers.max()),
        _share_text(used(row)),
        _deviations_text(deviations(row)),
    ]


def _share_text(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{share:.0%}" if share < 100 else f"{share:.0e}"


def _deviations_text(away: float | None) -> str:
    if away is None:
        return "–"
    if away >= 1000:
        return f"{away:.0e}"
    return f"{away:.0f}" if away >= 3 else f"{away:.1f}"
