"""The tangent kernel of LeNet-5 where its training loss falls to a level.

Source: Kunin et al. (2024), "Get rich quick", figure 5 (a). A seed determines the first draw and
the order of the images: networks of one seed differ in α only.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from book.practice.clocks import Switched, _rising
from book.practice.images import batches, states, unbalance, unpack
from lib.data import digits
from lib.kernels import kernel_distance, ntk
from lib.networks import LeNet, Network
from lib.training import cross_entropy, train

LOOKS = 10  # steps between two looks at the loss


def lenet_levels(
    alpha: ArrayLike,
    seed: ArrayLike,
    *,
    levels: list[float],
    steps: int,
    batch_size: int,
    learning_rate: float,
    optimizer: str = "sgd",
    ramp: int = 1,
    centred: bool = False,
    probe: int = 256,
    looked_at: int = 500,
    device: str = "cpu",
) -> xr.Dataset:
    r"""Train LeNet-5 from unbalanced weights down to some losses, and
    compare its kernels there with the initial ones.

    A kernel depends on the units of the weights. Those of θ are the network's own; in the units
    :math:`w_1 = \alpha\theta_1,\ w_L = \theta_L/\alpha` all α begin with the same kernel.

    Parameters
    ----------
    alpha, seed : (m,), one entry for each network; the first layer's weights are divided by α and
        the last layer's multiplied
    levels : of the loss, descending; each must be reached
    steps : at most
    batch_size, learning_rate, optimizer : of the training, on the cross-entropy of all digits
    ramp : the steps over which the learning rate rises with the square of the step
    centred : whether the loss is of the network less its initial outputs, which has nothing to undo
    probe : how many images kernels are compared on
    looked_at : how many training images give the loss

    Returns
    -------
    over (member, level): step; own and fixed, the distance S of the traced kernel from the initial
    one in the units θ and w; switches_left and weights_left, the distance S from the current
    kernel, in the units θ, to that in which only the switches, or only the weights, are new

    Settings
    --------
    data : the 60,000 training images of MNIST, pixels between 0 and 1 less 0.1307, over 0.3081
    network : LeNet-5 as in `lenet_clocks`; less its initial outputs: {centred}
    initialization : weights normal with He's variance 2/fan-in, biases zero; then the first layer's
        weights are divided by α and the last layer's multiplied by it. α = {alpha}; seeds {seed}
    loss : cross-entropy, mean over the batch
    rate : {learning_rate}, the same for all weights and biases, optimizer {optimizer} ("sgd" has no
        momentum, "adam" has β = 0.9 and 0.999, ε = 10⁻⁸); it rises with the square of the step over
        the first {ramp} steps
    batch : {batch_size}, in a new order in each epoch; the last of an epoch is smaller
    steps : at most {steps}
    stop : where the loss has fallen to the last of {levels}
    read : at the first look, every {LOOKS} steps, at which the loss on the first {looked_at}
        training images is at most {levels}: traced tangent kernels on the first {probe} training
        images
    precision : 32 bits
    """
    inputs, labels = digits(60_000)
    found = []
    for a, own in zip(*np.broadcast_arrays(*np.atleast_1d(alpha, seed)), strict=True):
        whole = LeNet().initialize(int(own), device=device)
        initial = unbalance(whole, float(a), "weight1", "weight5")
        run = train(
            Centred(initial) if centred else LeNet(),
            initial,
            inputs[:looked_at],
            labels[:looked_at],
            learning_rate=learning_rate,
            steps=steps,
            optimizer=optimizer,
            schedule=partial(_rising, over=ramp),
            draw=batches(inputs.numpy(), labels.numpy(), batch_size, False, int(own)),
            loss=cross_entropy,
            record=np.arange(0, steps + 1, LOOKS),
            observe=states,
            stop_below=levels[-1],
            progress=True,
        ).isel(member=0)
        looks = [np.flatnonzero(run.loss.values <= level)[0] for level in levels]
        theta = torch.from_numpy(run.theta.values[[0, *looks]]).to(device)
        path = unpack(LeNet(), theta)
        measured = _turned(path, float(a), inputs[:probe].to(device))
        measured["step"] = run.step.values[looks]
        values = {name: ("level", np.array(value, np.float32)) for name, value in measured.items()}
        found.append(xr.Dataset(values, {"level": levels}))
    return xr.concat(found, "member")


class Centred(Network):
    """LeNet-5 less its outputs at the parameters `first`, of one member."""

    depth, point, outputs = LeNet.depth, LeNet.point, LeNet.outputs

    def __init__(self, first: Mapping[str, Tensor]) -> None:
        self.first = {name: value[0] for name, value in first.items()}

    def shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return LeNet().shapes()

    def __call__(
        self, parameters: dict[str, Tensor], inputs: Tensor, layers: tuple | None = None
    ) -> tuple:
        """Map images (n, 1, 28, 28) to outputs (n, 10) and hidden layers."""
        outputs, hidden = LeNet()(parameters, inputs, layers)
        return outputs - LeNet()(self.first, inputs, ())[0], hidden


def fixed_units(parameters: Mapping[str, Tensor], alpha: float) -> dict[str, Tensor]:
    """Return LeNet-5's weights in the units w, in which the networks of all α begin alike.

    The hidden biases are added to what was divided by α, so they have the first layer's unit.
    """
    biases = {f"bias{layer}": alpha * parameters[f"bias{layer}"] for layer in range(1, 5)}
    return unbalance(parameters, 1 / alpha, "weight1", "weight5") | biases


@torch.no_grad()
def _turned(path: Mapping[str, Tensor], alpha: float, images: Tensor) -> dict[str, list]:
    """Compare kernels of one network, after its first state, with the first one."""
    found: dict[str, list] = {"own": [], "fixed": [], "switches_left": [], "weights_left": []}

    def kernel(network: LeNet | Switched, parameters: dict[str, Tensor]) -> np.ndarray:
        return ntk(network, parameters, images)[0].cpu().numpy()

    first = {name: value[:1] for name, value in path.items()}
    for t in range(1, len(path["weight1"])):
        now = {name: value[t, None] for name, value in path.items()}
        new = kernel(LeNet(), now)
        switches = kernel(Switched({name: value[0] for name, value in now.items()}), first)
        weights = kernel(Switched({name: value[0] for name, value in first.items()}), now)
        pair = [kernel(LeNet(), fixed_units(state, alpha)) for state in (first, now)]
        found["own"].append(kernel_distance(kernel(LeNet(), first), new))
        found["fixed"].append(kernel_distance(*pair))
        found["switches_left"].append(kernel_distance(new, switches))
        found["weights_left"].append(kernel_distance(new, weights))
    return found
