"""Learning rates that change while training: factors by number of update, from 0, for `lib.training.train`."""

from collections.abc import Sequence

import numpy as np

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
    if not 0 < steps < np.inf or not 0 < until <= 1:
        raise ValueError(f"steps {steps} and until {until}: want a positive number, and one in (0, 1]")
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
    steps, factors = np.asarray(steps, float), np.asarray(factors, float)
    if steps.ndim != 1 or steps.shape != factors.shape or steps.size == 0 or not np.all(np.diff(steps) > 0):
        raise ValueError(f"steps {steps.tolist()} and factors {factors.tolist()}: want equally many, and steps that ascend")
    if not np.all((factors >= 0) & np.isfinite(factors)) or not np.all(np.isfinite(steps)):
        raise ValueError(f"steps {steps.tolist()} and factors {factors.tolist()}: want finite numbers, factors of at least 0")
    return lambda t: float(np.interp(t, steps, factors))


def warm_up(steps: int) -> Schedule:
    """Return t/steps at update t, and 1 from update `steps` on; the first update then does nothing.

    Raises
    ------
    ValueError
        If `steps` is not positive.
    """
    if not 0 < steps < np.inf:
        raise ValueError(f"steps is {steps}: want a positive number")
    return piecewise([0, steps], [0, 1])
