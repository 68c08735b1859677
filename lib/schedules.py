"""Learning rates that change while training: factors by number of update, from 0, for `lib.training.train`."""

from collections.abc import Sequence

import numpy as np

from lib.checks import numbers, positive
from lib.training import Schedule


def cosine(steps: int, until: float = 1.0) -> Schedule:
    r"""Return :math:`\tfrac12(1 + \cos\frac{\pi t}{T})` at update t up to T = until · steps, and 0 from there on.

    Parameters
    ----------
    steps : number of updates, positive
    until : which part of them the learning rate takes to fall to 0, in (0, 1]

    Raises
    ------
    ValueError
        If `steps` is not positive or `until` lies outside (0, 1].
    """
    if not (positive("steps", steps) and positive("until", until) <= 1):
        raise ValueError(f"until is {until}: want a number in (0, 1]")
    return lambda t: (1 + np.cos(np.pi * min(t / (until * steps), 1))) / 2


def piecewise(steps: Sequence[float], factors: Sequence[float]) -> Schedule:
    """Return the factors at the given updates, straight lines between them, and constants before and after.

    A triangle that peaks at update 50 of 240: ``piecewise([0, 50, 240], [0, 1, 0])``.

    Parameters
    ----------
    steps : (k,), ascending
    factors : (k,), at least 0

    Raises
    ------
    ValueError
        If they are not equally many, steps do not ascend, or a factor is negative or not finite.
    """
    steps, factors = numbers("steps", steps), numbers("factors", factors)
    if steps.ndim != 1 or steps.shape != factors.shape or not np.all(np.diff(steps) > 0):
        raise ValueError(f"steps {steps.tolist()} and factors {factors.tolist()}: want equally many, and steps that ascend")
    if np.any(factors < 0):
        raise ValueError(f"factors are {factors.tolist()}: want numbers of at least 0")
    return lambda t: float(np.interp(t, steps, factors))


def warm_up(steps: int) -> Schedule:
    """Return t/steps at update t, and 1 from update `steps` on; the first update then does nothing.

    Raises
    ------
    ValueError
        If `steps` is not positive.
    """
    return piecewise([0, positive("steps", steps)], [0, 1])
