"""How far every claim stays from its bound, over many seeds; the table comes from `python -m lib seeds`."""

import ast
import hashlib
import json
import re
from pathlib import Path

import numpy as np

from lib import markdown
from lib.book.toc import chapters, source, title
from lib.claims import NOT_REPRODUCED

TABLE = Path("book") / "evidence" / "seeds.jsonl"  # a claim in each line
CELL = re.compile(r"^```\{code-cell\}.*\n(?:---\n[\s\S]*?^---\n|(?::.*\n)*)([\s\S]*?)^```$", re.MULTILINE)  # its options left out
CLOSEST = 15


def margins(root: Path) -> dict[str, str]:
    """Return the counts, the claims whose verdict hangs on the seed, those nearest to their bounds, and all of them by chapter.

    Raises
    ------
    ValueError
        If the table is missing or not whole.
    """
    rows = table(root)
    if not rows:
        raise ValueError(f"{root / TABLE} has no claims: make it with `make seeds`")
    moving = [row for row in rows if len(set(row["measured"])) > 1]
    hanging = [row for row in rows if len(set(row["verdict"])) > 1]
    closest = sorted((row for row in moving if deviations(row) is not None), key=deviations)[:CLOSEST]
    return {
        "claims": str(len(rows)),
        "seeds": str(len(rows[0]["measured"])),
        "firm": str(len(rows) - len(hanging)),
        "still": str(len(rows) - len(moving)),
        "origin": "; ".join(sorted({f"{row['date']}, {row['versions']}" for row in rows})),
        "hanging": f"## Verdicts that hang on the seed\n\n{_shown(hanging, '{0}: {1}')}" if hanging else "",
        "closest": _shown(closest, "{0}: {1}"),
        "chapters": "\n\n".join(_chapter(root, name, rows) for name in chapters(root)),
    }


def _chapter(root: Path, chapter: str, rows: list[dict]) -> str:
    """Write a chapter's section, and whether it is of today."""
    parts, own = [f"## {title(root, chapter)}"], [row for row in rows if row["id"].split("/")[0] == chapter]
    if not own:
        return f"{parts[0]}\n\nNot run yet: `python -m lib seeds {chapter}`."
    if own[0]["code"] != digest(root, chapter):
        parts.append(f"The chapter's code has changed since: `python -m lib seeds {chapter}` renews the table.")
    return "\n\n".join([*parts, _shown(own)])


def table(root: Path) -> list[dict]:
    """Read the table: a row for each claim, with the number and the verdict of every seed."""
    path = root / TABLE
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    except ValueError as problem:
        raise ValueError(f"{path} cannot be read ({problem}): make it with `make seeds`") from problem


def digest(root: Path, chapter: str) -> str:
    """Name the code of a chapter: other words, layout, comments or imports give the same digest, other code a new one."""
    cells = CELL.findall(source(root, chapter))
    return hashlib.sha256("\0".join(map(_tree, cells)).encode()).hexdigest()[:16]


def _tree(cell: str) -> str:
    """Write the syntax tree of a cell without docstrings and imports; a cell that is no Python stays as it is."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return cell
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return repr(_written(tree))


def _written(node: object) -> object:
    """Write a tree as lists without its empty fields, of which `ast.dump` shows more or fewer from one Python to the next."""
    if isinstance(node, list):
        return [_written(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    return [type(node).__name__, *([name, _written(part)] for name, part in ast.iter_fields(node) if part not in (None, []))]


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


def _shown(rows: list[dict], name: str = "{1}") -> str:
    """Show a row for each claim, named by its chapter {0} and its name in there {1}."""
    heads = ["claim", "verdict", "bound", "least", "median", "greatest", "uses", "σ"]
    return markdown.table(heads, [_row(row, name.format(*row["id"].split("/"))) for row in rows])


def _row(row: dict, name: str) -> list[str]:
    verdict, numbers = row["verdict"][0], np.array(row["measured"], float)
    times, seeds = row["verdict"].count(verdict), len(row["verdict"])
    return [
        f"{{ref}}`{name} <{row['id'].replace('/', '-')}>`",
        verdict if times == seeds else f"{verdict} with {times} of {seeds}",
        row["expected"].replace("at most", "≤").replace("at least", "≥"),
        *(f"{number:.3g}" for number in (numbers.min(), np.median(numbers), numbers.max())),
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
