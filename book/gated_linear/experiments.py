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

from book.gated_linear.theory import Moments, flip_probability, gdln_moments, jitter
from lib import data
from lib.checks import matrix, one_of, positive, shaped, size, takes, vector
from lib.experiments.ring import _fields, receptive_fields
from lib.experiments.signal_batches import signals
from lib.networks import Committee
from lib.runs import load
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
    """Train the mean of rectifiers as `receptive_fields` does, at a
    constant learning rate and then at one that falls.

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
    stop : none; "at rest" means after {steps} steps, where the noise of the steps remains, or after
        all
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

    With A, b of these gates and :math:`r = b - Aw/K`, the excess is :math:`r^\top A^{-1}r`. A
    sample's r is noisy in Kn entries, whose squares would add up; so r₁ and r₂ come from the two
    halves of the samples: the mean of :math:`r_1^\top A^{-1}r_2` is :math:`(1 - Kn/N)` times the
    excess, and zero for a network at rest. Far from rest, where inputs of large leverage carry much
    of r, that is a few per cent off; the least error there is better taken from the squares that
    all samples leave, over N - Kn.

    Parameters
    ----------
    weights : (K, n), of the gates 1{⟨w, x⟩ > 0} and behind them
    inputs, labels : (N, n) and (N,), N well above Kn
    """
    shaped("(k, n), (s, n), (s,)", weights=weights, inputs=inputs, labels=labels)
    share = weights.size / len(inputs)
    if share > 0.5:
        raise ValueError(
            f"{len(inputs)} samples for {weights.size} weights: want at least twice as many"
        )
    flat, projections = weights.ravel() / len(weights), inputs @ weights.T
    halves = [range(start, len(inputs), 2) for start in (0, 1)]
    moments = [_moments(inputs[half], labels[half], projections[half] > 0) for half in halves]
    residuals = [b - a @ flat for a, b in moments]
    a = (moments[0].a + moments[1].a) / 2
    a += (
        1e-9 * np.trace(a) / len(a) * np.eye(len(a))
    )  # gates that differ on few samples leave directions without any
    steps = solve(a, np.transpose(residuals), assume_a="pos")
    error = np.mean((np.maximum(projections, 0).mean(axis=1) - labels) ** 2)
    saved = np.mean(residuals, axis=0) @ steps.mean(axis=1)  # on these samples
    return Behind(
        float(error),
        float(residuals[0] @ steps[:, 1] / (1 - share)),
        float((error - saved) / (1 - share)),
    )


def _moments(inputs: np.ndarray, labels: np.ndarray, opened: np.ndarray) -> Moments:
    """Average A and b piece by piece: the gated inputs of
    all samples at once would fill the memory.
    """
    a, b = 0, 0
    for piece in np.array_split(np.arange(len(inputs)), max(1, len(inputs) // 2500)):
        found = gdln_moments(inputs[piece], labels[piece], opened[piece].T)
        share = len(piece) / len(inputs)
        a += share * found.a
        b += share * found.b
    assert isinstance(a, np.ndarray) and isinstance(b, np.ndarray)  # there is a piece
    return Moments(a, b)


class Rest(NamedTuple):
    """What the noise of descent on E(ŷ − y)² meets near a
    network's weights, stacked as w₁, w₂ and so on.
    """

    linear: np.ndarray  # (Kn, Kn) 2A/K², the curvature of the linear network behind the gates
    edge: np.ndarray  # (Kn, Kn) a block for each neuron, what signals at the gate's edge add to it
    noise: np.ndarray  # (Kn, Kn) the covariance of a single sample's gradient


@takes(weights=matrix, inputs=matrix, labels=vector, share=positive, window=positive)
def around(
    weights: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    share: float = 0.1,
    window: float = 0.15,
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
    learning_rate: float = 4.0,
    batch: int = 1000,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    seed: int = 0,
    device: str = "cpu",
) -> np.ndarray:
    """Go on from weights (K, n), as `gates_to_rest` does, and
    return those at the recorded steps, (T, K, n).
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
        draw=signals("nlgp", sites, xi, gain, batch, seed),
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
        found.append(flip_probability(margins, 0, np.sqrt(variances)).mean())
    return np.array(found)


LAGS = (10, 50, 250, 1000, 2900)  # steps between two looks at the gates of a network at rest


@takes(start=partial(one_of, allowed=("seed 0", "seed 1")))
def trembling(
    *,
    start: str,
    learning_rate: float = 4.0,
    batch: int = 1000,
    settling: int = 2000,
    steps: int = 4000,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Measure and predict how many gates differ between two looks at a
    network at rest, at another learning rate or batch.

    Parameters
    ----------
    start : "seed 0" or "seed 1", a network of the run "gated_linear/rest", at its step 16,000
    settling, steps : how long the network goes on before it is looked at, every 10 steps, and how
        long it is
    device : the CPU does it, whatever is given

    Returns
    -------
    over lag: observed; with_edges, fixed_gates, noise_alone, as `flip_shares` of `jitter` and
    `around` say where one begins

    Settings
    --------
    data : as at `gates_to_rest`, of seed {seed}; gates are looked at on 3,000 other signals,
        curvature and noise measured on 150,000
    network : as at `gates_to_rest`
    initialization : the network {start} of the run `rest`, after its 16,000 steps
    loss : (output − target)², without ½, mean over the batch
    rate : {learning_rate}, constant, no momentum
    batch : {batch} fresh signals for each step
    steps : {settling} and then {steps}
    stop : none
    read : the share of pairs of a neuron and a signal whose gate differs between two looks, {LAGS}
        steps apart, over all pairs of looks, every 10 steps, in the last {steps} steps; curvature
        and noise at the first of these
    precision : 32 bits; curvature and noise 64
    """
    if steps < LAGS[-1]:
        raise ValueError(
            f"steps is {steps}: want at least {LAGS[-1]}, the longest time between two looks"
        )
    rest = (
        load("gated_linear/rest").w.isel(trial=0).sel(run=start, step=16_000).values.astype(float)
    )
    record = settling + np.arange(0, steps + 1, 10)
    path = descend(rest, np.append(0, record), learning_rate=learning_rate, batch=batch, seed=seed)[
        1:
    ]
    seen = data.nlgp((seed, 1), 3000, rest.shape[1], (2.0, 1.0), 3.0)[0]
    found = around(path[0], *data.nlgp((seed, 2), 150_000, rest.shape[1], (2.0, 1.0), 3.0))
    noise, predict = (
        found.noise / batch,
        lambda moved: ("lag", flip_shares(moved, path[0], seen[:1500])),
    )
    opened = path @ seen.T > 0
    observed = [np.mean(opened[: -lag // 10] != opened[lag // 10 :]) for lag in LAGS]
    return xr.Dataset(
        {
            "observed": ("lag", observed),
            "with_edges": predict(jitter(found.linear + found.edge, noise, learning_rate, LAGS)),
            "fixed_gates": predict(jitter(found.linear, noise, learning_rate, LAGS)),
            "noise_alone": predict(learning_rate**2 * lag * noise for lag in LAGS),
        },
        coords={"lag": list(LAGS)},
    )
