"""Stored runs of the chapter on gated linear networks."""

from typing import Any

from book.gated_linear.experiments import gates_to_rest, trembling
from lib.runs import Run, named


def _seeds(count: int, **case: Any) -> Any:
    """Return a case with some seeds."""
    return named("run", {f"seed {seed}": {**case, "seed": seed} for seed in range(count)})


RUNS = [
    Run(
        "gated_linear/rest",
        gates_to_rest,
        _seeds(2, steps=16_000, cooling=8_000, pairs=28),
        chaotic=("w", "ipr"),
    ),
    Run(
        "gated_linear/hundred",
        gates_to_rest,
        _seeds(3, neurons=100, learning_rate=10.0, steps=4_000, cooling=2_000, pairs=5),
        chaotic=("w", "ipr"),
    ),
    Run(
        "gated_linear/jitter",
        trembling,
        named(
            "setting",
            {
                "the second network": {"start": "seed 1", "seed": 21},
                "the first, half the rate": {"start": "seed 0", "learning_rate": 2.0, "seed": 22},
                "the first, a quarter of the batch": {"start": "seed 0", "batch": 250, "seed": 23},
                "the second, a quarter of the rate": {
                    "start": "seed 1",
                    "learning_rate": 1.0,
                    "seed": 24,
                },
            },
        ),
    ),
]
