"""Neurons that look at signals on a ring: receptive fields along training.

Source: the localization notes, section 1; Ingrosso & Goldt (2022) for the task; settings from
leonlufkin/Localization.
"""

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from lib.experiments.signal_batches import signals
from lib.measures import inverse_participation_ratio
from lib.networks import Committee
from lib.training import Schedule, log_steps, train


def receptive_fields(
    kind: str = "nlgp",
    *,
    neurons: int,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    activation: str = "relu",
    bias: bool = False,
    targets: tuple[float, float] = (1.0, 0.0),
    learning_rate: float,
    steps: int,
    batch: int = 1000,
    sites: int = 40,
    trials: int = 1,
    records: int = 30,
    record: np.ndarray | None = None,
    schedule: Schedule | None = None,
    dtype: str = "float32",
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train the mean of some neurons to tell two correlation lengths
    apart, by steps on (ŷ − y)², each on a fresh batch.

    Parameters
    ----------
    kind, xi, gain, targets : see `lib.experiments.signal_batches.signals`
    records : how many steps to look at, evenly spaced on a logarithmic scale
    record : or else which ones
    schedule : of the learning rate, see `lib.training.train`
    dtype : in which signals are drawn, see `lib.experiments.signal_batches.signals`

    Returns
    -------
    over (trial, step): loss, the error without ½ on 10,000 signals; w (…, neuron, site), its ipr
    (…, neuron), and b (…, neuron) if there are biases

    Settings
    --------
    data : signals of kind {kind} on a ring of {sites} sites, class 1 or 0 with probability ½;
        "nlgp" is x = erf(gz)/Z of variance 1, z Gaussian with correlation exp(−d²/ξ²) at the
        distance d around the ring, lengths ξ of class 1 and class 0: {xi}, gain g = {gain}; "pulse"
        is a stretch of 1 among −1, "pulse on 0, 1" of 1 among 0, half of them inverted, and ξ two
        intervals of its length as a share of the ring; other kinds are the `FIELDS` of
        lib.data.signals; targets of class 1 and 0: {targets}
    network : the mean of {neurons} neurons σ(w·x + b), σ {activation}, with biases: {bias}; nothing
        but w and b is trained
    initialization : w normal with the variance 2 / (neurons + sites), b zero; networks: {trials},
        seed {seed}
    loss : (output − target)², without ½, mean over the batch
    rate : {learning_rate}, the same for w and b, no momentum, so that a step is {2 * learning_rate
        / neurons}τ of the notes' flow of ReLU neurons
    batch : {batch} fresh signals for each step
    steps : {steps}
    stop : none
    read : w and its inverse participation ratio Σw⁴/(Σw²)², and the error on 10,000 other signals,
        the same at each record, at step 0 and about {records} steps, evenly spaced on a logarithmic
        scale
    precision : 32 bits, signals drawn in {dtype}
    """
    network = Committee(sites, neurons, activation, bias)
    inputs, wanted = signals(kind, sites, xi, gain, 10_000, seed, targets)(
        trials, 0
    )  # a member's number that no trial has
    found = train(
        network,
        network.initialize(seed, trials, dtype=torch.float32, device=device),
        inputs,
        wanted,
        learning_rate=2 * learning_rate,  # `train` halves the error
        steps=steps,
        schedule=schedule,
        draw=signals(kind, sites, xi, gain, batch, seed, targets, dtype),
        record=log_steps(steps, records) if record is None else record,
        observe=_fields,
        progress=True,
    ).rename(member="trial")
    ratios = inverse_participation_ratio(found.w.values)
    return found.drop_vars("stopped").assign(
        loss=2 * found.loss, ipr=(("trial", "step", "neuron"), ratios)
    )


def _fields(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    fields = {"w": (("neuron", "site"), parameters["weight1"])}
    return fields | ({"b": (("neuron",), parameters["bias1"])} if "bias1" in parameters else {})
