"""Signals on a ring, in two classes that differ in their correlation length.

There are a nonlinear Gaussian process, its Gaussian clone, pulses, and other fields that are
symmetric about zero.

The first of two lengths belongs to y = 1, the second to y = 0; each sample's class is drawn with
probability ½. All return inputs (samples, n) and labels (samples,), 1.0 or 0.0.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from lib.checks import generator, gram, numbers, one_of, positive, shaped, size, takes

DTYPES = ("float64", "float32")
Lengths = tuple[float, float]  # of y = 1 and of y = 0
Seed = int | tuple[int, ...]  # several numbers are one seed, too
Signals = tuple[NDArray, NDArray]  # inputs and labels
Draw = Callable[[Seed], Signals]


def _lengths(name: str, value: Lengths) -> Lengths:
    if numbers(name, value).shape != (2,) or min(value) <= 0:
        raise ValueError(
            f"{name} is {value}: want two positive correlation lengths, of y = 1 and of y = 0"
        )
    return value


def nlgp(
    seed: Seed, samples: int, n: int, xi: Lengths, gain: float, dtype: str = "float64"
) -> Signals:
    r"""Draw from the nonlinear Gaussian process x = erf(g z)/Z(g) on a ring, of variance 1.

    z is Gaussian with correlation :math:`e^{-d(i,j)^2/\xi^2}`, d the distance around the ring, and
    :math:`Z^2 = \tfrac2\pi\sin^{-1}\tfrac{2g^2}{1+2g^2}`. Where that correlation has negative
    eigenvalues (ξ from about n/8 on), they are set to 0 and z is scaled back to variance 1.

    Parameters
    ----------
    seed : draws everything; several numbers are one seed, too
    samples : how many
    n : sites on the ring
    xi : (ξ₁, ξ₀), the correlation lengths in sites of the classes y = 1 and y = 0, positive
    gain : g, positive; near 0 x is Gaussian, for large g it is a sign
    dtype : of inputs and labels, float64 or float32; single precision draws other numbers than
        double, seven times as fast

    Source: the localization notes name it; after Ingrosso & Goldt (2022), whose gain differs by √2.
    """
    return nlgp_draw(samples, n, xi, gain, dtype)(seed)


@takes(samples=size, n=size, xi=_lengths, gain=positive, dtype=partial(one_of, allowed=DTYPES))
def nlgp_draw(samples: int, n: int, xi: Lengths, gain: float, dtype: str = "float64") -> Draw:
    """Return the function of a seed that draws as `nlgp` does:
    for many draws, of which each is a small one.
    """
    root0, root1 = (_circulant_root(n, length) for length in xi[::-1])
    spread = np.sqrt(2 / np.pi * np.arcsin(1 / (1 + 0.5 / gain**2)))

    def double(rng: np.random.Generator, labels: NDArray) -> NDArray:
        z = torch.from_numpy(_coloured(rng.standard_normal((samples, n)), labels, root0, root1))
        return z.mul_(gain).erf_().div_(spread).numpy()

    def single(rng: np.random.Generator, labels: NDArray) -> NDArray:
        from lib.data import random_numbers  # numba is not needed elsewhere

        rows = np.argsort(labels, kind="stable")  # by class, so that each meets its own root alone
        zeros = samples - labels.sum()
        white = normals(rng, (samples, n))[rows]
        z = np.concatenate([white[:zeros] @ small0, white[zeros:] @ small1])
        inputs = np.empty((samples, n), np.float32)
        random_numbers.bend(z, rows, np.float32(1 / spread), inputs)
        return inputs

    small0, small1 = np.float32(gain * root0), np.float32(gain * root1)
    signals = double if dtype == "float64" else single

    def draw(seed: Seed) -> Signals:
        rng = generator(seed)
        labels = rng.integers(2, size=samples)
        return signals(rng, labels), labels.astype(dtype)

    return draw


def normals(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray:
    """Draw standard normal numbers in single precision, about ten
    times faster than NumPy; none lies beyond 6.67.

    The generator gives a key of 64 bits, from which `lib.data.random_numbers` makes the rest.
    """
    from lib.data import random_numbers  # numba is not needed elsewhere

    count, key = int(np.prod(shape)), rng.integers(2**32, size=2, dtype=np.uint32)
    pairs = np.empty((2, -(-count // 2)), np.uint32)
    drawn = np.empty(pairs.shape, np.float32)
    random_numbers.words(*key, pairs)
    random_numbers.normals(pairs, drawn)
    return drawn.ravel()[:count].reshape(shape)


def _coloured(white: NDArray, labels: NDArray, root0: NDArray, root1: NDArray) -> NDArray:
    """Multiply each row of white noise (samples, n) by the root (n, n)
    of its class's covariance: both, and take its own.
    """
    both = white @ np.hstack([root0, root1]).astype(white.dtype)
    return both.reshape(2 * len(white), -1)[2 * np.arange(len(white)) + labels]


@takes(samples=size, sigma1=gram, sigma0=gram)
def gaussian_clone(seed: Seed, samples: int, sigma1: ArrayLike, sigma0: ArrayLike) -> Signals:
    """Draw Gaussian inputs with given covariances: the control that
    shares the first two moments with another data set.

    Parameters
    ----------
    seed, samples : as in `nlgp`
    sigma1, sigma0 : (n, n) covariances of the classes y = 1 and y = 0, such as
        `lib.theory.gaussian_classes.nlgp_covariance`
    """
    shaped("(n, n), (n, n)", sigma1=sigma1, sigma0=sigma0)
    roots, rng = np.stack([_root(sigma0), _root(sigma1)]), generator(seed)  # entry y: class y
    labels, white = rng.integers(2, size=samples), rng.standard_normal((samples, len(sigma0)))
    return _coloured(white, labels, *roots), labels.astype(float)


@takes(samples=size, n=size)
def single_pulse(
    seed: Seed,
    samples: int,
    n: int,
    xi: tuple[Lengths, Lengths] = ((0.1, 0.2), (0.0, 0.1)),
    signed: bool = False,
) -> Signals:
    """Draw one pulse per sample: ones from a uniform start on, around
    the ring, zeros elsewhere; half of them inverted.

    Parameters
    ----------
    seed, samples, n : as in `nlgp`
    xi : for y = 1 and for y = 0 the interval of the width as a fraction of n: the width is uniform
        over the whole numbers of sites above its lower end, up to its upper end
    signed : values ±1 instead of 0 and 1; then the inputs are symmetric about zero, and a pulse x
        inverted is -x

    Source: the localization notes name it; widths and their defaults from leonlufkin/Localization,
    which has either values.
    """
    ends = _widths(n, xi)
    rng = generator(seed)
    labels, start = rng.integers(2, size=samples), rng.integers(n, size=samples)
    width = rng.integers(*ends[labels].T, endpoint=False) + 1
    pulse = (np.arange(n) - start[:, None]) % n < width[:, None]
    inputs = (pulse ^ rng.integers(2, size=(samples, 1)).astype(bool)).astype(float)
    return 2 * inputs - 1 if signed else inputs, labels.astype(float)


def _widths(n: int, xi: tuple[Lengths, Lengths]) -> NDArray:
    """Return whole numbers of sites (2, 2), row y of class y:
    widths lie above the first, up to the second.
    """
    if numbers("xi", xi).shape != (2, 2) or not all(0 <= low < high <= 1 for low, high in xi):
        raise ValueError(
            f"xi is {xi}: want two intervals (low, high) with 0 <= low < high <= 1, of y = 1 and "
            "of y = 0"
        )
    ends = np.floor(np.asarray(xi)[::-1] * n + 1e-9).astype(int)  # row y: class y
    if np.any(ends[:, 0] == ends[:, 1]):
        raise ValueError(f"xi is {xi}: an interval holds no whole number of sites at n = {n}")
    return ends


# --- other fields, symmetric about zero and the same around the ring ------------------------------

POINTWISE: dict[str, Callable[[Any], NDArray]] = {  # odd functions of a Gaussian process
    "arcsine": lambda z: np.sin(np.pi * (ndtr(z) - 0.5)),  # values pile up at both ends
    "uniform": lambda z: ndtr(z) - 0.5,
    "ternary": lambda z: np.sign(z) * (abs(z) > 0.5),
    "root": lambda z: np.sign(z) * np.sqrt(abs(z)),
    "square": lambda z: z * abs(z),  # heavy tails
    "laplace": lambda z: -np.sign(z) * np.log(2 * ndtr(-abs(z))),  # heavy tails
    "wave": lambda z: np.sin(2 * z),  # not monotone
}
NOISE: dict[
    str, Callable[[np.random.Generator, tuple], NDArray]
] = {  # independent noise, then smoothed
    "smoothed sign": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "smoothed uniform": lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape),
    "smoothed laplace": lambda rng, shape: rng.laplace(scale=0.5**0.5, size=shape),
    "smoothed sparse": lambda rng, shape: (
        rng.choice([-1.0, 1.0], shape) * (rng.random(shape) < 0.1) / 0.1**0.5
    ),
}
VOLUME: dict[str, Callable[[np.random.Generator, NDArray], NDArray]] = {  # of a whole signal
    "sign, any volume": lambda rng, z: np.sign(z) * rng.exponential(0.5**0.5, size=(len(z), 1)),
    "Gaussian, one norm": lambda rng, z: (
        z * np.sqrt(z.shape[1]) / np.linalg.norm(z, axis=1, keepdims=True)
    ),
}
FIELDS = (*POINTWISE, *NOISE, *VOLUME, "telegraph")


@takes(samples=size, n=size, xi=_lengths, kind=partial(one_of, allowed=FIELDS))
def symmetric_field(seed: Seed, samples: int, n: int, xi: Lengths, kind: str) -> Signals:
    r"""Draw from a field that is the same around the ring and
    symmetric about zero, of variance 1; most are not Gaussian.

    Parameters
    ----------
    seed, samples, n, xi : as in `nlgp`
    kind : one of `FIELDS`: an odd function of a Gaussian process of correlation
        :math:`e^{-d^2/\xi^2}` (`POINTWISE`), independent noise through that process's filter
        (`NOISE`), a process with a common factor (`VOLUME`), or the "telegraph", ±1 with a flip
        between neighbours with probability :math:`\tfrac12(1-e^{-1/\xi})` and an even number of
        flips around the ring

    Source: ours; to test what predicts localization.
    """
    rng = generator(seed)
    labels = rng.integers(2, size=samples)
    inputs = np.empty((samples, n))
    for label, length in ((1, xi[0]), (0, xi[1])):
        mine = labels == label
        inputs[mine] = _field(rng, kind, (mine.sum(), n), length)
    return inputs, labels.astype(float)


def _field(rng: np.random.Generator, kind: str, shape: tuple[int, int], xi: float) -> NDArray:
    if kind == "telegraph":
        return _telegraph(rng, shape, xi)
    noise = NOISE[kind](rng, shape) if kind in NOISE else rng.standard_normal(shape)
    z = noise @ _circulant_root(shape[1], xi)
    if kind in POINTWISE:
        quantiles = ndtri((np.arange(10_000) + 0.5) / 10_000)
        return POINTWISE[kind](z) / np.sqrt(np.mean(POINTWISE[kind](quantiles) ** 2))
    return VOLUME[kind](rng, z) if kind in VOLUME else z


def _telegraph(rng: np.random.Generator, shape: tuple[int, int], xi: float) -> NDArray:
    flips = rng.random(shape) < (1 - np.exp(-1 / xi)) / 2
    while np.any(odd := flips.sum(axis=1) % 2 == 1):  # around a ring the number of flips is even
        flips[odd] = rng.random((odd.sum(), shape[1])) < (1 - np.exp(-1 / xi)) / 2
    return np.where(np.cumsum(flips, axis=1) % 2, -1.0, 1.0) * rng.choice(
        [-1.0, 1.0], (shape[0], 1)
    )


@lru_cache
def _circulant_root(n: int, xi: float) -> NDArray:
    """Return the symmetric root (n, n) of the process's covariance
    around the ring, of variance 1, without its negative part.
    """
    distance = np.minimum(np.arange(n), n - np.arange(n))
    variances = np.maximum(np.fft.fft(np.exp(-(distance**2) / xi**2)).real, 0)  # by frequency
    row = np.fft.ifft(np.sqrt(variances / variances.mean())).real
    return row[np.subtract.outer(np.arange(n), np.arange(n)) % n]


def _root(sigma: NDArray) -> NDArray:
    variances, modes = np.linalg.eigh(sigma)
    return (
        modes * np.sqrt(np.maximum(variances, 0)) @ modes.T
    )  # the symmetric one: equal variances leave the modes open
