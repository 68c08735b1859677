"""The compiled step of an optimizer against the same by operations of torch, as a GPU takes it."""

import numpy as np
import pytest
import torch

from lib.training import update
from lib.training.descent import Method
from lib.training.losses import half_squared_error

METHODS = {
    "descent": {},
    "momentum": {"momentum": 0.9},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "adam": {"optimizer": "adam"},
}


def state(dtype, decays, optimizer="sgd", momentum=0.0, nesterov=False):
    rng = np.random.default_rng(0)
    shapes = {"weight": (3, 5, 7), "bias": (3, 5)}
    parameters = {name: torch.from_numpy(rng.normal(size=shape)).to(dtype) for name, shape in shapes.items()}
    rates = {name: rng.uniform(0.01, 0.1, 3) for name in shapes}
    method = Method(optimizer, momentum, nesterov, (0.9, 0.98), lambda step: 1 / (1 + step), None, None, half_squared_error, 0)
    return update.Update(parameters, rates, {name: 10 * rate for name, rate in rates.items()} if decays else None, method)


@pytest.mark.parametrize("decays", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_compiled_as_by_torch(method, decays, monkeypatch):
    compiled, plain = (state(torch.float64, decays, **METHODS[method]) for _ in range(2))
    rng = np.random.default_rng(1)
    for step in range(4):
        gradients = torch.from_numpy(rng.normal(size=len(compiled.gradients.flat)))
        for one in (compiled, plain):
            one.gradients.flat.copy_(gradients)
        compiled.take(step)
        with monkeypatch.context() as patched:
            patched.setattr(update, "_compiled", update._by_torch)
            plain.take(step)
    for name, value in compiled.parameters.items():
        np.testing.assert_allclose(value, plain.parameters[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_no_entry_feels_who_stands_beside_it(method):
    """Also not by where it stands in the buffer: bitwise the same with a member less."""
    many, few = (state(torch.float32, True, **METHODS[method]) for _ in range(2))
    few.keep(torch.tensor([2]))
    for step in range(3):
        for one, rows in ((many, slice(None)), (few, slice(2, 3))):
            for value in one.gradients.parts.values():
                value.copy_(torch.linspace(-1, 1, 3).pow(step + 1).view(3, *[1] * (value.ndim - 1))[rows].expand(value.shape))
            one.take(step)
    for name, value in few.parameters.items():
        np.testing.assert_array_equal(value[0], many.parameters[name][2])
