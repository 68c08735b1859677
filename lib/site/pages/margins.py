"""How far every claim stays from its bound, over many seeds; the table comes from `python -m lib seeds`."""

import json
from pathlib import Path

import numpy as np

from lib import markdown
from lib.claims import NOT_DECIDED, NOT_REPRODUCED, Bound
from lib.site.digests import digest
from lib.site.ledger import after_looking
from lib.site.toc import chapters, notebooks, title

TABLE = Path("book") / "quality" / "seeds.jsonl"  # a claim in each line
CLOSEST = 15


def margins(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts, the claims whose verdict hangs on the seed, those nearest to their bounds, and all of them by chapter.

    Raises
    ------
    ValueError
        If the table is missing or not whole.
    """
    rows = current(root)
    moving = [row for row in rows if len(set(row["measured"])) > 1]
    hanging = [row for row in rows if len(set(row["verdict"])) > 1 or passing(row)]
    inside = [row for row in rows if row["verdict"][0] not in (NOT_REPRODUCED, NOT_DECIDED) and used(row) is not None]
    closest = sorted(inside, key=used, reverse=True)[:CLOSEST]
    counts = sorted({len(row["measured"]) for row in rows})
    return {
        "checked": _checked(rows, len(records), len(rows) - len(hanging), len(rows) - len(moving), counts),
        "looked": str(len(after_looking(root))),
        "origin": "; ".join(sorted({f"{row['date']}, {row['versions']}" for row in rows})) or "not yet run with the current code",
        "hanging": f"## Verdicts that depend on the seed\n\n{_shown(hanging, '{0}: {1}')}" if hanging else "",
        "closest": _shown(closest, "{0}: {1}"),
        "chapters": "\n\n".join(_chapter(root, name, rows) for name in chapters(root)),
    }


def _checked(rows: list[dict], all_claims: int, firm: int, still: int, counts: list[int]) -> str:
    """Say how many claims were run with how many seeds, and what came out."""
    if not rows:
        return f"None of the {all_claims} claims has been run so with the current code yet."
    seeds = " to ".join(map(str, counts[:1] + counts[1:][-1:]))
    return (
        f"{len(rows)} of the {all_claims} claims have been run with the current code, with {seeds} seeds each. For {firm} of them"
        f" every seed gives the same verdict, and every rival fails with every seed. {still} measure a number that no seed"
        " changes: nothing in them is drawn, or they read a stored run."
    )


def current(root: Path) -> list[dict]:
    """Return the rows of the table that were made with the code of today."""
    codes = {digest(root, name) for name in notebooks(root)}
    return [row for row in table(root) if row["code"] in codes]


def summary(row: dict) -> str:
    """Say in a few words how firm a verdict is: the seeds, and the share of the bound that the worst of them uses."""
    times, seeds, share = row["verdict"].count(row["verdict"][0]), len(row["verdict"]), used(row)
    if times < seeds:
        return f"{times} of {seeds}"
    return f"{seeds}" if share is None or len(set(row["measured"])) == 1 else f"{seeds}; {_share_text(share)}"


def _chapter(root: Path, chapter: str, rows: list[dict]) -> str:
    """Write a chapter's section, and whether the code of a notebook has not run yet as it is today."""
    own = [row for row in rows if row["id"].split("/")[0] == chapter]
    parts = [f"## {title(root, chapter)}"]
    if own:
        parts += [f"With {len(own[0]['measured'])} seeds:", _shown(own)]
    if {digest(root, name) for name in notebooks(root, [chapter])} - {row["code"] for row in own}:
        parts.append(f"Not yet run with the current code: `python -m lib seeds {chapter}`.")
    return "\n\n".join(parts)


def table(root: Path) -> list[dict]:
    """Read the table: a row for each claim, with the numbers and the verdict of every seed."""
    path = root / TABLE
    try:
        return [_numbers(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    except (ValueError, LookupError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `make seeds`") from problem


def _numbers(row: dict) -> dict:
    """Turn numbers that are stored as text, since JSON cannot write them, into floats."""
    lists = {name: list(map(float, row[name])) for name in ("measured", "low", "high")}
    return row | lists | {"rivals": {name: list(map(float, scores)) for name, scores in row["rivals"].items()}}


def used(row: dict) -> float | None:
    """Return the share of its bound that the worst seed uses, or, if it lies outside, the nearest; None without a scale."""
    shares = [bound.share(value) for bound, value in zip(_bounds(row), row["measured"], strict=True)]
    if None in shares:
        return None
    return min(shares) if row["verdict"][0] in (NOT_REPRODUCED, NOT_DECIDED) else max(shares)


def _bounds(row: dict) -> list[Bound]:
    return list(map(Bound, row["low"], row["high"]))


def deviations(row: dict) -> float | None:
    """Return the mean distance to the nearer edge of the bound in standard deviations; None where nothing moves."""
    edges = [np.subtract(row["measured"], row[edge]) for edge in ("low", "high") if np.all(np.isfinite(row[edge]))]
    away = [abs(gaps.mean()) / gaps.std() for gaps in edges if np.all(np.isfinite(gaps)) and np.ptp(gaps)]
    return float(min(away)) if away else None


def passing(row: dict) -> dict[str, int]:
    """Return the rivals that lie in the bound, each with the number of seeds that let it pass."""
    times = {name: sum(map(Bound.holds, _bounds(row), scores)) for name, scores in row["rivals"].items()}
    return {name: seeds for name, seeds in times.items() if seeds}


def _shown(rows: list[dict], name: str = "{1}") -> str:
    """Show a row for each claim, named by its chapter {0} and its name in there {1}."""
    heads = ["claim", "verdict", "bound", "least", "median", "greatest", "uses", "σ"]
    return markdown.table(heads, [_row(row, name.format(*row["id"].split("/"))) for row in rows])


def _row(row: dict, name: str) -> list[str]:
    verdict, numbers, bounds = row["verdict"][0], np.array(row["measured"]), _bounds(row)
    times, seeds = row["verdict"].count(verdict), len(row["verdict"])
    said = [verdict if times == seeds else f"{verdict} with {times} of {seeds}"]
    said += [f"“{rival}” passes with {times} of {seeds}" for rival, times in passing(row).items()]
    texts = dict.fromkeys(map(str, bounds))  # one, unless the bound itself is computed from what is drawn
    return [
        f"{{ref}}`{name} <{row['id'].replace('/', '-')}>`",
        "; ".join(said),
        " … ".join([*texts][:: max(1, len(texts) - 1)]).replace("at most", "≤").replace("at least", "≥"),
        *(bounds[0].shown(number) for number in (numbers.min(), np.median(numbers), numbers.max())),
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
