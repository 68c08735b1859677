"""Whether the tests would notice a wrong formula; the table comes from `make mutate`."""

from collections import Counter
from math import sqrt
from pathlib import Path

from lib.evidence import read

CAUGHT = ("caught", "timed out")


def page(root: Path) -> str:
    """Write the page: the share of changed formulas that a test catches, by module, and each one that none does.

    Raises
    ------
    ValueError
        If the table cannot be read.
    """
    table = read(root, "mutants", "make mutate")
    survived = [mutant for mutant in table["mutants"] if mutant["result"] == "survived"]
    parts = [
        "# Mutants",
        _opening(table),
        _score(table["mutants"]),
        "## By module",
        _modules(table),
        "## Survivors",
        "What no test caught, one by one, as the line was and as it was changed. An *equivalent* one no test can catch, since no"
        " argument tells it from the formula, or only rounding, chance or the time it takes does; the reason stands beside it."
        " The others are open.",
        *(_shown(mutant) for mutant in survived),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(table: dict) -> str:
    possible, formulas = (sum(counts[name] for counts in table["modules"].values()) for name in ("possible", "formulas"))
    versions = ", ".join(f"{name} {version}" for name, version in table["versions"].items())
    return "\n\n".join(
        [
            "A test is worth something if it fails when the formula is wrong. So formulas are made wrong on purpose: a plus"
            " becomes a minus, a two a three, ≤ becomes <, an option of a call is left out. Each such *mutant* meets the tests"
            " that reach its function, until one fails. If none does, the tests would not have noticed.",
            f"[mutmut](https://mutmut.readthedocs.io) proposes {possible:,} changes in the functions of `lib/theory`,"
            " `lib/kernels.py` and `lib/measures.py`. Left out are changes of text, and those that break any line that runs (a"
            " value or a positional argument that is missing or None) and would flatter the score;"
            f" {formulas:,} remain. Of each module {table['budget']} are drawn (all, where there are fewer), by a hash of the"
            " change, so that every run draws the same. A mutant with which a test takes many times as long is stopped and"
            " counts as caught. Constants outside of functions, and properties, are not mutated.",
            f"Measured by `{table['command']}` on {table['date']}: {table['machine']}; {versions}. A second run tries again"
            " only what has changed.",
        ]
    )


def _score(mutants: list[dict]) -> str:
    able = [mutant for mutant in mutants if "equivalent" not in mutant]
    now, first = (sum(mutant[when] in CAUGHT for mutant in able) for when in ("result", "first"))
    low, high = _wilson(first, len(able))
    return (
        f"**{now} of the {len(able)} mutants that can be caught are caught: {now / len(able):.1%}.** When they were first tried"
        f" it was {first}, {first / len(able):.1%} (95 % interval {low:.1%} to {high:.1%}); tests were then written for the"
        " survivors, so that only this first number says how others would fare that were not drawn. Besides,"
        f" {len(mutants) - len(able)} are equivalent; with them {now / len(mutants):.1%} are caught, and"
        f" {first / len(mutants):.1%} were at first."
    )


def _wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval of a share."""
    z, share = 1.96, hits / trials
    middle, half = share + z**2 / (2 * trials), z * sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return (middle - half) / (1 + z**2 / trials), (middle + half) / (1 + z**2 / trials)


def _modules(table: dict) -> str:
    heads = ("module", "changes of formulas", "tried", "caught", "timed out", "equivalent", "open", "score")
    rows = [heads, ["---"] * len(heads)]
    for module, counts in table["modules"].items():
        mutants = [mutant for mutant in table["mutants"] if mutant["module"] == module]
        results = Counter("equivalent" if "equivalent" in mutant else mutant["result"] for mutant in mutants)
        caught, stopped, equivalent, survived = (results[name] for name in (*CAUGHT, "equivalent", "survived"))
        score = (caught + stopped) / (len(mutants) - equivalent)
        numbers = (counts["formulas"], len(mutants), caught, stopped, equivalent, survived)
        rows.append([f"`{module}`", *map(str, numbers), f"{score:.0%}"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _shown(mutant: dict) -> str:
    verdict = f"Equivalent: {mutant['equivalent']}" if "equivalent" in mutant else "Open."
    verdict += "" if mutant["tests"] else " No test reaches it."
    diff = f"```diff\n- {mutant['was']}\n+ {mutant['now']}\n```"
    return f"`{mutant['module']}`, `{mutant['function']}`\n\n{diff}\n\n{verdict}"
