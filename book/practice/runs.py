"""Stored runs of the chapter on unbalanced initializations in practice."""

import numpy as np

from book.practice.clocks import lenet_clocks
from book.practice.grokking import transformer_clocks
from book.practice.hierarchies import ALL, SCALE, learning_curves
from book.practice.images import photographs
from book.practice.levels import lenet_levels
from lib.runs import Run, grid, named

_SOURCE = {"networks": 24, "images": 60_000, "epochs": 500, "probe": 6000}

# Plain descent, and the source's rate and batches with the
# other usual optimizer at the standard start.
_LONG = {"images": 60_000, "epochs": 25, "records": 32, "probe": 256}
_PASSES = _LONG | {"batch_size": 128, "learning_rate": 3e-4, "ramp": 0.012}
_ADAM = _LONG | {"batch_size": 512, "learning_rate": 1e-4, "optimizer": "adam"}
_LEVELS = {"levels": [2.1, 1.5, 1.0], "steps": 4000}
_DESCENT = _LEVELS | {"batch_size": 128, "learning_rate": 3e-4, "ramp": 141}
GRID = {"alpha": [0.1, 0.3, 1.0, 3.0, 10.0], "tau": [0.5, 0.75, 1.0, 1.25, 1.5]}

# Rounding alone changes the epoch at which a network stops, and so what it is measured on.
CURVES = ("train_loss", "epochs", "test")

RUNS = [
    # the source's network and schedule: two to four minutes
    # a network on a GPU, twelve hours on a core
    Run(
        "practice/photographs",
        photographs,
        grid(alpha=np.logspace(-1, 1, 5).tolist(), seed=range(2)),
        {"looks": 24},
        {"networks": 10, "epochs": 24, "channels": 64, "learning_rate": 0.4},
        batch=2,
        first=True,
    ),
    Run(
        "practice/lenet_passes",
        lenet_clocks,
        grid(alpha=[0.1, 1.0, 10.0], seed=range(8)),
        _PASSES,
        _SOURCE,
        batch=8,
        first=True,
    ),
    Run(
        "practice/lenet_adam_passes",
        lenet_clocks,
        grid(alpha=[1.0], seed=range(8)),
        _ADAM,
        _SOURCE | {"networks": 8},
        batch=8,
        first=True,
    ),
    # down to a loss of 1: half a minute a network
    Run(
        "practice/lenet_levels",
        lenet_levels,
        grid(alpha=[0.1, 1.0, 10.0], seed=range(8)),
        _DESCENT,
        {"networks": 24, "probe": 6000},
        batch=8,
    ),
    Run(
        "practice/lenet_adam_levels",
        lenet_levels,
        grid(alpha=[0.1, 1.0, 10.0], seed=range(8)),
        _LEVELS | {"batch_size": 512, "learning_rate": 1e-4, "optimizer": "adam"},
        {"networks": 24, "probe": 6000},
        batch=8,
    ),
    # the same without initial outputs to undo, and with the
    # rates that Adam has at α = 10
    Run(
        "practice/lenet_centred",
        lenet_levels,
        grid(alpha=[1.0, 10.0], seed=range(8)),
        _DESCENT | {"centred": True},
        {"networks": 24, "probe": 6000},
        batch=8,
    ),
    Run(
        "practice/lenet_mild",
        lenet_levels,
        grid(alpha=[10**0.5], seed=range(8)),
        _DESCENT,
        {"networks": 24, "probe": 6000},
        batch=8,
    ),
    # the paper's grid and half of its equations, but with decoupled
    # decay and an end at `REACHED`: a minute a network
    Run(
        "practice/grokking_decaying",
        transformer_clocks,
        grid(**GRID, seed=range(5)),
        {"steps": 10_000, "weight_decay": 1.0},
        {"networks": 125, "steps": 30_000},
        batch=25,
        first=True,
    ),
    # the public code's operation and no decay: seven minutes a network on a core, less if it groks
    Run(
        "practice/grokking_products",
        transformer_clocks,
        grid(**GRID, seed=range(5)),
        {"steps": 30_000, "operation": "multiplication"},
        {"networks": 125, "steps": 30_000},
        batch=25,
    ),
    Run(
        "practice/hierarchies",
        learning_curves,
        named(
            "points",
            {
                str(count): {"points": [count], **SCALE}
                for count in (*(512 * 2**k for k in range(8)), ALL)
            },
        ),
        source={"alpha": 6, "seeds": 6, "test": 20_000},
        chaotic=CURVES,
    ),
    Run(  # α beside a learning rate for all layers; the rate 1 with smaller α is in the first run
        "practice/hierarchy_dials",
        learning_curves,
        named(
            "rate",
            {
                str(rate): {
                    "points": [1024, 2048, 4096, 8192],
                    **SCALE,
                    "alpha": alpha,
                    "rate": rate,
                }
                for rate, alpha in {
                    1.0: [30.0, 100.0, 300.0, 1000.0],
                    2.0: [0.1, 1.0, 10.0, 30.0, 100.0, 300.0],
                    **{
                        rate: [0.1, 1.0, 10.0, 30.0, 100.0]
                        for rate in (3.0, 4.0, 5.0, 6.0, 7.0, 10.0)
                    },
                }.items()
            },
        ),
        source={"seeds": 6, "test": 20_000},
        tolerance=0.05,  # where a network stops before it has fitted all
        chaotic=CURVES,
    ),
    # some of these networks again, beside others, so that products
    # round differently: how far do numbers move by luck?
    Run(
        "practice/hierarchy_again",
        learning_curves,
        named(
            "rate",
            {
                str(rate): {
                    "points": [1024, 2048, 4096, 8192],
                    **SCALE,
                    "alpha": [1.0, 10.0, 30.0],
                    "rate": rate,
                }
                for rate in (2.0, 3.0, 5.0)
            },
        ),
        source={"seeds": 6, "test": 20_000},
        chaotic=CURVES,
    ),
    Run(  # the two halves of the clock of α = .1 and of α = 10, one at a time
        "practice/hierarchy_halves",
        learning_curves,
        named(
            "half",
            {
                name: {"points": [2048, 4096, 8192], **SCALE, "alpha": [1.0], **half}
                for name, half in {
                    "first slow, longer": {"first": 0.01, "epochs": 1000},
                    "readout slow, longer": {"readout": 0.01, "epochs": 1000},
                    "readout fast": {"readout": 100.0},
                    "first fast": {"first": 100.0},
                }.items()
            },
        ),
        source={"seeds": 6, "test": 20_000},
        chaotic=CURVES,
    ),
]
