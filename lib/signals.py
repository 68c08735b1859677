"""Signals on a ring in two classes that differ in their correlation length: nonlinear Gaussian process, Gaussian clone, pulse.

The first of two lengths belongs to y = 1, the second to y = 0; each sample's class is drawn with probability ½.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf


def nlgp(seed: int, samples: int, n: int, xi: tuple[float, float], gain: float) -> tuple[NDArray, NDArray]:
    r"""Draw from the nonlinear Gaussian process x = erf(g z)/Z(g) on a ring, of variance 1.

    z is Gaussian with correlation :math:`e^{-d(i,j)^2/\xi^2}`, d the distance around the ring, and
    :math:`Z^2 = \tfrac2\pi\sin^{-1}\tfrac{2g^2}{1+2g^2}`. Where that correlation has negative eigenvalues (ξ from about n/8 on),
    they are set to 0 and z is scaled back to variance 1.

    Parameters
    ----------
    seed : draws everything
    samples : how many
    n : sites on the ring
    xi : (ξ₁, ξ₀), the correlation lengths in sites of the classes y = 1 and y = 0, positive
    gain : g, positive; near 0 x is Gaussian, for large g it is a sign

    Returns
    -------
    inputs (samples, n), labels (samples,), 1.0 or 0.0

    Raises
    ------
    ValueError
        If `samples` or `n` is no positive integer, `xi` are not two positive numbers, or `gain` is not positive.

    Source: the localization notes name it; after Ingrosso & Goldt (2022), whose gain differs by √2.
    """
    samples, n = _sizes(samples, n)
    if np.shape(xi) != (2,) or not all(0 < length < np.inf for length in xi):
        raise ValueError(f"xi is {xi}: want two positive correlation lengths, of y = 1 and of y = 0")
    if not 0 < gain < np.inf:
        raise ValueError(f"gain is {gain}: want a positive number")
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=samples)
    filters = np.stack([_amplitudes(n, length) for length in xi[::-1]])  # row y: class y
    z = np.fft.irfft(np.fft.rfft(rng.standard_normal((samples, n))) * filters[labels], n)
    spread = np.sqrt(2 / np.pi * np.arcsin(1 / (1 + 0.5 / gain**2)))
    return erf(gain * z) / spread, labels.astype(float)


def gaussian_clone(seed: int, samples: int, sigma1: ArrayLike, sigma0: ArrayLike) -> tuple[NDArray, NDArray]:
    """Draw Gaussian inputs with given covariances: the control that shares the first two moments with another data set.

    Parameters
    ----------
    seed, samples : as in `nlgp`
    sigma1, sigma0 : (n, n) covariances of the classes y = 1 and y = 0, such as `lib.theory.localization.nlgp_covariance`

    Returns
    -------
    inputs (samples, n), labels (samples,), 1.0 or 0.0

    Raises
    ------
    ValueError
        If `samples` is no positive integer, or a covariance is not symmetric and positive semidefinite or not of one shape.
    """
    sigma = [np.asarray(matrix, float) for matrix in (sigma0, sigma1)]
    if sigma[0].ndim != 2 or sigma[0].shape != sigma[1].shape:
        raise ValueError(f"sigma1 {sigma[1].shape} and sigma0 {sigma[0].shape} do not fit: want (n, n) twice")
    samples, n = _sizes(samples, len(sigma[0]))
    roots = np.stack([_root(matrix) for matrix in sigma])  # entry y: class y
    rng = np.random.default_rng(seed)
    labels, white = rng.integers(2, size=samples), rng.standard_normal((samples, n))
    return np.where(labels[:, None] == 1, white @ roots[1], white @ roots[0]), labels.astype(float)


def single_pulse(
    seed: int,
    samples: int,
    n: int,
    xi: tuple[tuple[float, float], tuple[float, float]] = ((0.1, 0.2), (0.0, 0.1)),
    signed: bool = False,
) -> tuple[NDArray, NDArray]:
    """Draw one pulse per sample: ones from a uniform start on, around the ring, zeros elsewhere; half of them inverted.

    Parameters
    ----------
    seed, samples, n : as in `nlgp`
    xi : for y = 1 and for y = 0 the interval of the width as a fraction of n: the width is uniform over the whole numbers of
        sites above its lower end, up to its upper end
    signed : values ±1 instead of 0 and 1; then the inputs are symmetric about zero, and a pulse x inverted is -x

    Returns
    -------
    inputs (samples, n), labels (samples,), 1.0 or 0.0

    Raises
    ------
    ValueError
        If `samples` or `n` is no positive integer, or an interval does not lie within 0 to 1 or holds no whole number of sites.

    Source: the localization notes name it; widths and their defaults from the authors' code, which has the values ±1.
    """
    samples, n = _sizes(samples, n)
    if np.shape(xi) != (2, 2) or not all(0 <= low < high <= 1 for low, high in xi):
        raise ValueError(f"xi is {xi}: want two intervals (low, high) with 0 <= low < high <= 1, of y = 1 and of y = 0")
    ends = np.floor(np.asarray(xi)[::-1] * n + 1e-9).astype(int)  # row y: class y
    if np.any(ends[:, 0] == ends[:, 1]):
        raise ValueError(f"xi is {xi}: an interval holds no whole number of sites at n = {n}")
    rng = np.random.default_rng(seed)
    labels, start = rng.integers(2, size=samples), rng.integers(n, size=samples)
    width = rng.integers(*ends[labels].T, endpoint=False) + 1
    pulse = (np.arange(n) - start[:, None]) % n < width[:, None]
    inputs = (pulse ^ rng.integers(2, size=(samples, 1)).astype(bool)).astype(float)
    return 2 * inputs - 1 if signed else inputs, labels.astype(float)


def _sizes(samples: int, n: int) -> tuple[int, int]:
    for name, size in (("samples", samples), ("n", n)):
        if not (size >= 1 and size % 1 == 0):
            raise ValueError(f"{name} is {size}: want a positive integer")
    return int(samples), int(n)


def _amplitudes(n: int, xi: float) -> NDArray:
    """Return the square roots (n//2 + 1,) of the process's variance by frequency, whose mean over all n frequencies is 1."""
    distance = np.minimum(np.arange(n), n - np.arange(n))
    variances = np.maximum(np.fft.fft(np.exp(-(distance**2) / xi**2)).real, 0)
    return np.sqrt(variances / variances.mean())[: n // 2 + 1]


def _root(sigma: NDArray) -> NDArray:
    if sigma.shape[0] != sigma.shape[1] or not np.allclose(sigma, sigma.T):
        raise ValueError(f"a covariance of shape {sigma.shape} is not symmetric: want (n, n)")
    variances, modes = np.linalg.eigh(sigma)
    if variances[0] < -1e-10 * abs(variances).max():
        raise ValueError(f"a covariance has the eigenvalue {variances[0]:.3g} < 0: want it positive semidefinite")
    return np.sqrt(np.maximum(variances, 0))[:, None] * modes.T
