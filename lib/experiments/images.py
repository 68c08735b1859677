"""Unbalanced starts in networks that look at images: the tangent kernel of LeNet-5, the first filters of a residual network.

Source: Kunin et al. (2024), "Get rich quick", figure 5 (a) and (b), and appendix "Experimental details". Networks of one seed differ
in α only: they share the first draw, the images and the order in which they see them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from lib import data
from lib.convolutional import LeNet, SmallResNet
from lib.kernels import kernel_distance, ntk
from lib.measures import accuracy
from lib.networks import Network
from lib.results import Run
from lib.training import cross_entropy, log_steps, train


def unbalance(parameters: Mapping[str, Tensor], alpha: float, first: str, last: str = "") -> dict[str, Tensor]:
    """Divide the parameter `first` by α and, if there is one, multiply `last` by it; α > 1 is upstream.

    Raises
    ------
    ValueError
        If α is not positive and finite, or there are no such parameters.
    """
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha is {alpha}: want a positive number")
    for name in filter(None, (first, last)):
        if name not in parameters:
            raise ValueError(f"no parameter {name!r}: want one of {', '.join(parameters)}")
    changed = {first: parameters[first] / alpha} | ({last: parameters[last] * alpha} if last else {})
    return {**parameters, **changed}


def states(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    """Observe all parameters, one after the other."""
    return {"theta": (("parameter",), torch.cat([value.flatten(1) for value in parameters.values()], 1))}


def unpack(network: Network, theta: Tensor) -> dict[str, Tensor]:
    """Give the parameters in `theta` (..., parameters) their names and shapes back."""
    shapes = network.shapes()
    parts = theta.split([int(np.prod(shape)) for shape in shapes.values()], dim=-1)
    return {name: part.unflatten(-1, shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def digits(count: int, train: bool = True) -> tuple[Tensor, Tensor]:
    """Return the first handwritten digits (count, 1, 28, 28), standardized as the training images are, and their labels.

    Paper is thus not zero: on zeros a unit without a bias would be neither on nor off.
    """
    images, labels = data.mnist(train)
    images = (images[:count] - 0.1307) / 0.3081  # mean and standard deviation of all training images
    return torch.from_numpy(images).view(-1, 1, 28, 28), torch.from_numpy(labels[:count])


def lenet(
    *,
    alphas: Sequence[float],
    members: int,
    images: int = 2048,
    epochs: int = 3,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    optimizer: str = "sgd",
    records: int = 6,
    probe: int = 64,
    tested: int = 1000,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train LeNet-5 on handwritten digits from unbalanced starts and watch how far it goes.

    The first layer's weights are divided by α and the last layer's multiplied, so that the first function is the same for all α.

    Parameters
    ----------
    alphas : positive numbers; above 1 is upstream
    members : how many seeds
    images : of the training set, from its beginning
    epochs, batch_size, learning_rate, optimizer : of the training, on the cross-entropy
    records : about how many times to look after the start
    probe : how many of the images kernel and activations are compared on
    tested : how many test images
    seed : of the first draws and of the order of the images

    Returns
    -------
    over (alpha, member, step): loss and accuracy on the training images, test_loss and test_accuracy; and the distances from the
    start. kernel: S of the tangent kernel, traced over outputs; hamming: the fraction of pairs of a hidden unit and an image where
    the unit switched on or off; moved: Euclidean, in parameter space, where the parameters lie at a distance `size` from zero

    Raises
    ------
    ValueError
        If an α is not positive.
    lib.data.DataUnavailable
        If the digits cannot be had.

    Source: figure 5 (a), with 10 % of the images as probe and a learning rate of 1e-4 for 500 epochs of batches of 512; the text
    names no optimizer.
    """
    network = LeNet()
    inputs, labels = digits(images)
    test, test_labels = digits(tested, train=False)
    steps = epochs * -(-images // batch_size)
    found = []
    for alpha in alphas:
        run = train(
            network,
            unbalance(network.initialize(seed, members, device=device), alpha, "weight1", "weight5"),
            inputs,
            labels,
            learning_rate=learning_rate,
            steps=steps,
            optimizer=optimizer,
            batch_size=batch_size,
            loss=cross_entropy,
            metrics={"accuracy": accuracy},
            test=(test, test_labels),
            record=log_steps(steps, records),
            observe=states,
            seed=seed,
            progress=True,
        )
        theta = torch.from_numpy(run.theta.values).to(device)
        compared = xr.concat([_compare(network, path, inputs[:probe].to(device)) for path in theta], "member")
        found.append(run.drop_vars(["theta", "stopped"]).merge(compared.assign_coords(member=run.member, step=run.step)))
    return xr.concat(found, "alpha").assign_coords(alpha=list(alphas))


@torch.no_grad()
def _compare(network: LeNet, path: Tensor, images: Tensor) -> xr.Dataset:
    """Compare the states (step, parameters) of one network with the first of them."""
    parameters = unpack(network, path)
    kernels = [ntk(network, {name: value[t, None] for name, value in parameters.items()}, images) for t in range(len(path))]
    kernels = torch.cat(kernels).cpu().numpy()
    hidden = [network({name: value[t] for name, value in parameters.items()}, images)[1] for t in range(len(path))]
    active = [torch.cat(layers, 1) > 0 for layers in hidden]
    found = {
        "kernel": kernel_distance(kernels[:1], kernels),
        "hamming": torch.stack([(now != active[0]).double().mean() for now in active]).cpu().numpy(),
        "moved": torch.linalg.norm(path - path[0], dim=1).cpu().numpy(),
        "size": torch.linalg.norm(path, dim=1).cpu().numpy(),
    }
    return xr.Dataset({name: ("step", value) for name, value in found.items()})
