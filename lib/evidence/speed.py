"""How fast the engine is; the table comes from `python -m benchmarks`."""

from pathlib import Path

from lib.evidence import read

THIRD = 1 / 3
# What keeps a workload below a third of the limit. The numbers beside it are measured.
WHY = {
    "xor": (
        "The limit reads each weight as if a multiplication cost nothing. Points pass in pairs while rows of weights are near,"
        " and each pair loads and multiplies them once more: beyond two points arithmetic binds, as the slope along the points"
        " of *two points* shows."
    ),
    "receptive_fields": (
        "Each step draws a fresh batch, in double precision and from a stream of its own, so that a member's signals do not"
        " depend on who trains beside it: normal numbers, Fourier transforms there and back, the error function. The limit"
        " counts none of that. The rest are passes over arrays of neurons and signals: bias, rectifier, mean, and their"
        " gradients."
    ),
    "hierarchy": (
        "The layers are small. Between their products each array of units and strings is passed over for the rectifier and"
        " its gradient, and each small operation has to be started."
    ),
    "grokking": (
        "Attention over four places is no matrix product worth the name: it multiplies and sums arrays entry by entry, as do"
        " GELU, the norms and the softmax, forward and backward."
    ),
    "lenet_kernel": (
        "The limit takes the dense layers by the product of two small kernels and touches their Jacobian never. Ours forms"
        " the whole Jacobian, by automatic differentiation of each point alone, so that it takes any network; that is what"
        " costs."
    ),
    "dense_kernel": (
        "The limit takes each layer by the product of two small kernels and never forms the Jacobian. Ours forms and"
        " multiplies it, so that it takes any network."
    ),
    "exact_neuron": (
        "At the chapters' sizes the arrays are so short that time goes into starting NumPy's functions;"
        " beyond them it goes into exponentials, of which the limit counts none."
    ),
    "exact_modes": (
        "At the chapters' sizes the arrays are so short that time goes into starting NumPy's functions; beyond them it goes"
        " into exponentials and divisions, of which the limit counts none."
    ),
}


def page(root: Path) -> str:
    """Write the page: each workload beside the plain loop and the limit, how its cost grows, what is far from the limit."""
    table = read(root, "speed", "make bench")
    parts = ["# Speed", _opening(table["provenance"])]
    for device, heading in (("cpu", "On one core"), ("cuda", "On a GPU")):
        if device in table:
            parts += [
                f"## {heading}",
                _sizes(table[device]),
                _main(table[device]),
                *_far(table[device]),
                "### How the cost grows",
                _slopes(table[device]),
            ]
    if "cuda" not in table:
        parts.append(
            "There was no GPU on the machine, so this page has no table for one. The command measures on one where there is."
        )
    return "\n\n".join(parts) + "\n"


def _opening(made: dict) -> str:
    caches = ", ".join(f"{level} {size}" for level, size in made["caches"].items())
    gpu = f", {made['gpu']}" if made["gpu"] else ""
    return "\n\n".join(
        [
            "Each workload is something that a chapter or a stored run computes, at its size there. It is timed beside two"
            " others:",
            "- **the plain loop**, what a reader would write: PyTorch's modules, `backward` and an optimizer, one network"
            " after the other; for a tangent kernel one gradient for each point and output; for an exact solution SciPy's"
            " `solve_ivp`. A test holds both to the same result.\n- **the limit**, the least that the machine must do: the"
            " fewest operations of matrix products, at the rate of large square products; or each weight and number of the"
            " data read, and each weight written, as often as the method requires, at the rate at which a loop passes over as"
            " much memory. The longer of the two binds.",
            "Seconds are those of one step of one member, and of the processor: waiting for other programs does not count, what"
            " they take of caches and memory does. On a GPU they are those on the wall. All loops run in turn, round after round:"
            " a number is the median over the rounds, a ratio the median of each round's, with the least and the greatest.",
            "Memory is the most that a process holds beyond what it holds at the smallest sizes, with the data and the first"
            " weights of all members; the plain loop trains one of them.",
            f"Measured by `make bench` on {made['date']}, in {made['seconds'] / 60:.0f} minutes, with {made['threads']} thread of"
            f" {made['cores']} cores: {made['processor']}{gpu}; caches of a core: {caches or 'unknown'}; {made['system']};"
            f" {made['versions']}. On average {made['load']:.0f} programs ran or waited at the time.",
        ]
    )


def _sizes(rows: dict) -> str:
    """Say what a step of each workload is, and at which sizes."""
    return "\n".join(
        f"- **{row['title']}**: {row['step']}; {', '.join(f'{axis} {size:,}' for axis, size in row['sizes'].items())};"
        f" {row['precision']}"
        for row in rows.values()
    )


def _main(rows: dict) -> str:
    lines = [
        "| workload | ours | plain loop | times faster | limit | what binds | share of the limit | memory, ours and plain |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows.values():
        cells = [
            row["title"],
            *(_time(row[name]["median"]) for name in ("ours", "plain")),
            _ratio(row["plain over ours"]),
            _time(row["limit"]["median"]),
            row["binds"],
            _percent(row["limit over ours"]),
            " and ".join(_memory(row["memory"][which]) for which in ("ours", "plain")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _far(rows: dict) -> list[str]:
    """Say what is below a third of the limit, where its time goes, and why."""
    far = {name: row for name, row in rows.items() if row["limit over ours"]["median"] < THIRD}
    if not far:
        return []
    points = [
        f"- **{row['title']}**, {row['limit over ours']['median']:.1%}. {_where(row)} {WHY.get(name, '')}".rstrip()
        for name, row in far.items()
    ]
    return ["### Below a third of the limit", "Where the time of a step goes, and why:", "\n".join(points)]


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


def _slopes(rows: dict) -> str:
    lines = [
        "The slope of log seconds, of all members together, against log size, by least squares, the other sizes as above; beside"
        " it that of the limit. Where ours is flatter, a fixed cost still weighs at the smaller sizes; where it is steeper,"
        " arithmetic beside what binds, or arrays that outgrow a cache.",
        "",
        "| workload | along | sizes | slope | slope of the limit |",
        "|---|---|---|---|---|",
    ]
    for row in rows.values():
        for axis, found in row["slopes"].items():
            sizes = ", ".join(f"{size:,}" for size in found["sizes"])
            lines.append(f"| {row['title']} | {axis} | {sizes} | {found['slope']:.2f} | {found['expected']:.2f} |")
    return "\n".join(lines)


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
