"""Neurons that look at signals on a ring: receptive fields along training.

Source: the localization notes, sections 1 and 5; Ingrosso & Goldt (2022) for the task; settings from the authors' code.
"""

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from lib import data
from lib.measures import inverse_participation_ratio
from lib.networks import Committee
from lib.theory.localization import nlgp_covariance
from lib.training import Draw, log_steps, train

SIGNALS = ("nlgp", "clone", "pulse")


def signals(kind: str, sites: int, xi: tuple, gain: float, batch: int, seed: int) -> Draw:
    """Return what draws a member's batch for a step, for `lib.training.train`.

    Parameters
    ----------
    kind : "nlgp", its Gaussian "clone" of the same covariances, or the single "pulse" of values ±1
    xi : (ξ₁, ξ₀), lengths of the classes y = 1 and y = 0; of the pulse two intervals
    gain : of the NLGP and of what is cloned

    Raises
    ------
    ValueError
        If the kind is unknown.
    """
    if kind not in SIGNALS:
        raise ValueError(f"signals {kind!r}: want one of {', '.join(SIGNALS)}")
    covariances = [nlgp_covariance(sites, length, gain) for length in xi] if kind == "clone" else None

    def draw(member: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        own = (seed, member, step)
        if kind == "nlgp":
            inputs, labels = data.nlgp(own, batch, sites, xi, gain)
        elif kind == "clone":
            inputs, labels = data.gaussian_clone(own, batch, *covariances)
        else:
            inputs, labels = data.single_pulse(own, batch, sites, xi, signed=True)
        return inputs, labels[:, None]

    return draw


def receptive_fields(
    kind: str = "nlgp",
    *,
    neurons: int,
    xi: tuple = (2.0, 1.0),
    gain: float = 3.0,
    activation: str = "relu",
    bias: bool = False,
    learning_rate: float,
    steps: int,
    batch: int = 1000,
    sites: int = 40,
    trials: int = 1,
    records: int = 30,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train the mean of some neurons to tell two correlation lengths apart, by steps on (ŷ − y)², each on a fresh batch.

    Returns
    -------
    over (trial, step): loss, the error without ½ on 10,000 signals; w (…, neuron, site), its ipr (…, neuron), and b (…, neuron)
    if there are biases
    """
    network = Committee(sites, neurons, activation, bias)
    inputs, targets = signals(kind, sites, xi, gain, 10_000, seed)(trials, 0)  # a member's number that no trial has
    found = train(
        network,
        network.initialize(seed, trials, dtype=torch.float32, device=device),
        inputs,
        targets,
        learning_rate=2 * learning_rate,  # `train` halves the error
        steps=steps,
        draw=signals(kind, sites, xi, gain, batch, seed),
        record=log_steps(steps, records),
        observe=_fields,
        progress=True,
    ).rename(member="trial")
    ratios = inverse_participation_ratio(found.w.values)
    return found.drop_vars("stopped").assign(loss=2 * found.loss, ipr=(("trial", "step", "neuron"), ratios))


def _fields(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    fields = {"w": (("neuron", "site"), parameters["weight1"])}
    return fields | ({"b": (("neuron",), parameters["bias1"])} if "bias1" in parameters else {})
