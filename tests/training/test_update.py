"""The step of an optimizer: a member does not feel the others. (`test_loop` has it against torch's own optimizers.)"""

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


def state(optimizer="sgd", momentum=0.0, nesterov=False):
    rng = np.random.default_rng(0)
    shapes = {"weight": (3, 5, 7), "bias": (3, 5)}
    parameters = {name: torch.from_numpy(rng.normal(size=shape)).float() for name, shape in shapes.items()}
    rates = {name: rng.uniform(0.01, 0.1, 3) for name in shapes}
    method = Method(optimizer, momentum, nesterov, (0.9, 0.98), lambda step: 1 / (1 + step), None, None, half_squared_error, 0)
    return update.Update(parameters, rates, {name: 10 * rate for name, rate in rates.items()}, method)


@pytest.mark.parametrize("method", METHODS)
def test_no_entry_feels_who_stands_beside_it(method):
    """Also not by where it stands in the buffer: bitwise the same with a member less."""
    many, few = (state(**METHODS[method]) for _ in range(2))
    few.keep(torch.tensor([2]))
    for step in range(3):
        for one, rows in ((many, slice(None)), (few, slice(2, 3))):
            for value in one.gradients.parts.values():
                value.copy_(torch.linspace(-1, 1, 3).pow(step + 1).view(3, *[1] * (value.ndim - 1))[rows].expand(value.shape))
            one.take(step)
    for name, value in few.parameters.items():
        np.testing.assert_array_equal(value[0], many.parameters[name][2])
