"""What is measured on networks in practice: accuracy, and how rough
filters are and how much they resemble Gabor functions.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import matrices, matrix, squares, takes
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


@takes(filters=partial(squares, largest=np.inf))
def gabor_share(filters: ArrayLike) -> NDArray:
    r"""Return the share of a filter's power that the best of 117,600
    Gabor functions has, 1 for a filter that is one of them.

    A Gabor function is a plane wave in a Gaussian window,
    :math:`e^{-x^2/2\sigma_x^2 - y^2/2\sigma_y^2}\cos(2\pi x/\lambda - \varphi)`, with x along the
    wave, from the window's centre. All take part that have 5 lengths and 5 widths of the window
    (.08 to .41 of the filter's side), 8 wavelengths (.28 to 1.6 sides), 12 directions and 7 × 7
    centres; the phase is the best one.

    The result is (...) for filters (..., k, k), k ≥ 5. Of 15 × 15 pixels a Gabor function between
    those of the net has .97, the median, and rarely less than .8; white noise has .07.

    Source: beyond Kunin et al. (2024), figure 5 (b), whose appendix calls the filters Gabor
    filters.
    """
    side = filters.shape[-1]
    if side < 5:
        raise ValueError(
            f"filters have {side} pixels a side: want 5 or more, for a wave in a window"
        )
    largest = np.max(np.abs(filters), axis=(-2, -1), keepdims=True)
    if not np.all(largest > 0):
        raise ValueError("filters holds one that is zero: it has no shape")
    pictures = (filters / largest).reshape(-1, side**2)  # so that no square overflows or underflows
    pictures = (pictures / np.linalg.norm(pictures, axis=1, keepdims=True)).astype(np.float32)
    best = np.zeros(len(pictures))
    for phases in _gabor_functions(side):
        best = np.maximum(best, ((pictures @ phases) ** 2).sum(0).max(1))
    return best.reshape(filters.shape[:-2])


def _gabor_functions(side: int) -> Iterator[NDArray]:
    """Give Gabor functions of one window, wavelength and
    direction at all centres, in two orthonormal phases.
    """
    sizes = side * 0.08 * 1.5 ** np.arange(5)
    waves = side * np.geomspace(0.28, 1.6, 8)
    centres = 0.4 * side * np.linspace(-1, 1, 7)
    away = np.arange(side) - (side - 1) / 2 - centres[:, None]  # of a pixel from a centre
    across = away[None, :, None, :]
    down = away[:, None, :, None]
    for length, width, wave, turn in product(sizes, sizes, waves, np.pi / 12 * np.arange(12)):
        x = across * np.cos(turn) + down * np.sin(turn)
        y = down * np.cos(turn) - across * np.sin(turn)
        window = np.exp(-0.5 * ((x / length) ** 2 + (y / width) ** 2))
        phase = 2 * np.pi * x / wave
        pairs = np.stack([window * np.cos(phase), window * np.sin(phase)], axis=-1)
        basis, _ = np.linalg.qr(pairs.reshape(-1, side**2, 2))  # (centre, pixel, phase)
        yield basis.transpose(2, 1, 0).astype(np.float32)
