r"""What a whole network of ReLU neurons localizes to: one
profile, tiled around the ring, scored and climbed.

Inputs are symmetric about zero and the same around the ring, so that the even part of
:math:`\hat y = \frac1K\sum_k\mathrm{ReLU} (w_k\cdot x)`, :math:`\frac1{2K}\sum_k|S_k|`, does all
the work, and the odd part only costs. If the fields are one profile u, at the places and with the
signs of an `Arrangement`, then with :math:`S = u\star x` around the ring

.. math:: R(u) = \frac{(E[m\mid1])^2}{\sum_c E[m^2 + o^2\mid c]}, \qquad \min_sE(\hat y_{su}-y)^2
          = \tfrac12 - \tfrac12R(u),

m the mean of :math:`|S|` over the places, o that of the signed S. All expectations are means over
given signals. Source: ours, towards section 3.2 of the localization notes, which is empty.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from book.localization.theory import classes
from lib.checks import (
    instance,
    matrix,
    seed,
    shaped,
    size,
    takes,
    vector,
    whole,
)


class Arrangement(NamedTuple):
    """Where K copies of a profile stand on a ring, and with which
    signs, as filters whose entries are per neuron, 1/K each.
    """

    even: NDArray  # (n,) the share of the neurons at each site
    odd: NDArray  # (n,) the same, with signs


@takes(n=size, neurons=size, turns=size)
def arrangement(n: int, neurons: int, turns: int) -> Arrangement:
    r"""Spread `neurons` as evenly as sites allow over a ring of n;
    their signs alternate in blocks, `turns` times around.

    With more than n neurons every site has its share, and the signs can cancel: the odd filter is
    zero (the limit of many neurons).
    """
    if turns < 1 or 2 * turns > neurons:
        raise ValueError(f"turns is {turns}: want 1 to neurons/2, so at most {neurons / 2:g}")
    if neurons > n:
        return Arrangement(np.full(n, 1 / n), np.zeros(n))
    k = np.arange(neurons)
    places = np.round(k * n / neurons).astype(int) % n
    even, odd = np.zeros(n), np.zeros(n)
    np.add.at(even, places, 1 / neurons)
    np.add.at(odd, places, np.where((2 * turns * (k + 0.5) / neurons) % 2 < 1, 1, -1) / neurons)
    return Arrangement(even, odd)


class Signals:
    """Signals (s, n) of two classes, labels (s,) 1 or 0, ready to
    be scored: their spectra and how much each counts.
    """

    @takes(inputs=matrix, labels=classes)
    def __init__(self, inputs: ArrayLike, labels: ArrayLike) -> None:
        shaped("(s, n), (s,)", inputs=inputs, labels=labels)
        self.n = inputs.shape[1]
        self.spectra = np.fft.rfft(inputs)
        self.share = np.where(
            labels == 1, 1 / np.sum(labels == 1), 1 / np.sum(labels == 0)
        )  # E[f|1] + E[f|0] = Σ share f
        self.one = np.where(labels == 1, self.share, 0)

    def _around(self, profile: NDArray) -> NDArray:
        """Return S = u⋆x around the ring (s, n), for a profile u (n,)."""
        return np.fft.irfft(self.spectra * np.fft.rfft(profile).conj(), self.n)

    def _back(self, force: NDArray, slopes: NDArray) -> NDArray:
        """Return the gradient (n,) by the profile of what has weights
        `force` (s,) and `slopes` (s, n) by S, as spectra.
        """
        return np.fft.irfft(force @ (self.spectra * slopes), self.n) / self.n

    def _pull(self, force: NDArray, profile: NDArray) -> tuple[float, NDArray]:
        """Return the sum of the means of :math:`|S|` with weights
        `force` (s,), and its gradient by the profile (n,).
        """
        s = self._around(profile)
        return force @ np.abs(s).mean(axis=1), self._back(force, np.fft.rfft(np.sign(s)).conj())

    def _moments(
        self, profile: NDArray, where: Arrangement
    ) -> tuple[float, float, NDArray, NDArray]:
        """Return N = E[m|1], D = Σ_c E[m² + o²|c], and their gradients (n,)."""
        n = self.n
        s = self._around(profile)
        signs = np.fft.rfft(np.sign(s)).conj()
        if not where.odd.any() and np.ptp(where.even) == 0:  # the mean over the whole ring
            mean = np.abs(s).mean(axis=1)
            d_two = self._back(2 * self.share * mean, signs)
            return self.one @ mean, self.share @ mean**2, self._back(self.one, signs), d_two
        even = np.fft.rfft(where.even)
        m = np.fft.rfft(np.abs(s)) * even.conj()
        mean = m[:, 0].real / n
        squared = np.sum(np.abs(np.fft.irfft(m, n)) ** 2, axis=1) / n
        pull = (
            2 * np.fft.irfft(m * even, n) * np.sign(s)
        )  # n times the derivative of the squared mean by S
        d_two = self._back(self.share, np.fft.rfft(pull).conj())
        # The odd part is quadratic.
        power = self.share @ np.abs(self.spectra) ** 2 * np.abs(np.fft.rfft(where.odd)) ** 2 / n
        turned = np.fft.irfft(power * np.fft.rfft(profile), n)
        return (
            self.one @ mean,
            self.share @ squared + profile @ turned,
            self._back(self.one, signs),
            d_two + 2 * turned,
        )

    @takes(profile=vector, where=instance(Arrangement))
    def score(self, profile: ArrayLike, where: Arrangement) -> tuple[float, NDArray]:
        """Return R of a profile (n,), which must not be zero, and its gradient (n,)."""
        if profile.shape != (self.n,) or not np.any(profile) or len(where.even) != self.n:
            raise ValueError(
                f"profile {profile.shape}, where {where.even.shape}: want a ring of {self.n} "
                "sites, not all zero"
            )
        mean, squared, d_mean, d_squared = self._moments(profile, where)
        return mean**2 / squared, (2 * mean * d_mean - mean**2 / squared * d_squared) / squared


def tiling_score(profile: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> float:
    r"""Return how well a large ReLU network tells two classes apart if
    its fields are one profile u at all places of a ring.

    With m(x) the mean over the ring of :math:`|u\star x|`,

    .. math:: R_\infty(u) = \frac{(E[m\mid1])^2}{E[m^2\mid1]
              + E[m^2\mid0]}, \qquad \min_sE(\hat y_{su}-y)^2
              = \tfrac12 - \tfrac12R_\infty .

    Parameters
    ----------
    profile : (n,), whose size, sign and place do not matter
    inputs : (samples, n) signals, symmetric about zero and the same around the ring
    labels : (samples,), 1 or 0

    Returns
    -------
    between 0 and 1

    A sum of neighbours tells smooth signals from rough ones:

    >>> signs = [[1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, -1], [-1, 1, -1, 1]]
    >>> print(tiling_score([1, 1, 0, 0], signs, [1, 1, 0, 0]))
    1.0
    """
    signals = Signals(inputs, labels)
    return float(signals.score(profile, _whole_ring(signals.n))[0])


def _whole_ring(n: int) -> Arrangement:
    """Return the limit of many neurons, everywhere and with both signs."""
    return arrangement(n, n + 1, 1)


@takes(n=size, seed=seed, random=partial(whole, least=0))
def starts(n: int, seed: int = 0, random: int = 2) -> NDArray:
    """Return profiles (count, n) to climb from: two bumps, packets of
    four frequencies and two widths, some `random` ones.
    """
    ring = (np.arange(n) + n // 2) % n - n // 2
    bumps = [np.exp(-(ring**2) / (2 * s**2)) for s in (0.7, 1.5)]
    packets = [
        np.exp(-(ring**2) / (2 * s**2)) * np.cos(2 * np.pi * f * ring)
        for f in (0.15, 0.3, 0.4, 0.5)
        for s in (1.0, 2.5)
    ]
    return np.vstack([bumps, packets, np.random.default_rng(seed).normal(size=(random, n))])


@takes(signals=instance(Signals), profile=vector, where=instance(Arrangement), steps=size)
def climb(
    signals: Signals, profile: ArrayLike, where: Arrangement, steps: int = 200
) -> tuple[NDArray, float]:
    """Return the local maximum (n,) of R that ascent reaches
    from a profile, of length 1, and R there.
    """
    signals.score(profile, where)  # refuses what has no score
    return _ascend(lambda u: signals.score(u, where), profile / np.linalg.norm(profile), steps)


def _ascend(
    objective: Callable[[NDArray], tuple[float, NDArray]], start: NDArray, steps: int
) -> tuple[NDArray, float]:
    """Return the local maximum (n,) of an objective (value and
    gradient) and its value; the maximum has length 1.
    """

    def cost(u: NDArray) -> tuple[float, NDArray]:
        value, gradient = objective(u)
        return -value, -gradient

    options = {"maxiter": steps, "ftol": 1e-9, "gtol": 1e-6}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options=options)
    return found.x / np.linalg.norm(found.x), -found.fun


def _advantage(signals: Signals, profile: NDArray) -> Callable[[NDArray], tuple[float, NDArray]]:
    """Return the function q of a profile (n,) at `rival`, with its gradient (n,)."""
    signals.score(profile, _whole_ring(signals.n))  # refuses what has no score
    mean = np.abs(signals._around(profile)).mean(axis=1)
    weights = signals.share * mean
    unit = signals.one @ mean / (weights @ mean)

    def q(v: NDArray) -> tuple[float, NDArray]:
        hit, d_hit = signals._pull(signals.one, v)
        shared, d_shared = signals._pull(weights, v)
        return hit / shared / unit, (d_hit - hit / shared * d_shared) / shared / unit

    return q


@takes(signals=instance(Signals), profile=vector, other=vector)
def advantage(signals: Signals, profile: ArrayLike, other: ArrayLike) -> float:
    """Return q(v) at `rival` of one other profile v (n,), as it is, without ascent."""
    return float(_advantage(signals, profile)(other)[0])


@takes(signals=instance(Signals), profile=vector, starts=matrix, steps=size)
def rival(
    signals: Signals, profile: ArrayLike, starts: ArrayLike, steps: int = 60
) -> tuple[NDArray, float]:
    r"""Return the profile (n,) from which a network of copies of
    `profile` would gain most, and how hard it pulls, q.

    With :math:`m_v` the mean of :math:`|v\star x|` over the ring, :math:`N_v = E[m_v\mid1]` and
    :math:`D_{uv} = \sum_cE[m_um_v\mid c]`,

    .. math:: q(v) = \frac{N_v/D_{uv}}{N_u/D_{uu}}, \qquad R(\nu) \le \max_vq(v)^2\,R(u)

    for every distribution ν of profiles at all places and with both signs:
    :math:`N_\nu \le q\,(N_u/D_{uu})\,D_{u\nu}`, and :math:`D_{u\nu}^2 \le D_{uu}D_{\nu\nu}`. So if
    no q exceeds 1, no mixture beats one profile. Here q is the largest that ascent from the three
    best of `starts` (k, n) finds.

    Source: ours, towards section 3.2 of the localization notes; the first-order condition of convex
    neural networks (Bach, 2017).
    """
    q = _advantage(signals, profile)
    if starts.shape[1] != signals.n or not starts.any(axis=1).all():
        raise ValueError(f"starts {starts.shape}: want (k, {signals.n}), none of them all zero")
    directions = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    first = sorted(directions, key=lambda v: -q(v)[0])[:3]
    return max((_ascend(q, v, steps) for v in first), key=lambda found: found[1])
