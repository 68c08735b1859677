"""Grokking experiments: members against plain loops, the grid's axes, and the first step above a threshold."""

import numpy as np
import torch
import xarray as xr
from torch.nn import functional

from lib.data.arithmetic import modular, one_hot_pairs, split
from lib.experiments import grokking
from lib.networks.transformer import Transformer
from lib.training import log_steps


def test_two_layers_learn_as_a_plain_loop_does():
    found = grokking.two_layers([0.5, 2.0], [1.0, 0.25], [3, 4], steps=40, every=20, p=7, width=20)
    assert found.train.dims == ("alpha", "scale", "seed", "step") and found.step.values.tolist() == [0, 20, 40]
    inputs, labels = one_hot_pairs(7)
    for a, c, seed in ((0.5, 0.25, 3), (2.0, 1.0, 4)):
        rng, (one, other) = np.random.default_rng((seed, 1)), split((seed, 0), 36, 27)
        e, w = rng.normal(size=(20, 12)) * np.sqrt(c / 2) / a, rng.normal(size=(6, 20)) * np.sqrt(c / 20) * a
        e, w = (torch.tensor(value, requires_grad=True) for value in (e, w))
        x, y = torch.tensor(inputs).double(), torch.tensor(labels)
        adam = torch.optim.Adam([e, w], 0.01, betas=(0.9, 0.98))
        for _ in range(40):
            adam.zero_grad()
            outputs = torch.relu(e[:, x[one, :6].argmax(1)] + e[:, 6 + x[one, 6:].argmax(1)]).T @ w.T
            functional.mse_loss(outputs, functional.one_hot(y[one], 6).double()).backward()
            adam.step()
        right = (torch.relu(x @ e.T) @ w.T).argmax(1) == y
        ours = found.sel(alpha=a, scale=c, seed=seed, step=40)
        np.testing.assert_allclose(
            [ours.train, ours.validation], [right[part].double().mean() for part in (one, other)], atol=0.04
        )


def test_the_balance_does_not_change_the_first_function():
    found = grokking.two_layers([0.1, 1.0, 10.0], [0.5], [0, 1], steps=1, p=11)
    first = found.sel(step=0)
    for part in ("train", "validation"):
        np.testing.assert_allclose(first[part].max("alpha"), first[part].min("alpha"), atol=0.02)


def test_transformers_learn_as_a_plain_loop_does():
    """Outputs times τ, learning rate over τ², embeddings over α; warm-up; batches that a seed's members share."""
    found = grokking.transformers([0.5, 4.0], [0.5, 2.0], [3], steps=12, every=4, p=5)
    assert found.validation.dims == ("alpha", "tau", "seed", "step")
    network, (tokens, labels) = Transformer(7), modular(5)
    tokens, labels = torch.tensor(tokens), torch.tensor(labels)
    one, other = split((3, 0), 20, 10)
    for a, t in ((0.5, 2.0), (4.0, 0.5)):
        weights = {name: value.double() for name, value in network.initialize(3).items()}
        weights |= {name: weights[name] / a for name in ("embedding", "positions")}
        weights = {name: value.requires_grad_() for name, value in weights.items()}
        adam = torch.optim.Adam(weights.values(), betas=(0.9, 0.98))
        for step in range(12):
            adam.param_groups[0]["lr"] = 1e-3 / t**2 * min(1, step / 10)
            adam.zero_grad()
            functional.cross_entropy(t * network(weights, tokens[one])[0][0], labels[one]).backward()
            adam.step()
        right = network(weights, tokens)[0][0].argmax(1) == labels
        ours = found.sel(alpha=a, tau=t, seed=3, step=12)
        np.testing.assert_allclose(
            [ours.train, ours.validation], [right[part].double().mean() for part in (one, other)], atol=0.11
        )


def test_a_transformer_is_the_same_whatever_trains_beside_it():
    settings = {"steps": 30, "every": 10, "p": 37}  # 666 equations: two batches an epoch
    many = grokking.transformers([0.5, 2.0], [0.5], [1, 2], **settings)
    one = grokking.transformers([2.0], [0.5], [2], **settings)
    xr.testing.assert_allclose(many.sel(alpha=[2.0], seed=[2]), one, atol=0.005)
    assert np.any(many.train.sel(seed=1) != many.train.sel(seed=2))


def test_operations_share_their_split_but_not_their_labels():
    quotients, products = (
        grokking.transformers([1.0], [1.0], [0], steps=1, p=5, operation=o) for o in ("division", "multiplication")
    )
    assert quotients.sizes == products.sizes


def test_steps_until_a_threshold():
    paths = xr.DataArray(
        [[0, 0.5, 0.99, 0.2], [0, 0, 0, 0.98], [1, 0, 0, 0]], dims=("member", "step"), coords={"step": [0, 10, 20, 30]}
    )
    assert grokking.steps_until(paths).values.tolist() == [20, np.inf, 0]
    assert grokking.steps_until(paths, 0.5).values.tolist() == [10, 30, 0]


def test_clocks_of_two_layers_are_those_of_the_course():
    """Networks that have generalized leave the stack; the others, and their times, are as if nobody had left."""
    alpha, seeds, looks = [1, 10**0.5], [0, 1], log_steps(300, 40)
    course = grokking.two_layers(alpha, [0.1], seeds, steps=300, every=1).isel(scale=0).sel(step=looks)
    a, s = (np.ravel(x) for x in np.meshgrid(alpha, seeds, indexing="ij"))
    found = grokking.two_layer_clocks(a, np.full(4, 0.1), s, steps=300, looks=40)
    for name, accuracies in (("fit", course.train), ("grok", course.validation)):
        assert found[name].values.tolist() == np.ravel(grokking.steps_until(accuracies)).tolist()
    assert np.isfinite(found.grok).sum() >= 2
    assert (found.fit < found.grok).all()


def test_a_transformer_that_leaves_the_stack_leaves_the_others_as_they_are(monkeypatch):
    monkeypatch.setattr(grokking, "REACHED", 0.05)
    members, options = ([1.0, 10.0, 1.0], [1.0, 0.5, 1.5], [0, 1, 2]), {"steps": 60, "p": 11, "weight_decay": 1.0}
    together = grokking.transformer_clocks(*members, **options)
    assert len(set(together.grok.values.tolist())) > 1
    for m, member in enumerate(zip(*members, strict=True)):
        alone = grokking.transformer_clocks(*([value] for value in member), **options)
        for name in ("fit", "grok", "train", "validation"):
            assert alone[name].values == together[name].values[m], (name, m)
