"""What is measured on networks in practice: accuracy, and how rough filters are."""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import matrices, matrix, takes
from lib.networks.base import check_labels


def accuracy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the fraction of points whose largest output is the
    label's, for outputs (..., n, c), labels (n,) or (..., n).
    """
    check_labels(outputs, labels)
    return (outputs.argmax(-1) == labels).to(outputs).mean(-1)


@takes(filters=partial(matrices, largest=np.inf), kernel=matrix)
def filter_laplacian(filters: ArrayLike, kernel: ArrayLike) -> NDArray:
    r"""Return how rough filters are, :math:`\left\| \frac{w}{\|w\|_2} * \Delta \right\|_2^2`.

    Outside of a filter there are zeros, so that the convolution is larger than the filter. It is
    computed as the mean of :math:`|\hat\Delta|^2` over the filter's power spectrum, which it is by
    Parseval's theorem.

    The result is (...) for filters (..., k, k) and the kernel Δ (l, l), the discrete Laplacian.

    Source: Kunin et al. (2024), appendix, Figure 5 (b); the margin is ours.
    """
    largest = np.max(np.abs(filters), axis=(-2, -1), keepdims=True)
    if not np.all(largest > 0):
        raise ValueError("filters holds one that is zero: it has no shape")
    filters = filters / largest  # so that no square overflows or underflows
    norm = np.linalg.norm(filters, axis=(-2, -1), keepdims=True)
    size = np.add(filters.shape[-2:], kernel.shape) - 1
    spectra = np.fft.fft2(filters / norm, size) * np.fft.fft2(kernel, size)
    return np.mean(np.abs(spectra) ** 2, axis=(-2, -1))
