"""Learning rates that change while training: factors by number
of update, from 0, for `lib.training.train`.
"""

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import non_negatives, positive, takes, vector
from lib.training import Schedule


@takes(steps=positive, until=positive)
def cosine(steps: int, until: float = 1.0) -> Schedule:
    r"""Return :math:`\tfrac12(1 + \cos\frac{\pi t}{T})` at update
    t up to T = until · steps, and 0 from there on.

    So `until`, in (0, 1], is the part of all steps that the learning rate takes to fall to 0.
    """
    if until > 1:
        raise ValueError(f"until is {until}: want a number in (0, 1]")
    return lambda t: (1 + np.cos(np.pi * min(t / (until * steps), 1))) / 2


@takes(steps=vector, factors=non_negatives)
def piecewise(steps: ArrayLike, factors: ArrayLike) -> Schedule:
    """Return the factors (k,), ≥ 0, at updates (k,) that ascend,
    straight lines between them, and constants before and after.

    >>> triangle = piecewise([0, 50, 250], [0, 1, 0])
    >>> [triangle(update) for update in (0, 25, 50, 150, 300)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if steps.shape != factors.shape or not np.all(np.diff(steps) > 0):
        raise ValueError(
            f"steps {steps.tolist()} and factors {factors.tolist()}: want equally many, and "
            "steps that ascend"
        )
    return lambda t: float(np.interp(t, steps, factors))


@takes(steps=positive)
def warm_up(steps: int) -> Schedule:
    """Return t/steps at update t, and 1 from update `steps`
    on; the first update then does nothing.
    """
    return piecewise([0, steps], [0, 1])
