"""Tiles, goals and predictions against plain loops."""

import numpy as np
import pytest
import torch

from book.localization import experiments
from lib.experiments.ring import receptive_fields
from lib.experiments.signal_batches import signals
from lib.measures import inverse_participation_ratio
from lib.networks import Committee


def test_networks_of_several_sizes_learn_as_each_would_alone():
    found = experiments.tiles(xi=(2.0, 1.0), steps=16, sizes=(3, 5), sites=8, batch=30, seed=5)
    for k in (3, 5):
        alone = receptive_fields(
            neurons=k, learning_rate=0.2 * k, steps=16, batch=30, sites=8, seed=5, record=[0, 16]
        )
        np.testing.assert_allclose(found.w.sel(size=k)[:k], alone.w[0, -1], atol=1e-6)
        np.testing.assert_allclose(found.ipr.sel(size=k)[[0, -1], :k], alone.ipr[0], rtol=1e-5)
    assert np.isnan(found.w.sel(size=3)[3:]).all() and found.loss.dims == ("size", "share")


@pytest.mark.parametrize(("activation", "low"), [("erf", -1.0), ("sigmoid", 0.0)])
def test_three_goals_descend_as_plain_loops_do(activation, low):
    found = experiments.goals(
        activation, neurons=3, rate=0.3, steps=4, record=[0, 4], batch=30, sites=8, trials=2, seed=5
    )
    draw = signals("nlgp", 8, (2.0, 1.0), 3.0, 30, seed=5, dtype="float32")
    start = Committee(8, 3, activation, True).initialize(5, 2)

    def squared(high, low):
        return lambda said, y: (said - (low + (high - low) * y)) ** 2

    def entropy(said, y):
        p = (said - low) / (1 - low)
        return -torch.log(torch.where(y == 1, p, 1 - p))

    for goal, cost in zip(experiments.GOALS, (squared(1, 0), squared(1, -1), entropy), strict=True):
        for m in range(2):
            w, b = (start[name][m].double().requires_grad_() for name in ("weight1", "bias1"))
            for step in range(4):
                x, y = (torch.from_numpy(values).double() for values in draw(m, step))
                h = x @ w.T + b
                said = (torch.erf(h / 2**0.5) if activation == "erf" else torch.sigmoid(h)).mean(
                    1, keepdim=True
                )
                for parameter, gradient in zip(
                    (w, b), torch.autograd.grad(cost(said, y).mean(), (w, b)), strict=True
                ):
                    parameter.data -= 0.3 * gradient
            one = found.sel(goal=goal).isel(trial=m)
            np.testing.assert_allclose(one.w, w.detach(), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(one.b[-1], b.detach(), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(
                one.ipr[-1], inverse_participation_ratio(one.w.values), rtol=1e-5
            )


def test_predictions_need_no_network():
    found = experiments.predicted_tiles(
        xi=(2.0, 1.0), gain=10.0, sites=12, sizes=(4, 24), samples=1200
    )
    np.testing.assert_allclose(
        found.ipr, inverse_participation_ratio(found.profile.values.astype(float)), rtol=1e-5
    )
    assert found.error.sel(size=24) < found.error.sel(size=4) < 0.5
    assert found.top.max() > found.bump.max() - 0.02


def test_cooled_networks_train_at_the_falling_rate():
    setting = dict(xi=(2.0, 1.0), gain=1.0, neurons=3, trials=2, seed=5)
    found = experiments.cooled(steps=16, **setting)

    def rate(step):
        return np.interp(step, [8, 14], [1, 0.05])

    alone = receptive_fields(
        learning_rate=0.4 * 3, steps=16, record=[0, 16], schedule=rate, **setting
    )
    np.testing.assert_allclose(found.w, alone.w[:, -1], atol=1e-6)
    np.testing.assert_allclose(found.ipr.isel(share=-1), alone.ipr[:, -1], rtol=1e-5)


def test_cross_entropy_of_rectifiers_descends_as_autograd_says():
    found = experiments.entropy(
        xi=(2.0, 1.0), steps=16, neurons=3, sites=8, batch=30, rate=0.5, trials=2, seed=5
    )
    draw = signals("nlgp", 8, (2.0, 1.0), 3.0, 30, seed=5, dtype="float32")
    start = Committee(8, 3, "relu", True).initialize(5, 2)
    for m in range(2):
        w, b = (start[name][m].clone().requires_grad_() for name in ("weight1", "bias1"))
        c = torch.zeros(1, requires_grad=True)
        for step in range(16):
            x, y = (torch.from_numpy(values) for values in draw(m, step))
            p = torch.sigmoid(torch.relu(x @ w.T + b).mean(1, keepdim=True) + c)
            loss = -torch.log(torch.where(y == 1, p, 1 - p)).mean()
            slopes = torch.autograd.grad(loss, (w, b, c))
            with torch.no_grad():
                for value, slope, factor in zip((w, b, c), slopes, (3, 3, 1), strict=True):
                    value -= 0.5 * factor * slope
            if step == 0:
                np.testing.assert_allclose(found.loss[m, 0], loss.detach(), rtol=1e-5)
        np.testing.assert_allclose(found.c[m], c.item(), rtol=1e-4)
        ratios = inverse_participation_ratio(w.detach().numpy())
        np.testing.assert_allclose(found.ipr[m, -1], ratios, rtol=1e-4)
