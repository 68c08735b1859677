"""How far the tangent kernel of a two-layer network turns, split into what its gates do and what its weights do."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import matrices, shaped, slope, takes, vectors
from lib.kernels.tangent import kernel_distance


class Turn(NamedTuple):
    """The parts of a kernel distance S(0, t); they add up to it."""

    gates: NDArray  # (...), S with the gates of time t and the weights of time 0
    weights: NDArray  # (...), S with the weights of time t and the gates of time 0
    both: NDArray  # (...), what the two do together beyond the sum of what each does alone; of either sign


@takes(w0=matrices, a0=vectors, w=matrices, a=vectors, inputs=matrices, gamma=slope)
def kernel_turn(w0: ArrayLike, a0: ArrayLike, w: ArrayLike, a: ArrayLike, inputs: ArrayLike, gamma: float = 0.0) -> Turn:
    r"""Split the distance between the tangent kernels of two states of :math:`f(x) = \sum_k a_k\,\sigma(w_k^\top x)`.

    The kernel :math:`K(c, \theta) = \sum_k c_k\,x^\top(a_k^2 I + w_kw_k^\top)x'\,c_k'` depends on the gates c, which the first
    layer sets, and on the weights θ = (a, w) themselves. Exchange one and keep the other:

    .. math:: S = \underbrace{S(K_{00}, K_{10})}_{\text{gates}} + \underbrace{S(K_{00}, K_{01})}_{\text{weights}} + \text{both},

    where :math:`K_{10}` has the last gates and the first weights. `both` is defined by the sum.

    Parameters
    ----------
    w0, a0, w, a : (..., h, d), (..., h), (..., h, d), (..., h), the first state and the last
    inputs : (..., n, d)
    gamma : slope below zero, in [0, 1)

    Each part has the shape (...). Source: new, for section 5, which has the kernel "rich due to a changing activation pattern".
    """
    shaped("(..., h, d), (..., h), (..., h, d), (..., h), (..., n, d)", w0=w0, a0=a0, w=w, a=a, inputs=inputs)
    gates = [np.where(inputs @ v.mT > 0, 1.0, gamma) for v in (w0, w)]  # (..., n, h)
    start, turned, grown, end = (
        _gated(gates[c], *weights, inputs) for c, weights in ((0, (w0, a0)), (1, (w0, a0)), (0, (w, a)), (1, (w, a)))
    )
    by_gates, by_weights, whole = (kernel_distance(start, kernel) for kernel in (turned, grown, end))
    return Turn(by_gates, by_weights, whole - by_gates - by_weights)


def _gated(gates: NDArray, w: NDArray, a: NDArray, inputs: NDArray) -> NDArray:
    """Return the kernel of `two_layer_ntk` for any gates (..., n, h), whether or not they are those of w."""
    first, second = gates * a[..., None, :], gates * (inputs @ w.mT)
    return first @ first.mT * (inputs @ inputs.mT) + second @ second.mT
