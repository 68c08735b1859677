r"""One weight in a parabola: gradient flow and gradient descent in closed form.

Source: replace this by the document. The loss is :math:`\tfrac\lambda2(w-w_*)^2`, its flow
:math:`\dot w = -\lambda(w-w_*)`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.theory.common import broadcastable, count, finite, number, positive


def path(start: ArrayLike, target: ArrayLike, curvature: ArrayLike, times: ArrayLike) -> NDArray:
    r"""Return the flow :math:`w(t) = w_* + (w_0-w_*)e^{-\lambda t}`; all arguments broadcast.

    Raises
    ------
    ValueError
        If a number is not finite or `curvature` is not positive.
    """
    start, target, times = finite("start", start), finite("target", target), finite("times", times)
    curvature = positive("curvature", curvature)
    broadcastable(start=start, target=target, curvature=curvature, times=times)
    return target + (start - target) * np.exp(-curvature * times)


def descend(start: ArrayLike, target: ArrayLike, curvature: ArrayLike, learning_rate: float, steps: int) -> NDArray:
    r"""Take steps :math:`w \leftarrow w - \eta\lambda(w-w_*)`; return the path, (steps + 1, ...), start included.

    Raises
    ------
    ValueError
        If a number is not finite, `curvature` or `learning_rate` is not positive, or `steps` is negative.
    """
    start, target, curvature = finite("start", start), finite("target", target), positive("curvature", curvature)
    learning_rate = number("learning_rate", learning_rate, positive)
    broadcastable(start=start, target=target, curvature=curvature)
    taken = [np.asarray(start + 0 * target * curvature)]
    for _ in range(count("steps", steps, least=0)):
        taken.append(taken[-1] - learning_rate * curvature * (taken[-1] - target))
    return np.stack(taken)


def half_time(curvature: ArrayLike) -> NDArray:
    r"""Return the time after which half of the distance is left, :math:`\ln 2/\lambda`; errors as in `path`."""
    return np.log(2) / positive("curvature", curvature)


def max_learning_rate(curvature: ArrayLike) -> NDArray:
    r"""Return the largest stable learning rate, :math:`2/\lambda`; errors as in `path`."""
    return 2 / positive("curvature", curvature)
