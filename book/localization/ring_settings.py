"""Which signals and settings the stored runs of the chapter have, by their names."""


def _fields_of(kinds: tuple[str, ...], *others: tuple[str, tuple]) -> dict[str, tuple]:
    cases = [*((kind, (2.0, 1.0)) for kind in kinds), *others]
    return {f"{kind} ({xi[0]:g}, {xi[1]:g})": (kind, xi) for kind, xi in cases}


SEEN = _fields_of(  # looked at while the criterion was made
    (
        "arcsine",
        "uniform",
        "square",
        *(f"smoothed {kind}" for kind in ("sign", "uniform", "laplace", "sparse")),
    ),
    ("sign, any volume", (2.0, 1.0)),
    ("Gaussian, one norm", (2.0, 1.0)),
    ("telegraph", (3.0, 1.0)),
    ("telegraph", (8.0, 1.0)),
)


FRESH = _fields_of(  # never run before the chapter's bounds were written down
    ("ternary", "root", "laplace", "wave"),
    ("sign, any volume", (3.0, 1.0)),
    ("smoothed sign", (3.0, 1.0)),
    ("ternary", (6.0, 1.0)),
    ("uniform", (4.0, 1.0)),
    ("arcsine", (3.0, 2.0)),
    ("telegraph", (4.0, 2.0)),
)


WIDE, NARROW = (
    (0.2, 0.25),
    (0.05, 0.1),
)  # pulses of the authors' stored runs, as fractions of the ring


SMOOTH, ROUGH = (2.0, 1.0), (1.0, 2.0)


TILED = {  # lengths, gain, steps
    "(2, 1), g = 3": ((2.0, 1.0), 3.0, 6000),
    "(3, 1), g = 3": ((3.0, 1.0), 3.0, 6000),
    "(4, 1), g = 3": ((4.0, 1.0), 3.0, 6000),
    "(1, 3), g = 3": ((1.0, 3.0), 3.0, 14_000),
    "(1, 3), g = 10": ((1.0, 3.0), 10.0, 8000),
    "(2, 1), g = 10": ((2.0, 1.0), 10.0, 5000),
    "(3, 1), g = 10": ((3.0, 1.0), 10.0, 5000),
}


REVERSED = {  # the notes' case of oscillations, followed far beyond the authors' stop
    "(1, 2), g = 1": (ROUGH, 1.0, 30_000),
    "(1, 2), g = 3": (ROUGH, 3.0, 30_000),
    "(1, 2), g = 10": (ROUGH, 10.0, 20_000),
    "(1, 2), g = 100": (ROUGH, 100.0, 20_000),
}


GAINS = {  # beyond the gains of TILED, eight networks of 40 neurons each
    "(2, 1), g = 0.5": ((2.0, 1.0), 0.5, 24_000),
    "(4, 1), g = 0.5": ((4.0, 1.0), 0.5, 24_000),
    "(2, 1), g = 1": ((2.0, 1.0), 1.0, 12_000),
    "(4, 1), g = 1": ((4.0, 1.0), 1.0, 12_000),
    "(8, 1), g = 1": ((8.0, 1.0), 1.0, 8000),
    "(4, 2), g = 1": ((4.0, 2.0), 1.0, 8000),
    "(3, 2), g = 3": ((3.0, 2.0), 3.0, 8000),
    "(2, 1), g = 100": ((2.0, 1.0), 100.0, 8000),
}


CLONED = {
    label: TILED[label] for label in ("(2, 1), g = 3", "(1, 3), g = 3")
}  # the Gaussian control, for as long
