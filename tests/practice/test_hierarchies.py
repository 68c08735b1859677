"""Learning curves of the random hierarchy model against a
plain loop in the authors' parametrization.
"""

from functools import partial

import numpy as np
import torch
import xarray as xr
from torch.nn import functional

from book.practice import hierarchies
from book.practice.random_hierarchy import RandomHierarchy
from lib.networks import Dense


def authors_loop(alpha, member, points, features, epochs, test, seed, rate):
    """N(0, 1) weights, layers that divide by √fan-in and by the
    width, learning rate 6.4; return the test accuracy.
    """
    model = RandomHierarchy(features=features)
    (x, y), (unseen, answers) = model.draw((seed, 1), model.rules((seed, 0)), points, test)
    shapes = [(64, 64), (64, 64), (64, 64), (8, 64)]
    weights = [
        torch.tensor(np.random.default_rng((seed, 2, i)).normal(size=shape), dtype=torch.float64)
        for i, shape in enumerate(shapes, start=1)
    ]
    weights[0], weights[-1] = weights[0] / alpha, weights[-1] * alpha
    weights = [weight.requires_grad_() for weight in weights]

    def network(x):
        for weight in weights[:-1]:
            x = torch.relu(x @ weight.T / 8)
        return x @ weights[-1].T / 64

    x, unseen, y = torch.tensor(x).double(), torch.tensor(unseen).double(), torch.tensor(y)
    optimizer = torch.optim.SGD(weights, 6.4, momentum=0.9)
    batches = -(-points // 128)
    steps = epochs * batches
    for step in range(steps):
        epoch, number = divmod(step, batches)
        order = (
            np.random.default_rng((0, member, epoch + 1)).permutation(points)
            if points > 128
            else np.arange(points)
        )
        chosen = order[128 * number : 128 * number + 128]
        for group in optimizer.param_groups:
            group["lr"] = 6.4 * rate * (1 + np.cos(np.pi * min(step / (0.8 * steps), 1))) / 2
        optimizer.zero_grad()
        functional.cross_entropy(network(x[chosen]), y[chosen]).backward()
        optimizer.step()
    loss = functional.cross_entropy(network(x), y).item()
    return loss, np.mean(network(unseen).argmax(1).numpy() == answers)


def test_networks_learn_as_the_authors_do():
    alpha, seeds = [0.5, 2.0], [3, 4]
    found = hierarchies.learning_curves(
        [100, 300], alpha, seeds, features=2, epochs=10, test=200, rate=0.7
    )
    assert found.test.dims == ("points", "alpha", "seed") and set(found) == {
        "train_loss",
        "train",
        "test",
        "epochs",
    }
    for points in (100, 300):
        for i, a in enumerate(alpha):
            for j, seed in enumerate(seeds):
                loss, right = authors_loop(a, 2 * i + j, points, 2, 10, 200, seed, rate=0.7)
                ours = found.sel(points=points, alpha=a, seed=seed)
                np.testing.assert_allclose(ours.train_loss, loss, rtol=2e-3)
                assert abs(ours.test - right) <= 0.011 and ours.epochs == 10


def test_rates_of_two_layers_do_what_alpha_does():
    """By the clock (α², 1, 1/α²), from a start that is not
    divided; either half alone does something else.
    """
    run = partial(hierarchies.learning_curves, [150], seeds=[3], features=2, epochs=20, test=100)
    divided, same = run([0.5]), run([1.0], first=0.25, readout=4.0)
    halves = run([1.0], first=0.25), run([1.0], readout=4.0)
    np.testing.assert_allclose(same.train_loss.values, divided.train_loss.values, rtol=1e-5)
    assert all(
        abs(half.train_loss.values - divided.train_loss.values).item() > 1e-3 for half in halves
    )


def test_alpha_moves_weight_from_the_first_layer_to_the_readout():
    network = Dense((64, 64, 64, 64, 8), "relu", bias=False)
    weights = hierarchies.initial_weights(np.array([0.1, 1.0, 10.0]), [5, 6], network)
    inputs = torch.rand(7, 64)
    outputs, (first,) = network(weights, inputs, (0,))
    for i, a in ((0, 0.1), (4, 10.0)):
        torch.testing.assert_close(
            outputs[i : i + 2], outputs[2:4], rtol=1e-4, atol=1e-5
        )  # the same function
        torch.testing.assert_close(first[i : i + 2] * a, first[2:4], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(weights["weight4"][i : i + 2] / a, weights["weight4"][2:4])
    for name, spread in (("weight1", 1 / 8), ("weight3", 1 / 8), ("weight4", 1 / 64)):
        np.testing.assert_allclose(weights[name][2:4].std(), spread, rtol=0.1)
    alone = hierarchies.initial_weights(np.array([1.0]), [6], network)
    assert all(torch.equal(alone[name][0], weights[name][3]) for name in weights)


def test_strings_needed_are_read_off_where_the_error_falls_below():
    errors = xr.DataArray(
        [[0.8, 0.4, 0.2, 0.3], [0.8, 0.7, 0.6, 0.5], [0.1, 0.5, 0.2, 0.1]],
        dims=("seed", "points"),
        coords={"points": [1, 10, 100, 1000]},
    )
    np.testing.assert_allclose(hierarchies.strings_needed(errors, 0.3), [10**1.5, np.inf, 1])
    np.testing.assert_allclose(hierarchies.strings_needed(errors, 0.4), [10, np.inf, 1])
    np.testing.assert_allclose(hierarchies.strings_needed(errors.T, 0.65)[1], 10**1.5)


def test_strings_wanted_tell_untrained_from_insufficient_sets():
    accuracy = xr.DataArray(
        [[0.2, 0.6, 0.8], [0.2, 0.8, 0.4], [np.nan] * 3],
        dims=("seed", "points"),
        coords={"points": [1, 10, 100]},
    )
    found = hierarchies.strings_wanted(xr.Dataset({"test": accuracy}), 0.4)
    np.testing.assert_allclose(found, [10, np.inf, np.nan])
