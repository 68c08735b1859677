"""How the closed forms do where numbers are extreme; the table comes from `make extremes`."""

from pathlib import Path

from lib.evidence import read

EPS = 2.0**-23  # of single precision

TEXT = """\
# Extremes

Every closed form of the library was called where rounding hurts: conserved quantities of ±10⁶ and ±10⁻¹², times from 10⁻³⁰⁰
to 10³⁰⁸, weights from the denormal 10⁻³¹⁰ to 10⁹⁰, angles near 0 and π, data without full rank, a depth of a million. Each
result stands beside an independent one: the formula as its source writes it, with {digits} digits; a limit; or what follows by
hand. Of {probes} calls {right} are right within their tolerance. {refused} are refused with an error that says why: their
numbers lie outside the range that the library supports, in size at most 10¹⁰⁰, and at least 10⁻¹⁰⁰ where a number divides, or
they do not fit.

*Worst error* is relative to the entry it is found in; what a double cannot resolve (below 10⁻³⁰⁰, or what is left of a difference
of numbers near 1) is measured on the scale of those numbers. A tolerance above 10⁻¹² says that the argument itself, rounded to a
double, does not fix more digits, or that the flow is integrated numerically.

Made by `make extremes`; {date}, {versions}, {system}.

| function | calls | worst error | at | tolerance | refused |
|---|---|---|---|---|---|
{rows}

## What is refused

| function | call | answer |
|---|---|---|
{refusals}

## Single against double precision

Networks were trained for {steps} steps in both precisions, from the same starts. *Moved* says how far double precision came from
the start, *apart* how far single precision is from double, both relative to the length of the parameters at the end. Roundings
of {rounding:.1e} that add up over the steps as in a random walk come to {walk:.0e}. *S* is the distance of the tangent kernel
from its start, in double precision; beside it how far that of single precision is from it. The kernel of a committee, of which
only the first layer is trained, depends on nothing but which units are active.

| training | start, times the usual | moved | apart | S | S differs by |
|---|---|---|---|---|---|
{precisions}
"""


def page(root: Path) -> str:
    """Write the page: the worst error of each closed form, and what is refused."""
    table = read(root, "extremes", "make extremes")
    refused = [row for row in table["probes"] if "refused" in row]
    answers = [row for row in table["probes"] if "error" in row]
    functions = list(dict.fromkeys(row["function"] for row in table["probes"]))
    return TEXT.format(
        probes=len(table["probes"]),
        right=sum(row["error"] <= row["tolerance"] for row in answers),
        refused=len(refused),
        rows="\n".join(_row(name, [row for row in table["probes"] if row["function"] == name]) for name in functions),
        rounding=EPS,
        walk=EPS * table["provenance"]["steps"] ** 0.5,
        precisions="\n".join(map(_precision, table["precision"])),
        refusals="\n".join(f"| `{row['function']}` | {row['extreme']} | {_cell(row['refused'])} |" for row in refused),
        **table["provenance"],
    )


def _row(name: str, rows: list[dict]) -> str:
    """Return a function's line; the worst call is the one that uses most of its tolerance."""
    answers = [row for row in rows if "error" in row]
    refused = len(rows) - len(answers) or ""
    if not answers:
        return f"| `{name}` | {len(rows)} | | | | {refused} |"
    worst = max(answers, key=lambda row: row["error"] / row["tolerance"])
    shown = f"{worst['error']:.0e}" if worst["error"] else "0"
    return f"| `{name}` | {len(rows)} | {shown} | {_cell(worst['extreme'])} | {worst['tolerance']:.0e} | {refused} |"


def _precision(row: dict) -> str:
    double, single = row["kernels"]
    numbers = row["gain"], row["moved"], row["apart"], double, abs(single / double - 1)
    return f"| {row['training']} | " + " | ".join(f"{number:.2g}" for number in numbers) + " |"


def _cell(text: str) -> str:
    """Keep bars from ending a cell."""
    return text.replace("|", "\\|").replace("\n", " ")
