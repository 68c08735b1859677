"""How far every claim stays from its bound, over many seeds; the table comes from `python -m lib seeds`."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np

from lib.checks import kind, text
from lib.claims import NOT_REPRODUCED
from lib.toc import chapters, source, title

TABLE = Path("book") / "evidence" / "seeds.jsonl"  # a claim in each line
CELL = re.compile(r"^```\{code-cell\}.*\n([\s\S]*?)^```$", re.MULTILINE)
CLOSEST = 15


TEXT = """\
# Margins over seeds

Each of {claims} claims was checked with {seeds} seeds at the quick profile. The verdict is the same with every seed in {firm} of
them. {still} measure a number that no seed changes, because nothing in them is drawn or because they read a stored run.

*Uses* says how much of its bound the worst seed uses: measured over bound for *at most*, bound over measured for *at least*,
distance over tolerance for *±*. At 100 % the verdict would turn. A claim that is not reproduced lies outside its bound: there the
seed nearest to the bound counts, and the share is above 100 %. *σ* is the distance from the mean to the bound in standard
deviations over the seeds. Neither is given where it has no meaning: a bound of zero has no scale, a number that does not move has
no spread.

Made by `make seeds`; {origin}."""


def page(root: Path) -> str:
    """Write the page: what holds with every seed, the claims nearest to their bounds, and all of them."""
    rows = table(root)
    if not rows:
        raise ValueError(f"{root / TABLE} has no claims: make it with `make seeds`")
    moving = [row for row in rows if len(set(row["measured"])) > 1]
    hanging = [row for row in rows if len(set(row["verdict"])) > 1]
    opening = TEXT.format(
        claims=len(rows),
        seeds=len(rows[0]["measured"]),
        firm=len(rows) - len(hanging),
        still=len(rows) - len(moving),
        origin="; ".join(sorted({f"{row['date']}, {row['versions']}" for row in rows})),
    )
    closest = sorted((row for row in moving if deviations(row) is not None), key=deviations)[:CLOSEST]
    parts = [opening, "## The closest, by σ", _table(closest, "{0}: {1}")]
    if hanging:
        parts[1:1] = ["## Verdicts that hang on the seed", _table(hanging, "{0}: {1}")]
    for chapter in chapters(root):
        own = [row for row in rows if row["id"].split("/")[0] == chapter]
        parts.append(f"## {title(root, chapter)}")
        if not own:
            parts.append(f"Not run yet: `python -m lib seeds {chapter}`.")
        elif own[0]["code"] != digest(root, chapter):
            parts.append(f"The chapter's code has changed since: `python -m lib seeds {chapter}` renews the table.")
        parts += [_table(own)] if own else []
    return "\n\n".join(parts) + "\n"


def table(root: Path) -> list[dict]:
    """Read the table: a row for each claim, with the number and the verdict of every seed."""
    kind("root", root, Path)
    path = root / TABLE
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    except ValueError as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `make seeds`") from problem


def digest(root: Path, chapter: str) -> str:
    """Name the code of a chapter: another text gives the same digest, another code cell a new one."""
    text(chapter=chapter)
    cells = CELL.findall(source(root, chapter))
    return hashlib.sha256("\0".join(cells).encode()).hexdigest()[:16]


def used(row: dict) -> float | None:
    """Return the share of its bound that the worst seed uses, or, if not reproduced, the nearest; None without a scale."""
    shares = [_share(row["expected"], float(value)) for value in row["measured"]]
    if None in shares:
        return None
    return min(shares) if row["verdict"][0] == NOT_REPRODUCED else max(shares)


def _share(expected: str, value: float) -> float | None:
    low, high = _interval(expected)
    if np.isfinite(low) and np.isfinite(high):
        centre, tolerance = (low + high) / 2, (high - low) / 2
        distance = abs(value - centre)
        return distance / tolerance if tolerance else float(np.inf if distance else 0)
    if np.isfinite(low):  # as for "at most", with the sign turned
        low, high, value = -high, -low, -value
    if high == 0:
        return None
    if high > 0:
        return max(value, 0) / high
    return high / value if value < 0 else np.inf


def _interval(expected: str) -> tuple[float, float]:
    """Read a bound as `lib.claims` writes it."""
    if " ± " in expected:
        centre, tolerance = map(float, expected.split(" ± "))
        return centre - tolerance, centre + tolerance
    number = float(expected.split()[-1])
    return (number, np.inf) if expected.startswith("at least") else (-np.inf, number)


def deviations(row: dict) -> float | None:
    """Return the distance from the mean to the bound in standard deviations; None where nothing moves."""
    values = np.array(row["measured"], float)
    if not np.all(np.isfinite(values)) or not np.ptp(values):
        return None
    return float(min(abs(values.mean() - edge) for edge in _interval(row["expected"]) if np.isfinite(edge)) / values.std())


def _table(rows: list[dict], title: str = "{1}") -> str:
    """Show a row for each claim, which `title` names by chapter and name."""
    lines = ["| claim | verdict | bound | least | median | greatest | uses | σ |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        verdicts, share, away = row["verdict"], used(row), deviations(row)
        times = verdicts.count(verdicts[0])
        numbers = np.array(row["measured"], float)
        chapter, name = row["id"].split("/")
        cells = [
            f"{{ref}}`{title.format(chapter, name)} <{chapter}-{name}>`",
            verdicts[0] if times == len(verdicts) else f"{verdicts[0]} with {times} of {len(verdicts)}",
            row["expected"].replace("at most", "≤").replace("at least", "≥"),
            *(f"{number:.3g}" for number in (numbers.min(), np.median(numbers), numbers.max())),
            "–" if share is None else f"{share:.0%}" if share < 100 else f"{share:.0e}",
            "–" if away is None else f"{away:.1f}" if away < 3 else f"{away:.0f}" if away < 1000 else f"{away:.0e}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
