"""Batches of signals on a ring, as `lib.training.train` asks for them.

Source: the localization notes, section 1.
"""

from functools import partial

import numpy as np

from lib import data
from lib.checks import numbers, one_of, takes
from lib.data.signals import FIELDS, nlgp_draw
from lib.theory.gaussian_classes import nlgp_covariance
from lib.training import Draw

SIGNALS = ("nlgp", "clone", "pulse", "pulse on 0, 1", *FIELDS)


@takes(kind=partial(one_of, allowed=SIGNALS))
def signals(
    kind: str,
    sites: int,
    xi: tuple,
    gain: float,
    batch: int,
    seed: int,
    targets: tuple[float, float] = (1.0, 0.0),
    dtype: str = "float64",
) -> Draw:
    """Return what draws a member's batch for a step, for `lib.training.train`.

    Parameters
    ----------
    kind : "nlgp", its Gaussian "clone" of the same covariances, a single "pulse" of values ±1 or
        "pulse on 0, 1", or a field of `lib.data.signals`
    xi : (ξ₁, ξ₀), lengths of the classes y = 1 and y = 0; of the pulse two intervals
    gain : of the NLGP and of what is cloned
    targets : what the network is to say of the classes y = 1 and y = 0
    dtype : in which the NLGP is drawn: "float64", or "float32", which draws other numbers
    """
    lengths = numbers("xi", xi).shape
    if lengths != ((2, 2) if "pulse" in kind else (2,)) or len(targets) != 2:
        raise ValueError(
            f"xi {lengths} and {len(targets)} targets: want two, of pulses two intervals, and two"
        )
    covariances = (
        [nlgp_covariance(sites, length, gain) for length in xi] if kind == "clone" else None
    )
    nlgp = nlgp_draw(batch, sites, xi, gain, dtype) if kind == "nlgp" else None

    def draw(member: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        own = (seed, member, step)
        if kind == "nlgp":
            assert nlgp is not None
            inputs, labels = nlgp(own)
        elif kind == "clone":
            assert covariances is not None
            inputs, labels = data.gaussian_clone(own, batch, *covariances)
        elif "pulse" in kind:
            inputs, labels = data.single_pulse(own, batch, sites, xi, signed=kind == "pulse")
        else:
            inputs, labels = data.symmetric_field(own, batch, sites, xi, kind)
        return inputs, np.where(labels == 1, *targets)[:, None]

    return draw
