"""The compiled attention against operations of torch, forward and backward."""

import numpy as np
import pytest
import torch

from lib.networks import Transformer, transformer


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-11), (torch.float32, 2e-4)])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("heads", [1, 4])
def test_compiled_attention_is_that_of_torch(heads, own, dtype, tolerance, monkeypatch):
    network = Transformer(11, length=3, width=12, heads=heads)
    parameters = network.initialize(0, 2, dtype=dtype)
    rng = np.random.default_rng(0)
    strings = torch.from_numpy(rng.integers(11, size=(2, 9, 3) if own else (9, 3)))
    errors = torch.from_numpy(rng.normal(size=(2, 9, 11))).to(dtype)
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(transformer, "plain", lambda *_, compiled=compiled: compiled)
        leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        outputs, _ = network(leaves, strings)
        found.append((outputs, torch.autograd.grad((outputs * errors).sum(), list(leaves.values()))))
    (ours, mine), (plain, theirs) = found
    torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
    for name, one, other in zip(parameters, mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=10 * tolerance, msg=lambda text, name=name: f"{name}: {text}")


def test_mapped_tensors_go_another_way():
    seen = []
    torch.func.vmap(lambda x: (seen.append(transformer.plain(x)), x)[1])(torch.zeros(2, 3))
    assert seen == [False] and transformer.plain(torch.zeros(1)) and not transformer.plain(torch.zeros(1, device="meta"))


@pytest.mark.parametrize("tokens", [[[0, 11, 2]], [[0, 1, 11]], [[0, -1, 2]]], ids=str)
def test_tokens_that_do_not_exist_are_refused(tokens):
    network = Transformer(11, length=3, width=4, heads=1)
    with pytest.raises(ValueError, match="inputs are tokens: want whole numbers from 0 to 10"):
        network(network.initialize(0, 2), torch.tensor(tokens))
