"""The first layer's clock: how much of the learning each
layer of LeNet-5 does, from unbalanced starts.

Source: Kunin et al. (2024), "Get rich quick", figure 5 (a); each network is a member of a sweep
that grows. A seed determines the first draw and the order of the images: networks of one seed
differ in α only.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import conv2d, linear

from book.practice.images import batches, states, unbalance, unpack
from book.practice.measures import accuracy
from lib.checks import takes, whole
from lib.data import digits
from lib.kernels import kernel_distance, ntk
from lib.networks import LeNet, Network
from lib.networks.base import Layer, note
from lib.training import cross_entropy, log_steps, train


@takes()
def lenet_clocks(
    alpha: ArrayLike,
    seed: ArrayLike,
    *,
    images: int,
    batch_size: int,
    learning_rate: float,
    epochs: int = 1,
    optimizer: str = "sgd",
    ramp: float = 0.0,
    records: int = 30,
    probe: int = 64,
    looked_at: int = 500,
    device: str = "cpu",
) -> xr.Dataset:
    r"""Train LeNet-5 on handwritten digits from unbalanced
    starts and say which of its parts did the work.

    The work of a part θ_l is what it takes off the loss,
    :math:`-\int\langle\nabla_{\theta_l} L, d\theta_l\rangle`, by the trapezoid rule over the
    records, on the first `looked_at` images. All parts together do what the loss falls by.

    Parameters
    ----------
    alpha, seed : (m,), one entry for each network; the first layer's weights are divided by α and
        the last layer's multiplied
    images : of the training set, from its beginning
    batch_size, learning_rate, epochs, optimizer : of the training, on the cross-entropy
    ramp : the part of the steps, in [0, 1], over which the learning rate rises with the square of
        the step: the first gradients are large, and small steps follow the flow through them
    records : about how many times to look after the start, evenly spaced on a logarithmic scale
    probe : how many images kernels and switches are compared on
    looked_at : how many training images, and as many test images, give loss, accuracy and gradients

    Returns
    -------
    over (member, step): loss, accuracy, test_accuracy; and the distances from the start. kernel: S
    of the tangent kernel, traced over outputs; switches and weights: the same with only these new;
    full: S of the kernel of all pairs of outputs; hamming: the fraction of pairs of a hidden unit
    and an image where the unit switched on or off; moved: Euclidean, in parameter space. Over
    (member, step, part), a part being a parameter's name: work; square, the squared norm of the
    gradient; and shift, the distance from the start

    Source: figure 5 (a), which has 500 epochs of all images with batches of 512, a learning rate of
    1e-4 and no named optimizer.

    Settings
    --------
    data : the first {images} training images of MNIST, pixels between 0 and 1 less 0.1307, over
        0.3081
    network : LeNet-5 with ReLU and maxima: 6 and 16 channels of 5 × 5 filters (the first with a
        margin of 2), each pooled, then 120 and 84 units and ten outputs, biases
    initialization : weights normal with He's variance 2/fan-in, biases zero; then the first layer's
        weights are divided by α and the last layer's multiplied by it. α = {alpha}; seeds {seed}
    loss : cross-entropy, mean over the batch
    rate : {learning_rate}, the same for all weights and biases, optimizer {optimizer} ("sgd" has no
        momentum, "adam" has β = 0.9 and 0.999, ε = 10⁻⁸); it rises with the square of the step over
        the first {ramp} of the steps
    batch : {batch_size}, in a new order in each epoch; the last of an epoch is smaller
    steps : {epochs} epochs of {-(-images // batch_size)} steps
    stop : none
    read : at step 0 and about {records} steps, evenly spaced on a logarithmic scale: loss, accuracy
        and gradients on the first {looked_at} training images, accuracy on the first {looked_at}
        test images, tangent kernels and switches (of all hidden units, before pooling) on the first
        {probe} training images
    precision : 32 bits
    """
    whole("batch_size", batch_size, 1, images)
    members = [
        (float(a), int(s))
        for a, s in zip(*np.broadcast_arrays(*np.atleast_1d(alpha, seed)), strict=True)
    ]
    (inputs, labels), (test, test_labels) = digits(images), digits(looked_at, train=False)
    steps = epochs * -(-images // batch_size)
    found = []
    for one, own in members:
        run = train(
            LeNet(),
            unbalance(LeNet().initialize(own, device=device), one, "weight1", "weight5"),
            inputs[:looked_at],
            labels[:looked_at],
            learning_rate=learning_rate,
            steps=steps,
            optimizer=optimizer,
            schedule=partial(_rising, over=ramp * steps),
            draw=batches(inputs.numpy(), labels.numpy(), batch_size, False, own),
            loss=cross_entropy,
            metrics={"accuracy": accuracy},
            test=(test, test_labels),
            record=log_steps(steps, records),
            observe=states,
            progress=True,
        ).isel(member=0)
        path = unpack(LeNet(), torch.from_numpy(run.theta.values).to(device))
        measured = _work(path, inputs[:looked_at].to(device), labels[:looked_at].to(device))
        measured |= _turned(path, inputs[:probe].to(device))
        kept = {name: ("step", run[name].values) for name in ("loss", "accuracy", "test_accuracy")}
        found.append(
            xr.Dataset(kept | measured, {"step": run.step.values, "part": list(LeNet().shapes())})
        )
    return xr.concat(found, "member").astype(np.float32)


def _rising(step: int, over: float) -> float:
    """Return the factor of the learning rate at a step, from 0:
    (step + 1)² up to step `over`, 1 from there on.
    """
    return min(1.0, (step + 1) / max(over, 1)) ** 2


def _work(path: Mapping[str, Tensor], inputs: Tensor, labels: Tensor) -> dict[str, tuple]:
    """Return, over (step, part), the work that the parts of one
    network have done, their squared slopes and their shifts.
    """
    slopes = []
    for t in range(len(path["weight1"])):
        leaves = [value[t].clone().requires_grad_() for value in path.values()]
        loss = cross_entropy(LeNet()(dict(zip(path, leaves, strict=True)), inputs, ())[0], labels)
        slopes.append(torch.autograd.grad(loss, leaves))
    work, square, shift = [], [], []
    for value, slope in zip(
        path.values(), (torch.stack(of) for of in zip(*slopes, strict=True)), strict=True
    ):
        value, slope = value.flatten(1).double(), slope.flatten(1).double()
        done = -((slope[1:] + slope[:-1]) / 2 * value.diff(dim=0)).sum(1).cumsum(0)
        work.append(torch.cat([done.new_zeros(1), done]))
        square.append((slope**2).sum(1))
        shift.append(torch.linalg.norm(value - value[0], dim=1))
    stacked = {"work": work, "square": square, "shift": shift}
    return {
        name: (("step", "part"), torch.stack(parts, 1).cpu().numpy())
        for name, parts in stacked.items()
    }


@torch.no_grad()
def _turned(path: Mapping[str, Tensor], images: Tensor) -> dict[str, tuple]:
    """Compare the states of one network with the first of them: kernels, also with switches or
    weights alone, and switches.
    """
    states = [
        {name: value[t, None] for name, value in path.items()} for t in range(len(path["weight1"]))
    ]
    first = {name: value[0] for name, value in states[0].items()}
    units = [
        torch.cat(LeNet()({n: v[0] for n, v in now.items()}, images)[1], 1) > 0 for now in states
    ]
    full = ntk(LeNet(), states[0], images, full=True)[0].cpu().numpy()
    start = _traced(full, len(images))
    found: dict[str, list] = {"kernel": [], "full": [], "switches": [], "weights": []}
    for now in states:
        new = {name: value[0] for name, value in now.items()}
        whole = ntk(LeNet(), now, images, full=True)[0].cpu().numpy()
        found["full"].append(kernel_distance(full, whole))
        found["kernel"].append(kernel_distance(start, _traced(whole, len(images))))
        for name, swapped, own in (
            ("switches", Switched(new), states[0]),
            ("weights", Switched(first), now),
        ):
            found[name].append(kernel_distance(start, ntk(swapped, own, images)[0].cpu().numpy()))
    found["hamming"] = [float((now != units[0]).double().mean()) for now in units]
    found["moved"] = [
        sum(float(((now[n] - states[0][n]) ** 2).sum()) for n in now) ** 0.5 for now in states
    ]
    return {name: ("step", np.array(values)) for name, values in found.items()}


def _traced(kernel: NDArray, points: int) -> NDArray:
    """Sum a kernel of all pairs of outputs (n·c, n·c) over equal outputs: (n, n)."""
    return np.einsum("icjc->ij", kernel.reshape(points, -1, points, kernel.shape[1] // points))


class Switched(Network):
    """LeNet-5 with the rectifiers and the maxima of a LeNet-5 that
    has other parameters: linear in each layer's weights.

    `theirs` are those parameters, of one member. Where their maxima tie, all of them share.
    """

    depth, by_layer, point = 4, True, LeNet.point

    def __init__(self, theirs: Mapping[str, Tensor]) -> None:
        self.theirs = theirs

    def shapes(self) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return LeNet().shapes()

    def __call__(
        self,
        parameters: Mapping[str, Tensor],
        inputs: Tensor,
        layers: tuple | None = None,
        passed: list | None = None,
    ) -> tuple:
        """Map images (n, 1, 28, 28) to outputs (n, c), with no hidden layers."""
        h = g = inputs  # of our network and of theirs
        both = parameters, self.theirs
        for i, margin in ((1, 2), (2, 0)):
            y, g = (
                conv2d(v, p[f"weight{i}"], p[f"bias{i}"], padding=margin)
                for v, p in zip((h, g), both, strict=True)
            )
            note(passed, Layer(h, y, margin=margin))
            y, g = (v.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)) for v in (y, g))
            top = g.amax((3, 5), keepdim=True)
            chosen = (g == top) & (g > 0)
            h = (y * chosen).sum((3, 5)) / chosen.sum((3, 5)).clamp(min=1)
            g = top.squeeze((3, 5)).relu()
        h, g = h.flatten(1), g.flatten(1)
        for i in (3, 4):
            y, g = (
                linear(v, p[f"weight{i}"], p[f"bias{i}"]) for v, p in zip((h, g), both, strict=True)
            )
            note(passed, Layer(h, y))
            h, g = y * (g > 0), g.relu()
        outputs = linear(h, parameters["weight5"], parameters["bias5"])
        note(passed, Layer(h, outputs))
        return outputs, []
