"""Unbalanced starts in networks that look at images, and the first filters of a residual network.

Source: Kunin et al. (2024), "Get rich quick", figure 5 (b), and appendix "Experimental details". Networks of one seed differ in
α only: they share the first draw, the images and the order in which they see them. Where their images cannot be had, these
experiments raise `lib.data.DataUnavailable`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib import data
from lib.checks import instance, one_of, optional, positive, positives, size, takes, wholes
from lib.measures import accuracy
from lib.networks import Network, SmallResNet
from lib.networks.base import check_parameters, check_tensor
from lib.runs import Run, grid, named
from lib.training import Draw, cross_entropy, log_steps, train
from lib.training.schedules import piecewise

ALPHAS = partial(positives, ndim=1)
FILTER = ("channel", "colour", "row", "column")
POINTS = {"cifar10": (3, 32, 32), "mnist": (1, 28, 28)}  # shapes of pictures


@takes(parameters=check_parameters, alpha=positive)
def unbalance(parameters: Mapping[str, Tensor], alpha: float, first: str, last: str = "") -> dict[str, Tensor]:
    """Divide the parameter `first` by α and, if there is one, multiply `last` by it; α > 1 is upstream."""
    one_of("first", first, parameters)
    if last != "":
        one_of("last", last, parameters)
    changed = {first: parameters[first] / alpha} | ({last: parameters[last] * alpha} if last else {})
    return {**parameters, **changed}


def states(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe all parameters, one after the other."""
    return {"theta": (("parameter",), torch.cat([value.flatten(1) for value in parameters.values()], 1))}


@takes(network=instance(Network), theta=partial(check_tensor, ndim=1))
def unpack(network: Network, theta: Tensor) -> dict[str, Tensor]:
    """Give the parameters in `theta` (..., parameters) their names and shapes back."""
    shapes = network.shapes()
    if theta.shape[-1] != sum(int(np.prod(shape)) for shape in shapes.values()):
        raise ValueError(f"theta has shape {tuple(theta.shape)}: it does not fit the network's parameters")
    parts = theta.split([int(np.prod(shape)) for shape in shapes.values()], dim=-1)
    return {name: part.unflatten(-1, shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


@takes(count=size)
def digits(count: int, train: bool = True) -> tuple[Tensor, Tensor]:
    """Return the first handwritten digits (count, 1, 28, 28), standardized as the training images are, and their labels.

    Paper is thus not zero: on zeros a unit without a bias would be neither on nor off.
    """
    images, labels = data.mnist(train)
    images = (images[:count] - 0.1307) / 0.3081  # mean and standard deviation of all training images
    return torch.from_numpy(images).view(-1, 1, 28, 28), torch.from_numpy(labels[:count])


@takes(
    alphas=ALPHAS,
    pictures=partial(one_of, allowed=POINTS),
    learning_rate=positive,
    images=optional(size),
    epochs=size,
    batch_size=size,
    looked_at=size,
    looks=optional(size),
)
def first_filters(
    *,
    alphas: Sequence[float],
    members: int,
    pictures: str = "cifar10",
    images: int | None = None,
    channels: int = 64,
    kernel: int = 15,
    normalize: bool = True,
    epochs: int = 24,
    batch_size: int = 512,
    learning_rate: float = 0.4,
    augment: bool = True,
    looked_at: int = 1024,
    looks: int | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train a small residual network on images, with the first layer's filters divided by α, and keep these filters.

    Under normalization the first function does not depend on α, and α is a learning rate of the first layer. Without it, the
    readout is multiplied by α, which keeps the first function, too, and weights have He's variance.

    Training is stochastic gradient descent on the cross-entropy, with Nesterov's momentum .9 and a learning rate that rises from
    0 to its peak in the first 5/24 of the time and falls back to 0.

    Parameters
    ----------
    alphas : positive numbers; above 1 the first layer starts small
    members : how many seeds
    pictures : "cifar10", or "mnist"
    images : of the training set, from its beginning; None for all
    channels, kernel, normalize : of the network, see `lib.networks.convolutional.SmallResNet`
    epochs, batch_size, learning_rate : of the training; the last is its peak
    augment : show images shifted by up to 4 pixels, mirrored (not digits) and with a square of 8 pixels cut out
    looked_at : how many training images, and as many test images, give loss and accuracy
    looks : about how many after the start, evenly spaced on a logarithmic scale; None for three: at 1/24, 5/24 and all of the
        time
    seed : of the first draws, the order of the images and their changes

    Returns
    -------
    over (alpha, member, step): filter (channel, colour, row, column); loss,
    accuracy, test_loss and test_accuracy; and `origin`, which says where the images are from

    Source: figure 5 (b) and the network for the DAWN benchmark, whose settings are the defaults.
    """
    gain = 3**-0.5 if normalize else 2**0.5
    network = SmallResNet(channels, kernel, POINTS[pictures], normalize=normalize, gain=gain)
    first = network.initialize(seed, members, device=device)
    (inputs, labels), (test, test_labels), origin = _pictures(pictures, images, looked_at)
    steps = epochs * -(-len(inputs) // batch_size)
    record = sorted({0, steps // 24, 5 * steps // 24, steps}) if looks is None else log_steps(steps, looks)
    found = []
    for alpha in alphas:
        run = train(
            network,
            unbalance(first, alpha, "weight1", "" if normalize else "weight6"),
            inputs[:looked_at],
            labels[:looked_at],
            learning_rate=learning_rate,
            steps=steps,
            momentum=0.9,
            nesterov=True,
            schedule=piecewise([0, 5 / 24 * steps, steps], [0, 1, 0]),
            draw=_batches(inputs, labels, batch_size, augment, pictures != "mnist", seed),
            loss=cross_entropy,
            metrics={"accuracy": accuracy},
            test=(test, test_labels),
            record=record,
            observe=lambda parameters, outputs, hidden: {"filter": (FILTER, parameters["weight1"])},
            progress=True,
        )
        found.append(run.drop_vars("stopped"))
    return xr.concat(found, "alpha").assign_coords(alpha=list(alphas)).assign(origin=origin)


@takes(alpha=ALPHAS, seed=wholes)
def photographs(alpha: ArrayLike, seed: ArrayLike, **options: Any) -> xr.Dataset:
    """Do what `first_filters` does for networks one by one: a seed determines the first draw, the order and the changes.

    Parameters
    ----------
    alpha, seed : (m,), one entry for each network
    options : of `first_filters`

    Returns
    -------
    as `first_filters`, over (member, step)

    Source: figure 5 (b).
    """
    pairs = zip(*np.broadcast_arrays(*np.atleast_1d(alpha, seed)), strict=True)
    found = [first_filters(alphas=[float(a)], members=1, seed=int(own), **options).isel(alpha=0, drop=True) for a, own in pairs]
    return single_precision(xr.concat(found, "member", data_vars="all").drop_vars("member"))


@takes(found=instance(xr.Dataset))
def single_precision(found: xr.Dataset) -> xr.Dataset:
    """Return a Dataset in single precision, as large results are kept."""
    return found.assign({name: values.astype(np.float32) for name, values in found.items() if values.dtype.kind == "f"})


def _pictures(name: str, images: int | None, tested: int) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray], str]:
    """Return training and test images (n, colours, side, side), standardized by colour, with labels, and where they are from."""
    if name == "mnist":
        (train, labels), (test, test_labels), origin = data.mnist(), data.mnist(train=False), "MNIST"
        train, test = (v.reshape(-1, *POINTS[name]) for v in (train, test))
    else:
        (train, labels, copy), (test, test_labels, _) = data.cifar10(), data.cifar10(train=False)
        origin = "CIFAR-10" if copy == "standard" else f"CIFAR-10, {copy} copy"
    train, test = (np.float32(v[:count]) for v, count in ((train, images), (test, tested)))
    mean, spread = (f(train, axis=(0, 2, 3), keepdims=True) for f in (np.mean, np.std))
    return ((train - mean) / spread, labels[:images]), ((test - mean) / spread, test_labels[:tested]), origin


def _batches(inputs: NDArray, labels: NDArray, size: int, augment: bool, mirror: bool, seed: int) -> Draw:
    """Draw batches that pass through all images in an order of the member's own, anew in each epoch, changed if so asked.

    The last batch of an epoch may be smaller.
    """
    each = -(-len(inputs) // size)

    def draw(member: int, step: int) -> tuple[NDArray, NDArray]:
        epoch, number = divmod(step, each)
        order = np.random.default_rng((seed, member, epoch, 2)).permutation(len(inputs))
        chosen = order[number * size : (number + 1) * size]
        batch = inputs[chosen]
        return _changed(np.random.default_rng((seed, member, step, 3)), batch, mirror) if augment else batch, labels[chosen]

    return draw


def _changed(rng: np.random.Generator, images: NDArray, mirror: bool) -> NDArray:
    """Shift, mirror and cut images (n, colours, side, side)."""
    count, colours, side, _ = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)), mode="reflect")
    places = rng.integers(0, [[9], [9], [side - 7], [side - 7]], (4, count)).T
    mirrored = mirror & (rng.random(count) < 0.5)
    changed = np.moveaxis(np.empty((count, side, side, colours), images.dtype), -1, 1)  # in memory, colours are innermost
    for i, (top, left, row, column) in enumerate(places):
        shifted = padded[i, :, top : top + side, left : left + side]
        changed[i] = shifted[:, :, ::-1] if mirrored[i] else shifted
        changed[i, :, row : row + 8, column : column + 8] = 0
    return changed


# What a core or two do in an hour.
_PHOTOGRAPHS = {"images": 50_000, "epochs": 24, "channels": 64}
_RESNET = {"members": 2, "images": 3072, "channels": 8, "kernel": 15, "epochs": 4, "batch_size": 64, "looked_at": 1000}
_ALPHAS = np.logspace(-1, 1, 5).tolist()
_GABOR = {"normalized": {"alphas": _ALPHAS, "normalize": True, "learning_rate": 0.1, **_RESNET}}
_SMALL = {"members": 4, "channels": 4, "kernel": 9, "looks": 12}  # four seeds and many looks
_CLOCKS = {"small": _GABOR["normalized"] | _SMALL}
_PLAIN = {"plain": {"alphas": _ALPHAS[::2], "normalize": False, "learning_rate": 0.003, **_RESNET}}
# All photographs, as many steps as the source takes, a quarter of its channels: half an hour a network on a core.
_ALL = {"channels": 16, "epochs": 6, "batch_size": 128, "learning_rate": 0.2, "looks": 12}
RUNS = [
    Run("practice/gabor", first_filters, named("network", _GABOR), source=_PHOTOGRAPHS),
    Run("practice/filter_clocks", first_filters, named("network", _CLOCKS), source=_PHOTOGRAPHS),
    Run("practice/gabor_plain", first_filters, named("network", _PLAIN), source=_PHOTOGRAPHS),
    Run(
        "practice/photographs",
        photographs,
        grid(alpha=_ALPHAS, seed=range(2)),
        _ALL,
        {"networks": 10, "epochs": 24, "channels": 64},
    ),
]
