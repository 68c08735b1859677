"""How the book is tested: comparison of numbers, changed formulas
(`make mutate`), and the speed (`make bench`).
"""

from collections import Counter

from lib import markdown
from lib.runs import freshness
from lib.runs.run import MOMENTS, TOLERANCE, stored
from lib.site import comparison, lists, numbers
from lib.site.book import Book
from lib.site.pages.tables import read

CAUGHT = ("caught", "timed out")
UNITS = (("s", 1), ("ms", 1e3), ("µs", 1e6))


def tested(book: Book) -> dict[str, str]:
    """Return the share of changed formulas that a test catches, and the speed of each workload."""
    mutants = read(book.root, "mutants")
    speed = read(book.root, "speed")
    made = speed["provenance"]
    parts = [made["processor"], made["kind"], made["gpu"], made["blas"]]
    machine = ", ".join(filter(None, parts))
    cores = f"{made['threads']} thread of {made['cores']} cores, load {made['load']:.1f}"
    tables = [_speed(speed[device]) for device in ("cpu", "cuda") if device in speed]
    count, compared = numbers.check(book)
    return {
        **_mutants(mutants),
        **_compared(book),
        **_stored(book),
        "decimals": f"{count:,}",
        "compared": f"{compared:,}",
        "speed": "\n\n".join(tables),
        "speed_origin": f"{made['date']}, {machine}, {cores}; {made['versions']}",
    }


def _compared(book: Book) -> dict[str, str]:
    """Return the common tolerances, and the list of what is compared loosely."""
    rows = []
    for entry in lists.read(book.root, "loosely_compared"):
        kind = "relative" if "relative" in entry else "absolute"
        rows.append([f"`{entry['what']}`", f"{entry[kind]:g}, {kind}", entry["reason"]])
    return {
        "tolerance": f"{comparison.TOLERANCE:g}",
        "rounding": f"{comparison.ROUNDING:g}",
        "share": f"{comparison.SHARE:g}",
        "loose": markdown.table(["what", "tolerance", "reason"], rows),
    }


def _stored(book: Book) -> dict[str, str]:
    """Return how many stored results there are, how many in
    each state, and what was found of each.
    """
    rows = []
    counts = Counter()
    by_hand = 0
    for name, path in stored(book.folder).items():
        found = freshness.of_file(path)
        counts[found.state] += 1
        by_hand += found.by_hand
        rows.append([f"`{name}`", str(found)])
    return {
        "stored": str(len(rows)),
        "current": str(counts[freshness.CURRENT]),
        "verified": str(counts[freshness.VERIFIED] - by_hand),
        "by_hand": str(by_hand),
        "tolerated": f"{TOLERANCE:g}",
        "moments": f"{MOMENTS:g}",
        "results": markdown.table(["result", "state"], rows),
    }


def _mutants(table: dict) -> dict[str, str]:
    """Return how many mutants there are, and the shares that were caught, in all and by module."""
    mutants = table["mutants"]
    versions = ", ".join(f"{name} {version}" for name, version in table["versions"].items())
    tried = Counter(mutant["module"] for mutant in mutants)
    hits = Counter(mutant["module"] for mutant in mutants if mutant["result"] in CAUGHT)
    rows = [
        [f"`{module}`", count, hits[module], f"{hits[module] / count:.0%}"]
        for module, count in tried.items()
    ]
    return {
        "budget": str(table["budget"]),
        "mutants_origin": f"{table['date']}, {versions}",
        "tried": str(len(mutants)),
        "caught": f"{hits.total()} ({hits.total() / len(mutants):.1%})",
        "mutants": markdown.table(["module", "changes", "caught", "share"], rows),
    }


def _speed(rows: dict) -> str:
    """Write the table of one device."""
    heads = [
        "workload",
        "sizes",
        "ours",
        "plain loop over ours",
        "JAX over ours",
        "limit",
        "what binds",
        "share of the limit",
    ]
    return markdown.table(heads, map(_row, rows.values()))


def _row(row: dict) -> list[str]:
    sizes = ", ".join(f"{axis} {size:,}" for axis, size in row["sizes"].items())
    ratios = [row.get(f"{other} over ours") for other in ("plain", "jax")]
    share = row["limit over ours"]
    return [
        f"{row['title']}: {row['step']}",
        sizes,
        _time(row["ours"]["median"]),
        *(
            "{median:.3g} ({least:.3g}–{greatest:.3g})".format(**ratio) if ratio else "–"
            for ratio in ratios
        ),
        _time(row["limit"]["median"]),
        row["binds"],
        f"{share['median']:.0%}",
    ]


def _time(seconds: float) -> str:
    unit, factor = next((pair for pair in UNITS if seconds * pair[1] >= 1), UNITS[-1])
    return f"{seconds * factor:.3g} {unit}"
