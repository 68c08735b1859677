"""Grokking: how the balance between layers moves the time from fitting the training set to generalizing, in modular arithmetic.

Source: Kunin et al. (2024), "Get rich quick", figure 5(d) and its appendix; Kumar et al. (2024) for the factor of the output.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from lib.checks import labelled, number, positives, size, takes, wholes
from lib.data.arithmetic import modular, one_hot_pairs, split
from lib.measures import accuracy
from lib.networks import Dense, Transformer
from lib.networks.base import check_device
from lib.results import Run
from lib.training import cross_entropy, train
from lib.training.schedules import warm_up

POSITIVES = partial(positives, ndim=1)


@takes(alpha=POSITIVES, tau=POSITIVES, seeds=wholes, steps=size, every=size, fraction=partial(number, low=0, high=1))
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
    """Train one-layer transformers on a part of all equations modulo p, all members in one program.

    Embeddings of tokens and places start divided by α; the output is multiplied by τ and the learning rate divided by τ². A seed
    determines the split, the weights and the order of batches: members of one seed differ in α and τ only.

    Parameters
    ----------
    alpha, tau : > 0
    steps : updates, by Adam on batches of 512
    every : steps between looks
    p : a prime
    operation : as in `lib.data.arithmetic.modular`
    fraction : which part of the equations is learned from; the paper has a half

    Returns
    -------
    over (alpha, tau, seed, step): accuracies train and validation

    Source: appendix, "Grokking"; learning rate 1e-3, β = (.9, .98) and ten steps of warm-up from the code it names.
    """
    over = {"alpha": list(alpha), "tau": list(tau), "seed": seeds}
    a, t, s = (np.array(values) for values in zip(*product(*over.values()), strict=True))
    tokens, labels = modular(p, operation)
    network = Transformer(p + 2)
    first = int(fraction * len(tokens))
    drawn = {seed: _drawn(network, seed, len(tokens), first, device) for seed in seeds}
    parameters = {name: torch.stack([drawn[seed][0][name] for seed in s]) for name in network.shapes()}
    for name in ("embedding", "positions"):
        parameters[name] /= torch.tensor(a).to(parameters[name]).view(-1, 1, 1)
    scale = torch.tensor(t).to(parameters["embedding"]).view(-1, 1, 1)
    train_set, others = (np.stack([drawn[seed][part] for seed in s]) for part in (1, 2))
    found = train(
        network,
        parameters,
        tokens[train_set],
        labels[train_set],
        learning_rate=1e-3 / t**2,
        steps=steps,
        optimizer="adam",
        betas=(0.9, 0.98),
        schedule=warm_up(10),
        batch_size=min(512, train_set.shape[1]),
        loss=lambda outputs, targets: cross_entropy(scale * outputs, targets),
        metrics={"accuracy": accuracy},
        test=(tokens[others], labels[others]),
        record=np.arange(0, steps + 1, every),
        seed=s.tolist(),
        progress=True,
    )
    return _accuracies(found, over)


def _drawn(
    network: Transformer, seed: int, count: int, first: int, device: str
) -> tuple[dict[str, Tensor], np.ndarray, np.ndarray]:
    """Return a seed's first weights and the two parts of the equations."""
    weights = {name: value[0] for name, value in network.initialize(seed, device=device).items()}
    return weights, *split((seed, 0), count, first)


@takes(alpha=POSITIVES, scale=POSITIVES, seeds=wholes, steps=size, every=size, width=size, device=check_device)
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
    r"""Train :math:`W\,\mathrm{relu}(E_1[x] + E_2[y])` on three quarters of the equations in units modulo p, by full-batch Adam.

    The embeddings are N(0, ½) times :math:`\sqrt{c}/\alpha`, the readout N(0, 1/width) times :math:`\sqrt{c}\,\alpha`: the first
    function is c times one that does not depend on α. A seed determines the split and the draws.

    Parameters
    ----------
    alpha : > 0, the balance; above 1 is upstream
    scale : > 0, c
    p : a prime
    operation : as in `lib.data.arithmetic.one_hot_pairs`

    Returns
    -------
    over (alpha, scale, seed, step): accuracies train and validation

    Source: new; a stand-in for the transformer that trains in seconds. Half squared error, learning rate .01, β = (.9, .98).
    """
    over = {"alpha": list(alpha), "scale": list(scale), "seed": seeds}
    a, c, s = (np.array(values) for values in zip(*product(*over.values()), strict=True))
    (inputs, labels), units = one_hot_pairs(p, operation), p - 1
    network, targets = Dense((2 * units, width, units), "relu", bias=False), np.eye(units, dtype=np.float32)[labels]
    halves = [split((seed, 0), len(inputs), 3 * len(inputs) // 4) for seed in s]
    first, others = (np.stack(part) for part in zip(*halves, strict=True))
    rngs = [np.random.default_rng((seed, 1)) for seed in s]
    embedding = np.stack([rng.normal(size=(width, 2 * units)) for rng in rngs]) * np.sqrt(c / 2)[:, None, None]
    readout = np.stack([rng.normal(size=(units, width)) for rng in rngs]) * np.sqrt(c / width)[:, None, None]
    weights = {"weight1": embedding / a[:, None, None], "weight2": readout * a[:, None, None]}
    found = train(
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
        record=np.arange(0, steps + 1, every),
    )
    return _accuracies(found, over)


def _accuracies(found: xr.Dataset, over: dict[str, list]) -> xr.Dataset:
    """Unfold members into the axes that they were made from."""
    shape = (*map(len, over.values()), found.sizes["step"])
    parts = {"train": found.accuracy, "validation": found.test_accuracy}
    data = {name: ((*over, "step"), part.values.reshape(shape)) for name, part in parts.items()}
    return xr.Dataset(data, over | {"step": found.step.values})


@takes(accuracies=labelled("step"), threshold=number)
def steps_until(accuracies: xr.DataArray, threshold: float = 0.99) -> xr.DataArray:
    """Return the first recorded `step` at which an accuracy is at least the threshold; infinity where there is none."""
    reached = accuracies >= threshold
    return xr.where(reached.any("step"), accuracies.step[reached.argmax("step")], np.inf).drop_vars("step", errors="ignore")


SCALE = {"alpha": [0.1, 1.0, 10.0], "tau": [0.5]}
# What one shared core does in half an hour.
RUNS = [
    Run(
        "practice/grokking",
        transformers,
        "setting",
        {
            "four fifths": {**SCALE, "seeds": [0, 1, 2], "steps": 3000, "fraction": 0.8},
            "half": {**SCALE, "seeds": [0, 1], "steps": 2000},
            "half, products": {**SCALE, "alpha": [1.0], "seeds": [0, 1], "steps": 2000, "operation": "multiplication"},
        },
        source={"alpha": 5, "tau": 5, "seeds": 5, "steps": 30_000},
    )
]
