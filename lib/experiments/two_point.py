"""The experiments of "When representations align" (van Rossem & Saxe): two points, XOR, blobs, MNIST.

Where the text and the authors' code disagree, the tables keep both or say which one they follow.
"""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import pandas as pd
import torch
import xarray as xr

from lib import data, measures
from lib.checks import kind, labelled, numbers, one_of, positive, sizes, whole
from lib.networks import ACTIVATIONS, Network, architecture, check_device
from lib.results import Run
from lib.theory import two_point
from lib.training import train

INPUT_DISTANCE, TARGET_DISTANCE = 1.0, 0.5**0.5  # of the authors' code; the text has .5 and 1


@dataclass(frozen=True)
class Setting:
    """A network and how it is trained: a row of Table 1 or 2."""

    architecture: str = "dense"
    activation: str = "leaky_relu"
    gain: float = 1.0
    learning_rate: float = 0.005
    epochs: int = 6000
    units: int = 500
    hidden_layers: int = 20
    optimizer: str = "sgd"

    def __post_init__(self) -> None:
        one_of("architecture", self.architecture, ("dense", "skip", "dropout", "convolutional"))
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("optimizer", self.optimizer, ("sgd", "adam"))
        sizes(epochs=self.epochs, units=self.units, hidden_layers=self.hidden_layers)
        positive("gain", self.gain)
        positive("learning_rate", self.learning_rate)

    def network(self, inputs: int = 1, outputs: int = 1) -> Network:
        """Return the network."""
        return architecture(self.architecture, inputs, outputs, self.units, self.hidden_layers, self.activation)


TABLE_1 = {
    "default": Setting(),
    "convolutional": Setting("convolutional", gain=0.95, learning_rate=0.002, hidden_layers=10),
    "skip": Setting("skip", gain=0.1, learning_rate=0.01),
    "shallow": Setting(gain=0.35, learning_rate=0.01, hidden_layers=2),
    "narrow": Setting(gain=1.05, units=50),
    "dropout": Setting("dropout", hidden_layers=10),
    "linear": Setting(activation="linear", gain=0.85, learning_rate=0.00125),
    "relu": Setting(activation="relu"),
    "elu": Setting(activation="elu", gain=0.95, learning_rate=0.00045),
    "tanh": Setting(activation="tanh", gain=0.85, learning_rate=0.00125),
    "swish": Setting(activation="swish", gain=1.7, learning_rate=0.0025),
    "low": Setting(gain=0.9, learning_rate=0.015),
    "intermediate": Setting(gain=1.1, learning_rate=0.0025),
    "high": Setting(gain=1.3, learning_rate=0.00075),
    "very high": Setting(gain=1.4, learning_rate=0.00025),
}

TABLE_2 = {
    "xor low, text": Setting(gain=0.7, learning_rate=0.015, epochs=1000),
    "xor low": Setting(activation="relu", gain=0.85, learning_rate=0.015, epochs=3000),  # of the authors' code
    "xor intermediate": Setting(gain=1.25, learning_rate=0.002, epochs=1000),
    "xor high": Setting(gain=2.0, learning_rate=3e-9, epochs=1000),
    "xor two layers": Setting(gain=0.0015, learning_rate=0.03, epochs=40000, hidden_layers=1),
    "blobs very low": Setting(gain=0.275, learning_rate=0.05, epochs=2000, units=100, hidden_layers=4),
    "blobs low": Setting(gain=0.5, learning_rate=0.015, epochs=1500, units=100, hidden_layers=4),
    "blobs high": Setting(gain=2.0, learning_rate=0.0015, epochs=750, units=100, hidden_layers=4),
    "mnist": Setting(gain=0.5, learning_rate=0.002, epochs=500, units=100, hidden_layers=4),
}


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
    """
    kind("setting", setting, Setting)
    sizes(trials=trials, every=every)
    network = setting.network()
    inputs, targets = data.two_points(input_distance, target_distance)
    found = train(
        network,
        network.initialize(seed, trials, setting.gain, device=device),
        inputs,
        targets,
        learning_rate=setting.learning_rate,
        steps=setting.epochs,
        optimizer=setting.optimizer,
        record=np.arange(0, setting.epochs + 1, every),
        observe=measures.two_points(targets),
        layers=None if all_layers else setting.hidden_layers // 2,
        seed=seed,
        progress=True,
    ).rename(member="trial")
    return found.assign_coords(layer=np.arange(network.depth)) if all_layers else found.isel(layer=0)


def fit(found: xr.Dataset, input_distance: float = INPUT_DISTANCE, target_distance: float = TARGET_DISTANCE) -> xr.Dataset:
    """Fit the theory to each trial of `dynamics`: two constants to the three curves, then a third to the loss.

    Parameters
    ----------
    found : (trial, step) dh2, dy2, w and loss
    input_distance, target_distance : with which it was found

    Returns
    -------
    (trial) tau_h, tau_y and tau_mean, in steps; misfit, the squared errors summed over the records; (trial, curve) r2; and
    (trial, curve, step) theory

    Source: Appendix B.1, "Fitting Procedure".
    """
    labelled("found", found, "trial", "step", "dh2", "dy2", "w", "loss")
    return xr.concat([_fit(found.sel(trial=trial), input_distance, target_distance) for trial in found.trial], "trial")


def _fit(one: xr.Dataset, input_distance: float, target_distance: float) -> xr.Dataset:
    steps, dh2, dy2, w, losses = (one[name].values.astype(float) for name in ("step", "dh2", "dy2", "w", "loss"))
    found = two_point.fit(steps, dh2, dy2, w, input_distance=input_distance, target_distance=target_distance)
    theory = found.curves
    mean_error = np.sqrt(max(2 * losses[0] - (w[0] + (target_distance**2 - dy2[0]) / 2) / 2, 1e-12))
    constants = {"target_distance": target_distance, "mean_error": float(mean_error)}
    tau_mean = two_point.fit_mean(steps, losses, theory.dy2, theory.w, **constants)
    loss = two_point.loss(theory.dy2, theory.w, steps - steps[0], tau_mean=tau_mean, **constants)
    r2 = [*found.r2.values(), 1 - np.sum((loss - losses) ** 2) / np.sum((losses - losses.mean()) ** 2)]
    return xr.Dataset(
        {
            "tau_h": found.tau_h,
            "tau_y": found.tau_y,
            "tau_mean": tau_mean,
            "misfit": found.loss,
            "r2": ("curve", r2),
            "theory": (("curve", "step"), np.stack([theory.dh2, theory.dy2, theory.w, loss])),
        },
        {"curve": ["dh2", "dy2", "w", "loss"], "step": one.step},
    )


def final_distance(
    setting: Setting,
    *,
    input_distances: tuple[float, ...] = (0.5, 0.75, 1.0, 1.25, 1.5),
    target_distances: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0),
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one network for each pair of distances until its loss is below 1e-4.

    Returns
    -------
    (moment, input_distance, target_distance) loss, dh2 and dy2; moment is "start" and "end"

    Source: Appendix B.1, "Final Representational Distance"; where to stop is the authors' code's.
    """
    kind("setting", setting, Setting)
    for name, distances in (("input_distances", input_distances), ("target_distances", target_distances)):
        if len(set(numbers(name, distances, ndim=1).tolist())) < len(distances) or min(distances) < 0:
            raise ValueError(f"{name} are {distances}: want distances of at least 0, each once")
    network = setting.network()
    pairs = pd.MultiIndex.from_product([input_distances, target_distances], names=["input_distance", "target_distance"])
    inputs, targets = (np.stack(arrays) for arrays in zip(*(data.two_points(*pair) for pair in pairs), strict=True))
    found = train(
        network,
        network.initialize(seed, len(pairs), setting.gain, device=device),
        inputs,
        targets,
        learning_rate=setting.learning_rate,
        steps=setting.epochs,
        optimizer=setting.optimizer,
        record=np.unique([*range(0, setting.epochs, 50), setting.epochs]),
        observe=measures.two_points(targets[0]),
        layers=setting.hidden_layers // 2,
        stop_below=1e-4,
        seed=seed,
        progress=True,
    )
    ends = _moments(found[["loss", "dh2", "dy2"]].isel(layer=0))
    return ends.drop_vars("member").assign_coords(xr.Coordinates.from_pandas_multiindex(pairs, "member")).unstack("member")


def _moments(found: xr.Dataset) -> xr.Dataset:
    """Keep the first and the last record."""
    return found.isel(step=[0, -1]).rename(step="moment").assign_coords(moment=["start", "end"])


def xor(setting: Setting, *, trials: int = 1, seed: int = 0, device: str = "cpu") -> xr.Dataset:
    """Train networks on XOR; points in the order 00, 10, 01, 11.

    Returns
    -------
    (trial, moment) loss, outputs (point, output), distance2 (point, other) half-way through the network

    Source: Section 4.4, Appendix B.2.
    """
    kind("setting", setting, Setting)
    sizes(trials=trials)
    inputs, targets = data.xor()
    network = setting.network(inputs=2)
    found = train(
        network,
        network.initialize(seed, trials, setting.gain, device=device),
        inputs,
        targets,
        learning_rate=setting.learning_rate,
        steps=setting.epochs,
        optimizer=setting.optimizer,
        record=[0, setting.epochs],
        observe=measures.geometry,
        layers=setting.hidden_layers // 2,
        seed=seed,
        progress=True,
    ).rename(member="trial")
    return _moments(found.isel(layer=0))


def merging(found: xr.Dataset) -> xr.DataArray:
    """Return the squared distance of each of XOR's two pairs with equal outputs over the mean of the pairs with different ones.

    `found` is of `xor`; the result has its dimensions, with `pair` (00–11, 10–01) in place of point and other.
    """
    labelled("found", found, "distance2", "point", "other")
    between = [found.distance2.isel(point=i, other=j) for i, j in ((0, 1), (0, 2), (3, 1), (3, 2))]
    within = [found.distance2.isel(point=i, other=j) for i, j in ((0, 3), (1, 2))]
    return xr.concat(within, "pair") / xr.concat(between, "between").mean("between")


def blobs(setting: Setting, *, side: int = 30, trials: int = 1, seed: int = 0, device: str = "cpu") -> xr.Dataset:
    """Train networks to report the x or the y position of a blob, whichever the context asks for, in batches of 64.

    Returns
    -------
    (trial, moment) loss; place (point, axis), where classical scaling in three dimensions puts the representations half-way
    through the network; spread (context, feature): the variance of their means at equal values of a feature, over all units;
    apart: the squared distance between the two contexts' means

    Source: Sections 4.5 and C.2, Appendix B.3; the batch size is the authors' code's.
    """
    kind("setting", setting, Setting)
    sizes(trials=trials)
    inputs, targets, _ = data.blobs(side)
    network = setting.network(inputs=inputs.shape[1])

    def observe(parameters: dict, outputs: torch.Tensor, hidden: list) -> dict:
        return {"hidden": (("point", "unit"), hidden[0])}

    batch = min(64, len(inputs))
    steps = setting.epochs * ceil(len(inputs) / batch)
    found = train(
        network,
        network.initialize(seed, trials, setting.gain, device=device),
        inputs,
        targets,
        learning_rate=setting.learning_rate,
        steps=steps,
        optimizer=setting.optimizer,
        batch_size=batch,
        record=[0, steps],
        observe=observe,
        layers=setting.hidden_layers // 2,
        seed=seed,
        progress=True,
    ).rename(member="trial")
    found = _moments(found)
    hidden = found.hidden.values.reshape(trials, 2, 2, side, side, -1)  # (trial, moment, context, x, y, unit)
    along_x, along_y = hidden.mean(4).var(3).sum(-1), hidden.mean(3).var(3).sum(-1)
    apart = ((hidden[:, :, 0].mean((2, 3)) - hidden[:, :, 1].mean((2, 3))) ** 2).sum(-1)
    place = np.stack([[measures.principal_axes(h, 3) for h in moments] for moments in found.hidden.values])
    return found.drop_vars("hidden").assign(
        place=(("trial", "moment", "point", "axis"), place.astype(np.float32)),
        spread=(("trial", "moment", "context", "feature"), np.stack([along_x, along_y], -1)),
        apart=(("trial", "moment"), apart),
    )


def mnist(
    setting: Setting,
    *,
    images: int = 60000,
    shown: int = 100,
    records: int = 200,
    trials: int = 1,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train networks to classify digits, in batches of 64; watch the first zero and the first one, and the first digits.

    Parameters
    ----------
    images : how many of the training set, from its beginning
    shown : of how many digits the distances are kept, sorted by digit
    records : about how many, evenly spaced

    Returns
    -------
    (trial, step) loss, dh2, dy2, w of the tracked pair; (trial, moment, digit, other) distance2 and output2, the squared
    distances of representations half-way through the network and of outputs, at the start and at the end; (digit, other)
    input2 and target2; (digit) label

    Source: Sections 3.4 and 4.6, Appendix B.4. Neither text nor code gives the batch size; 64 is that of the blobs.
    """
    kind("setting", setting, Setting)
    sizes(images=images, shown=shown, records=records, trials=trials)
    whole("seed", seed, 0)
    check_device(device)
    inputs, labels = data.mnist()
    inputs, labels = inputs[:images], labels[:images]
    targets = np.eye(10, dtype=np.float32)[labels]
    network = setting.network(inputs=784, outputs=10)
    pair = measures.two_points(targets, int(np.argmax(labels == 0)), int(np.argmax(labels == 1)))
    first = np.argsort(labels[:shown], kind="stable")
    ends = {}

    def observe(parameters: dict, outputs: torch.Tensor, hidden: list) -> dict:
        seen = {name: measures.squared_distances(values[:, first]).cpu() for name, values in (("h", hidden[0]), ("y", outputs))}
        ends.setdefault("start", seen)
        ends["end"] = seen
        return pair(parameters, outputs, hidden)

    batch = min(64, images)
    steps = setting.epochs * ceil(images / batch)
    found = train(
        network,
        network.initialize(seed, trials, setting.gain, device=device),
        inputs,
        targets,
        learning_rate=setting.learning_rate,
        steps=steps,
        optimizer=setting.optimizer,
        batch_size=batch,
        record=np.unique(np.linspace(0, steps, records + 1).astype(int)),
        observe=observe,
        layers=setting.hidden_layers // 2,
        seed=seed,
        progress=True,
    ).rename(member="trial")
    both = {name: np.stack([ends[moment][name].numpy() for moment in ("start", "end")], 1) for name in ("h", "y")}
    given = {
        name: measures.squared_distances(torch.from_numpy(values[first])).numpy()
        for name, values in (("input2", inputs), ("target2", targets))
    }
    return found.isel(layer=0).assign(
        distance2=(("trial", "moment", "digit", "other"), both["h"]),
        output2=(("trial", "moment", "digit", "other"), both["y"]),
        label=("digit", labels[first]),
        **{name: (("digit", "other"), values) for name, values in given.items()},
    )


def slowed(setting: Setting) -> Setting:
    """Return the setting with which the final distance is measured: a fifth of the learning rate, five times the epochs."""
    kind("setting", setting, Setting)
    return replace(setting, learning_rate=setting.learning_rate / 5, epochs=5 * setting.epochs)


def with_adam(setting: Setting, learning_rate: float, epochs: int) -> Setting:
    """Return the setting with Adam; the paper gives no learning rates for it, so they are ours."""
    kind("setting", setting, Setting)
    return replace(setting, optimizer="adam", learning_rate=learning_rate, epochs=epochs)


_FEW = ("default", "shallow", "narrow")  # rows of figure 5
_XOR = {name.removeprefix("xor "): setting for name, setting in TABLE_2.items() if name.startswith("xor")} | {
    "low, longer": replace(TABLE_2["xor low"], epochs=6000),  # ours: 3000 epochs end half-way down
    "adam low": with_adam(TABLE_2["xor low"], 2e-5, 1000),
    "adam intermediate": with_adam(TABLE_2["xor intermediate"], 2e-5, 1000),
    "adam high": with_adam(TABLE_2["xor high"], 2e-6, 1000),
    "adam two layers": with_adam(TABLE_2["xor two layers"], 1e-3, 4000),
}
_BLOBS = {name.removeprefix("blobs "): setting for name, setting in TABLE_2.items() if name.startswith("blobs")} | {
    "tanh low": replace(TABLE_2["blobs low"], activation="tanh"),
    "tanh high": replace(TABLE_2["blobs high"], activation="tanh"),
    "adam low": with_adam(TABLE_2["blobs low"], 1e-4, 200),
    "adam high": with_adam(TABLE_2["blobs high"], 1e-4, 200),
}
RUNS = [
    Run("two_point/dynamics", dynamics, "row", {name: {"setting": row, "trials": 3} for name, row in TABLE_1.items()}),
    Run("two_point/depth", dynamics, "row", {"default": {"setting": TABLE_1["default"], "trials": 3, "all_layers": True}}),
    Run(
        "two_point/text_distances",
        dynamics,
        "row",
        {
            name: {"setting": TABLE_1[name], "input_distance": 0.5, "target_distance": 1.0}
            for name in ("default", "relu", "narrow", "shallow")
        },
    ),
    Run(
        "two_point/adam",
        dynamics,
        "row",
        {"default": {"setting": with_adam(TABLE_1["default"], 2e-6, 2000), "trials": 3, "every": 5}},
    ),
    Run("two_point/fits", dynamics, "row", {n: {"setting": TABLE_1[n], "trials": 50, "every": 50, "seed": 1} for n in _FEW}),
    Run("two_point/final_distance", final_distance, "row", {name: {"setting": slowed(TABLE_1[name])} for name in _FEW}),
    Run("two_point/xor", xor, "task", {name: {"setting": setting, "trials": 5} for name, setting in _XOR.items()}),
    Run("two_point/blobs", blobs, "task", {name: {"setting": setting, "trials": 2} for name, setting in _BLOBS.items()}),
    Run(
        "two_point/mnist",
        mnist,
        "optimizer",
        {
            "sgd": {"setting": replace(TABLE_2["mnist"], epochs=100), "trials": 3, "records": 100},
            "adam": {"setting": with_adam(TABLE_2["mnist"], 1e-4, 20), "trials": 3, "records": 100},
        },
    ),
]
