"""Unbalanced starts in practice: what can be said in closed form.

Source: Kunin et al. (2024), "Get rich quick", figure 5 and appendix "Experimental details".
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, fit, matrix, non_negatives, number, numbers, one_of, positives, takes, whole

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


@takes(alpha=partial(positives, ndim=1), times=partial(positives, ndim=1), curves=matrix, power=number)
def spread(alpha: ArrayLike, times: ArrayLike, curves: ArrayLike, power: float) -> float:
    r"""Return how far the curves of neighbouring α are apart at equal progress :math:`\alpha^p t`, root mean square.

    A clock of power p makes one curve of all, :math:`R(\alpha, t) = F(\alpha^p t)`, so that this is 0.

    Parameters
    ----------
    alpha : (a,), ascending
    times : (t,), ascending; between them a curve is linear in log t
    curves : (a, t), what is measured
    power : p

    Returns
    -------
    in the unit of the curves, over the times of each α at which the next one's curve is known; infinite where there are none

    Source: beyond Kunin et al. (2024), figure 5.
    """
    fit("(a,), (t,), (a, t)", alpha=alpha, times=times, curves=curves)
    for name, values in {"alpha": alpha, "times": times}.items():
        if np.any(np.diff(values) <= 0):
            raise ValueError(f"{name} must ascend")
    log_times, gaps = np.log(times), []
    for slow, fast, ahead in zip(curves, curves[1:], power * np.diff(np.log(alpha)), strict=False):
        equal = log_times - ahead  # when the faster one had made this progress
        known = (equal >= log_times[0]) & (equal <= log_times[-1])
        gaps.extend(np.interp(equal[known], log_times, fast) - slow[known])
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


# --- random hierarchies -----------------------------------------------------------------------------------------------------


@takes(classes=whole, features=whole, symbols=whole, levels=whole)
def rule_count(classes: int, features: int, symbols: int, levels: int) -> int:
    """Return how many rules a random hierarchy model has, m·n_c + (L − 1)·m·v.

    There are n_c classes, m features, v symbols and L levels. Source: appendix, "Random Hierarchy Model".
    """
    return features * classes + (levels - 1) * features * symbols


@takes(classes=whole, features=whole, branches=whole, levels=whole)
def string_count(classes: int, features: int, branches: int, levels: int) -> int:
    r"""Return how many strings a random hierarchy model makes, :math:`n_c\,m^{1 + s + \dots + s^{L-1}}`.

    One choice of m for each symbol that is replaced: one at the top, s below it, and so on.
    There are n_c classes, m features, s branches and L levels.

    Source: Cagnetta et al. (2024); 131,072 at the sizes of Kunin et al.
    """
    return classes * features ** sum(branches**level for level in range(levels))


@takes(classes=whole, features=whole, levels=whole)
def sample_complexity(classes: int, features: int, levels: int) -> int:
    r"""Return the order of the number of strings that a deep network needs, :math:`n_c\,m^L`, as `string_count`.

    Source: Cagnetta et al. (2024), for deep networks without scaled layers; an order of magnitude, without its factor.
    """
    return classes * features**levels
