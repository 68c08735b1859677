"""Tangent kernels and the distance between them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def kernel_distance(k0: ArrayLike, kt: ArrayLike) -> NDArray:
    r"""How far a kernel has turned: :math:`S = 1 - \langle K_0, K_t\rangle / (\|K_0\|_F \|K_t\|_F)`.

    Computed as :math:`\tfrac12\|\hat K_0 - \hat K_t\|_F^2` of the normalized kernels, which stays exact where the two nearly
    agree.

    Parameters
    ----------
    k0, kt : (..., n, n), broadcast against each other over the leading dimensions

    Returns
    -------
    (...), between 0 (same up to scale) and 1 for positive semidefinite kernels

    Raises
    ------
    ValueError
        If a kernel is not square, the sizes differ, or a kernel is zero or not finite.

    Source: Kunin et al. (2024), "Notation", after Fort et al. (2020).
    """
    unit0, unit_t = _normalized("k0", k0), _normalized("kt", kt)
    if unit0.shape[-2:] != unit_t.shape[-2:]:
        raise ValueError(f"k0 is {unit0.shape[-2:]} and kt is {unit_t.shape[-2:]}: want kernels on the same points")
    return 0.5 * np.sum((unit0 - unit_t) ** 2, axis=(-2, -1))


def _normalized(name: str, kernel: ArrayLike) -> NDArray:
    kernel = np.asarray(kernel, float)
    if kernel.ndim < 2 or kernel.shape[-1] != kernel.shape[-2]:
        raise ValueError(f"{name} has shape {kernel.shape}: want (..., n, n)")
    largest = np.max(np.abs(kernel), axis=(-2, -1), keepdims=True)
    if not np.all((largest > 0) & np.isfinite(largest)):
        raise ValueError(f"{name} is zero or not finite, so it has no direction")
    kernel = kernel / largest
    return kernel / np.linalg.norm(kernel, axis=(-2, -1), keepdims=True)
