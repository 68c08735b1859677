"""The transformer against torch's own modules; a batch of
members against each alone; its initial weights.
"""

import numpy as np
import pytest
import torch
from torch import nn

from book.practice.arithmetic import modular
from book.practice.measures import accuracy
from book.practice.transformer import Transformer
from lib.training import cross_entropy, train
from tests.tools.plain import Decoder, start


def plain(parameters, m, network):
    """Return torch's network with the parameters of member m."""
    own = {name: value[m : m + 1] for name, value in parameters.items()}
    return start(Decoder(network).to(parameters["up"].dtype), own)


def noisy(network, members, dtype=torch.float64):
    """Draw parameters of which none is zero or one."""
    parameters = network.initialize(3, members, dtype=dtype)
    torch.manual_seed(0)
    return {name: value + 0.1 * torch.randn_like(value) for name, value in parameters.items()}


@pytest.mark.parametrize(
    "length, width, heads, own", [(4, 8, 2, False), (1, 6, 1, True), (3, 8, 8, True)]
)
def test_outputs_are_those_of_torchs_modules(length, width, heads, own):
    network = Transformer(7, length, width, heads)
    parameters = noisy(network, 3)
    tokens = torch.randint(7, (3, 11, length) if own else (11, length))
    outputs, (hidden,) = network(parameters, tokens)
    assert outputs.shape == (3, 11, 7) and hidden.shape == (3, 11, width)
    for m in range(3):
        torch.testing.assert_close(
            outputs[m], plain(parameters, m, network)(tokens[m] if own else tokens)
        )


@pytest.mark.parametrize("own, decay", [(False, 0.0), (True, 1.0)])
def test_training_is_torchs(own, decay):
    """Adam on mini-batches, with a learning rate of each member's own."""
    network, rng = Transformer(7, 4, 8, 2), np.random.default_rng(0)
    tokens, labels = modular(5)
    if own:
        order = np.stack([rng.permutation(20) for _ in range(2)])
        tokens, labels = tokens[order], labels[order]
    parameters, rates = network.initialize(1, 2, dtype=torch.float64), [0.01, 0.003]
    method = {
        "optimizer": "adam",
        "betas": (0.9, 0.98),
        "batch_size": 8,
        "loss": cross_entropy,
        "steps": 7,
        "seed": 4,
    }
    found = train(
        network,
        parameters,
        tokens,
        labels,
        learning_rate=rates,
        metrics={"accuracy": accuracy},
        weight_decay=decay,
        **method,
    )
    for m in range(2):
        model = plain(parameters, m, network)
        adam = torch.optim.AdamW(
            model.parameters(), rates[m], betas=(0.9, 0.98), weight_decay=decay
        )
        x, y = (torch.from_numpy(v[m] if own else v) for v in (tokens, labels))
        for step in range(8):
            outputs = model(x)
            np.testing.assert_allclose(
                found.loss[m, step], nn.functional.cross_entropy(outputs, y).item(), rtol=1e-9
            )
            assert found.accuracy[m, step] == (outputs.argmax(-1) == y).double().mean().item()
            epoch, number = divmod(step, 3)
            chosen = np.random.default_rng((4, m, epoch + 1)).permutation(20)[
                8 * number : 8 * number + 8
            ]
            adam.zero_grad()
            nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
            adam.step()


def test_heads_that_do_not_divide_the_width_are_refused():
    message = "width 10 and heads 4: want heads that divide the width"
    with pytest.raises(ValueError, match=message):
        Transformer(3, width=10, heads=4)


def test_what_a_member_draws_depends_on_seed_and_member():
    network = Transformer(5, 2, 4, 2)
    few = network.initialize(5, 1)
    many = network.initialize(5, 3)
    for name, value in few.items():
        assert torch.equal(value[0], many[name][0])
    assert not torch.equal(many["embedding"][0], many["embedding"][1])
    assert not torch.equal(network.initialize(6, 1)["embedding"], few["embedding"])


def test_initial_weights_are_distributed_as_torchs():
    network = Transformer(99)
    parameters = network.initialize(0, 4, dtype=torch.float64)
    torch.manual_seed(0)
    models = [dict(zip(parameters, Decoder(network).parameters(), strict=True)) for _ in range(4)]
    for name, value in parameters.items():
        theirs = torch.stack([model[name].detach() for model in models]).double()
        assert theirs.shape == value.shape
        error = 6 * float(theirs.std()) * (2 / value.numel()) ** 0.5
        assert abs(value.mean() - theirs.mean()) <= error
        np.testing.assert_allclose(
            value.std(), theirs.std(), rtol=6 / value.numel() ** 0.5, atol=1e-12
        )
        if name not in ("embedding", "positions"):
            np.testing.assert_allclose(value.abs().max(), theirs.abs().max(), rtol=0.02)
    assert sum(value[0].numel() for value in parameters.values()) == sum(
        v.numel() for v in models[0].values()
    )
