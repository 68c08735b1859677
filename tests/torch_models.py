"""Networks of images beside torch.nn models that are built layer by layer."""

import numpy as np
import torch

from lib.training import cross_entropy, train


def drawn(network, members=2):
    """Draw float64 parameters, biases and gains, too: where they are zero they hide mistakes."""
    parameters = network.initialize(1, members, dtype=torch.float64)
    rng = torch.Generator().manual_seed(0)
    return {
        name: value
        if value.ndim > 2
        else 0.3 * torch.randn(value.shape, generator=rng, dtype=value.dtype)
        for name, value in parameters.items()
    }


def images(network, count=5):
    return torch.from_numpy(np.random.default_rng(0).normal(size=(count, *network.point)))


def assert_same_layers(network, model):
    """Compare outputs and representations with those of `model`, a function of the parameters."""
    parameters, x = drawn(network), images(network)
    for number in range(2):
        member = {name: value[number] for name, value in parameters.items()}
        outputs, hidden = network(member, x)
        expected, seen = model(member)(x)
        torch.testing.assert_close([outputs, *hidden], [expected, *seen])
        assert len(hidden) == network.depth
        torch.testing.assert_close(network(member, x, (2, 0))[1], [seen[2], seen[0]])


def assert_trains_alone_or_together(network):
    x, labels = images(network, 12).float(), torch.arange(12) % 4
    options = dict(learning_rate=0.02, steps=8, batch_size=6, loss=cross_entropy, record=[0, 8])
    both = train(network, network.initialize(0, 2), x, labels, **options)
    alone = train(network, network.initialize(0, 1), x, labels, **options)
    assert np.all(both.loss[:, 1] < both.loss[:, 0])
    np.testing.assert_allclose(both.loss[0], alone.loss[0], rtol=1e-5)


def assert_variance_of_fan_in(network, factor):
    for name, value in network.initialize(3, 1).items():
        if value.ndim == 2:
            assert not name.startswith("weight") and not value.any()
        else:
            fan_in = np.prod(value.shape[2:])
            spread = 5 * np.sqrt(2 / value.numel())
            np.testing.assert_allclose(value.var().item() * fan_in, factor, rtol=spread)
