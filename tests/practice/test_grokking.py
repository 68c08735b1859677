"""Grokking experiments: members against a plain loop, and the first step above a threshold."""

import numpy as np
import torch
import xarray as xr
from torch.nn import functional

from book.practice import grokking
from book.practice.arithmetic import modular, split
from book.practice.transformer import Transformer


def test_transformers_learn_as_a_plain_loop_does():
    """Outputs times τ, learning rate over τ², embeddings over α;
    warm-up; batches that a seed's members share.
    """
    network, (tokens, labels) = Transformer(7), modular(5)
    tokens, labels = torch.tensor(tokens), torch.tensor(labels)
    one, other = split((3, 0), 20, 10)
    for a, t in ((0.5, 4.0), (4.0, 0.5)):
        weights = {name: value.double() for name, value in network.initialize(3).items()}
        weights |= {name: weights[name] / a for name in ("embedding", "positions")}
        weights = {name: value.requires_grad_() for name, value in weights.items()}
        adam = torch.optim.Adam(weights.values(), betas=(0.9, 0.98))
        for step in range(12):
            adam.param_groups[0]["lr"] = 1e-3 / t**2 * min(1, step / 10)
            adam.zero_grad()
            functional.cross_entropy(
                t * network(weights, tokens[one])[0][0], labels[one]
            ).backward()
            adam.step()
        right = network(weights, tokens)[0][0].argmax(1) == labels
        ours = grokking.transformer_clocks([a], [t], [3], steps=12, p=5).isel(member=0)
        np.testing.assert_allclose(
            [ours.train, ours.validation],
            [right[part].double().mean() for part in (one, other)],
            atol=0.11,
        )


def test_steps_until_a_threshold():
    paths = xr.DataArray(
        [[0, 0.5, 0.99, 0.2], [0, 0, 0, 0.98], [1, 0, 0, 0]],
        dims=("member", "step"),
        coords={"step": [0, 10, 20, 30]},
    )
    assert grokking.steps_until(paths).values.tolist() == [20, np.inf, 0]
    assert grokking.steps_until(paths, 0.5).values.tolist() == [10, 30, 0]


def test_a_transformer_that_leaves_does_not_change_others(monkeypatch):
    monkeypatch.setattr(grokking, "REACHED", 0.05)
    members, options = (
        ([1.0, 10.0, 1.0], [1.0, 0.5, 1.5], [0, 1, 2]),
        {"steps": 60, "p": 11, "weight_decay": 1.0},
    )
    together = grokking.transformer_clocks(*members, **options)
    assert len(set(together.grok.values.tolist())) > 1
    for m, member in enumerate(zip(*members, strict=True)):
        alone = grokking.transformer_clocks(*([value] for value in member), **options)
        for name in ("fit", "grok", "train", "validation"):
            assert alone[name].values == together[name].values[m], (name, m)
