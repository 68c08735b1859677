"""Final distances of two points whose first input lies elsewhere."""

import numpy as np
import pandas as pd
import xarray as xr

from book.two_point import measures, toys
from book.two_point.settings import Setting


def placement(
    hidden_layers: int,
    first: float,
    *,
    input_distances: tuple[float, ...] = (0.5, 1.0, 1.5),
    target_distances: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0),
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train one leaky ReLU network for each pair of distances, with the first input elsewhere.

    Parameters
    ----------
    hidden_layers : of a hundred units
    first : the first input; if it is positive, so is the other

    Returns
    -------
    (moment, input_distance, target_distance) loss, dh2 and dy2; moment is "start" and "end"

    Source: beyond Appendix B.1, "Final Representational Distance", where `first` is −1.

    Settings
    --------
    data : two points for each network: inputs {first} and {first} + ‖Δx‖, targets 0.6 and
        0.6 + ‖Δy‖, for each pair of ‖Δx‖ in {input_distances} and ‖Δy‖ in {target_distances}
    network : {hidden_layers} hidden layers of 100 leaky rectifiers with the slope 0.01 and biases
    initialization : weights N(0, 2/(fan in + fan out)), gain 1, biases 0; each pair of distances
        has weights of its own; seeds {seed}
    loss : ½ (output − target)², mean over the points
    rate : 0.004 for all weights and biases, no momentum, as in deep networks at speed 2
    batch : both points
    steps : at most 20000
    stop : at the first record, every 50 steps, with a loss below 10⁻⁴; that a network has learned
        means a final loss below 10⁻³
    read : hidden layer number half of all + 1 ({hidden_layers // 2 + 1} of {hidden_layers}) after
        its nonlinearity, at the first and the last record
    precision : 32 bits
    """
    setting = Setting(units=100, hidden_layers=hidden_layers, learning_rate=0.004, epochs=20_000)
    names = ["input_distance", "target_distance"]
    pairs = pd.MultiIndex.from_product([input_distances, target_distances], names=names)
    points = np.stack([toys.two_points(*pair) for pair in pairs])  # (pairs, 2, 2, 1)
    inputs, targets = points[:, 0] + 1 + first, points[:, 1]
    record = np.arange(0, setting.epochs + 1, 50)
    options = {"record": record, "observe": measures.two_points(targets[0]), "stop_below": 1e-4}
    found = setting.train(inputs, targets, len(pairs), seed, device, **options)
    ends = found[["loss", "dh2", "dy2"]].isel(layer=0, step=[0, -1]).drop_vars("trial")
    ends = ends.rename(step="moment").assign_coords(moment=["start", "end"])
    index = xr.Coordinates.from_pandas_multiindex(pairs, "trial")
    return ends.assign_coords(index).unstack("trial")
