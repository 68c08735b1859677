"""Receptive fields on the ring against a plain loop."""

import numpy as np
import pytest
import torch

from lib import data
from lib.experiments.ring import receptive_fields
from lib.experiments.signal_batches import signals
from lib.measures import inverse_participation_ratio
from lib.theory.gaussian_classes import nlgp_covariance


@pytest.mark.parametrize("kind", ["nlgp", "clone", "pulse", "telegraph"])
def test_signals_are_those_of_the_data_module(kind):
    xi = ((0.1, 0.2), (0.0, 0.1)) if kind == "pulse" else (2.0, 1.0)
    inputs, labels = signals(kind, 20, xi, 3.0, 50, seed=4)(2, 7)
    assert inputs.shape == (50, 20) and labels.shape == (50, 1) and set(np.unique(labels)) == {0, 1}
    if kind == "clone":
        wanted, _ = data.gaussian_clone(
            (4, 2, 7), 50, nlgp_covariance(20, 2.0, 3.0), nlgp_covariance(20, 1.0, 3.0)
        )
    elif kind == "nlgp":
        wanted, _ = data.nlgp((4, 2, 7), 50, 20, xi, 3.0)
    elif kind == "pulse":
        wanted, _ = data.single_pulse((4, 2, 7), 50, 20, xi, signed=True)
    else:
        wanted, _ = data.symmetric_field((4, 2, 7), 50, 20, xi, kind)
    np.testing.assert_array_equal(inputs, wanted)


def test_fields_descend_as_a_plain_loop_does():
    found = receptive_fields(
        neurons=3, bias=True, learning_rate=0.3, steps=4, batch=30, sites=8, trials=2, seed=5
    )
    draw = signals("nlgp", 8, (2.0, 1.0), 3.0, 30, seed=5, dtype="float32")
    for m in range(2):
        w, b = (
            torch.tensor(found[v].values[m, 0], dtype=torch.float64, requires_grad=True)
            for v in ("w", "b")
        )
        for step in range(4):
            x, y = (torch.from_numpy(values).double() for values in draw(m, step))
            loss = ((torch.relu(x @ w.T + b).mean(1, keepdim=True) - y) ** 2).mean()
            for parameter, gradient in zip((w, b), torch.autograd.grad(loss, (w, b)), strict=True):
                parameter.data -= 0.3 * gradient
        np.testing.assert_allclose(found.w[m, -1], w.detach(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.b[m, -1], b.detach(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.ipr, inverse_participation_ratio(found.w.values))
    assert found.w.dims == ("trial", "step", "neuron", "site")
