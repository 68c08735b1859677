"""Stored runs of the chapter on gated linear networks."""

from typing import Any

from book.gated_linear.experiments import first_and_last, gates_to_rest, trembling
from lib.runs import Run, named


def _seeds(count: int, **case: Any) -> Any:
    """Return a case with some seeds."""
    return named("run", {f"seed {seed}": {**case, "seed": seed} for seed in range(count)})


_LONG = {"steps": 4000}
_SHORT = {"xi": (1.0, 3.0), "steps": 7000}

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
        "gated_linear/orders",
        first_and_last,
        named(
            "setting",
            {
                "(2, 1), g = 3": _LONG,
                "(2, 1), g = 10": {"gain": 10.0, **_LONG},
                "(4, 1), g = 3": {"xi": (4.0, 1.0), **_LONG},
                "(1, 3), g = 3": _SHORT,
                "(1, 3), g = 10": {"gain": 10.0, **_SHORT},
                "(1, 2), g = 1": _SHORT | {"xi": (1.0, 2.0), "gain": 1.0},
                "(1, 2), g = 3": _SHORT | {"xi": (1.0, 2.0)},
                "(1, 2), g = 100": _SHORT | {"xi": (1.0, 2.0), "gain": 100.0},
                "(2, 1), g = 3, 20 neurons": {"neurons": 20, **_LONG},
                "(2, 1), g = 3, 8 neurons": {"neurons": 8, **_LONG},
            },
        ),
    ),
    Run(
        "gated_linear/jitter",
        trembling,
        named(
            "setting",
            {
                "(2, 1), g = 3": {"seed": 20},
                "(2, 1), g = 3, four times the rate": {"learning_rate": 16.0, "seed": 21},
                "(2, 1), g = 3, a quarter of the rate": {"learning_rate": 1.0, "seed": 22},
                "(2, 1), g = 3, a quarter of the batch": {"batch": 250, "seed": 23},
                "(1, 3), g = 3": {"xi": (1.0, 3.0), "forming": 14_000, "seed": 24},
            },
        ),
    ),
]
