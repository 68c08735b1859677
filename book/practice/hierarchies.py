"""Random hierarchy model: how the balance between layers moves the
number of examples that a dense network needs.

Source: Kunin et al. (2024), "Get rich quick", figure 5(c) and its appendix; settings from
pcsl-epfl/hierarchy-learning.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from tqdm import tqdm

from book.practice.measures import accuracy
from book.practice.random_hierarchy import RandomHierarchy
from lib.checks import positives, size, takes, wholes
from lib.networks import Dense
from lib.training import cross_entropy, train
from lib.training.schedules import cosine

WIDTH, BATCH, ENOUGH = 64, 128, 0.01  # a network whose training loss is below ENOUGH stops


@takes(points=partial(wholes, least=1), alpha=partial(positives, ndim=1), epochs=size)
def learning_curves(
    points: Sequence[int],
    alpha: Sequence[float],
    seeds: Sequence[int],
    *,
    features: int = 4,
    epochs: int = 250,
    test: int = 20_000,
    rate: float = 1.0,
    first: float = 1.0,
    readout: float = 1.0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train a network of three hidden layers on some of the strings,
    for each α and each seed, and test it on others.

    The first layer starts divided by α, the readout multiplied by it. A seed determines rules,
    strings and weights: networks of one seed differ in α only, and a smaller training set is a part
    of a larger one.

    Parameters
    ----------
    points : numbers of strings to learn from
    alpha : > 0
    features : m, with eight classes, eight symbols, pairs and three levels
    epochs : at most; the learning rate falls to 0 over the first 80 %, and after every fifth a
        network may stop
    test : number of strings to test on
    rate : multiplies the learning rate of all layers; the source has 1
    first, readout : multiply the learning rate of the first layer and of the readout; α² and 1/α²
        do what α does

    Returns
    -------
    over (points, alpha, seed): train_loss, train and test, accuracies at the end, and epochs, after
    which a network stopped

    Source: appendix, "Random Hierarchy Model"; batches, momentum and parametrization from its code.

    Settings
    --------
    data : strings of the random hierarchy model with {RandomHierarchy().classes} classes,
        {RandomHierarchy().symbols} symbols, {features} pairs for each, {RandomHierarchy().levels}
        levels, one-hot ({RandomHierarchy().length * RandomHierarchy().symbols} inputs); {points} to
        learn from, {test} others to test on; rules, strings and weights are of the seed
    network : three hidden layers of {WIDTH} ReLU units, eight outputs, no biases; the forward pass
        divides weights of variance 1 by √fan-in, those of the readout by fan-in
    initialization : weights N(0, 1) before that division; then the first layer is divided by α and
        the readout multiplied by α. α = {alpha}; seeds {seeds}
    loss : cross-entropy, mean over the batch
    rate : {0.1 * WIDTH * rate} of the undivided weights, those of the first layer times {first} and
        of the readout times {readout} (so for weights that are divided beforehand it is that over
        the fan-in, for such a readout over the squared fan-in), momentum 0.9; falls as a half
        cosine to 0 over the first 80 % of the epochs
    batch : {BATCH} (all, if there are fewer), in a new order in each epoch; the last of an epoch is
        smaller
    steps : at most {epochs} epochs
    stop : looked at after every fifth epoch: where the loss on all training strings is below
        {ENOUGH}
    read : the share of right answers at the end. Where an error falls to a level, the error is
        interpolated linearly over the logarithm of the number of strings
    precision : 32 bits
    """
    model, curves = RandomHierarchy(features=features), []
    for count in tqdm(points, desc="training sets", disable=None):
        drawn = [model.draw((seed, 1), model.rules((seed, 0)), count, test) for seed in seeds]
        train, unseen = (
            tuple(np.stack(parts) for parts in zip(*pairs, strict=True))
            for pairs in zip(*drawn, strict=True)
        )
        curves.append(
            _trained(
                train,
                unseen,
                model.classes,
                alpha,
                seeds,
                epochs,
                (rate * first, rate, rate * readout),
                device,
            )
        )
    return xr.concat(curves, "points").assign_coords(points=list(points))


def strings_needed(error: xr.DataArray, level: float) -> xr.DataArray:
    """Return the number of strings at which an error first falls to a level, interpolated in log
    points; infinity if nowhere.

    The error's dimension `points` ascends; where the first error is low enough already, this is the
    first number of points. A level is, for example, a tenth of the error of guessing, 1 - 1/n_c.
    """

    def first(errors: np.ndarray) -> float:
        below = np.flatnonzero(errors <= level)
        if below.size == 0:
            return np.inf
        after, log_points = below[0], np.log(error.points.values)
        if after == 0:
            return error.points.values[0]
        high, low = errors[after - 1], errors[after]
        share = (high - level) / (high - low)
        return np.exp(log_points[after - 1] + share * (log_points[after] - log_points[after - 1]))

    return xr.apply_ufunc(
        first, error, input_core_dims=[["points"]], vectorize=True, output_dtypes=[float]
    )


def strings_wanted(found: xr.Dataset, level: float) -> xr.DataArray:
    """Return the strings at which the test error falls to a level, infinity if the largest set
    does not suffice, NaN where nothing was trained.
    """
    error = 1 - found.test
    needed = strings_needed(error, level).where(error.isel(points=-1) <= level, np.inf)
    return needed.where(error.notnull().all("points"))


def initial_weights(
    alpha: ArrayLike, seeds: Sequence[int], network: Dense
) -> dict[str, torch.Tensor]:
    """Draw N(0, 1) weights over √fan-in, the readout's over its
    fan-in, and shift α from the first layer to the readout.

    They are given by name, (α · seed, out, in), seeds running faster.
    """
    layers, drawn = network.depth + 1, {}
    for i, (name, shape) in enumerate(network.shapes().items(), start=1):
        scale = 1 / shape[1] if i == layers else shape[1] ** -0.5
        draws = scale * np.stack(
            [np.random.default_rng((seed, 2, i)).normal(size=shape) for seed in seeds]
        )
        shift = {1: 1 / alpha, layers: alpha}.get(i, np.ones(len(alpha)))
        drawn[name] = torch.tensor(
            (shift[:, None, None, None] * draws).reshape(-1, *shape), dtype=torch.float32
        )
    return drawn


def _trained(
    strings: Sequence[np.ndarray],
    unseen: Sequence[np.ndarray],
    classes: int,
    alpha: ArrayLike,
    seeds: Sequence[int],
    epochs: int,
    factors: tuple[float, float, float],
    device: str,
) -> xr.Dataset:
    """Train on each seed's inputs (seed, n, d) and labels (seed,
    n), test on those unseen; over (alpha, seed).
    """
    _, points, inputs = strings[0].shape
    network = Dense((inputs, WIDTH, WIDTH, WIDTH, classes), "relu", bias=False)
    parameters = {
        name: value.to(device) for name, value in initial_weights(alpha, seeds, network).items()
    }
    batch = min(BATCH, points)
    steps = epochs * -(-points // batch)
    # In the authors' code weights are N(0, 1) and the layers
    # divide; these are the rates for the weights so divided.
    *hidden, readout = (shape[1] for shape in network.shapes().values())
    faster = np.array(
        [factors[0], *[factors[1]] * (len(hidden) - 1), factors[2]]
    )  # of the first layer, the others, the readout
    rates = dict(
        zip(network.shapes(), 0.1 * faster * WIDTH / np.array([*hidden, readout**2]), strict=True)
    )

    def for_each_alpha(values: np.ndarray) -> np.ndarray:
        return np.tile(values, (len(alpha), *[1] * (values.ndim - 1)))

    found = train(
        network,
        parameters,
        *map(for_each_alpha, strings),
        learning_rate=rates,
        steps=steps,
        momentum=0.9,
        batch_size=batch,
        schedule=cosine(steps, 0.8),
        loss=cross_entropy,
        metrics={"accuracy": accuracy},
        test=tuple(map(for_each_alpha, unseen)),
        record=np.arange(0, steps + 1, 5 * steps // epochs),
        stop_below=ENOUGH,
    )
    last = found.isel(step=-1)
    ended = np.where(found.stopped >= 0, found.stopped, steps) * epochs / steps
    values = {
        "train_loss": last.loss,
        "train": last.accuracy,
        "test": last.test_accuracy,
        "epochs": ended,
    }
    over = {"alpha": alpha, "seed": list(seeds)}
    shape = tuple(map(len, over.values()))
    return xr.Dataset(
        {name: (tuple(over), np.asarray(value).reshape(shape)) for name, value in values.items()},
        over,
    )


SCALE = {"alpha": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0], "seeds": list(range(6)), "test": 20_000}


ALL = RandomHierarchy().strings - SCALE["test"]
