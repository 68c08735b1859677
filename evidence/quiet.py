"""Ctrl-C is one line, which the command line says. pytest, which has more to say of it, is kept from that."""

import os
import sys

import pytest


def silence() -> None:
    """Send what this process prints nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Interruption:
    """A plugin of pytest that remembers a Ctrl-C, of which pytest itself then says nothing."""

    def __init__(self) -> None:
        self.happened = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo) -> None:
        """Tell a Ctrl-C from a collection that failed."""
        if excinfo.type is KeyboardInterrupt:
            self.happened = True
            silence()


def run_tests(options: list[str], plugin: object) -> int:
    """Run pytest in this process; return its exit status, or raise KeyboardInterrupt."""
    interruption = Interruption()
    status = pytest.main(options, [plugin, interruption])
    if interruption.happened:
        raise KeyboardInterrupt
    return int(status)
