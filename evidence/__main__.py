"""The command line: `python -m evidence speed | mutants`.

Nothing heavy is imported before it is known what to run.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from evidence import Refusal


class Program(NamedTuple):
    """How a program is called."""

    row: str  # what its names name
    help: str
    description: str
    example: str  # the names in an example


PROGRAMS = {
    "speed": Program(
        "workload",
        "the engine beside the plain loop and the machine's limit",
        "Time workloads of the chapters beside the loop that a reader would write and the least that the machine must do, on one"
        " core, and on a GPU where there is one. It wants a machine of its own. Rows that are named are renewed only on the"
        " machine, and with the versions, of the others.",
        "two_point xor",
    ),
    "mutants": Program(
        "module",
        "changed formulas against the tests",
        "Change formulas, one place at a time, and see whether a test fails. All tests of formulas run first, without a change."
        " Without names only those changes are tried whose function or tests are not what they were; modules that are named are"
        " tried whole. Needs mutmut, which `make mutate` installs.",
        "practice kernels",
    ),
}


def parser() -> argparse.ArgumentParser:
    """Describe the programs."""
    top = argparse.ArgumentParser(
        prog="python -m evidence",
        description="Measure the book and keep what is found in book/quality/, from which pages of the book take it.",
        epilog="example: python -m evidence speed --list",
    )
    commands = top.add_subparsers(dest="program", required=True, metavar="PROGRAM")
    for name, program in PROGRAMS.items():
        command = commands.add_parser(
            name,
            help=program.help,
            description=program.description,
            epilog=f"example: python -m evidence {name} {program.example}",
        )
        command.add_argument(
            "names",
            nargs="*",
            metavar=program.row.upper(),
            help=f"measure these {program.row}s and keep the rest of the table (default: all)",
        )
        command.add_argument("--list", action="store_true", help=f"name the {program.row}s, and run nothing")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one program; return the exit status: 1 if something failed, 2 for a mistake, 130 for Ctrl-C."""
    options = vars(parser().parse_args(arguments))
    name, given, listed = (options[key] for key in ("program", "names", "list"))
    sys.stdout.reconfigure(errors="backslashreplace")  # a Greek letter must not stop what was to be said
    try:
        program = import_module(f"evidence.{name}")
        rows = program.rows()
        if unknown := sorted(set(given) - set(rows)):
            raise Refusal(f"there is no {PROGRAMS[name].row} {', '.join(unknown)}; --list names them all")
        chosen = [row for row in rows if row in given or not given]
        if listed:
            width = max(map(len, chosen))
            for row in chosen:
                print(f"{row:<{width}}  {rows[row]}; {lasting(program.seconds([row]))}")
            return 0
        print(f"{len(chosen)} of {len(rows)} {PROGRAMS[name].row}s; {lasting(program.seconds(chosen))}", flush=True)
        return program.run(chosen)
    except Refusal as problem:
        print(f"evidence {name}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"evidence {name}: interrupted; the table is as it was last written", file=sys.stderr)
        return 130


def lasting(seconds: float | None) -> str:
    """Say how long something lasts."""
    if seconds is None:
        return "time not known"
    return f"about {max(1, round(seconds))} s" if seconds < 90 else f"about {seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
