"""Grokking: how the balance between layers moves the time from fitting the training set to
generalizing, in modular arithmetic.

Source: Kunin et al. (2024), "Get rich quick", figure 5(d) and its appendix; Kumar et al. (2024) for
the factor of the output.
"""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from book.practice.arithmetic import modular, split
from book.practice.measures import accuracy
from book.practice.transformer import Transformer
from lib.checks import takes
from lib.training import cross_entropy, log_steps, train
from lib.training.schedules import warm_up

REACHED = 0.99  # the accuracy at which a network has fitted, or generalized


@takes()
def transformer_clocks(
    alpha: ArrayLike,
    tau: ArrayLike,
    seed: ArrayLike,
    *,
    steps: int,
    looks: int = 300,
    p: int = 97,
    operation: str = "division",
    weight_decay: float = 0.0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one-layer transformers on half of all equations
    modulo p until they have fitted and generalized.

    Embeddings of tokens and places start divided by α; the output is multiplied by τ and the
    learning rate divided by τ². A seed determines the split, the weights and the order of batches:
    members of one seed differ in α and τ only.

    Parameters
    ----------
    alpha, tau, seed : (m,), one entry for each network
    steps : updates at most, by Adam on batches of 512
    looks : about how many, evenly spaced on a logarithmic scale: times are known to 1 / `looks` of
        ln(`steps`)
    p : a prime
    operation : as in `lib.data.arithmetic.modular`
    weight_decay : decoupled, as in AdamW; the paper has none

    Returns
    -------
    over member: fit and grok, the steps at which the accuracies on the training set and on the
    other equations were first seen to be at least `REACHED`, infinite where they were not; train
    and validation, the last accuracies; diverged

    Source: appendix, "Grokking", and its figure; learning rate 1e-3, β = (.9, .98) and ten steps of
    warm-up from the code it names, teddykoker/grokking.

    Settings
    --------
    data : all equations x ∘ y = z modulo {p} with y ≠ 0, ∘ is {operation}, as four tokens x ∘ y =;
        half of them, drawn by the seed, to learn from, the others to test on; the target is z
    network : a decoder of one layer, width 128, four heads, an MLP of width 512 with GELU; u =
        norm(e + p) of embeddings of tokens and places, v = u + attention(u), h = v + MLP(norm(v)),
        output τ R norm(h) at the last place
    initialization : torch's: embeddings N(0, 1), queries, keys and values Xavier-uniform, other
        layers and their biases uniform within ±1/√fan-in, but for the biases of the attention,
        which are 0; then both embeddings are divided by α. α = {alpha}; τ = {tau}; seeds {seed}
    loss : cross-entropy of z, mean over the batch
    rate : 0.001/τ², the same for all weights, after ten steps in which it rises from 0; Adam with β
        = 0.9 and 0.98, ε = 10⁻⁸; decoupled weight decay {weight_decay}, times the rate
    batch : 512, in a new order in each epoch; the last of an epoch is smaller
    steps : at most {steps}
    stop : at the first look at which both accuracies are at least {REACHED}
    read : the first looks at which the accuracy on the training equations, and on the others, is at
        least {REACHED}; about {looks} looks, evenly spaced on a logarithmic scale
    precision : 32 bits
    """
    members = np.broadcast_arrays(*np.atleast_1d(alpha, tau, seed))
    options = {"p": p, "operation": operation, "weight_decay": weight_decay, "device": device}
    found = _train(*members, steps, log_steps(steps, looks), stop_when=_generalized, **options)
    return _clocks(found)


def _train(
    alpha: NDArray,
    tau: NDArray,
    seed: NDArray,
    steps: int,
    record: NDArray,
    *,
    p: int,
    operation: str,
    device: str,
    **options: Any,
) -> xr.Dataset:
    """Train transformers, one for each entry of α, τ and seed, all in
    one program; a target is a label and its member's τ.
    """
    tokens, labels = modular(p, operation)
    network = Transformer(p + 2)
    drawn = {one: _drawn(network, one, len(tokens), device) for one in dict.fromkeys(seed.tolist())}
    parameters = {
        name: torch.stack([drawn[one][0][name] for one in seed.tolist()])
        for name in network.shapes()
    }
    for name in ("embedding", "positions"):
        parameters[name] /= torch.tensor(alpha).to(parameters[name]).view(-1, 1, 1)
    train_set, others = (np.stack([drawn[one][part] for one in seed.tolist()]) for part in (1, 2))
    pairs = (
        (labels[part], np.broadcast_to(tau[:, None], part.shape)) for part in (train_set, others)
    )
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
        loss=lambda outputs, targets: cross_entropy(
            targets[..., 1:] * outputs, targets[..., 0].long()
        ),
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
    times = {
        name: steps_until(parts[part], REACHED)
        for name, part in (("fit", "train"), ("grok", "validation"))
    }
    ends = {name: part.isel(step=-1, drop=True) for name, part in parts.items()}
    return xr.Dataset(times | ends | {"diverged": found.diverged})


def _drawn(
    network: Transformer, seed: int, count: int, device: str
) -> tuple[dict[str, Tensor], NDArray, NDArray]:
    """Return a seed's first weights and the two parts of the equations."""
    weights = {name: value[0] for name, value in network.initialize(seed, device=device).items()}
    return weights, *split((seed, 0), count, count // 2)


def steps_until(accuracies: xr.DataArray, threshold: float = REACHED) -> xr.DataArray:
    """Return the first recorded `step` at which an accuracy is at
    least the threshold; infinity where there is none.
    """
    reached = accuracies >= threshold
    return xr.where(reached.any("step"), accuracies.step[reached.argmax("step")], np.inf).drop_vars(
        "step", errors="ignore"
    )
