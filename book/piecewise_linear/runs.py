"""Stored runs of the chapter on piecewise-linear networks."""

import numpy as np

from book.piecewise_linear.experiments import (
    DELTA,
    TAU,
    authors_teachers,
    distances,
    exchanges,
    turns,
    widths,
)
from lib.runs import Run, grid, named
from lib.training import log_steps

PAPER = {"networks": 17 * 17 * 16, "steps": 100_000}
AT_SMALLEST = [
    0,
    10,
    30,
    100,
    200,
    300,
    500,
    1000,
    2000,
    3000,
    5000,
    7000,
    10_000,
    20_000,
    30_000,
    50_000,
    70_000,
    100_000,
]
_LONG = {
    "steps": 1_000_000,
    "record": [0, 10, 100, 1000, 10_000, 100_000, 1_000_000],
    "authors": True,
}

RUNS = [
    Run(
        "piecewise_linear/plane",
        distances,
        grid(tau=TAU, delta=DELTA, seed=range(16)),
        {"steps": 100_000, "record": log_steps(100_000, 16).tolist()},
        PAPER,
        batch=17 * 17,
        first=True,
    ),
    # all networks of figure 1(b), from the authors' own draws, up to the second of its four moments
    Run(
        "piecewise_linear/authors",
        distances,
        grid(tau=TAU, delta=DELTA, seed=range(100, 116)),
        {"steps": 1000, "record": [0, 10, 100, 1000], "authors": True},
        PAPER,
        batch=17 * 17,
        first=True,
    ),
    Run(  # of these, the smallest scale to its last step
        "piecewise_linear/authors_column",
        turns,
        grid(tau=[0.1], delta=DELTA, seed=range(100, 116)),
        {"steps": 100_000, "record": AT_SMALLEST, "authors": True},
        PAPER,
        batch=9,
    ),
    # the beginning of some of these, step by step: what gates or weights alone leave of the change
    Run(
        "piecewise_linear/progress",
        exchanges,
        grid(tau=[0.1], delta=[-0.25, -0.125, 0.0, 0.25, 0.5, 1.0], seed=range(100, 116)),
        {"steps": 1000, "record": log_steps(1000, 20).tolist(), "authors": True},
        PAPER,
        batch=6,
    ),
    Run(  # and of downstream ones at later steps
        "piecewise_linear/exchanged",
        exchanges,
        grid(tau=[0.1], delta=[-1.0, -0.5, -0.25], seed=range(100, 116)),
        {"steps": 10_000, "record": [0, 100, 300, 1000, 3000, 10_000], "authors": True},
        PAPER,
        batch=3,
    ),
    Run("piecewise_linear/authors_teachers", authors_teachers, grid(seed=range(100, 116))),
    Run(
        "piecewise_linear/late",
        turns,
        grid(tau=TAU[:5:4], delta=np.linspace(-1, 1, 9), seed=[0, 1]),
        {"steps": 20_000, "record": [0, 100, 1000, 5000, 10_000, 20_000], "layers": True},
        PAPER,
        batch=9,
    ),
    # the paper's supporting figure, ten times as long: every fourth
    # place of the plane. Half an hour a network on a core.
    Run(
        "piecewise_linear/long",
        distances,
        grid(tau=TAU[::4], delta=DELTA[::4], seed=range(100, 102)),
        _LONG,
        PAPER | {"steps": 1_000_000},
        batch=50,
    ),
    Run(  # where the means that the authors printed change most from 100,000 to 1,000,000 steps
        "piecewise_linear/peak",
        distances,
        grid(tau=TAU[11:12], delta=[-1.0], seed=range(100, 116)),
        _LONG,
        PAPER | {"steps": 1_000_000},
        batch=16,
    ),
    # the same in float64, at twenty times the rate for a twentieth of
    # the steps: float32 stops the training error near 3e-8
    Run(
        "piecewise_linear/peak_precise",
        distances,
        grid(tau=TAU[11:12], delta=[-1.0], seed=range(100, 116)),
        {
            "steps": 50_000,
            "record": [0, 500, 5000, 15_000, 50_000],
            "authors": True,
            "precise": True,
            "rate": 0.1,
        },
        PAPER | {"steps": 50_000},
        batch=4,
    ),
    Run(
        "piecewise_linear/widths",
        widths,
        named("width", {str(width): {"width": width} for width in (50, 200, 800, 3200)}),
        {"p": [0, 0.5, 1, 1.5], "q": [-1, 0, 0.5, 1], "seeds": [0, 1, 2, 3]},
    ),
]
