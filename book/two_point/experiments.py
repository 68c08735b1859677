"""The experiments of "When representations align" (van
Rossem & Saxe): two points, XOR, blobs, MNIST.

Where the text and the authors' code (loekvanrossem/universality) disagree, the tables keep both or
say which one they follow.
"""

from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import ArrayLike

from book.two_point import measures, toys
from book.two_point import theory as two_point
from book.two_point.settings import (
    FIGURE_5,
    INPUT_DISTANCE,
    TABLE_1,
    TABLE_2,
    TARGET_DISTANCE,
    Setting,
)
from lib import data
from lib.checks import instance, one_of, size, takes
from lib.experiments.precision import single_precision


@takes(setting=instance(Setting), every=size)
def dynamics(
    setting: Setting,
    *,
    trials: int = 1,
    every: int = 10,
    all_layers: bool = False,
    input_distance: float = INPUT_DISTANCE,
    target_distance: float = TARGET_DISTANCE,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train a network on two points and watch them.

    Parameters
    ----------
    setting : one of `TABLE_1`, or another
    trials : initializations
    every : steps between two records
    all_layers : watch every hidden layer instead of the one half-way

    Returns
    -------
    (trial, step) loss, dh2, dy2 and w; dh2 also over layer, counted from 0, if all are watched

    Source: Section 3.1, Appendix B.1.

    Settings
    --------
    data : two points: inputs −1 and {input_distance - 1}, targets 0.6 and 0.6 + {target_distance},
        so that ‖Δx‖² = {input_distance**2} and ‖Δy‖² = {target_distance**2}
    network : {setting.hidden_layers} hidden layers of {setting.units} units, architecture
        {setting.architecture}, nonlinearity {setting.activation}, biases. "leaky_relu" has the
        slope 0.01 below zero; "skip" adds to each hidden layer, from the third on, the one two
        below it; "dropout" drops each input of each layer with probability 0.1 in a step, divides
        the others by 0.9, and drops none where it is recorded; "convolutional" is described at
        `convolutional`
    initialization : weights normal with the standard deviation gain · √(2 / (fan-in + fan-out)),
        gain {setting.gain}; biases zero; networks: {trials}, seed {seed}
    loss : ½ (output − target)², mean over the points
    rate : {setting.learning_rate}, the same for all weights and biases; optimizer
        {setting.optimizer} ("sgd" has no momentum, "adam" has β = 0.9 and 0.999, ε = 10⁻⁸)
    batch : all points
    steps : {setting.epochs}
    stop : none
    read : hidden layer {setting.hidden_layers // 2 + 1} of {setting.hidden_layers}, counted from
        the input (that after half of the hidden layers, so the last of two), after its
        nonlinearity, every {every} steps from step 0; `fit` minimizes the squared errors of the
        three curves, summed over the records, over both time constants, and R² is of each curve
        alone
    precision : 32 bits
    """
    inputs, targets = toys.two_points(input_distance, target_distance)
    layers = None if all_layers else setting.hidden_layers // 2
    record, observe = np.arange(0, setting.epochs + 1, every), measures.two_points(targets)
    found = setting.train(
        inputs, targets, trials, seed, device, record=record, observe=observe, layers=layers
    )
    return (
        found.assign_coords(layer=np.arange(found.sizes["layer"]))
        if all_layers
        else found.isel(layer=0)
    )


def convolutional(
    seed: ArrayLike, *, epochs: int, every: int = 20, device: str = "cpu"
) -> xr.Dataset:
    """Train the convolutional network of Table 1 on two points, once for each seed, and watch it.

    Parameters
    ----------
    seed : (m,), one entry for each network
    epochs : updates; Table 1 has 6000
    every : as of `dynamics`

    Returns
    -------
    (member, step) loss, dh2, dy2 and w

    Source: Table 1, figure 2.

    Settings
    --------
    data : two points: inputs −1 and {INPUT_DISTANCE - 1}, targets 0.6 and 0.6 + {TARGET_DISTANCE}
    network : a linear map from the input to a line of {TABLE_1["convolutional"].units} units, then
        {TABLE_1["convolutional"].network().convolutions} convolutions without padding of
        {TABLE_1["convolutional"].network().kernel} places each, with
        {TABLE_1["convolutional"].network().channels} channels between them and one before and
        after, and a linear readout; leaky ReLU (slope 0.01 below zero) after the map and each
        convolution; biases everywhere
    initialization : weights normal with the standard deviation gain · √(2 / ((channels in +
        channels out) · places)), gain {TABLE_1["convolutional"].gain}, those of map and readout
        with fan-in + fan-out instead; biases zero; a network for each seed, {seed}
    loss : ½ (output − target)², mean over the points
    rate : {TABLE_1["convolutional"].learning_rate}, the same for all weights and biases, no
        momentum
    batch : both points
    steps : {epochs}
    stop : none
    read : after convolution {TABLE_1["convolutional"].hidden_layers // 2} of
        {TABLE_1["convolutional"].network().convolutions} and its nonlinearity, all places and
        channels together, every {every} steps
    precision : 32 bits
    """
    setting = replace(TABLE_1["convolutional"], epochs=epochs)
    found = [
        dynamics(setting, every=every, seed=int(own), device=device).isel(trial=0, drop=True)
        for own in np.atleast_1d(seed)
    ]
    return single_precision(xr.concat(found, "member"))


def fit(
    found: xr.Dataset,
    input_distance: float = INPUT_DISTANCE,
    target_distance: float = TARGET_DISTANCE,
) -> xr.Dataset:
    """Fit the theory to each trial of `dynamics`: two constants
    to the three curves, then a third to the loss.

    The distances are those with which it was found.

    Returns
    -------
    Over trial: tau_h, tau_y and tau_mean, in steps, and misfit, the squared errors summed over the
    records; over (trial, curve): r2; over (trial, curve, step): theory.

    Source: Appendix B.1, "Fitting Procedure".
    """
    return xr.concat(
        [_fit(found.sel(trial=trial), input_distance, target_distance) for trial in found.trial],
        "trial",
    )


def _fit(one: xr.Dataset, input_distance: float, target_distance: float) -> xr.Dataset:
    steps, dh2, dy2, w, losses = (
        one[name].values.astype(float) for name in ("step", "dh2", "dy2", "w", "loss")
    )
    found = two_point.fit(
        steps, dh2, dy2, w, input_distance=input_distance, target_distance=target_distance
    )
    theory = found.curves
    mean_error = np.sqrt(max(2 * losses[0] - (w[0] + (target_distance**2 - dy2[0]) / 2) / 2, 1e-12))
    constants = {"target_distance": target_distance, "mean_error": float(mean_error)}
    tau_mean = two_point.fit_mean(steps, losses, theory.dy2, theory.w, **constants)
    loss = two_point.loss(theory.dy2, theory.w, steps - steps[0], tau_mean=tau_mean, **constants)
    r2 = [
        *found.r2.values(),
        1 - np.sum((loss - losses) ** 2) / np.sum((losses - losses.mean()) ** 2),
    ]
    return xr.Dataset(
        {
            "tau_h": found.pair.tau_h,
            "tau_y": found.pair.tau_y,
            "tau_mean": tau_mean,
            "misfit": found.loss,
            "r2": ("curve", r2),
            "theory": (("curve", "step"), np.stack([theory.dh2, theory.dy2, theory.w, loss])),
        },
        {"curve": ["dh2", "dy2", "w", "loss"], "step": one.step},
    )


@takes(row=partial(one_of, allowed=FIGURE_5))
def final_distance(
    row: str,
    *,
    units: int | None = None,
    input_distances: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25, 1.5),
    target_distances: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0),
    speed: float = 1.0,
    epochs: int = 40_000,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one network for each pair of distances until its loss is below 1e-4.

    Parameters
    ----------
    row : of `FIGURE_5`
    units : of each hidden layer, where they are not the row's
    speed : so many times the learning rate of the authors' code, which is two fifths of Table 1's,
        and so many times fewer epochs
    epochs : at most, at speed 1

    Returns
    -------
    (moment, input_distance, target_distance) loss, dh2 and dy2; moment is "start" and "end"

    Source: Appendix B.1, "Final Representational Distance"; rate, epochs and where to stop are the
    authors' code's.

    Settings
    --------
    data : two points for each network: inputs −1 and −1 + ‖Δx‖, targets 0.6 and 0.6 + ‖Δy‖, for
        each pair of ‖Δx‖ in {input_distances} and ‖Δy‖ in {target_distances}
    network : that of the row, as at `dynamics`; "two layers" is linear with one hidden layer of
        {FIGURE_5["two layers"].units} units. Rows: {row}; units, where not the row's: {units}
    initialization : as at `dynamics` with the row's gain ("two layers" has {FIGURE_5["two
        layers"].gain}); each pair of distances has weights of its own; seeds {seed}
    loss : ½ (output − target)², mean over the points
    rate : two fifths of the row's rate, times {speed}, the same for all weights and biases, no
        momentum ("two layers" has the rate {FIGURE_5["two layers"].learning_rate} before that)
    batch : both points
    steps : at most {round(epochs / speed)}
    stop : at the first record, every 50 steps, with a loss below 10⁻⁴; that a network has learned
        means a final loss below 10⁻³
    read : hidden layer number half of all + 1 (11 of 20, 2 of 2, 1 of 1) after its nonlinearity, at
        the first and the last record
    precision : 32 bits
    """
    for name, distances in (
        ("input_distances", input_distances),
        ("target_distances", target_distances),
    ):
        if len(set(distances)) < len(distances):
            raise ValueError(f"{name} are {distances}: want each once")
    rate = 0.4 * speed * FIGURE_5[row].learning_rate
    setting = replace(FIGURE_5[row], learning_rate=rate, epochs=round(epochs / speed))
    if units is not None:
        setting = replace(setting, units=units)
    pairs = pd.MultiIndex.from_product(
        [input_distances, target_distances], names=["input_distance", "target_distance"]
    )
    inputs, targets = (
        np.stack(arrays) for arrays in zip(*(toys.two_points(*pair) for pair in pairs), strict=True)
    )
    record = np.unique([*range(0, setting.epochs, 50), setting.epochs])
    options = {"record": record, "observe": measures.two_points(targets[0]), "stop_below": 1e-4}
    found = setting.train(inputs, targets, len(pairs), seed, device, **options)
    ends = _moments(found[["loss", "dh2", "dy2"]].isel(layer=0))
    return (
        ends.drop_vars("trial")
        .assign_coords(xr.Coordinates.from_pandas_multiindex(pairs, "trial"))
        .unstack("trial")
    )


def _moments(found: xr.Dataset) -> xr.Dataset:
    """Keep the first and the last record."""
    return found.isel(step=[0, -1]).rename(step="moment").assign_coords(moment=["start", "end"])


def xor(setting: Setting, *, trials: int = 1, seed: int = 0, device: str = "cpu") -> xr.Dataset:
    """Train networks on XOR; points in the order 00, 10, 01, 11.

    Found are, over (trial, moment), loss, outputs (point, output) and distance2 (point, other)
    half-way through the network.

    Source: Section 4.4, Appendix B.2.

    Settings
    --------
    as : dynamics
    data : four points: inputs 00, 10, 01 and 11, targets 0, 1, 1 and 0
    network : {setting.hidden_layers} hidden layers of {setting.units} units, nonlinearity
        {setting.activation} ("leaky_relu" has the slope 0.01 below zero), biases
    read : hidden layer {setting.hidden_layers // 2 + 1} of {setting.hidden_layers} after its
        nonlinearity, before the first step and after the last
    """
    found = setting.train(
        *toys.xor(), trials, seed, device, record=[0, setting.epochs], observe=measures.geometry
    )
    return _moments(found.isel(layer=0))


def merging(found: xr.Dataset) -> xr.DataArray:
    """Return the squared distance of each of XOR's two pairs with equal outputs over the mean of
    the pairs with different ones.

    `found` is of `xor`; the result has its dimensions, with `pair` (00–11, 10–01) in place of point
    and other.
    """
    between = [found.distance2.isel(point=i, other=j) for i, j in ((0, 1), (0, 2), (3, 1), (3, 2))]
    within = [found.distance2.isel(point=i, other=j) for i, j in ((0, 3), (1, 2))]
    return xr.concat(within, "pair") / xr.concat(between, "between").mean("between")


def blobs(
    setting: Setting, *, side: int = 30, trials: int = 1, seed: int = 0, device: str = "cpu"
) -> xr.Dataset:
    """Train networks to report the x or the y position of a blob,
    whichever the context asks for, in batches of 64.

    Returns
    -------
    Over (trial, moment): loss; spread (context, feature), the variance over all units of the
    representations' means half-way through the network at equal values of a feature; apart, the
    squared distance between the two contexts' means. Of the first trial: place (moment, point,
    axis), where classical scaling in three dimensions puts the representations.

    Source: Sections 4.5 and C.2, Appendix B.3; the batch size is the authors' code's.

    Settings
    --------
    as : xor
    data : {2 * side**2} points: images of 5 × 5 pixels over [−1, 1]² of a Gaussian of width 1,
        divided by their sum, whose mean lies on a grid of {side} × {side} over the same square, and
        the context one-hot; the target is the mean's x in the first context and its y in the second
    batch : {setting.batches(2 * side**2)["batch_size"]}, in a new order in each epoch; the last of
        an epoch is smaller
    steps : {setting.epochs} epochs of {setting.batches(2 * side**2)["steps"] // setting.epochs}
        steps
    """
    inputs, targets, _ = toys.blobs(side)

    def observe(parameters: dict, outputs: torch.Tensor, hidden: list) -> dict:
        return {"hidden": (("point", "unit"), hidden[0])}

    batches = setting.batches(len(inputs))
    found = setting.train(
        inputs,
        targets,
        trials,
        seed,
        device,
        **batches,
        record=[0, batches["steps"]],
        observe=observe,
    )
    found = _moments(found)
    hidden = found.hidden.values.reshape(
        trials, 2, 2, side, side, -1
    )  # (trial, moment, context, x, y, unit)
    along_x, along_y = hidden.mean(4).var(3).sum(-1), hidden.mean(3).var(3).sum(-1)
    apart = ((hidden[:, :, 0].mean((2, 3)) - hidden[:, :, 1].mean((2, 3))) ** 2).sum(-1)
    place = np.stack([measures.principal_axes(h, 3) for h in found.hidden.values[0]])
    return found.drop_vars("hidden").assign(
        place=(("moment", "point", "axis"), place.astype(np.float32)),
        spread=(("trial", "moment", "context", "feature"), np.stack([along_x, along_y], -1)),
        apart=(("trial", "moment"), apart),
    )


def digits(
    seed: ArrayLike,
    *,
    learning_rate: float,
    epochs: int,
    optimizer: str = "sgd",
    records: int = 500,
    device: str = "cpu",
) -> xr.Dataset:
    """Train the network of Table 2 on all digits as the authors' code does, once for each seed.

    Digits are standardized as the training images are. The code's loss is the mean over the ten
    outputs and ours their sum, so that the same descent has a tenth of the learning rate here; Adam
    takes the same steps with either, but for its ε.

    Parameters
    ----------
    seed : (m,), one entry for each network: of its first weights and of the order of the digits
    learning_rate, epochs, optimizer : of the training, as in the authors' code
    records : about how many, evenly spaced

    Returns
    -------
    Over (member, step): loss, dh2, dy2, w of the first zero and the first one. Of the first hundred
    digits, sorted: (digit) label and, over the pairs of these, as in `np.triu_indices`, (member,
    moment, pair) distance2, the squared distances of representations half-way through the network,
    after 0, 1/25, 1/5 and all of the epochs; (pair) input2 and target2.

    Source: Sections 3.4, 4.6 and C.3, figures 4, 9 and 16; the authors' notebooks on MNIST for
    inputs, loss and batches of 64.

    Settings
    --------
    data : the 60,000 training images of MNIST, pixels between 0 and 1 less 0.1307, over 0.3081;
        targets one-hot
    network : {TABLE_2["mnist"].hidden_layers} hidden layers of {TABLE_2["mnist"].units} leaky ReLU
        units (slope 0.01 below zero), ten outputs, biases
    initialization : weights normal with the standard deviation gain · √(2 / (fan-in + fan-out)),
        gain {TABLE_2["mnist"].gain}; biases zero; seeds {seed}
    loss : ½ ‖output − target‖², summed over the ten outputs, mean over the points; the source takes
        the mean over the outputs
    rate : {learning_rate} with the source's loss and so a tenth of it with ours, but for Adam,
        which has {learning_rate} with ours; the same for all weights and biases; optimizer
        {optimizer} ("sgd" has no momentum, "adam" has β = 0.9 and 0.999, ε = 10⁻⁸)
    batch : {TABLE_2["mnist"].batches(60_000)["batch_size"]}, in a new order in each epoch; the last
        of an epoch is smaller
    steps : {epochs} epochs of {replace(TABLE_2["mnist"], epochs=1).batches(60_000)["steps"]} steps
    stop : none
    read : hidden layer {TABLE_2["mnist"].hidden_layers // 2 + 1} of
        {TABLE_2["mnist"].hidden_layers} after its nonlinearity: the first 0 and the first 1 of the
        training set at {records + 1} evenly spaced steps; the distances of its first hundred digits
        after 0, 1/25, 1/5 and all of the epochs
    precision : 32 bits
    """
    rate = learning_rate / 10 if optimizer == "sgd" else learning_rate
    setting = replace(TABLE_2["mnist"], learning_rate=rate, epochs=epochs, optimizer=optimizer)
    seeds, (inputs, labels) = (
        np.atleast_1d(seed).tolist(),
        (values.numpy() for values in data.digits(60_000)),
    )
    inputs, targets = inputs.reshape(-1, 784), np.eye(10, dtype=np.float32)[labels]
    pair = measures.two_points(targets, int(np.argmax(labels == 0)), int(np.argmax(labels == 1)))
    first = np.argsort(labels[:100], kind="stable")
    pairs = np.triu_indices(len(first), 1)
    batches = setting.batches(len(inputs))
    record = np.unique(np.linspace(0, batches["steps"], records + 1).astype(int))
    wanted = [
        int(np.argmin(abs(record - share * batches["steps"]))) for share in (0, 1 / 25, 1 / 5, 1)
    ]
    looks, kept = count(), {}

    def observe(parameters: dict, outputs: torch.Tensor, hidden: list) -> dict:
        if (look := next(looks)) in wanted:
            kept[look] = measures.squared_distances(hidden[0][:, first]).cpu().numpy()[:, *pairs]
        return pair(parameters, outputs, hidden)

    found = setting.train(
        inputs, targets, len(seeds), seeds, device, **batches, record=record, observe=observe
    )
    found = found.isel(layer=0).rename(trial="member").drop_vars("member")
    # Networks that all diverge are no longer looked at: then their last moment stays.
    distances = np.stack([kept.get(look, kept[max(kept)]) for look in wanted], 1)
    input2, target2 = (
        measures.squared_distances(torch.from_numpy(values[first])).numpy()[pairs]
        for values in (inputs, targets)
    )
    return single_precision(
        found.assign(distance2=(("member", "moment", "pair"), distances)).assign_coords(
            label=("digit", labels[first]), input2=("pair", input2), target2=("pair", target2)
        )
    )


# When the initial weights change by one part in ten million, these curves of twenty layers move by
# 2 % as they leave the plateau.
CURVES = ("dh2", "dy2", "w")
