"""Whether the tests would notice a wrong formula; the table comes from `make mutate`."""

from collections import Counter
from math import sqrt
from pathlib import Path

from lib import markdown
from lib.book.pages.tables import read

CAUGHT = ("caught", "timed out")


def mutants(root: Path) -> dict[str, str]:
    """Return the share of changed formulas that a test catches, in all and by module, and each one that none does.

    Raises
    ------
    ValueError
        If the table cannot be read.
    """
    table = read(root, "mutants", "make mutate")
    possible, formulas = (sum(counts[name] for counts in table["modules"].values()) for name in ("possible", "formulas"))
    tried = table["mutants"]
    able = [mutant for mutant in tried if "equivalent" not in mutant]
    now, first = (sum(mutant[when] in CAUGHT for mutant in able) for when in ("result", "first"))
    low, high = _wilson(first, len(able))
    return {
        "possible": f"{possible:,}",
        "formulas": f"{formulas:,}",
        "budget": str(table["budget"]),
        "date": table["date"],
        "machine": table["machine"],
        "versions": ", ".join(f"{name} {version}" for name, version in table["versions"].items()),
        "able": str(len(able)),
        "now": str(now),
        "now_share": f"{now / len(able):.1%}",
        "first": str(first),
        "first_share": f"{first / len(able):.1%}",
        "low": f"{low:.1%}",
        "high": f"{high:.1%}",
        "equivalent": str(len(tried) - len(able)),
        "now_of_all": f"{now / len(tried):.1%}",
        "first_of_all": f"{first / len(tried):.1%}",
        "modules": _modules(table),
        "survivors": "\n\n".join(_shown(mutant) for mutant in tried if mutant["result"] == "survived"),
    }


def _wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval of a share."""
    z, share = 1.96, hits / trials
    middle, half = share + z**2 / (2 * trials), z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return (middle - half) / (1 + z**2 / trials), (middle + half) / (1 + z**2 / trials)


def _modules(table: dict) -> str:
    rows = []
    for module, counts in table["modules"].items():
        mutants = [mutant for mutant in table["mutants"] if mutant["module"] == module]
        results = Counter("equivalent" if "equivalent" in mutant else mutant["result"] for mutant in mutants)
        caught, stopped, equivalent, survived = (results[name] for name in (*CAUGHT, "equivalent", "survived"))
        score = (caught + stopped) / (len(mutants) - equivalent)
        numbers = (counts["formulas"], len(mutants), caught, stopped, equivalent, survived)
        rows.append([f"`{module}`", *numbers, f"{score:.0%}"])
    heads = ["module", "changes of formulas", "tried", "caught", "timed out", "equivalent", "open", "score"]
    return markdown.table(heads, rows)


def _shown(mutant: dict) -> str:
    verdict = f"Equivalent: {mutant['equivalent']}" if "equivalent" in mutant else "Open."
    verdict += "" if mutant["tests"] else " No test reaches it."
    diff = f"```diff\n- {mutant['was']}\n+ {mutant['now']}\n```"
    return f"`{mutant['module']}`, `{mutant['function']}`\n\n{diff}\n\n{verdict}"
