"""The first layer's clock on tiny data: work that adds up,
a plain loop, switches that are swapped.
"""

import numpy as np
import pytest
import torch

from book.practice import clocks
from lib import data
from lib.kernels import kernel_distance, ntk
from lib.networks import LeNet

LENET = dict(
    images=40, batch_size=8, learning_rate=1e-4, epochs=2, records=8, probe=4, looked_at=20
)


pytestmark = pytest.mark.usefixtures("random_digits")


def test_the_parts_do_what_the_loss_falls_by():
    found = clocks.lenet_clocks([1.0, 3.0], [0, 1], **LENET | {"learning_rate": 2e-5})
    fall = found.loss.isel(step=0) - found.loss
    np.testing.assert_allclose(found.work.sum("part"), fall, atol=0.03 * float(fall.max()))
    assert (found.work.isel(step=0) == 0).all() and (found["shift"].isel(step=0) == 0).all()
    np.testing.assert_allclose(np.sqrt((found["shift"] ** 2).sum("part")), found.moved, rtol=1e-3)


def test_the_squared_slopes_at_the_start_follow_the_clock():
    found = clocks.lenet_clocks([1.0, 2.0], [3, 3], **LENET).square.isel(step=0)
    ratio = (found.isel(member=1) / found.isel(member=0)).values
    expected = (
        dict.fromkeys(LeNet().shapes(), 1.0)
        | {"weight1": 4.0, "weight5": 0.25}
        | {f"bias{i}": 4.0 for i in range(1, 5)}
    )
    np.testing.assert_allclose(ratio, list(expected.values()), rtol=1e-3)


@pytest.mark.parametrize("name, optimizer", [("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)])
def test_networks_descend_and_turn_as_in_a_plain_loop(name, optimizer):
    found = clocks.lenet_clocks(
        [3.0, 0.5], [2, 7], **LENET | {"learning_rate": 1e-3, "optimizer": name, "ramp": 0.4}
    )
    assert found.step.values[-1] == 10
    network, (inputs, labels) = LeNet(), data.digits(40)
    for m, (alpha, seed) in enumerate([(3.0, 2), (0.5, 7)]):
        now = {name: value[0].clone() for name, value in network.initialize(seed).items()}
        now |= {"weight1": now["weight1"] / alpha, "weight5": now["weight5"] * alpha}
        start = {name: value.clone() for name, value in now.items()}
        leaves = [value.requires_grad_() for value in now.values()]
        method = optimizer(leaves, lr=1e-3)
        for step in range(10):
            order = np.random.default_rng((seed, 0, step // 5, 2)).permutation(40)[
                8 * (step % 5) :
            ][:8]
            method.param_groups[0]["lr"] = 1e-3 * min(1, (step + 1) / 4) ** 2
            method.zero_grad()
            torch.nn.functional.cross_entropy(
                network(now, inputs[order])[0], labels[order]
            ).backward()
            method.step()
        last = found.isel(member=m, step=-1)
        with torch.no_grad():
            outputs = network(now, inputs[:20])[0]
            units = [torch.cat(network(own, inputs[:4])[1], 1) > 0 for own in (start, now)]
            stacks = [{name: value[None] for name, value in own.items()} for own in (start, now)]
            kernels = {
                full: [ntk(network, own, inputs[:4], full)[0] for own in stacks]
                for full in (False, True)
            }
        np.testing.assert_allclose(
            last.loss, torch.nn.functional.cross_entropy(outputs, labels[:20]), rtol=1e-4
        )
        np.testing.assert_allclose(
            last.accuracy, (outputs.argmax(1) == labels[:20]).double().mean(), rtol=1e-6
        )
        np.testing.assert_allclose(last.hamming, (units[0] != units[1]).double().mean(), atol=2e-4)
        np.testing.assert_allclose(last.kernel, kernel_distance(*kernels[False]), rtol=1e-2)
        np.testing.assert_allclose(last.full, kernel_distance(*kernels[True]), rtol=1e-2)
        moved = sum(float(((now[name].detach() - start[name]) ** 2).sum()) for name in now) ** 0.5
        np.testing.assert_allclose(last.moved, moved, rtol=1e-3)


def test_a_network_with_its_own_switches_is_itself():
    own = {name: value[0] for name, value in LeNet().initialize(0).items()}
    points = torch.randn(5, 1, 28, 28)
    torch.testing.assert_close(
        clocks.Switched(own)(own, points)[0], LeNet()(own, points)[0], rtol=1e-4, atol=1e-4
    )
    one = {name: value[None] for name, value in own.items()}
    kernels = [ntk(network, one, points)[0].numpy() for network in (LeNet(), clocks.Switched(own))]
    assert kernel_distance(*kernels) < 1e-9


def test_a_network_with_other_switches_is_linear_in_a_layer():
    own, other = (
        {name: value[m] for name, value in LeNet().initialize(0, 2).items()} for m in range(2)
    )
    points = torch.randn(3, 1, 28, 28)
    network = clocks.Switched(other)
    doubled = (
        network({**own, "weight3": 3 * own["weight3"]}, points)[0]
        - network({**own, "weight3": 0 * own["weight3"]}, points)[0]
    )
    single = network(own, points)[0] - network({**own, "weight3": 0 * own["weight3"]}, points)[0]
    torch.testing.assert_close(doubled, 3 * single, rtol=1e-3, atol=1e-4)
