"""How fast the engine is; the table comes from `make bench`."""

from pathlib import Path

import yaml

from lib import markdown
from lib.book.pages.tables import read

THIRD = 1 / 3
NO_GPU = "There was no GPU on the machine, so this page has no table for one. The command measures on one where there is."

GPU = """\
## On a GPU

{sizes}

{table}

### Below a third of the limit of the GPU

{far}

### How the cost grows on the GPU

{slopes}"""


def speed(root: Path) -> dict[str, str]:
    """Return where it was measured, each workload beside the plain loop and the limit, how its cost grows, what is far from it.

    Raises
    ------
    ValueError
        If the table cannot be read.
    """
    table = read(root, "speed", "make bench")
    made, reasons = table["provenance"], yaml.safe_load((root / "book" / "speed.yml").read_text(encoding="utf-8"))
    return {
        "date": made["date"],
        "minutes": f"{made['seconds'] / 60:.0f}",
        "threads": str(made["threads"]),
        "cores": str(made["cores"]),
        "processor": ", ".join(filter(None, [made["processor"], made["gpu"]])),
        "caches": ", ".join(f"{level} {size}" for level, size in made["caches"].items()) or "unknown",
        "system": made["system"],
        "versions": made["versions"],
        "load": f"{made['load']:.0f}",
        **_device(table["cpu"], reasons),
        "gpu": GPU.format(**_device(table["cuda"], reasons)) if "cuda" in table else NO_GPU,
    }


def _device(rows: dict, reasons: dict[str, str]) -> dict[str, str]:
    """Write what was measured on one device: the sizes, the table, what is far from the limit, the slopes."""
    far = {name: row for name, row in rows.items() if row["limit over ours"]["median"] < THIRD}
    slopes = [_slope(row["title"], axis, found) for row in rows.values() for axis, found in row["slopes"].items()]
    return {
        "sizes": "\n".join(map(_sizes, rows.values())),
        "table": comparison(rows),
        "far": "\n".join(_far(row, reasons.get(name, "")) for name, row in far.items()) or "None is.",
        "slopes": markdown.table(["workload", "along", "sizes", "slope", "slope of the limit"], slopes),
    }


def comparison(rows: dict) -> str:
    """Write the table of one device: each workload beside the plain loop and the limit."""
    heads = [
        "workload",
        "ours",
        "plain loop",
        "times faster",
        "limit",
        "what binds",
        "share of the limit",
        "memory, ours and plain",
    ]
    return markdown.table(heads, map(_row, rows.values()))


def _sizes(row: dict) -> str:
    """Say what a step of a workload is, and at which sizes."""
    sizes = ", ".join(f"{axis} {size:,}" for axis, size in row["sizes"].items())
    return f"- **{row['title']}**: {row['step']}; {sizes}; {row['precision']}"


def _row(row: dict) -> list[str]:
    return [
        row["title"],
        *(_time(row[name]["median"]) for name in ("ours", "plain")),
        _ratio(row["plain over ours"]),
        _time(row["limit"]["median"]),
        row["binds"],
        _percent(row["limit over ours"]),
        " and ".join(_memory(row["memory"][which]) for which in ("ours", "plain")),
    ]


def _far(row: dict, reason: str) -> str:
    """Say where the time of a step goes, and why."""
    return f"- **{row['title']}**, {row['limit over ours']['median']:.1%}. {_where(row)} {reason}".rstrip()


def _where(row: dict) -> str:
    shares, said = {part: spread["median"] for part, spread in row["parts"].items()}, []
    if own := row.get("own products"):
        shares["matrix products"] = own["share"]["median"]
        times = own["operations over the least"]
        said = [
            f"Products of its own shapes run at {own['rate over that of large ones']['median']:.0%} of the rate of large ones."
        ]
        said += [f"They do {times:.3g} times the least operations."] if times > 1.05 else []
    if shares:
        listed = ", ".join(f"{part} {share:.0%}" for part, share in shares.items())
        said.insert(0, f"Of a step: {listed}; the rest {max(0, 1 - sum(shares.values())):.0%}.")
    return " ".join(said)


def _slope(title: str, axis: str, found: dict) -> list[str]:
    sizes = ", ".join(f"{size:,}" for size in found["sizes"])
    return [title, axis, sizes, f"{found['slope']:.2f}", f"{found['expected']:.2f}"]


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{_digits(seconds * factor)} {unit}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(spread: dict) -> str:
    return f"{_digits(spread['median'])} ({_digits(spread['least'])}–{_digits(spread['greatest'])})"


def _percent(spread: dict) -> str:
    return "{median:.3g} % ({least:.3g}–{greatest:.3g})".format(**{name: 100 * value for name, value in spread.items()})


def _memory(held: int | None) -> str:
    if held is None:
        return "–"
    return f"{held / 1e6:.0f} MB" if held >= 1e6 else "< 1 MB"
