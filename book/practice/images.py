"""Unbalanced starts in networks that look at images, and the first filters of a residual network.

Source: Kunin et al. (2024), "Get rich quick", figure 5 (b), and appendix "Experimental details".
Networks of one seed differ in α only: they share the first draw, the images and the order in which
they see them. Where their images cannot be had, these experiments raise `lib.data.DataUnavailable`.
"""

from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from book.practice import pictures
from book.practice.measures import accuracy, filter_laplacian
from book.practice.resnet import SmallResNet
from book.practice.theory import LAPLACIAN
from lib.checks import one_of, positive, takes
from lib.experiments.precision import single_precision
from lib.networks import Network
from lib.training import Draw, cross_entropy, log_steps, train
from lib.training.schedules import piecewise

FILTER = ("channel", "colour", "row", "column")


KEPT = 16  # channels whose filters are kept


@takes(alpha=positive)
def unbalance(
    parameters: Mapping[str, Tensor], alpha: float, first: str, last: str = ""
) -> dict[str, Tensor]:
    """Divide the parameter `first` by α and, if there is one,
    multiply `last` by it; α > 1 is upstream.
    """
    one_of("first", first, parameters)
    if last != "":
        one_of("last", last, parameters)
    changed = {first: parameters[first] / alpha} | (
        {last: parameters[last] * alpha} if last else {}
    )
    return {**parameters, **changed}


def states(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe all parameters, one after the other."""
    return {
        "theta": (("parameter",), torch.cat([value.flatten(1) for value in parameters.values()], 1))
    }


def unpack(network: Network, theta: Tensor) -> dict[str, Tensor]:
    """Give the parameters in `theta` (..., parameters) their names and shapes back."""
    shapes = network.shapes()
    parts = theta.split([int(np.prod(shape)) for shape in shapes.values()], dim=-1)
    return {
        name: part.unflatten(-1, shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def photographs(
    alpha: ArrayLike,
    seed: ArrayLike,
    *,
    images: int | None = None,
    channels: int = 64,
    kernel: int = 15,
    doublings: int = 3,
    epochs: int = 24,
    batch_size: int = 512,
    learning_rate: float = 0.4,
    looked_at: int = 4096,
    looks: int = 12,
    device: str = "cpu",
) -> xr.Dataset:
    """Train small residual networks on photographs, with the first
    layer's filters divided by α, and look at these filters.

    Under normalization the first function does not depend on α, and α is a learning rate of the
    first layer. Training is by stochastic descent on the cross-entropy, with Nesterov's momentum .9
    and a learning rate that rises from 0 to its peak in the first 5/24 of the time and falls back
    to 0, on images shifted by up to 4 pixels, mirrored and with a square of 8 pixels cut out.

    Parameters
    ----------
    alpha, seed : (m,), one entry for each network; above 1 the first layer starts small. A seed
        determines the first draw, the order of the images and their changes
    images : of the training set, from its beginning; None for all
    channels, kernel, doublings : of the network, see `lib.networks.convolutional.SmallResNet`
    epochs, batch_size, learning_rate : of the training; the last is its peak
    looked_at : how many training images, and as many test images, give loss and accuracy
    looks : about how many after the start, evenly spaced on a logarithmic scale

    Returns
    -------
    over (member, step): roughness, the mean of the filters; loss, accuracy, test_loss and
    test_accuracy. Over (member, look), at the start, after two steps, of which the first has the
    rate 0, and at the end: filter (channel, colour, row, column), of the first `KEPT` channels. And
    `origin`, which says where the images are from

    Source: figure 5 (b) and the network for the DAWN benchmark, whose settings are the defaults.

    Settings
    --------
    data : CIFAR-10, {images if images else "all"} training images, standardized by colour; in a
        batch shifted by up to 4 pixels (mirrored at the edges), mirrored with probability ½, a
        square of 8 pixels set to 0
    network : a residual network: a convolution of {kernel} × {kernel} filters to {channels}
        channels, then {doublings} doublings by 3 × 3 convolutions, the first and the third followed
        by two more in a residual branch; batch normalization and ReLU after each, maxima, readout
        without bias, times 1/8. Normalized by the batch, or by all images that are looked at
        together
    initialization : weights normal with the variance 1 / (3 fan-in), gains of the normalization 1,
        shifts 0; then the first filters are divided by α. α = {alpha}; seeds {seed}
    loss : cross-entropy, mean over the batch
    rate : {learning_rate} at its peak, the same for all parameters, Nesterov's momentum 0.9; rises
        from 0 over the first 5/24 of the steps and falls back to 0, on straight lines
    batch : {batch_size}, in a new order in each epoch; the last of an epoch is smaller
    steps : {epochs} epochs
    stop : none
    read : the roughness of the first filters, mean of all channels, and loss and accuracy on the
        first {looked_at} training and test images, unchanged, at steps 0 and 2 and about {looks}
        steps, evenly spaced on a logarithmic scale; {KEPT} filters at step 0, 2 and the last
    precision : 32 bits
    """
    network = SmallResNet(channels, kernel, doublings=doublings)
    (inputs, labels), (test, test_labels), origin = _pictures(images, looked_at)
    steps = epochs * -(-len(inputs) // batch_size)
    found = []
    for one, own in zip(*np.broadcast_arrays(*np.atleast_1d(alpha, seed)), strict=True):
        run = train(
            network,
            unbalance(network.initialize(int(own), device=device), float(one), "weight1"),
            inputs[:looked_at],
            labels[:looked_at],
            learning_rate=learning_rate,
            steps=steps,
            momentum=0.9,
            nesterov=True,
            schedule=piecewise([0, 5 / 24 * steps, steps], [0, 1, 0]),
            draw=batches(inputs, labels, batch_size, True, int(own)),
            loss=cross_entropy,
            metrics={"accuracy": accuracy},
            test=(test, test_labels),
            record=sorted({2, *log_steps(steps, looks).tolist()}),
            observe=lambda parameters, outputs, hidden: {"filter": (FILTER, parameters["weight1"])},
            progress=True,
        ).isel(member=0)
        rough = filter_laplacian(run["filter"].values, LAPLACIAN).mean((-2, -1))
        kept = run["filter"].sel(step=[0, 2, steps])[:, :KEPT].rename(step="look")
        found.append(
            run.drop_vars(["filter", "stopped"]).assign(
                roughness=("step", rough), filter=kept, origin=origin
            )
        )
    return single_precision(
        xr.concat(found, "member", data_vars="all").drop_vars("member", errors="ignore")
    )


def _pictures(
    images: int | None, tested: int
) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray], str]:
    """Return training and test photographs (n, 3, 32, 32),
    standardized by colour, with labels, and where they are from.
    """
    (train, labels, copy), (test, test_labels, _) = (
        pictures.cifar10(),
        pictures.cifar10(train=False),
    )
    train, test = (np.float32(v[:count]) for v, count in ((train, images), (test, tested)))
    mean, spread = (f(train, axis=(0, 2, 3), keepdims=True) for f in (np.mean, np.std))
    origin = "CIFAR-10" if copy == "standard" else f"CIFAR-10, {copy} copy"
    return (
        ((train - mean) / spread, labels[:images]),
        ((test - mean) / spread, test_labels[:tested]),
        origin,
    )


def batches(inputs: NDArray, labels: NDArray, size: int, augment: bool, seed: int) -> Draw:
    """Draw batches that pass through all images in an order of the
    member's own, anew in each epoch, changed if so asked.

    The last batch of an epoch may be smaller.
    """
    each = -(-len(inputs) // size)

    def draw(member: int, step: int) -> tuple[NDArray, NDArray]:
        epoch, number = divmod(step, each)
        order = np.random.default_rng((seed, member, epoch, 2)).permutation(len(inputs))
        chosen = order[number * size : (number + 1) * size]
        batch = inputs[chosen]
        return _changed(
            np.random.default_rng((seed, member, step, 3)), batch
        ) if augment else batch, labels[chosen]

    return draw


def _changed(rng: np.random.Generator, images: NDArray) -> NDArray:
    """Shift, mirror and cut images (n, colours, side, side)."""
    count, colours, side, _ = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)), mode="reflect")
    places = rng.integers(0, [[9], [9], [side - 7], [side - 7]], (4, count)).T
    mirrored = rng.random(count) < 0.5
    changed = np.moveaxis(
        np.empty((count, side, side, colours), images.dtype), -1, 1
    )  # in memory, colours are innermost
    for i, (top, left, row, column) in enumerate(places):
        shifted = padded[i, :, top : top + side, left : left + side]
        changed[i] = shifted[:, :, ::-1] if mirrored[i] else shifted
        changed[i, :, row : row + 8, column : column + 8] = 0
    return changed
