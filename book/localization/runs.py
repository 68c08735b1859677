"""Stored runs of the chapter on localized receptive fields."""

from book.localization.experiments import cooled, entropy, goals, predicted_tiles, tiles, to_rest
from book.localization.ring_settings import (
    CLONED,
    FRESH,
    GAINS,
    NARROW,
    REVERSED,
    ROUGH,
    SEEN,
    SMOOTH,
    TILED,
    WIDE,
)
from lib.experiments.ring import receptive_fields
from lib.runs import Run, named


def _tiled(settings: dict[str, tuple]) -> dict[str, dict]:
    return {
        label: {"xi": xi, "gain": gain, "steps": steps}
        for label, (xi, gain, steps) in settings.items()
    }


def _reversed(seeds: dict[str, dict]) -> dict[str, dict]:
    return {
        f"{label}, {'biases' if bias else 'no biases'}{words}": {"bias": bias, **case, **more}
        for bias in (False, True)
        for label, case in _tiled(REVERSED).items()
        for words, more in seeds.items()
    }


# Single neurons, trained on fresh samples, part company when
# their weights differ by one part in ten million.
NEURONS = ("w", "b", "ipr")
_AUTHORS = {"neurons": 100, "learning_rate": 10.0, "records": 8, "bias": True, "steps": 10_000}

RUNS = [
    Run(
        "localization/authors",
        receptive_fields,
        named(
            "setting",
            {
                "bias, seed 1": _AUTHORS | {"seed": 1},
                "bias, seed 2": _AUTHORS | {"seed": 2},
                "reversed, seed 1": _AUTHORS | {"xi": ROUGH, "seed": 1},
                "reversed, seed 2": _AUTHORS | {"xi": ROUGH, "seed": 2},
                "bias": _AUTHORS,
                "reversed": _AUTHORS | {"xi": ROUGH},
            },
        ),
        chaotic=NEURONS,
    ),
    Run(
        "localization/pulses",
        receptive_fields,
        named(
            "setting",
            {
                f"{kind}, {first} first": {"kind": kind, "xi": xi}
                for kind in ("pulse", "pulse on 0, 1")
                for first, xi in {"wide": (WIDE, NARROW), "narrow": (NARROW, WIDE)}.items()
            },
        ),
        {
            "bias": True,
            "neurons": 100,
            "learning_rate": 2.0,
            "steps": 5000,
            "records": 5,
            "trials": 3,
        },
        chaotic=NEURONS,
    ),
    Run(
        "localization/nonlinearities",
        goals,
        named(
            "setting",
            {
                f"{activation}, ξ = {xi[0]:g}, {xi[1]:g}": {
                    "activation": activation,
                    "xi": xi,
                    "steps": 6000,
                    "record": [3000, 6000],
                }
                for activation in ("erf", "sigmoid")
                for xi in (SMOOTH, ROUGH)
            },
        ),
    ),
    Run(
        "localization/distributions",
        receptive_fields,
        named(
            "setting",
            {
                label: {
                    "kind": kind,
                    "xi": xi,
                    "neurons": 1,
                    "learning_rate": 0.1,
                    "steps": 2000,
                    "trials": 5,
                    "records": 2,
                }
                for label, (kind, xi) in (SEEN | FRESH).items()
            },
        ),
    ),
    Run(
        "localization/tiles",
        tiles,
        named(
            "setting",
            _tiled(TILED)
            | {
                f"clone {label}": {"kind": "clone", **piece}
                for label, piece in _tiled(CLONED).items()
            },
        ),
        chaotic=NEURONS,
    ),
    Run(
        "localization/predicted",
        predicted_tiles,
        named(
            "setting",
            {label: {"xi": xi, "gain": gain} for label, (xi, gain, _) in TILED.items()}
            | {
                label: {"xi": xi, "gain": gain, "samples": 40_000}
                for label, (xi, gain, _) in (GAINS | REVERSED).items()
            },
        ),
    ),
    Run("localization/gains", cooled, named("setting", _tiled(GAINS)), chaotic=NEURONS),
    Run(
        "localization/entropy",
        entropy,
        named("setting", {"(2, 1)": {"xi": SMOOTH}, "(1, 2)": {"xi": ROUGH}}),
        {"steps": 4000},
        chaotic=(*NEURONS, "loss"),
    ),
    Run(
        "localization/authors_plain",
        receptive_fields,
        named("setting", {"no bias": {}}),
        {"neurons": 100, "learning_rate": 10.0, "steps": 1000, "trials": 8, "record": [0, 1000]},
        chaotic=NEURONS,
    ),
    Run(
        "localization/reversed",
        to_rest,
        named(
            "setting",
            _reversed({"": {}})
            | {
                "(1, 2), g = 100, biases, longer": {
                    "xi": ROUGH,
                    "gain": 100.0,
                    "bias": True,
                    "steps": 75_000,
                }
            },
        ),
        chaotic=NEURONS,
    ),
    Run(
        "localization/reversed_seeds",
        to_rest,
        named("setting", _reversed({f", seed {seed}": {"seed": seed} for seed in range(1, 8)})),
        chaotic=NEURONS,
    ),
]
