"""Unbalanced starts in practice: what can be said in closed form.

Source: Kunin et al. (2024), "Get rich quick", figure 5 and appendix "Experimental details".
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import one_of, positives, takes

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


PRINTED_LAPLACIAN = np.array([[-0.25, -0.5, -0.25], [-0.5, 2, -0.5], [-0.25, -0.5, -0.25]])


LAPLACIAN = np.array(
    [[-0.25, -0.5, -0.25], [-0.5, 3, -0.5], [-0.25, -0.5, -0.25]]
)  # whose entries sum to zero
