"""Gates of rectifiers along training, until the network is at rest.

Source: the localization notes, section 3; settings as in `lib.experiments.ring`.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from scipy.linalg import solve

from book.gated_linear.theory import Moments, flip_probability, gdln_best_loss, gdln_moments, jitter
from lib import data
from lib.checks import matrix, one_of, positive, shaped, size, takes, vector
from lib.experiments.ring import _fields, receptive_fields
from lib.experiments.signal_batches import signals
from lib.networks import Committee
from lib.training import train
from lib.training.schedules import piecewise

PAUSE = 50  # steps from a record to its twin


@takes(steps=size, pairs=size)
def twins(steps: int, pairs: int) -> np.ndarray:
    """Return steps in pairs (2 · pairs,), t and t + `PAUSE`; t = 0 and then evenly spaced on a
    logarithmic scale to the end.

    >>> twins(1000, 4)
    array([   0,   50,  100,  150,  300,  350,  950, 1000])
    """
    most = (steps - PAUSE) // PAUSE
    if pairs < 2 or most < 2 * pairs:
        raise ValueError(
            f"{pairs} pairs in {steps} steps: want at least 2, and {2 * PAUSE} steps for each"
        )
    starts = PAUSE * np.unique(np.append(0, np.geomspace(2, most, pairs - 1).round() // 1)).astype(
        int
    )
    return np.unique(np.concatenate([starts, starts + PAUSE]))


def gates_to_rest(
    kind: str = "nlgp",
    *,
    neurons: int = 40,
    learning_rate: float = 4.0,
    steps: int,
    cooling: int,
    pairs: int = 24,
    **options: Any,
) -> xr.Dataset:
    """Train the mean of rectifiers at a constant learning rate and then at one that falls.

    Parameters
    ----------
    kind : see `lib.experiments.signal_batches.signals`; signals are drawn in double precision
    steps, cooling : how many steps at the learning rate, and how many while it falls to a
        hundredth, on a straight line
    pairs : how often the weights are kept, each time at a step and `PAUSE` steps later (see
        `twins`); and after the cooling
    options : of `lib.experiments.ring.receptive_fields`

    Returns
    -------
    over (trial, step): loss, the error without ½ on 10,000 signals; w (…, neuron, site), and its
    ipr (…, neuron)

    Settings
    --------
    as : receptive_fields
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; targets {targets}
    rate : {learning_rate} at first, so that a step is {2 * learning_rate / neurons}τ of the notes'
        flow; after {steps} steps it falls on a straight line to a hundredth; no momentum
    steps : {steps} and {cooling}, in which the rate falls
    stop : none
    read : w, its inverse participation ratio Σw⁴/(Σw²)² and the error on 10,000 other signals at
        {pairs} times, evenly spaced on a logarithmic scale, each time at two steps that are {PAUSE}
        apart, and at the end
    precision : 32 bits, signals drawn in 64
    """
    found = receptive_fields(
        kind,
        neurons=neurons,
        learning_rate=learning_rate,
        steps=steps + cooling,
        schedule=piecewise([steps, steps + cooling], [1, 0.01]),
        record=np.append(twins(steps, pairs), steps + cooling),
        dtype="float64",
        **options,
    )
    return found.drop_vars("diverged").assign(ipr=found.ipr.astype("float32"))


class Behind(NamedTuple):
    """A network beside the best linear network behind its gates, both as E(ŷ − y)²."""

    error: float  # of the network
    # how much of it least squares behind its gates would save; unbiased for a network at rest
    excess: float
    least: float  # the error of least squares behind its gates


@takes(weights=matrix, inputs=matrix, labels=vector)
def behind_own_gates(weights: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> Behind:
    r"""Measure how far the mean of rectifiers is from least squares behind its own gates.

    Each half of the samples is fitted, and the fit is scored on both halves. To first order in Kn/N
    the score on its own half is as much too low as the score on the other half is too high, so
    their geometric mean is the least error on all signals; where all residuals are alike it is
    exact. With A, b of these gates and :math:`r = b - Aw/K`, the excess is :math:`r^\top A^{-1}r`;
    the two factors r come from different halves, since the squares of a sample's noise would add
    up in Kn entries. It is zero for a network at rest.

    Parameters
    ----------
    weights : (K, n), of the gates 1{⟨w, x⟩ > 0} and behind them
    inputs, labels : (N, n) and (N,), N well above Kn
    """
    shaped("(k, n), (s, n), (s,)", weights=weights, inputs=inputs, labels=labels)
    share = weights.size / len(inputs)
    if share > 0.25:
        raise ValueError(
            f"{len(inputs)} samples for {weights.size} weights: want at least four times as many"
        )
    flat, projections = weights.ravel() / len(weights), inputs @ weights.T
    error = np.mean((np.maximum(projections, 0).mean(axis=1) - labels) ** 2)
    halves = [range(start, len(inputs), 2) for start in (0, 1)]
    moments = [_moments(inputs[half], labels[half], projections[half] > 0) for half in halves]
    squares = [np.mean(labels[half] ** 2) for half in halves]
    fits, turned = [], []
    for (a, b), other in zip(moments, moments[::-1], strict=True):
        # gates that differ on few samples leave directions without any
        ridge = 1e-9 * np.trace(a) / len(a) * np.eye(len(a))
        residual = other.b - other.a @ flat
        fit, step = solve(a + ridge, np.stack([b, residual], axis=1), assume_a="pos").T
        fits.append(fit)
        turned.append(step @ (b - a @ flat))

    def score(fit, half):
        a, b = moments[half]
        return squares[half] - 2 * b @ fit + fit @ a @ fit

    own = (score(fits[0], 0) + score(fits[1], 1)) / 2
    other = (score(fits[0], 1) + score(fits[1], 0)) / 2
    return Behind(float(error), float(np.mean(turned)), float(np.sqrt(own * other)))


def _moments(inputs: np.ndarray, labels: np.ndarray, opened: np.ndarray) -> Moments:
    """Average A and b piece by piece: all gated inputs at once would fill the memory."""
    a, b = 0, 0
    for piece in np.array_split(np.arange(len(inputs)), max(1, len(inputs) // 2500)):
        found = gdln_moments(inputs[piece], labels[piece], opened[piece].T)
        share = len(piece) / len(inputs)
        a += share * found.a
        b += share * found.b
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)  # there is a piece
    return Moments(a, b)


class Rest(NamedTuple):
    """What the noise of descent meets near a network's weights, stacked as w₁, w₂ and so on."""

    linear: np.ndarray  # (Kn, Kn) 2A/K², the curvature of the linear network behind the gates
    edge: np.ndarray  # (Kn, Kn) a block for each neuron, what signals at the gate's edge add to it
    noise: np.ndarray  # (Kn, Kn) the covariance of a single sample's gradient


@takes(weights=matrix, inputs=matrix, labels=vector, share=positive, window=positive)
def around(
    weights: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    share: float = 0.1,
    window: float = 0.06,
) -> Rest:
    r"""Measure curvature and gradient noise of the mean of rectifiers.

    The gradient of :math:`E(\hat y - y)^2` by w_k is :math:`\tfrac2KE[(\hat y-y)\,g_kx]`. Its
    derivative has two parts: behind fixed gates :math:`2A_{kl}/K^2`, and, as the gate's edge moves,
    :math:`\tfrac2KE[(\hat y-y)\,\delta(S_k)\,xx^\top]` for l = k.

    Parameters
    ----------
    weights, inputs, labels : as in `behind_own_gates`
    share : of the samples, taken for the two large matrices; the edge needs all
    window : the edge's half width, in standard deviations of :math:`S_k = \langle w_k, x\rangle`
    """
    shaped("(k, n), (s, n), (s,)", weights=weights, inputs=inputs, labels=labels)
    count, n = weights.shape
    projections = inputs @ weights.T
    errors = 2 / count * (np.maximum(projections, 0).mean(axis=1) - labels)
    some = slice(max(1, round(share * len(inputs))))
    opened, pull = projections[some] > 0, np.abs(errors[some])
    noise = _moments(
        inputs[some] * pull[:, None], np.sign(errors[some]), opened
    )  # b: the mean gradient
    edge = np.zeros((count, n, count, n))
    for k, own in enumerate(projections.T):
        width = window * own.std()
        near = np.abs(own) < width
        edge[k, :, k] = (
            (inputs[near] * errors[near, None]).T @ inputs[near] / (2 * width * len(inputs))
        )
    linear = 2 / count**2 * _moments(inputs[some], labels[some], opened).a
    return Rest(linear, edge.reshape(linear.shape), noise.a - np.outer(noise.b, noise.b))


@takes(weights=matrix, record=vector)
def descend(
    weights: np.ndarray,
    record: np.ndarray,
    *,
    learning_rate: float,
    batch: int = 1000,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    seed: int = 0,
    device: str = "cpu",
) -> np.ndarray:
    """Train rectifiers from weights (K, n), as `receptive_fields` does, and return those at the
    recorded steps, (T, K, n).
    """
    neurons, sites = weights.shape
    inputs, wanted = signals("nlgp", sites, xi, gain, 1, seed)(1, 0)
    found = train(
        Committee(sites, neurons),
        {"weight1": torch.tensor(weights[None], dtype=torch.float32, device=device)},
        inputs,
        wanted,
        learning_rate=2 * learning_rate,
        steps=int(record[-1]),
        draw=signals("nlgp", sites, xi, gain, batch, seed, dtype="float32"),
        record=record,
        observe=_fields,
    )
    return found.w.values[0].astype(float)


@takes(weights=matrix, inputs=matrix)
def flip_shares(
    covariances: Iterable[np.ndarray], weights: np.ndarray, inputs: np.ndarray
) -> np.ndarray:
    """Return the mean probability that a gate flips if the weights (K,
    n) change by Gaussians, a number for each covariance.

    `covariances` are (T, Kn, Kn); the mean is taken over the neurons and over the `inputs` (N, n).
    Source: `flip_probability`.
    """
    shaped("(k, n), (s, n)", weights=weights, inputs=inputs)
    neurons, sites = weights.shape
    own, margins, found = range(neurons), inputs @ weights.T, []
    for covariance in covariances:
        blocks = covariance.reshape(neurons, sites, neurons, sites)[own, :, own]
        variances = np.stack([np.sum(inputs @ block * inputs, axis=1) for block in blocks], axis=1)
        found.append(flip_probability(margins, np.sqrt(variances)).mean())
    return np.array(found)


MOMENTS = ("first", "at rest", "cooled")


@takes(steps=size, cooling=size)
def first_and_last(
    *,
    neurons: int = 40,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    steps: int,
    cooling: int = 2000,
    trials: int = 8,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Compare the gates of networks before training, after it and after the cooling.

    Returns
    -------
    over (trial, moment): error of the network, least error behind its gates and what least squares
    would save (see `behind_own_gates`), the share of gates that differ from the first ones, and the
    median ipr of the fields

    Settings
    --------
    as : receptive_fields
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; targets {targets}
    rate : 0.4 times the number of neurons, so that a step is 0.8τ of the notes' flow; after {steps}
        steps it falls on a straight line to a hundredth; no momentum
    steps : {steps} and {cooling}, in which the rate falls
    initialization : w normal with the variance 2 / (neurons + sites), networks: {trials}, seed
        {seed}
    stop : none
    read : error, least error behind the gates and gates that differ on 16,000 other signals, and
        the median inverse participation ratio Σw⁴/(Σw²)², before the first step, after {steps}
        steps and at the end
    """
    found = receptive_fields(
        neurons=neurons,
        xi=xi,
        gain=gain,
        learning_rate=0.4 * neurons,
        steps=steps + cooling,
        schedule=piecewise([steps, steps + cooling], [1, 0.01]),
        record=np.array([0, steps, steps + cooling]),
        trials=trials,
        seed=seed,
        device=device,
    )
    x, y = data.nlgp((seed, 1), 16_000, found.sizes["site"], xi, gain)
    fields = found.w.values.astype(float)  # (trial, moment, neuron, site)
    behind = np.array([[behind_own_gates(w, x, y) for w in path] for path in fields])
    opened = fields @ x.T > 0
    over = ("trial", "moment")
    return xr.Dataset(
        {
            "error": (over, behind[..., 0]),
            "excess": (over, behind[..., 1]),
            "least": (over, behind[..., 2]),
            "changed": (over, np.mean(opened != opened[:, :1], axis=(2, 3))),
            "ipr": (over, found.ipr.median("neuron").values),
        },
        {"moment": list(MOMENTS)},
    )


class Guides(NamedTuple):
    """What may tell which of some gatings wins, (G,) each."""

    least: np.ndarray  # the least E(ŷ − y)² behind the gates
    norm: np.ndarray  # of A, the root of the sum of its squared eigenvalues
    largest: np.ndarray  # eigenvalue of A
    both: np.ndarray  # share of the inputs at which two gates are open, mean over pairs
    off_block: np.ndarray  # share of the squared entries of A⁺ outside of its blocks
    off_diagonal: np.ndarray  # and outside of its diagonal


@takes(inputs=matrix, labels=vector)
def guides(gatings: Iterable[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> Guides:
    """Measure gatings (K, N) on inputs (N, n) and labels (N,)."""
    found = []
    for gates in gatings:
        a, b = gdln_moments(inputs, labels, gates)
        squares = np.linalg.pinv(a, rcond=1e-8, hermitian=True) ** 2
        shape = len(gates), inputs.shape[1]
        own = np.einsum("kikj->", squares.reshape(shape + shape))
        number = gates.sum(axis=0)  # of open gates
        found.append(
            (
                gdln_best_loss(a, b, np.mean(labels**2)),
                np.linalg.norm(a),
                np.linalg.eigvalsh(a)[-1],
                np.mean(number * (number - 1)) / (len(gates) * (len(gates) - 1)),
                1 - own / squares.sum(),
                1 - np.trace(squares) / squares.sum(),
            )
        )
    return Guides(*np.array(found).T)


@takes(kind=partial(one_of, allowed=("random", "bumps")), number=size)
def normals_of(kind: str, number: int, neurons: int, sites: int, seed: int = 0) -> np.ndarray:
    """Draw the normals of some gatings, (number, K, n): random vectors, or bumps of a width between
    0.4 and 3 sites for each gating, at random places and with random signs.
    """
    rng = np.random.default_rng((seed, 5))
    if kind == "random":
        return rng.normal(size=(number, neurons, sites))
    width = rng.uniform(0.4, 3, size=(number, 1, 1))
    sign = rng.choice([-1, 1], size=(number, neurons, 1))
    apart = (np.arange(sites) - rng.uniform(0, sites, size=(number, neurons, 1))) % sites
    return sign * np.exp(-(np.minimum(apart, sites - apart) ** 2) / (2 * width**2))


LAGS = (10, 50, 250, 1000, 2900)  # steps between two looks at the gates of a stationary network


@takes(forming=size, steps=size)
def trembling(
    *,
    neurons: int = 40,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    forming: int = 8000,
    learning_rate: float = 4.0,
    batch: int = 1000,
    settling: int = 3000,
    steps: int = 4000,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Measure and predict how many gates differ between two looks at a stationary network.

    Parameters
    ----------
    forming : how many steps the network takes at a rate of 0.2 times the number of neurons
    settling, steps : how long it then goes on at the learning rate before it is looked at, and how
        long it is, every 10 steps
    device : for training; curvature and noise are measured on the CPU

    Returns
    -------
    over lag: observed; with_edges, fixed_gates, pulled, noise_alone, as `flip_shares` of `jitter`
    and the mean of `around` at four looks say. `pulled` has, in place of the edges, a pull that is
    the same in all directions, twice the mean curvature behind fixed gates: chosen to fit at
    ξ = (2, 1)

    Settings
    --------
    data : as at `first_and_last`, ξ = {xi}, g = {gain}; gates are looked at on 3,000 other signals,
        the edges measured on four times 100,000, the curvature behind fixed gates and the noise on
        four times 10,000
    network : the mean of {neurons} neurons relu(w·x), no biases
    initialization : w normal with the variance 2 / (neurons + sites), seed {seed}
    loss : (output − target)², without ½, mean over the batch
    rate : 0.2 times the number of neurons in the first {forming} steps, then {learning_rate}, no
        momentum
    batch : 1,000 fresh signals for each step, then {batch}
    steps : {forming}, {settling} and then {steps}
    stop : none
    read : the share of pairs of a neuron and a signal whose gate differs between two looks, {LAGS}
        steps apart, over all pairs of looks, every 10 steps, in the last {steps} steps; curvature
        and noise are means over four of these looks, evenly spaced
    precision : 32 bits; curvature and noise 64
    """
    if steps < LAGS[-1]:
        raise ValueError(
            f"steps is {steps}: want at least {LAGS[-1]}, the longest time between two looks"
        )
    first = Committee(40, neurons).initialize(seed, 1, dtype=torch.float32, device="cpu")
    (formed,) = descend(
        first["weight1"][0].numpy(),
        np.array([forming]),
        learning_rate=0.2 * neurons,
        seed=seed,
        xi=xi,
        gain=gain,
        device=device,
    )
    path = descend(
        formed,
        settling + np.arange(0, steps + 1, 10),
        learning_rate=learning_rate,
        batch=batch,
        seed=seed + 1000,
        xi=xi,
        gain=gain,
        device=device,
    )
    seen = data.nlgp((seed, 1), 3000, 40, xi, gain)[0]
    opened = path @ seen.T > 0
    observed = [np.mean(opened[: -lag // 10] != opened[lag // 10 :]) for lag in LAGS]
    looks = np.linspace(0, len(path) - 1, 4).astype(int)
    parts = [around(path[k], *data.nlgp((seed, 2, k), 100_000, 40, xi, gain)) for k in looks]
    linear, edge, noise = (sum(part) / len(parts) for part in zip(*parts, strict=True))
    noise = noise / batch
    pull = 2 * np.trace(linear) / len(linear) * np.eye(len(linear))

    def predict(moved):
        return "lag", flip_shares(moved, path[0], seen[:1500])

    def with_curvature(hessian):
        return predict(jitter(hessian, noise, learning_rate, LAGS))

    return xr.Dataset(
        {
            "observed": ("lag", observed),
            "with_edges": with_curvature(linear + edge),
            "fixed_gates": with_curvature(linear),
            "pulled": with_curvature(linear + pull),
            "noise_alone": predict(learning_rate**2 * lag * noise for lag in LAGS),
        },
        coords={"lag": list(LAGS)},
    )
