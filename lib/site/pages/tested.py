"""How the book is tested: changed formulas against the tests (`make mutate`), and the engine's speed (`make bench`)."""

from collections import Counter
from pathlib import Path

from lib import markdown
from lib.site.pages.tables import read

CAUGHT = ("caught", "timed out")
UNITS = (("s", 1), ("ms", 1e3), ("µs", 1e6))


def tested(root: Path) -> dict[str, str]:
    """Return the share of changed formulas that a test catches, and each workload beside the plain loop and the machine's limit.

    Raises
    ------
    ValueError
        If a table cannot be read.
    """
    mutants, speed = read(root, "mutants", "make mutate"), read(root, "speed", "make bench")
    made = speed["provenance"]
    machine = ", ".join(filter(None, [made["processor"], made["gpu"]]))
    tables = [_speed(speed[device]) for device in ("cpu", "cuda") if device in speed]
    return _mutants(mutants) | {
        "speed": "\n\n".join(tables),
        "speed_origin": f"{made['date']}, {machine}, {made['threads']} thread of {made['cores']} cores; {made['versions']}",
    }


def _mutants(table: dict) -> dict[str, str]:
    """Return the shares of mutants that were caught, in all and by module; those that no test can catch do not count."""
    able = [mutant for mutant in table["mutants"] if "equivalent" not in mutant]
    now, first = (sum(mutant[when] in CAUGHT for mutant in able) for when in ("result", "first"))
    tried, hits = (
        Counter(mutant["module"] for mutant in chosen) for chosen in (able, [m for m in able if m["result"] in CAUGHT])
    )
    rows = [[f"`{module}`", tried[module], hits[module], f"{hits[module] / tried[module]:.0%}"] for module in tried]
    return {
        "budget": str(table["budget"]),
        "mutants_origin": f"{table['date']}, {', '.join(f'{name} {version}' for name, version in table['versions'].items())}",
        "able": str(len(able)),
        "equivalent": str(len(table["mutants"]) - len(able)),
        "now": f"{now} ({now / len(able):.1%})",
        "first": f"{first} ({first / len(able):.1%})",
        "mutants": markdown.table(["module", "changes", "caught", "share"], rows),
    }


def _speed(rows: dict) -> str:
    """Write the table of one device."""
    heads = ["workload", "sizes", "ours", "plain loop over ours", "JAX over ours", "limit", "what binds", "share of the limit"]
    return markdown.table(heads, map(_row, rows.values()))


def _row(row: dict) -> list[str]:
    sizes = ", ".join(f"{axis} {size:,}" for axis, size in row["sizes"].items())
    ratios = [row.get(f"{other} over ours") for other in ("plain", "jax")]
    share = row["limit over ours"]
    return [
        f"{row['title']}: {row['step']}",
        sizes,
        _time(row["ours"]["median"]),
        *("{median:.3g} ({least:.3g}–{greatest:.3g})".format(**ratio) if ratio else "–" for ratio in ratios),
        _time(row["limit"]["median"]),
        row["binds"],
        f"{share['median']:.0%}",
    ]


def _time(seconds: float) -> str:
    for unit, factor in UNITS:
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
