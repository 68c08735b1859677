"""How the closed forms do where numbers are extreme; the table comes from `make extremes`."""

from pathlib import Path

from lib.book.pages.tables import read
from lib.markdown import table


def extremes(root: Path) -> dict[str, str]:
    """Return the counts, the worst error of each closed form, what is refused, and single beside double precision."""
    found = read(root, "extremes", "make extremes")
    probes, made = found["probes"], found["provenance"]
    functions = dict.fromkeys(row["function"] for row in probes)
    refused = [row for row in probes if "refused" in row]
    return {
        "digits": str(made["digits"]),
        "origin": "{date}, {versions}, {system}".format(**made),
        "probes": str(len(probes)),
        "right": str(sum(row["error"] <= row["tolerance"] for row in probes if "error" in row)),
        "refused": str(len(refused)),
        "functions": table(
            ["function", "calls", "worst error", "at", "tolerance", "refused"],
            [_function(name, [row for row in probes if row["function"] == name]) for name in functions],
        ),
        "refusals": table(
            ["function", "call", "answer"], [[f"`{row['function']}`", row["extreme"], row["refused"]] for row in refused]
        ),
        "steps": str(made["steps"]),
        "rounding": f"{made['rounding']:.1e}",
        "walk": f"{made['rounding'] * made['steps'] ** 0.5:.0e}",
        "precision": table(
            ["training", "start, times the usual", "moved", "apart", "S", "S differs by"], map(_precision, found["precision"])
        ),
    }


def _function(name: str, rows: list[dict]) -> list[object]:
    """Return a function's row; the worst call is the one that uses most of its tolerance."""
    answers = [row for row in rows if "error" in row]
    refused = len(rows) - len(answers) or ""
    if not answers:
        return [f"`{name}`", len(rows), "", "", "", refused]
    worst = max(answers, key=lambda row: row["error"] / row["tolerance"])
    shown = f"{worst['error']:.0e}" if worst["error"] else "0"
    return [f"`{name}`", len(rows), shown, worst["extreme"], f"{worst['tolerance']:.0e}", refused]


def _precision(row: dict) -> list[str]:
    double, single = row["kernels"]
    numbers = row["gain"], row["moved"], row["apart"], double, abs(single / double - 1)
    return [row["training"], *(f"{number:.2g}" for number in numbers)]
