"""The programs that measure the book; each keeps its table in `book/quality/` and has its page: `python -m evidence --help`.

A program is a module with three functions. `rows()` names what it measures, with some words on each. `seconds(names)` says how
long these took the last time, or None where the table does not tell. `run(names)` measures them, renews their part of the table,
keeps the rest, and returns the exit status.
"""


class Refusal(Exception):
    """Why a program does not even begin, in a line."""
