"""The tangent kernel of two layers in closed form, and what turns it: the gates or the weights."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from book.piecewise_linear.regions import slope
from lib.checks import for_torch, matrices, shaped, takes, vectors
from lib.kernels.tangent import kernel_distance

if TYPE_CHECKING:
    from torch import Tensor


class Turn(NamedTuple):
    """The parts of a kernel distance S(0, t); they add up to it."""

    gates: NDArray  # (...), S with the gates of time t and the weights of time 0
    weights: NDArray  # (...), S with the weights of time t and the gates of time 0
    # (...), what the two do together beyond the sum of what each does alone; of either sign
    both: NDArray


@takes(w0=matrices, a0=vectors, w=matrices, a=vectors, inputs=matrices, gamma=slope)
def kernel_turn(
    w0: ArrayLike, a0: ArrayLike, w: ArrayLike, a: ArrayLike, inputs: ArrayLike, gamma: float = 0.0
) -> Turn:
    r"""Split the distance between the tangent kernels of two states of
    :math:`f(x) = \sum_k a_k\,\sigma(w_k^\top x)`.

    The kernel :math:`K(c, \theta) = \sum_k c_k\,x^\top(a_k^2 I + w_kw_k^\top)x'\,c_k'` depends on
    the gates c, which the first layer sets, and on the weights θ = (a, w) themselves. Exchange one
    and keep the other:

    .. math:: S = \underbrace{S(K_{00}, K_{10})}_{\text{gates}}
              + \underbrace{S(K_{00}, K_{01})}_{\text{weights}} + \text{both},

    where :math:`K_{10}` has the last gates and the first weights. `both` is defined by the sum.

    Parameters
    ----------
    w0, a0, w, a : (..., h, d), (..., h), (..., h, d), (..., h), the first state and the last
    inputs : (..., n, d)
    gamma : slope below zero, in [0, 1)

    Each part has the shape (...). Source: new, for section 5, which has the kernel "rich due to a
    changing activation pattern".
    """
    shaped(
        "(..., h, d), (..., h), (..., h, d), (..., h), (..., n, d)",
        w0=w0,
        a0=a0,
        w=w,
        a=a,
        inputs=inputs,
    )
    gates = [np.where(inputs @ v.mT > 0, 1.0, gamma) for v in (w0, w)]  # (..., n, h)
    start, turned, grown, end = (
        _gated(gates[c], *weights, inputs)
        for c, weights in ((0, (w0, a0)), (1, (w0, a0)), (0, (w, a)), (1, (w, a)))
    )
    by_gates, by_weights, whole = (
        kernel_distance(start, kernel) for kernel in (turned, grown, end)
    )
    return Turn(by_gates, by_weights, whole - by_gates - by_weights)


def _gated(gates: NDArray, w: NDArray, a: NDArray, inputs: NDArray) -> NDArray:
    """Return the kernel of `two_layer_ntk` for any gates (...,
    n, h), whether or not they are those of w.
    """
    first, second = gates * a[..., None, :], gates * (inputs @ w.mT)
    return first @ first.mT * (inputs @ inputs.mT) + second @ second.mT


@takes(w=for_torch, a=for_torch, inputs=for_torch, gamma=slope)
def two_layer_ntk(
    w: "ArrayLike | Tensor",
    a: "ArrayLike | Tensor",
    inputs: "ArrayLike | Tensor",
    gamma: float = 0.0,
) -> "NDArray | Tensor":
    r"""Return the tangent kernel of :math:`f(x) = \sum_k a_k\,\sigma(w_k^\top x)` with
    :math:`\sigma(z) = \max(z, \gamma z)`:

    .. math:: K_{ij} = \sum_k c_{ki}\,x_i^\top\left(a_k^2 I
              + w_k w_k^\top\right) x_j\,c_{kj}, \qquad
              c_{ki} = \sigma'(w_k^\top x_i).

    Parameters
    ----------
    w, a, inputs : (..., h, d), (..., h) and (..., n, d), whose leading axes broadcast; all NumPy
        arrays or all tensors
    gamma : slope below zero, in [0, 1)

    Returns
    -------
    (..., n, n), of the same kind

    Source: Kunin et al. (2024), section 5, "Two-layer network", with unit learning rates.
    """  # noqa: D400
    if w.ndim < 2 or inputs.ndim < 2 or w.shape[:-1] != a.shape or w.shape[-1] != inputs.shape[-1]:
        shapes = tuple(w.shape), tuple(a.shape), tuple(inputs.shape)
        raise ValueError(
            "w {}, a {} and inputs {} do not fit: want (..., h, d), (..., h), (..., n, d)".format(
                *shapes
            )
        )
    with np.errstate(over="ignore", invalid="ignore"):
        z = inputs @ w.mT  # (..., n, h)
        active = z > 0
        first = active * a[..., None, :] + gamma * (~active * a[..., None, :])  # a_k c_ki
        second = active * z + gamma * (~active * z)  # σ(z)
        kernel = first @ first.mT * (inputs @ inputs.mT) + second @ second.mT
    if not bool((abs(kernel) < np.inf).all()):
        raise ValueError(
            "the kernel is not finite, or leaves the range of floats: bring the parameters "
            "nearer to 1"
        )
    return kernel
