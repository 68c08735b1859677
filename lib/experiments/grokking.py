"""Grokking: how the balance between layers moves the time from fitting the training set to generalizing, in modular arithmetic.

Source: Kunin et al. (2024), "Get rich quick", figure 5(d) and its appendix; Kumar et al. (2024) for the factor of the output.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import labelled, number, positives, size, takes, wholes
from lib.data.arithmetic import modular, one_hot_pairs, split
from lib.measures import accuracy
from lib.networks import Dense, Transformer
from lib.networks.base import check_device
from lib.runs import Run, grid, named
from lib.training import cross_entropy, log_steps, train
from lib.training.schedules import warm_up

POSITIVES = partial(positives, ndim=1)
REACHED = 0.99  # the accuracy at which a network has fitted, or generalized


@takes(alpha=POSITIVES, tau=POSITIVES, seeds=wholes, steps=size, every=size)
def transformers(
    alpha: Sequence[float],
    tau: Sequence[float],
    seeds: Sequence[int],
    *,
    steps: int,
    every: int = 50,
    p: int = 97,
    operation: str = "division",
    fraction: float = 0.5,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one-layer transformers on a part of all equations modulo p and look at them on the way.

    Parameters
    ----------
    alpha, tau : > 0; every pair of the two is trained with every seed
    every : steps between looks
    steps, p, operation, fraction : as of `transformer_clocks`

    Returns
    -------
    over (alpha, tau, seed, step): accuracies train and validation

    Source: appendix, "Grokking".
    """
    over = {"alpha": list(alpha), "tau": list(tau), "seed": seeds}
    members = [np.array(values) for values in zip(*product(*over.values()), strict=True)]
    record = np.arange(0, steps + 1, every)
    found = _train(*members, steps, record, p=p, operation=operation, fraction=fraction, device=device)
    return _accuracies(found, over)


@takes(alpha=POSITIVES, tau=POSITIVES, seed=wholes, steps=size, looks=size)
def transformer_clocks(
    alpha: ArrayLike,
    tau: ArrayLike,
    seed: ArrayLike,
    *,
    steps: int,
    looks: int = 300,
    p: int = 97,
    operation: str = "division",
    fraction: float = 0.5,
    weight_decay: float = 0.0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one-layer transformers on a part of all equations modulo p until they have fitted and generalized.

    Embeddings of tokens and places start divided by α; the output is multiplied by τ and the learning rate divided by τ². A seed
    determines the split, the weights and the order of batches: members of one seed differ in α and τ only.

    Parameters
    ----------
    alpha, tau, seed : (m,), one entry for each network
    steps : updates at most, by Adam on batches of 512
    looks : about how many, evenly spaced on a logarithmic scale: times are known to 1 / `looks` of ln(`steps`)
    p : a prime
    operation : as in `lib.data.arithmetic.modular`
    fraction : which part of the equations is learned from; the paper has a half
    weight_decay : decoupled, as in AdamW; the paper has none

    Returns
    -------
    over member: fit and grok, the steps at which the accuracies on the training set and on the other equations were first seen
    to be at least `REACHED`, infinite where they were not; train and validation, the last accuracies; diverged

    Source: appendix, "Grokking", and its figure; learning rate 1e-3, β = (.9, .98) and ten steps of warm-up from the code it
    names.
    """
    members = np.broadcast_arrays(*np.atleast_1d(alpha, tau, seed))
    options = {"p": p, "operation": operation, "fraction": fraction, "weight_decay": weight_decay, "device": device}
    found = _train(*members, steps, log_steps(steps, looks), stop_when=_generalized, **options)
    return _clocks(found)


@takes(fraction=partial(number, low=0, high=1))
def _train(
    alpha: NDArray,
    tau: NDArray,
    seed: NDArray,
    steps: int,
    record: NDArray,
    *,
    p: int,
    operation: str,
    fraction: float,
    device: str,
    **options: Any,
) -> xr.Dataset:
    """Train transformers, one for each entry of α, τ and seed, all in one program; a target is a label and its member's τ."""
    tokens, labels = modular(p, operation)
    network = Transformer(p + 2)
    first = int(fraction * len(tokens))
    drawn = {one: _drawn(network, one, len(tokens), first, device) for one in dict.fromkeys(seed.tolist())}
    parameters = {name: torch.stack([drawn[one][0][name] for one in seed.tolist()]) for name in network.shapes()}
    for name in ("embedding", "positions"):
        parameters[name] /= torch.tensor(alpha).to(parameters[name]).view(-1, 1, 1)
    train_set, others = (np.stack([drawn[one][part] for one in seed.tolist()]) for part in (1, 2))
    pairs = ((labels[part], np.broadcast_to(tau[:, None], part.shape)) for part in (train_set, others))
    targets = [np.stack(pair, axis=-1).astype(np.float32) for pair in pairs]
    return train(
        network,
        parameters,
        tokens[train_set],
        targets[0],
        learning_rate=1e-3 / tau**2,
        steps=steps,
        optimizer="adam",
        betas=(0.9, 0.98),
        schedule=warm_up(10),
        batch_size=min(512, train_set.shape[1]),
        loss=lambda outputs, targets: cross_entropy(targets[..., 1:] * outputs, targets[..., 0].long()),
        metrics={"accuracy": lambda outputs, targets: accuracy(outputs, targets[..., 0].long())},
        test=(tokens[others], targets[1]),
        record=record,
        seed=seed.tolist(),
        progress=True,
        **options,
    )


def _generalized(seen: dict[str, NDArray]) -> NDArray:
    """Say of which members both accuracies are reached."""
    return (seen["accuracy"] >= REACHED) & (seen["test_accuracy"] >= REACHED)


def _clocks(found: xr.Dataset) -> xr.Dataset:
    """Return when members had fitted and generalized, and where they ended."""
    parts = {"train": found.accuracy, "validation": found.test_accuracy}
    times = {name: steps_until(parts[part], REACHED) for name, part in (("fit", "train"), ("grok", "validation"))}
    ends = {name: part.isel(step=-1, drop=True) for name, part in parts.items()}
    return xr.Dataset(times | ends | {"diverged": found.diverged})


def _drawn(network: Transformer, seed: int, count: int, first: int, device: str) -> tuple[dict[str, Tensor], NDArray, NDArray]:
    """Return a seed's first weights and the two parts of the equations."""
    weights = {name: value[0] for name, value in network.initialize(seed, device=device).items()}
    return weights, *split((seed, 0), count, first)


@takes(alpha=POSITIVES, scale=POSITIVES, seeds=wholes, steps=size, every=size)
def two_layers(
    alpha: Sequence[float],
    scale: Sequence[float],
    seeds: Sequence[int],
    *,
    steps: int = 500,
    every: int = 5,
    p: int = 31,
    operation: str = "division",
    width: int = 128,
    device: str = "cpu",
) -> xr.Dataset:
    """Train two-layer networks on three quarters of the equations in units modulo p and look at them on the way.

    Parameters
    ----------
    alpha, scale : > 0; every pair of the two is trained with every seed
    every : steps between looks
    steps, p, operation, width : as of `two_layer_clocks`

    Returns
    -------
    over (alpha, scale, seed, step): accuracies train and validation

    Source: new; a stand-in for the transformer that trains in seconds.
    """
    over = {"alpha": list(alpha), "scale": list(scale), "seed": seeds}
    members = [np.array(values) for values in zip(*product(*over.values()), strict=True)]
    record = np.arange(0, steps + 1, every)
    found = _train_two_layers(*members, steps, record, p=p, operation=operation, width=width, device=device)
    return _accuracies(found, over)


@takes(alpha=POSITIVES, scale=POSITIVES, seed=wholes, steps=size, looks=size)
def two_layer_clocks(
    alpha: ArrayLike,
    scale: ArrayLike,
    seed: ArrayLike,
    *,
    steps: int,
    looks: int = 300,
    p: int = 31,
    operation: str = "division",
    width: int = 128,
    device: str = "cpu",
) -> xr.Dataset:
    r"""Train :math:`W\,\mathrm{relu}(E_1[x] + E_2[y])` on three quarters of the equations in units modulo p, by full-batch Adam,
    until it has fitted and generalized.

    The embeddings are N(0, ½) times :math:`\sqrt{c}/\alpha`, the readout N(0, 1/width) times :math:`\sqrt{c}\,\alpha`: the first
    function is c times one that does not depend on α. A seed determines the split and the draws.

    Parameters
    ----------
    alpha : (m,), > 0, the balance; above 1 is upstream
    scale : (m,), > 0, c
    seed : (m,)
    steps : updates at most
    looks : about how many, evenly spaced on a logarithmic scale: times are known to 1 / `looks` of ln(`steps`)
    p : a prime
    operation : as in `lib.data.arithmetic.one_hot_pairs`

    Returns
    -------
    over member: fit, grok, train, validation and diverged, as of `transformer_clocks`

    Source: new; half squared error, learning rate .01, β = (.9, .98).
    """
    members = np.broadcast_arrays(*np.atleast_1d(alpha, scale, seed))
    options = {"p": p, "operation": operation, "width": width, "device": device, "stop_when": _generalized}
    return _clocks(_train_two_layers(*members, steps, log_steps(steps, looks), **options))


@takes(width=size, device=check_device)
def _train_two_layers(
    alpha: NDArray,
    scale: NDArray,
    seed: NDArray,
    steps: int,
    record: NDArray,
    *,
    p: int,
    operation: str,
    width: int,
    device: str,
    **options: Any,
) -> xr.Dataset:
    """Train two-layer networks, one for each entry of α, scale and seed, all in one program."""
    (inputs, labels), units = one_hot_pairs(p, operation), p - 1
    network, targets = Dense((2 * units, width, units), "relu", bias=False), np.eye(units, dtype=np.float32)[labels]
    halves = [split((one, 0), len(inputs), 3 * len(inputs) // 4) for one in seed.tolist()]
    first, others = (np.stack(part) for part in zip(*halves, strict=True))
    rngs = [np.random.default_rng((one, 1)) for one in seed.tolist()]
    embedding = np.stack([rng.normal(size=(width, 2 * units)) for rng in rngs]) * np.sqrt(scale / 2)[:, None, None]
    readout = np.stack([rng.normal(size=(units, width)) for rng in rngs]) * np.sqrt(scale / width)[:, None, None]
    weights = {"weight1": embedding / alpha[:, None, None], "weight2": readout * alpha[:, None, None]}
    return train(
        network,
        {name: torch.tensor(value, dtype=torch.float32, device=device) for name, value in weights.items()},
        inputs[first],
        targets[first],
        learning_rate=0.01,
        steps=steps,
        optimizer="adam",
        betas=(0.9, 0.98),
        metrics={"accuracy": lambda outputs, targets: accuracy(outputs, targets.argmax(-1))},
        test=(inputs[others], targets[others]),
        record=record,
        progress=True,
        **options,
    )


def _accuracies(found: xr.Dataset, over: dict[str, list]) -> xr.Dataset:
    """Unfold members into the axes that they were made from."""
    shape = (*map(len, over.values()), found.sizes["step"])
    parts = {"train": found.accuracy, "validation": found.test_accuracy}
    data = {name: ((*over, "step"), part.values.reshape(shape)) for name, part in parts.items()}
    return xr.Dataset(data, over | {"step": found.step.values})


@takes(accuracies=labelled("step"), threshold=number)
def steps_until(accuracies: xr.DataArray, threshold: float = REACHED) -> xr.DataArray:
    """Return the first recorded `step` at which an accuracy is at least the threshold; infinity where there is none."""
    reached = accuracies >= threshold
    return xr.where(reached.any("step"), accuracies.step[reached.argmax("step")], np.inf).drop_vars("step", errors="ignore")


SCALE = {"alpha": [0.1, 1.0, 10.0], "tau": [0.5]}
GRID = {"alpha": [0.1, 0.3, 1.0, 3.0, 10.0], "tau": [0.5, 0.75, 1.0, 1.25, 1.5]}
RUNS = [
    Run(  # what one shared core does in half an hour
        "practice/grokking",
        transformers,
        named(
            "setting",
            {
                "four fifths": {**SCALE, "seeds": [0, 1, 2], "steps": 3000, "fraction": 0.8},
                "half": {**SCALE, "seeds": [0, 1], "steps": 2000},
                "half, products": {**SCALE, "alpha": [1.0], "seeds": [0, 1], "steps": 2000, "operation": "multiplication"},
            },
        ),
        source={"alpha": 5, "tau": 5, "seeds": 5, "steps": 30_000},
    ),
    Run(  # the paper's grid and half of its equations, but with decoupled decay and an end at `REACHED`: a minute a network
        "practice/grokking_decaying",
        transformer_clocks,
        grid(**GRID, seed=range(5)),
        {"steps": 10_000, "weight_decay": 1.0},
        {"networks": 125, "steps": 30_000},
        batch=25,
    ),
    Run(  # the public code's operation and no decay: seven minutes a network on a core, less if it groks
        "practice/grokking_products",
        transformer_clocks,
        grid(**GRID | {"tau": [1.0, 0.75]}, seed=range(5)),
        {"steps": 30_000, "operation": "multiplication"},
        {"networks": 50, "steps": 30_000},
        batch=25,
    ),
    Run(
        "practice/grokking_two_layers",
        two_layer_clocks,
        grid(alpha=[10**-0.5, 1.0, 10**0.5], scale=[0.1, 1.0], seed=range(40)),
        {"steps": 6000},
        batch=40,
    ),
]
