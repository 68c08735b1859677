"""Unbalanced starts in practice: what can be said in closed form.

Source: Kunin et al. (2024), "Get rich quick", figure 5 and appendix "Experimental details".
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, matrix, non_negatives, numbers, one_of, positives, takes

CLOCKS = {"sgd": 2, "adam": 1}  # the power of α that is the first layer's learning rate


@takes(alpha=positives, optimizer=partial(one_of, allowed=CLOCKS))
def clock(alpha: ArrayLike, optimizer: str = "sgd") -> NDArray:
    r"""Return the learning rates to which dividing the first
    layer by α and multiplying the last by it is equal.

    Let θ be the parameters of a network that is homogeneous in each layer, with
    :math:`w_1 = \alpha\theta_1` and :math:`w_L = \theta_L/\alpha`. It computes what it computes
    with w in their place. A step of gradient descent in θ is one in w with rates
    :math:`\alpha^2\eta, \eta, \eta/\alpha^2` for the first layer, those between and the last; Adam,
    whose steps do not depend on the gradient's size, has :math:`\alpha\eta, \eta, \eta/\alpha`. The
    biases of the hidden layers go with the first layer, that of the readout with those between.

    The α are positive, of any shape; the result is (..., 3), in units of η.

    Source: beyond Kunin et al. (2024), figure 5; exact for every number of steps, with momentum,
    too.
    """
    power = np.asarray(alpha, float)[..., None] ** CLOCKS[optimizer]
    return np.concatenate([power, np.ones_like(power), 1 / power], axis=-1)


@takes(squares=non_negatives, rates=positives)
def work_shares(squares: ArrayLike, rates: ArrayLike) -> NDArray:
    r"""Return which part of the fall of the loss each part of a network does under gradient flow.

    .. math:: \dot L = -\sum_l \eta_l \|\nabla_{\theta_l} L\|^2

    The `squares` are the squared norms of the gradient (..., parts) and `rates` the learning rates;
    they broadcast. Shares sum to 1.
    """
    broadcastable(squares=squares, rates=rates)
    work = squares * rates
    total = work.sum(-1, keepdims=True)
    if not np.all(total > 0):
        raise ValueError(
            "squares are all zero somewhere: no part works where the gradient vanishes"
        )
    return work / total


PRINTED_LAPLACIAN = np.array([[-0.25, -0.5, -0.25], [-0.5, 2, -0.5], [-0.25, -0.5, -0.25]])


LAPLACIAN = np.array(
    [[-0.25, -0.5, -0.25], [-0.5, 3, -0.5], [-0.25, -0.5, -0.25]]
)  # whose entries sum to zero


@takes(kernel=matrix, horizontal=numbers, vertical=numbers)
def power_response(kernel: ArrayLike, horizontal: ArrayLike, vertical: ArrayLike) -> NDArray:
    r"""Return what a convolution does to the power of a plane wave.

    .. math:: |\hat\Delta(\omega)|^2 = \Bigl|\sum_{rc} \Delta_{rc}\,e^{-i(\omega_v r
              + \omega_h c)}\Bigr|^2

    The `kernel` Δ is (l, l); `horizontal` and `vertical` are frequencies in radians per pixel,
    which broadcast to the shape of the result. With `PRINTED_LAPLACIAN` this is (2 - cos h - cos v
    - cos h cos v)², with `LAPLACIAN` (3 - …)².
    """
    broadcastable(horizontal=horizontal, vertical=vertical)
    rows, columns = (
        np.arange(size) - (size - 1) / 2 for size in kernel.shape
    )  # from the middle: only the phase changes
    phase = (vertical[..., None] * rows)[..., :, None] + (horizontal[..., None] * columns)[
        ..., None, :
    ]
    turned = 2 * np.sin(phase / 2) ** 2 + 1j * np.sin(
        phase
    )  # 1 - exp(-iφ), with all its digits for long waves
    return np.abs(np.sum(kernel) - np.sum(kernel * turned, axis=(-2, -1))) ** 2
