"""Kernels at equal loss on tiny data: a plain loop, and units in which networks begin alike."""

import numpy as np
import pytest
import torch

from book.practice import clocks, levels
from book.practice.images import unbalance
from lib import data
from lib.kernels import kernel_distance, ntk
from lib.networks import LeNet

pytestmark = pytest.mark.usefixtures("random_digits")


def random_weights(alpha):
    """Return LeNet-5 with random biases, unbalanced by α."""
    weights = LeNet().initialize(0, dtype=torch.float64)
    for layer in range(1, 6):
        shape = weights[f"bias{layer}"].shape
        weights[f"bias{layer}"] = torch.randn(shape, generator=torch.Generator().manual_seed(layer))
        weights[f"bias{layer}"] = weights[f"bias{layer}"].double()
    hidden = {f"bias{layer}": weights[f"bias{layer}"] / alpha for layer in range(1, 5)}
    return weights, unbalance(weights, alpha, "weight1", "weight5") | hidden


def test_fixed_units_give_back_the_balanced_weights():
    weights, divided = random_weights(3.0)
    for name, value in levels.fixed_units(divided, 3.0).items():
        torch.testing.assert_close(value, weights[name])


def test_the_kernel_counts_layers_by_powers_of_alpha():
    """By the gradients of each layer, with dense Jacobians."""
    weights, divided = random_weights(3.0)
    digits = data.digits(4)[0].double()

    def by_layer(several):
        one = {name: value[0].clone().requires_grad_() for name, value in several.items()}
        parts: dict = {"first": 0, "middle": 0, "last": 0}
        groups = dict.fromkeys(["weight2", "weight3", "weight4", "bias5"], "middle")
        groups["weight5"] = "last"
        outputs = LeNet()(one, digits, ())[0]
        for output in range(10):
            rows = [
                torch.autograd.grad(y, list(one.values()), retain_graph=True)
                for y in outputs[:, output]
            ]
            for i, name in enumerate(one):
                jacobian = torch.stack([row[i].flatten() for row in rows])
                parts[groups.get(name, "first")] += jacobian @ jacobian.T
        return parts

    fixed = by_layer(weights)
    own = ntk(LeNet(), divided, digits)[0]
    torch.testing.assert_close(own, 9 * fixed["first"] + fixed["middle"] + fixed["last"] / 9)


@pytest.mark.parametrize(
    "name, method, centred",
    [
        ("sgd", torch.optim.SGD, False),
        ("sgd", torch.optim.SGD, True),
        ("adam", torch.optim.Adam, False),
    ],
)
def test_networks_turn_as_in_a_plain_loop(name, method, centred):
    options = dict(steps=40, batch_size=50, learning_rate=2e-4, ramp=4, probe=5, looked_at=50)
    loss = torch.nn.functional.cross_entropy
    digits, labels = data.digits(50)
    weights = unbalance(LeNet().initialize(2), 3.0, "weight1", "weight5")
    path = [weights]
    initially = LeNet()({key: value[0] for key, value in weights.items()}, digits, ())[0]
    leaves = {key: value[0].clone().requires_grad_() for key, value in weights.items()}
    optimizer = method(leaves.values(), lr=2e-4)
    losses = []
    for step in range(40):
        outputs = LeNet()(leaves, digits, ())[0]
        found = loss(outputs - centred * initially, labels)
        losses.append(found.item())
        optimizer.param_groups[0]["lr"] = 2e-4 * min(1, (step + 1) / 4) ** 2
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        path.append({key: value.detach()[None].clone() for key, value in leaves.items()})
    reached = [losses[10] + 1e-3, losses[30] + 1e-3]
    measured = levels.lenet_levels(
        [3.0], [2], levels=reached, optimizer=name, centred=centred, **options
    )
    measured = measured.isel(member=0)
    np.testing.assert_array_equal(measured.step, [10, 30])
    for i, step in enumerate((10, 30)):
        own = [ntk(LeNet(), path[t], digits[:5])[0] for t in (0, step)]
        fixed = [ntk(LeNet(), levels.fixed_units(path[t], 3.0), digits[:5])[0] for t in (0, step)]
        np.testing.assert_allclose(measured.own[i], kernel_distance(*own), rtol=1e-2)
        np.testing.assert_allclose(measured.fixed[i], kernel_distance(*fixed), rtol=1e-2)
        first, now = ({key: value[0] for key, value in path[t].items()} for t in (0, step))
        for part, switches, weights in (("switches", now, path[0]), ("weights", first, path[step])):
            exchanged = ntk(clocks.Switched(switches), weights, digits[:5])[0]
            left = kernel_distance(own[1], exchanged)
            np.testing.assert_allclose(measured[f"{part}_left"][i], left, rtol=1e-2)
            assert left > 1e-6  # there is something to tell apart
