"""The gradients that are written out against automatic differentiation."""

import numpy as np
import pytest
import torch

from lib.networks import Committee, Dense
from lib.training import by_hand, cross_entropy, descent, half_squared_error
from lib.training.descent import Data, Method

LOSSES = {"squared": half_squared_error, "entropy": cross_entropy}


def stack(network, members, own, loss, dtype=torch.float64, points=5):
    rng = np.random.default_rng(0)
    parameters = network.initialize(0, members, dtype=dtype)
    for value in parameters.values():  # biases, too
        value += torch.from_numpy(rng.normal(scale=0.3, size=value.shape)).to(dtype)
    lead = (members, points) if own else (points,)
    inputs = torch.from_numpy(rng.normal(size=(*lead, network.point[0]))).to(dtype)
    labels = torch.from_numpy(rng.integers(network.outputs, size=lead))
    targets = labels if loss is cross_entropy else torch.from_numpy(rng.normal(size=(*lead, network.outputs))).to(dtype)
    method = Method("sgd", 0.9, False, (0.9, 0.99), None, None, None, loss, 0)
    rates = {name: np.full(members, 0.1) for name in parameters}
    return descent.Stack(network, parameters, Data(inputs, targets, own), rates, method)


def gradients(one):
    one._differentiate()
    return {name: value.clone() for name, value in one.update.gradients.parts.items()}


@pytest.mark.parametrize("members, own", [(1, False), (3, False), (3, True)])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [*by_hand.IN_PLACE, "committee"])
def test_gradients_are_those_of_automatic_differentiation(activation, bias, loss, own, members):
    network = Committee(4, 7, "relu", bias) if activation == "committee" else Dense((4, 7, 6, 3), activation, bias=bias)
    ours, plain = (stack(network, members, own, LOSSES[loss]) for _ in range(2))
    assert ours.by_hand is not None
    plain.by_hand = None
    data = [value.clone() for value in (ours.data.inputs, ours.data.targets)]
    for _ in range(2):  # arrays are used again
        found, expected = gradients(ours), gradients(plain)
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-13)
    assert torch.equal(ours.data.inputs, data[0]) and torch.equal(ours.data.targets, data[1])


def test_what_is_not_written_out_goes_another_way():
    class Other(Dense):
        """May answer differently."""

    fits = [by_hand.fits(network, half_squared_error) for network in (Other((4, 7, 3)), Dense((4, 7, 3), "swish"))]
    assert not any(fits) and not by_hand.fits(Dense((4, 7, 3)), lambda outputs, targets: half_squared_error(outputs, targets))
