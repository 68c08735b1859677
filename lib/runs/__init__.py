"""Precomputed runs: a function over a list of cases, computed case by
case, resumable, and kept as one NetCDF file per run.
"""

from lib.runs.chapters import find, listed
from lib.runs.profile import at, load
from lib.runs.results import OutdatedResult, count, describe
from lib.runs.run import Run, grid, named
from lib.runs.settings import settings_table

__all__ = [
    "OutdatedResult",
    "Run",
    "at",
    "count",
    "describe",
    "find",
    "grid",
    "listed",
    "load",
    "named",
    "settings_table",
]
