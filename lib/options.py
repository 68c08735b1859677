"""What the command line takes: numbers, times and parts, and which options go together."""

import argparse
import os
import sys
from pathlib import Path


def integer(text: str, least: int = 1, most: int = sys.maxsize) -> int:
    """Read a whole number from the command line."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"want a whole number of at least {least}, not {text}")
    if int(text) > most:
        raise argparse.ArgumentTypeError(f"want a whole number of at most {most}, not {text}")
    return int(text)


def place(text: str) -> Path:
    """Read the name of a file or folder; a shell leaves ~ alone in --output=~/x."""
    if not text:
        raise argparse.ArgumentTypeError("want the name of a file or folder, not an empty one")
    return Path(os.path.expanduser(text))


def duration(text: str) -> float:
    """Read a time like 2h, 30m or 90s."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0}
    if not text[:-1].isdecimal() or text[-1] not in units or int(text[:-1]) < 1:
        raise argparse.ArgumentTypeError(f"want a time like 2h, 30m or 90s, not {text}")
    return int(text[:-1]) * units[text[-1]]


def portion(text: str) -> tuple[int, int]:
    """Read i/n, the i-th of n parts."""
    first, _, count = text.partition("/")
    if not (first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise argparse.ArgumentTypeError(f"want i/n with i from 1 to n, like 3/8, not {text}")
    return int(first), int(count)


def refuse_options(options: argparse.Namespace) -> None:
    """Raise a ValueError where options of `store` do not go together."""
    if not options.again and (options.cases or options.replace):
        raise ValueError("--cases and --replace go with --again")
    if options.again and (options.plan or options.batch or options.case_range):
        raise ValueError("--again goes with none of --plan, --batch and --case-range")
    if options.cases and options.replace:
        raise ValueError("--replace takes all cases: leave --cases out")
