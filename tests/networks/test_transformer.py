"""The transformer against torch's own modules; a batch of members against each alone; its initial weights."""

import numpy as np
import pytest
import torch
from torch import nn

from lib.data.arithmetic import modular
from lib.measures import accuracy
from lib.networks.transformer import Transformer
from lib.training import cross_entropy, train


class Plain(nn.Module):
    """The same network of torch's modules, for one member: all places pass through all of it."""

    def __init__(self, tokens, length, width, heads):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.readout = nn.Linear(width, tokens, bias=False)

    def forward(self, x):
        length = x.shape[1]
        u = self.norms[0](self.tokens(x) + self.positions(torch.arange(length)))
        later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        v = u + self.attention(u, u, u, attn_mask=later, need_weights=False)[0]
        h = v + self.down(nn.functional.gelu(self.up(self.norms[1](v))))
        return self.readout(self.norms[2](h))[:, -1]

    def named(self):
        """Return the parameters by our names."""
        a = self.attention
        pairs = {
            "embedding": self.tokens.weight,
            "positions": self.positions.weight,
            "attention": a.in_proj_weight,
            "attention_bias": a.in_proj_bias,
            "mixing": a.out_proj.weight,
            "mixing_bias": a.out_proj.bias,
            "up": self.up.weight,
            "up_bias": self.up.bias,
            "down": self.down.weight,
            "down_bias": self.down.bias,
            "readout": self.readout.weight,
        }
        for i, norm in enumerate(self.norms, start=1):
            pairs |= {f"scale{i}": norm.weight, f"shift{i}": norm.bias}
        return pairs


def plain(parameters, m, network):
    """Return torch's network with the parameters of member m."""
    model = Plain(network.tokens, network.length, network.width, network.heads).to(parameters["up"].dtype)
    with torch.no_grad():
        for name, value in model.named().items():
            value.copy_(parameters[name][m])
    return model


def noisy(network, members, dtype=torch.float64):
    """Draw parameters of which none is zero or one."""
    parameters = network.initialize(3, members, dtype=dtype)
    torch.manual_seed(0)
    return {name: value + 0.1 * torch.randn_like(value) for name, value in parameters.items()}


@pytest.mark.parametrize("length, width, heads, own", [(4, 8, 2, False), (1, 6, 1, True), (3, 8, 8, True)])
def test_outputs_are_those_of_torchs_modules(length, width, heads, own):
    network = Transformer(7, length, width, heads)
    parameters = noisy(network, 3)
    tokens = torch.randint(7, (3, 11, length) if own else (11, length))
    outputs, (hidden,) = network(parameters, tokens)
    assert outputs.shape == (3, 11, 7) and hidden.shape == (3, 11, width)
    for m in range(3):
        torch.testing.assert_close(outputs[m], plain(parameters, m, network)(tokens[m] if own else tokens))


@pytest.mark.parametrize("own, decay", [(False, 0.0), (True, 1.0)])
def test_training_is_torchs(own, decay):
    """Adam on mini-batches, with a learning rate of each member's own."""
    network, rng = Transformer(7, 4, 8, 2), np.random.default_rng(0)
    tokens, labels = modular(5)
    if own:
        order = np.stack([rng.permutation(20) for _ in range(2)])
        tokens, labels = tokens[order], labels[order]
    parameters, rates = network.initialize(1, 2, dtype=torch.float64), [0.01, 0.003]
    method = {"optimizer": "adam", "betas": (0.9, 0.98), "batch_size": 8, "loss": cross_entropy, "steps": 7, "seed": 4}
    found = train(
        network, parameters, tokens, labels, learning_rate=rates, metrics={"accuracy": accuracy}, weight_decay=decay, **method
    )
    for m in range(2):
        model = plain(parameters, m, network)
        adam = torch.optim.AdamW(model.parameters(), rates[m], betas=(0.9, 0.98), weight_decay=decay)
        x, y = (torch.from_numpy(v[m] if own else v) for v in (tokens, labels))
        for step in range(8):
            outputs = model(x)
            np.testing.assert_allclose(found.loss[m, step], nn.functional.cross_entropy(outputs, y).item(), rtol=1e-9)
            assert found.accuracy[m, step] == (outputs.argmax(-1) == y).double().mean().item()
            epoch, number = divmod(step, 3)
            chosen = np.random.default_rng((4, m, epoch + 1)).permutation(20)[8 * number : 8 * number + 8]
            adam.zero_grad()
            nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
            adam.step()


def test_initial_weights_are_distributed_as_torchs():
    network = Transformer(99)
    parameters = network.initialize(0, 4, dtype=torch.float64)
    torch.manual_seed(0)
    models = [Plain(99, 4, 128, 4).named() for _ in range(4)]
    for name, value in parameters.items():
        theirs = torch.stack([model[name].detach() for model in models]).double()
        assert theirs.shape == value.shape
        error = 6 * float(theirs.std()) * (2 / value.numel()) ** 0.5
        assert abs(value.mean() - theirs.mean()) <= error
        np.testing.assert_allclose(value.std(), theirs.std(), rtol=6 / value.numel() ** 0.5, atol=1e-12)
        if name not in ("embedding", "positions"):
            np.testing.assert_allclose(value.abs().max(), theirs.abs().max(), rtol=0.02)
    assert sum(value[0].numel() for value in parameters.values()) == sum(v.numel() for v in models[0].values())
