"""Which receptive fields neurons on a ring come to have:
goals, sizes, signals, and what theory predicts.

Source: the localization notes, sections 1 and 5; Ingrosso & Goldt (2022) for the task; settings
from leonlufkin/Localization.
"""

from functools import lru_cache, partial

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from torch.nn.functional import binary_cross_entropy, binary_cross_entropy_with_logits

from book.localization import tiling
from lib import data, progress
from lib.checks import one_of, positive, size, takes, vector, wholes
from lib.experiments.ring import _fields, receptive_fields
from lib.experiments.signal_batches import signals
from lib.measures import inverse_participation_ratio
from lib.networks import Committee
from lib.training import train
from lib.training.schedules import piecewise

WIDTHS = np.geomspace(0.3, 8, 40)  # of bumps, in sites


GOALS = ("y = 1, 0", "y = ±1", "cross-entropy")


@takes(activation=partial(one_of, allowed=("erf", "sigmoid")), record=vector)
def goals(
    activation: str,
    *,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    neurons: int = 40,
    rate: float = 20.0,
    steps: int,
    record: list[int],
    batch: int = 1000,
    sites: int = 40,
    trials: int = 3,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train the mean of some neurons with biases as `receptive_fields` does, for three goals, in
    each trial on the same signals.

    Two goals are the squared error of targets 1 and 0, or ±1. The third is the cross-entropy of the
    classes, where the mean of erf neurons says y = 1 with the probability (1 + ŷ)/2, and that of
    sigmoid neurons with the probability ŷ.

    Returns
    -------
    over (goal, trial, step): loss on 10,000 signals, E(ŷ − y)² or the cross-entropy in nats; ipr
    and b (…, neuron); the fields w (goal, trial, neuron, site) at the end

    Settings
    --------
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; the same for the three goals of a trial
    network : the mean of {neurons} neurons σ(w·x + b), σ {activation} ("erf" is erf(z/√2)); nothing
        but w and b is trained
    initialization : w normal with the variance 2 / (neurons + sites), b zero; networks for each
        goal: {trials}, seed {seed}
    loss : (output − y)², without ½, with y = 1, 0 or y = 1, −1; or the cross-entropy of the
        classes, where class 1 has the probability (1 + output)/2 for erf and output for sigmoid;
        mean over the batch
    rate : {rate}, the same for w and b, no momentum
    batch : {batch} fresh signals for each step
    steps : {steps}
    stop : none
    read : w, b and the inverse participation ratio Σw⁴/(Σw²)² at steps {record}; the loss on 10,000
        other signals
    precision : 32 bits
    """
    network, low = (
        Committee(sites, neurons, activation, bias=True),
        -1.0 if activation == "erf" else 0.0,
    )
    drawn = lru_cache(trials)(signals("nlgp", sites, xi, gain, batch, seed, dtype="float32"))

    def losses(outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss (members,) of three goals times trials."""
        outputs, labels = (values.unflatten(0, (3, trials)) for values in (outputs, labels))
        said = ((outputs[2] - low) / (1 - low)).clamp(0, 1)
        found = (outputs[0] - labels[0]) ** 2, (outputs[1] - (2 * labels[1] - 1)) ** 2
        return (
            torch.stack([*found, binary_cross_entropy(said, labels[2], reduction="none")])
            .mean((-2, -1))
            .flatten()
        )

    inputs, wanted = signals("nlgp", sites, xi, gain, 10_000, seed)(
        trials, 0
    )  # a member's number that no trial has
    found = train(
        network,
        {
            name: torch.cat([value] * 3)
            for name, value in network.initialize(seed, trials, device=device).items()
        },
        np.stack([inputs] * 3 * trials),
        np.stack([wanted] * 3 * trials),
        learning_rate=rate,
        steps=steps,
        draw=lambda member, step: drawn(member % trials, step),
        loss=losses,
        record=record,
        observe=_fields,
        progress=True,
    )
    parts = {
        name: found[name].values.reshape(3, trials, *found[name].shape[1:])
        for name in ("loss", "w", "b")
    }
    each, last = ("goal", "trial", "step"), parts["w"][:, :, -1]
    return xr.Dataset(
        {
            "loss": (each, parts["loss"]),
            "ipr": ((*each, "neuron"), inverse_participation_ratio(parts["w"])),
            "b": ((*each, "neuron"), parts["b"]),
            "w": (("goal", "trial", "neuron", "site"), last),
        },
        {"goal": list(GOALS), "step": record},
    )


SIZES = (8, 20, 40, 100)
SHARES = np.array(
    [0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1]
)  # of a run: when one looks
COOL = 7 / 8  # of a run: when the learning rate has fallen


@takes(sizes=wholes, steps=size, rate=positive)
def tiles(
    kind: str = "nlgp",
    *,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    steps: int,
    sizes: tuple[int, ...] = SIZES,
    sites: int = 40,
    batch: int = 1000,
    rate: float = 0.2,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train networks of several sizes as `receptive_fields` does, all
    on the same batches, for as long as `steps` says.

    The learning rate is `rate` times the number of neurons, so that all move at the same speed; the
    authors' is half of ours.

    Returns
    -------
    over (size, share), the part of the run that is over: loss and the ipr (…, neuron); the fields w
    (size, neuron, site) at the end; NaN where a network has fewer neurons

    Settings
    --------
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; kind "clone" is Gaussian with the same covariances.
        Targets 1 and 0; all sizes see the same signals
    network : the mean of K neurons relu(w·x), no biases, K = {sizes}
    initialization : w normal with the variance 2 / (K + sites), seed {seed}
    loss : (output − target)², without ½, mean over the batch
    rate : {rate} K, no momentum, so that a step is {2 * rate}τ of the notes' flow
    batch : {batch} fresh signals for each step
    steps : {steps}
    stop : none; what the text says of networks at rest is read after the last step
    read : w and its inverse participation ratio Σw⁴/(Σw²)², and the error on 10,000 other signals,
        after the shares {SHARES.tolist()} of the steps
    precision : 32 bits
    """
    draw = signals(kind, sites, xi, gain, batch, seed, (1.0, 0.0), dtype="float32")
    test = signals(kind, sites, xi, gain, 10_000, seed, (1.0, 0.0))
    fields = [
        Committee(sites, k, "relu", False).initialize(seed, 1, dtype=torch.float32, device=device)[
            "weight1"
        ][0]
        for k in sizes
    ]
    inputs, wanted = (
        torch.from_numpy(a).to(fields[0]) for a in test(1, 0)
    )  # a member's number that no network has
    stops, found = np.round(SHARES * steps).astype(int), []
    show = progress.bar(steps, "tiles", "step")
    for step in range(steps + 1):
        show.update(step > 0)
        if step in stops:
            losses = [
                torch.mean((torch.relu(inputs @ w.T).mean(1, keepdim=True) - wanted) ** 2)
                for w in fields
            ]
            found.append(
                (
                    [float(v) for v in losses],
                    [inverse_participation_ratio(w).cpu().numpy() for w in fields],
                )
            )
        if step < steps:
            x, y = (torch.from_numpy(a).to(fields[0]) for a in draw(0, step))
            for w in fields:
                hidden = torch.relu(x @ w.T)
                error = hidden.mean(1, keepdim=True) - y
                w -= 2 * rate / batch * ((hidden > 0) * error).T @ x
    ipr = np.full((len(sizes), len(stops), max(sizes)), np.nan, np.float32)
    last = np.full((len(sizes), max(sizes), sites), np.nan, np.float32)
    for i, k in enumerate(sizes):
        ipr[i, :, :k] = [ratios[i] for _, ratios in found]
        last[i, :k] = fields[i].cpu()
    return xr.Dataset(
        {
            "loss": (("size", "share"), np.array([losses for losses, _ in found], np.float32).T),
            "ipr": (("size", "share", "neuron"), ipr),
            "w": (("size", "neuron", "site"), last),
            "steps": steps,
        },
        {
            "size": list(sizes),
            "share": SHARES,
            "neuron": np.arange(max(sizes)),
            "site": np.arange(sites),
        },
    )


@takes(sizes=partial(wholes, least=2))
def predicted_tiles(
    *,
    xi: tuple,
    gain: float,
    sites: int = 40,
    sizes: tuple[int, ...] = SIZES,
    samples: int = 8_000,
    seed: int = 1,
    device: str = "cpu",
) -> xr.Dataset:
    """Predict what `tiles` finds, from signals alone: climb the tiling score.

    Returns
    -------
    over size: the profile (…, site) of the highest score, its ipr and its error E(ŷ − y)²; over
    climb: ipr and score of the maxima that different starts reach, many neurons; over width: the
    score of bumps; over frequency: of waves

    Settings
    --------
    data : {samples} signals as at `tiles`, lengths ξ {xi}, gain {gain}, {sites} sites, seed {seed}
    initialization : profiles to climb from: bumps, wave packets and random ones, as `tiling.starts`
        lists them
    solved : the highest score R of one profile at the places of K = {sizes} neurons: L-BFGS-B from
        each start on a quarter of the signals with many neurons (60 steps), from the best of these
        with K neurons for the two numbers of sign changes around the ring that score highest (40),
        and again on all signals (40)
    read : the inverse participation ratio of the best profile, its error ½ − ½R
    precision : 64 bits, kept in 32
    """
    x, y = data.nlgp(seed, samples, sites, xi, gain)
    few, many = tiling.Signals(x[: samples // 4], y[: samples // 4]), tiling.Signals(x, y)
    whole = tiling.arrangement(sites, sites + 1, 1)
    tops = [tiling.climb(few, start, whole, 60) for start in tiling.starts(sites)]
    best = max(tops, key=lambda top: top[1])[0]
    found = {}
    for k in sizes:
        turns = (
            [tiling.arrangement(sites, k, t) for t in range(1, k // 2 + 1)]
            if k <= sites
            else [whole]
        )
        turns.sort(key=lambda where: -few.score(best, where)[0])
        tried = [(tiling.climb(few, best, where, 40), where) for where in turns[:2]]
        (profile, _), where = max(tried, key=lambda one: one[0][1])
        found[k] = tiling.climb(many, profile, where, 40)
    profiles, scores = (np.array(v) for v in zip(*found.values(), strict=True))
    ring = np.minimum(np.arange(sites), sites - np.arange(sites))
    bumps = np.exp(-(ring**2) / (2 * WIDTHS[:, None] ** 2))
    waves = np.cos(2 * np.pi * np.outer(np.arange(sites // 2 + 1), np.arange(sites)) / sites + 0.3)
    return xr.Dataset(
        {
            "profile": (("size", "site"), profiles),
            "ipr": ("size", inverse_participation_ratio(profiles)),
            "error": ("size", 0.5 - 0.5 * scores),
            "climbed": ("climb", inverse_participation_ratio(np.array([u for u, _ in tops]))),
            "top": ("climb", [score for _, score in tops]),
            "bump": ("width", [many.score(u, whole)[0] for u in bumps]),
            "wave": ("frequency", [many.score(u, whole)[0] for u in waves]),
        },
        {"size": list(sizes), "width": WIDTHS, "site": np.arange(sites)},
    ).astype(np.float32)


def to_rest(
    *,
    xi: tuple,
    gain: float,
    bias: bool,
    steps: int,
    neurons: int = 40,
    rate: float = 0.4,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train ReLU neurons as `receptive_fields` does, for as long
    as `steps` says, at `rate` times their number.

    Returns
    -------
    over share, the part of the run that is over: loss, E(ŷ − y)², and the ipr (…, neuron); the
    fields w (neuron, site) at the end

    Settings
    --------
    as : receptive_fields
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; targets {targets}
    rate : {rate} times the number of neurons, the same for w and b, no momentum, so that a step is
        {2 * rate}τ of the notes' flow
    stop : none; after the last step networks with g = 1, and those with biases, still change slowly
    read : w and its inverse participation ratio Σw⁴/(Σw²)², the error on 10,000 other signals, the
        same at each of 41 evenly spaced records
    """
    share = np.linspace(0, 1, 41)
    found = receptive_fields(
        xi=xi,
        neurons=neurons,
        gain=gain,
        bias=bias,
        learning_rate=rate * neurons,
        steps=steps,
        record=np.round(share * steps).astype(int),
        seed=seed,
        device=device,
    ).isel(trial=0)
    return xr.Dataset(
        {
            "loss": ("share", found.loss.values.astype(np.float32)),
            "ipr": (("share", "neuron"), found.ipr.values.astype(np.float32)),
            "w": (("neuron", "site"), found.w.values[-1]),
            "steps": steps,
        },
        {"share": share},
    )


def cooled(
    *,
    xi: tuple,
    gain: float,
    steps: int,
    neurons: int = 40,
    rate: float = 0.4,
    trials: int = 8,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train ReLU neurons without biases as `receptive_fields` does, at a rate that falls.

    Returns
    -------
    over (trial, share), the part of the run that is over: loss, E(ŷ − y)², and the ipr
    (…, neuron); the fields w (trial, neuron, site) at the end

    Settings
    --------
    as : receptive_fields
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}; targets {targets}
    rate : {rate} times the number of neurons, no momentum, so that a step is {2 * rate}τ of the
        notes' flow; from half of the steps to {COOL} of them it falls on a straight line to a
        twentieth
    stop : none
    read : w and its inverse participation ratio Σw⁴/(Σw²)², the error on 10,000 other signals,
        after the shares {SHARES.tolist()} of the steps
    """
    found = receptive_fields(
        xi=xi,
        neurons=neurons,
        gain=gain,
        learning_rate=rate * neurons,
        steps=steps,
        trials=trials,
        record=np.round(SHARES * steps).astype(int),
        schedule=piecewise([steps / 2, COOL * steps], [1, 0.05]),
        seed=seed,
        device=device,
    )
    each = ("trial", "share")
    return xr.Dataset(
        {
            "loss": (each, found.loss.values.astype(np.float32)),
            "ipr": ((*each, "neuron"), found.ipr.values.astype(np.float32)),
            "w": (("trial", "neuron", "site"), found.w.values[:, -1]),
            "steps": steps,
        },
        {"share": SHARES},
    )


@takes(steps=size, rate=positive)
def entropy(
    *,
    xi: tuple,
    steps: int,
    gain: float = 3.0,
    neurons: int = 40,
    sites: int = 40,
    batch: int = 1000,
    rate: float = 1.6,
    trials: int = 8,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train ReLU neurons with biases on the cross-entropy of the classes.

    Returns
    -------
    over (trial, share), the part of the run that is over: the loss in nats, the ipr (…, neuron);
    over trial: the bias of the output at the end

    Settings
    --------
    data : signals x = erf(gz)/Z of variance 1 on a ring of {sites} sites, z Gaussian with
        correlation exp(−d²/ξ²) at the distance d around the ring, class 1 or 0 with probability ½,
        their lengths ξ: {xi}, gain g = {gain}
    network : the mean of {neurons} neurons relu(w·x + b), plus one bias c; nothing but w, b and c
        is trained; class 1 has the probability 1/(1 + exp(−output))
    initialization : w normal with the variance 2 / (neurons + sites), b and c zero; networks:
        {trials}, seed {seed}
    loss : the cross-entropy, mean over the batch
    rate : {rate}, of c, and that times the number of neurons of w and b; no momentum
    batch : {batch} fresh signals for each step
    steps : {steps}
    stop : none
    read : the inverse participation ratio Σw⁴/(Σw²)² of w, and the loss on the batch, after the
        shares {SHARES.tolist()} of the steps
    precision : 32 bits
    """
    draw = signals("nlgp", sites, xi, gain, batch, seed, dtype="float32")
    first = Committee(sites, neurons, "relu", True).initialize(seed, trials, device=device)
    w = first["weight1"]
    b = first["bias1"][:, None]
    c = torch.zeros(trials, 1).to(w)
    stops = np.round(SHARES * steps).astype(int)
    losses, ratios = [], []
    show = progress.bar(steps, "entropy", "step")
    for step in range(steps + 1):
        show.update(step > 0)
        drawn = [draw(member, step) for member in range(trials)]
        x = torch.from_numpy(np.stack([inputs for inputs, _ in drawn])).to(w)
        y = torch.from_numpy(np.stack([labels for _, labels in drawn])).to(w)[..., 0]
        hidden = torch.relu(x @ w.mT + b)
        output = hidden.mean(-1) + c
        if step in stops:
            loss = binary_cross_entropy_with_logits(output, y, reduction="none")
            losses.append(loss.mean(-1).cpu().numpy())
            ratios.append(inverse_participation_ratio(w).cpu().numpy())
        if step < steps:
            slope = (torch.sigmoid(output) - y) / batch
            back = (hidden > 0) * slope[..., None]
            w -= rate * back.mT @ x
            b -= rate * back.sum(1, keepdim=True)
            c -= rate * slope.sum(1, keepdim=True)
    return xr.Dataset(
        {
            "loss": (("trial", "share"), np.stack(losses, axis=1)),
            "ipr": (("trial", "share", "neuron"), np.stack(ratios, axis=1)),
            "c": ("trial", c[:, 0].cpu().numpy()),
        },
        {"share": SHARES},
    )
