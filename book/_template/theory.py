r"""One weight in a parabola: gradient flow and gradient descent in closed form.

Source: replace this by the document. The loss is :math:`\tfrac\lambda2(w-w_*)^2`, its flow
:math:`\dot w = -\lambda(w-w_*)`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, numbers, positive, positives, takes, whole


@takes(start=numbers, target=numbers, curvature=positives, times=numbers)
def path(start: ArrayLike, target: ArrayLike, curvature: ArrayLike, times: ArrayLike) -> NDArray:
    r"""Return the flow :math:`w(t) = w_* + (w_0-w_*)e^{-\lambda t}`; all arguments broadcast."""
    broadcastable(start=start, target=target, curvature=curvature, times=times)
    return target + (start - target) * np.exp(-curvature * times)


@takes(start=numbers, target=numbers, curvature=positives, learning_rate=positive, steps=whole)
def descend(start: ArrayLike, target: ArrayLike, curvature: ArrayLike, learning_rate: float, steps: int) -> NDArray:
    r"""Take steps :math:`w \leftarrow w - \eta\lambda(w-w_*)`; return the path, (steps + 1, ...), start included."""
    broadcastable(start=start, target=target, curvature=curvature)
    taken = [start + 0 * target * curvature]
    for _ in range(steps):
        taken.append(taken[-1] - learning_rate * curvature * (taken[-1] - target))
    return np.stack(taken)


@takes(curvature=positives)
def half_time(curvature: ArrayLike) -> NDArray:
    r"""Return the time after which half of the distance is left, :math:`\ln 2/\lambda`."""
    return np.log(2) / curvature


@takes(curvature=positives)
def max_learning_rate(curvature: ArrayLike) -> NDArray:
    r"""Return the largest stable learning rate, :math:`2/\lambda`."""
    return 2 / curvature
