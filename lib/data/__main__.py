"""Fetch a data set once and print its folder: the one that
MNIST_DIR or CIFAR10_DIR names, or one in your cache.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from lib import interrupts
from lib.data.fetch import CIFAR10, MNIST, DataUnavailable, fetch, place

SOURCES = {source.name: source for source in (MNIST, CIFAR10)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch a data set and print where it lies; return 1, and say
    why in a line, if it could not be had or kept.
    """
    parser = argparse.ArgumentParser(prog="python -m lib.data", description=__doc__)
    sizes = " or ".join(f"{name} ({source.size})" for name, source in SOURCES.items())
    parser.add_argument("name", nargs="?", choices=SOURCES, default="mnist", help=sizes)
    source = SOURCES[parser.parse_args(arguments).name]
    try:
        with interrupts.handled(late=False):
            fetch(source)
    except DataUnavailable as error:
        print(str(error).partition("\n")[0], file=sys.stderr)
        return 1
    except KeyboardInterrupt as end:
        print("lib.data: interrupted; no part of a download is kept", file=sys.stderr)
        return 128 + (end.args[0] if end.args else signal.SIGINT)
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(errors="backslashreplace")  # a home may have any name
    print(place(source))
    return 0


if __name__ == "__main__":
    sys.exit(main())
