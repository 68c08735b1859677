"""How many sites the weights of a neuron occupy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from lib.checks import differentiable, numbers, takes


@takes(w=differentiable)
def inverse_participation_ratio(w: ArrayLike | Tensor) -> Any:
    r"""Return :math:`\sum_i w_i^4 / (\sum_i w_i^2)^2`: 1 for one site,
    1/n for n equal ones, about 3/n for random weights.

    The result is (...) for weights (..., n): an array for an array, a tensor for a tensor.

    Source: the code for the localization notes (leonlufkin/Localization); that of Ingrosso & Goldt
    (2022) has the reciprocal.

    Examples
    --------
    >>> print(inverse_participation_ratio([[0, 0, -7, 0], [1, 1, -1, 1]]))
    [1.   0.25]
    """
    w = w if isinstance(w, Tensor) else numbers("w", w, largest=np.inf)
    if w.ndim == 0 or 0 in w.shape:
        raise ValueError(f"w has shape {tuple(w.shape)}: want weights (..., n)")
    largest = (
        abs(w).amax(-1, keepdim=True)
        if isinstance(w, Tensor)
        else np.max(np.abs(w), -1, keepdims=True)
    )
    if not bool(((largest > 0) & (largest < np.inf)).all()):
        raise ValueError(
            "w holds a zero weight vector, or one that is not finite: it has no participation ratio"
        )
    unit = w / largest
    return (unit**4).sum(-1) / (unit**2).sum(-1) ** 2
