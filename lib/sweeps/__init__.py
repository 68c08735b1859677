"""Sweeps: a function over a grid of named coordinates and seeds, computed in shards, here or on workers, and resumable."""

from lib.sweeps.grid import Sweep
from lib.sweeps.shards import run
from lib.sweeps.workers import TaskError, cluster

__all__ = ["Sweep", "TaskError", "cluster", "run"]
