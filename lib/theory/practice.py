"""Unbalanced starts in practice: what can be said in closed form.

Source: Kunin et al. (2024), "Get rich quick", figure 5 and appendix "Experimental details".
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, fit, matrix, non_negatives, numbers, one_of, positives, takes, whole

# --- the first layer's clock -----------------------------------------------------------------------------------------------

CLOCKS = {"sgd": 2, "adam": 1}  # the power of α that is the first layer's learning rate


@takes(alpha=positives, optimizer=partial(one_of, allowed=CLOCKS))
def clock(alpha: ArrayLike, optimizer: str = "sgd") -> NDArray:
    r"""Return the learning rates to which dividing the first layer by α and multiplying the last by it is equal.

    Let θ be the parameters of a network that is homogeneous in each layer, with :math:`w_1 = \alpha\theta_1` and
    :math:`w_L = \theta_L/\alpha`. It computes what it computes with w in their place. A step of gradient descent in θ is one in w
    with rates :math:`\alpha^2\eta, \eta, \eta/\alpha^2` for the first layer, those between and the last; Adam, whose steps do
    not depend on the gradient's size, has :math:`\alpha\eta, \eta, \eta/\alpha`. The biases of the hidden layers go with the
    first layer, that of the readout with those between.

    The α are positive, of any shape; the result is (..., 3), in units of η.

    Source: beyond Kunin et al. (2024), figure 5; exact for every number of steps, with momentum, too.
    """
    power = np.asarray(alpha, float)[..., None] ** CLOCKS[optimizer]
    return np.concatenate([power, np.ones_like(power), 1 / power], axis=-1)


@takes(squares=non_negatives, rates=positives)
def work_shares(squares: ArrayLike, rates: ArrayLike) -> NDArray:
    r"""Return which part of the fall of the loss each part of a network does under gradient flow.

    .. math:: \dot L = -\sum_l \eta_l \|\nabla_{\theta_l} L\|^2

    The `squares` are the squared norms of the gradient (..., parts) and `rates` the learning rates; they broadcast. Shares sum
    to 1.
    """
    broadcastable(squares=squares, rates=rates)
    work = squares * rates
    total = work.sum(-1, keepdims=True)
    if not np.all(total > 0):
        raise ValueError("squares are all zero somewhere: no part works where the gradient vanishes")
    return work / total


@takes(progress=matrix, curves=matrix)
def spread(progress: ArrayLike, curves: ArrayLike) -> float:
    """Return how far neighbouring curves are apart at equal progress, root mean square.

    Parameters
    ----------
    progress : (c, t), > 0, ascending along each curve, like α² times the time; a curve is linear in its logarithm
    curves : (c, t), what is measured

    Returns
    -------
    in the unit of the curves, over the points of each curve at whose progress the next one is known; infinite where there is none

    Source: beyond Kunin et al. (2024), figure 5.
    """
    fit("(c, t), (c, t)", progress=progress, curves=curves)
    if np.any(progress <= 0) or np.any(np.diff(progress) <= 0):
        raise ValueError("progress must be positive and ascend along each curve")
    made, gaps = np.log(progress), []
    for own, following, curve, next_curve in zip(made, made[1:], curves, curves[1:], strict=False):
        known = (own >= following[0]) & (own <= following[-1])
        gaps.extend(np.interp(own[known], following, next_curve) - curve[known])
    return float(np.sqrt(np.mean(np.square(gaps)))) if gaps else np.inf


# --- images: how rough a filter is ----------------------------------------------------------------------------------------

PRINTED_LAPLACIAN = np.array([[-0.25, -0.5, -0.25], [-0.5, 2, -0.5], [-0.25, -0.5, -0.25]])
LAPLACIAN = np.array([[-0.25, -0.5, -0.25], [-0.5, 3, -0.5], [-0.25, -0.5, -0.25]])  # whose entries sum to zero


@takes(kernel=matrix, horizontal=numbers, vertical=numbers)
def power_response(kernel: ArrayLike, horizontal: ArrayLike, vertical: ArrayLike) -> NDArray:
    r"""Return what a convolution does to the power of a plane wave.

    .. math:: |\hat\Delta(\omega)|^2 = \Bigl|\sum_{rc} \Delta_{rc}\,e^{-i(\omega_v r + \omega_h c)}\Bigr|^2

    The `kernel` Δ is (l, l); `horizontal` and `vertical` are frequencies in radians per pixel, which broadcast to the shape of
    the result. With `PRINTED_LAPLACIAN` this is (2 - cos h - cos v - cos h cos v)², with `LAPLACIAN` (3 - …)².
    """
    broadcastable(horizontal=horizontal, vertical=vertical)
    rows, columns = (np.arange(size) - (size - 1) / 2 for size in kernel.shape)  # from the middle: only the phase changes
    phase = (vertical[..., None] * rows)[..., :, None] + (horizontal[..., None] * columns)[..., None, :]
    turned = 2 * np.sin(phase / 2) ** 2 + 1j * np.sin(phase)  # 1 - exp(-iφ), with all its digits for long waves
    return np.abs(np.sum(kernel) - np.sum(kernel * turned, axis=(-2, -1))) ** 2


@takes(kernel=matrix)
def white_noise_roughness(kernel: ArrayLike) -> float:
    r"""Return the expected :math:`\|\frac{w}{\|w\|} * \Delta\|^2` of independent normal numbers, :math:`\sum\Delta^2`.

    For a filter of k × k pixels :math:`E[w_pw_q]/\|w\|^2 = \delta_{pq}/k^2`, so that each pixel passes 1/k² of the kernel's
    power; where the convolution keeps its margin all of it arrives. 5.25 for `PRINTED_LAPLACIAN`, 10.25 for `LAPLACIAN`.
    """
    return float(np.sum(kernel**2))


@takes(travel=non_negatives, start=non_negatives, change=non_negatives)
def roughness_after(travel: ArrayLike, start: ArrayLike, change: ArrayLike) -> NDArray:
    r"""Return the roughness of a filter :math:`w_0 + u` that has travelled :math:`q = \|u\|/\|w_0\|`.

    .. math:: R = \frac{R_0 + q^2 R_u}{1 + q^2}

    `start` is R₀, the roughness of w₀, `change` that of u; all broadcast. Exact where u is orthogonal to w₀, also once both
    are convolved with the Laplacian; so it is in the mean over w₀ of white noise that u does not know.

    Source: beyond Kunin et al. (2024), figure 5 (b).
    """
    broadcastable(travel=travel, start=start, change=change)
    return (start + travel**2 * change) / (1 + travel**2)


# --- random hierarchies -----------------------------------------------------------------------------------------------------


@takes(classes=whole, features=whole, branches=whole, levels=whole)
def string_count(classes: int, features: int, branches: int, levels: int) -> int:
    r"""Return how many strings a random hierarchy model makes, :math:`n_c\,m^{1 + s + \dots + s^{L-1}}`.

    One choice of m for each symbol that is replaced: one at the top, s below it, and so on.
    There are n_c classes, m features, s branches and L levels.

    Source: Cagnetta et al. (2024); 131,072 at the sizes of Kunin et al.
    """
    return classes * features ** sum(branches**level for level in range(levels))
