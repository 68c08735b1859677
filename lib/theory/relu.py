r"""Initial weights of two-layer networks, :math:`f(x) = \sum_k a_k\,\sigma(w_k^\top x)`, of a given scale and balance.

Source: Kunin et al. (2024), "Get rich quick", section 5 and appendix C.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import broadcastable, matrices, numbers, positives, shaped, takes


@takes(w=matrices, a=numbers, tau=positives, delta=numbers)
def scale_initialization(w: ArrayLike, a: ArrayLike, tau: ArrayLike, delta: ArrayLike) -> tuple[NDArray, NDArray]:
    r"""Bring balanced neurons to an overall scale τ and a relative scale δ.

    Input weights become :math:`w\,\tau/\alpha` and output weights :math:`a\,\tau\alpha`, where

    .. math:: \delta = \tau^2(\alpha^2 - \alpha^{-2}), \quad\text{that is}\quad
              \ln\alpha = \tfrac12\operatorname{arsinh}\frac{\delta}{2\tau^2}.

    A neuron of norm 1 gets :math:`\delta_k = \delta`, one of norm r gets :math:`r^2\delta`.

    Parameters
    ----------
    w : (..., h, d)
    a : (..., h), with :math:`|a_k| = \|w_k\|`
    tau : (...), positive
    delta : (...); these leading axes broadcast: `tau` and `delta` (members,) share one draw (h, d) or take one draw each

    Returns w (..., h, d) and a (..., h). Raises ValueError if a neuron is not balanced.

    Source: appendix C, "Figure 1", where the left side is printed as δ².
    """
    _check_balanced(w, a)
    broadcastable(tau=tau, delta=delta, a=a[..., 0])
    alpha = np.exp(np.arcsinh(delta / (2 * tau**2)) / 2)
    return w * (tau / alpha)[..., None, None], a * (tau * alpha)[..., None]


def _check_balanced(w: NDArray, a: NDArray) -> None:
    shaped("(..., h, d), (..., h)", w=w, a=a)
    if not np.allclose(np.hypot.reduce(w, axis=-1), np.abs(a), rtol=1e-6, atol=0):
        raise ValueError("w and a are not balanced: want |a| = |w| for each neuron")
