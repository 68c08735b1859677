"""What is trained: a function for each experiment, plain arguments in, a labelled Dataset out; `RUNS` are the stored ones."""

from importlib import import_module

TOPICS = (
    "two_point",
    "two_point_maps",
    "piecewise_linear",
    "localization",
    "gated_linear",
    "images",
    "clocks",
    "hierarchies",
    "grokking",
)


def __getattr__(name: str) -> list:
    """Gather `RUNS` when it is asked for: who imports one topic does not load the others."""
    if name != "RUNS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return [run for topic in TOPICS for run in import_module(f"{__name__}.{topic}").RUNS]
