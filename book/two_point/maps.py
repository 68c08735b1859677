"""The assumption of "When representations align" (van Rossem & Saxe),
measured: how the two maps of two points really move.

Eq. 6 is not fitted here but looked at, from record to record of a training network.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from book.two_point import theory, toys
from book.two_point.settings import INPUT_DISTANCE, TABLE_1, TARGET_DISTANCE, Setting
from lib.checks import instance, one_of, takes
from lib.networks import ACTIVATIONS, Dense, Network, Observe


@takes(network=instance(Dense))
def maps(network: Network, targets: ArrayLike, layers: Sequence[int]) -> Observe:
    r"""Observe the two maps of the two-point theory in a network that splits at a hidden layer.

    Parameters
    ----------
    network : fully connected, without skip connections: its output must be a function of one hidden
        layer
    targets : (2, c), of the two points
    layers : hidden layers, counted from 0, the same as `lib.training.train` is asked for

    Returns
    -------
    For `lib.training.train`: dh (layer, unit), the difference of two representations; d_y (layer,
    output, unit), the decoder's Jacobian halfway between them; dy and wanted (output), the
    differences of outputs and of targets

    Source: van Rossem & Saxe, Eqs. 5 and 8.
    """
    assert isinstance(network, Dense)
    if network.skip:
        raise ValueError("network has skip connections: no single layer determines its output")
    wanted = torch.as_tensor(targets[1] - targets[0])

    def observe(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        decoders = [
            _jacobian(network, layer, parameters, h.mean(1))
            for layer, h in zip(layers, hidden, strict=True)
        ]
        return {
            "dh": (("layer", "unit"), torch.stack([h[:, 1] - h[:, 0] for h in hidden], 1)),
            "d_y": (("layer", "output", "unit"), torch.stack(decoders, 1)),
            "dy": (("output",), outputs[:, 1] - outputs[:, 0]),
            "wanted": (("output",), wanted.to(outputs).expand(len(outputs), -1)),
        }

    return observe


def _jacobian(network: Network, layer: int, parameters: dict[str, Tensor], h: Tensor) -> Tensor:
    """Return the derivative (m, c, k) of the outputs by the
    representation `h` (m, k) after a hidden layer.
    """
    h = h.detach().unsqueeze(-2).requires_grad_()
    with torch.enable_grad():
        z = h
        for i in range(layer + 2, network.depth + 2):
            z = z @ parameters[f"weight{i}"].mT + parameters[f"bias{i}"].unsqueeze(-2)
            z = ACTIVATIONS[network.activation](z) if i <= network.depth else z
        each = [
            torch.autograd.grad(z[..., which].sum(), h, retain_graph=True)[0]
            for which in range(network.outputs)
        ]
    return torch.cat(each, -2)


def motion(found: xr.Dataset) -> xr.Dataset:
    r"""Return how the two maps of `maps` move from record to
    record, beside how Eq. 6 says that they move.

    In the clock of Eq. 7 it says

    .. math:: \dot{dh} = \frac{\|\Delta x\|^2}{2\tau_h}\,p, \quad p = D_y^\top(\Delta y
              - dy), \qquad
              \dot D_y = \frac{1}{2\tau_y}\,q, \quad q = (\Delta y - dy)\,dh^\top.

    Displacements, and not gradients, are compared with the mean of p and q at both ends: with
    learning rates as large as those of the source a gradient oscillates from step to step, and its
    mean is what moves the network.

    Returns
    -------
    Over step: dh2, dy2, w as in `lib.measures.two_points`; alignment, ‖D_y dh‖ / ‖D_y‖‖dh‖; bent,
    ‖dy − D_y dh‖ / ‖dy‖, 0 for a linear decoder. Over between, the middle of two records: speed_h
    and speed_y, norms of the velocities per step; along_h and along_y, their components along p and
    q; force_h = ‖p‖ and force_y = ‖q‖

    Source: van Rossem & Saxe, Eq. 6, with the ½ of Eq. 17.
    """
    dh, d_y, dy, wanted = (found[name] for name in ("dh", "d_y", "dy", "wanted"))
    error, linear = wanted - dy, (d_y * dh).sum("unit")
    p, q = (d_y * error).sum("output"), error * dh
    size_h, size_y, size_d = (
        np.sqrt((dh**2).sum("unit")),
        np.sqrt((dy**2).sum("output")),
        np.sqrt((d_y**2).sum(("output", "unit"))),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = {
            "dh2": size_h**2,
            "dy2": size_y**2,
            "w": size_y**2 - (dy * wanted).sum("output"),
            "alignment": np.sqrt((linear**2).sum("output")) / (size_d * size_h),
            "bent": np.sqrt(((dy - linear) ** 2).sum("output")) / size_y,
        }
        between = (found.step.values[1:] + found.step.values[:-1]) / 2
        for name, place, force, over in (("h", dh, p, ["unit"]), ("y", d_y, q, ["output", "unit"])):
            ends = [force.isel(step=part).drop_vars("step") for part in (slice(1, None), slice(-1))]
            force, moved = (
                (ends[0] + ends[1]) / 2,
                place.diff("step").drop_vars("step")
                / xr.DataArray(np.diff(found.step), dims="step"),
            )
            size = np.sqrt((force**2).sum(over))
            parts = {
                "speed": np.sqrt((moved**2).sum(over)),
                "along": (moved * force).sum(over) / size,
                "force": size,
            }
            seen |= {
                # ty: ignore[missing-union-attribute] NumPy's stubs make arrays of DataArrays
                f"{part}_{name}": value.rename(step="between").assign_coords(between=between)
                for part, value in parts.items()
            }
    kept = found.drop_vars(["dh", "d_y", "dy", "wanted"])
    return kept.assign(seen).astype(np.float32)


@takes(setting=instance(Setting))
def assumption(
    setting: Setting,
    *,
    trials: int = 3,
    records: int = 120,
    centred: bool = False,
    all_layers: bool = False,
    input_distance: float = INPUT_DISTANCE,
    target_distance: float = TARGET_DISTANCE,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train a network on two points and watch its two maps.

    Parameters
    ----------
    setting : dense, of `TABLE_1` or another
    records : about how many, evenly spaced over the epochs
    centred : shift the two targets so that their mean is 0
    all_layers : split at every hidden layer instead of the one half-way

    Returns
    -------
    (trial, step) loss and what `motion` returns, which has a dimension layer, counted from 0, if
        all are asked for

    Source: the setting is that of Appendix B.1, the question ours.

    Settings
    --------
    data : two points: inputs −1 and {input_distance - 1}, targets 0.6 and 0.6 + {target_distance}
    network : {setting.hidden_layers} hidden layers of {setting.units} units, nonlinearity
        {setting.activation} ("leaky_relu" has the slope 0.01 below zero), biases
    initialization : weights normal with the standard deviation gain · √(2 / (fan-in + fan-out)),
        gain {setting.gain}; biases zero; networks: {trials}, seed {seed}
    loss : ½ (output − target)², mean over the points
    rate : {setting.learning_rate}, the same for all weights and biases, no momentum
    batch : both points
    steps : {setting.epochs}
    stop : none
    read : hidden layer {setting.hidden_layers // 2 + 1} of {setting.hidden_layers}, after its
        nonlinearity, every {setting.epochs // records} steps. D_y is the Jacobian of the output by
        this layer at the mean of the two representations. The motion from one record to the next is
        compared with the mean of p = D_yᵀ(Δy − dy), or of q = (Δy − dy) dhᵀ, at both. To the rise
        belong the intervals at whose ends ‖dy‖² is, on average, between 0.1 and 0.9 of ‖Δy‖². The
        share is the sum of v², with the sign of v, over the sum of squared speeds, v the component
        of the velocity along p or q
    precision : 32 bits
    """
    inputs, targets = toys.two_points(input_distance, target_distance)
    targets = targets - targets.mean() if centred else targets
    layers = tuple(range(setting.hidden_layers)) if all_layers else (setting.hidden_layers // 2,)
    record = np.unique(np.linspace(0, setting.epochs, records + 1).astype(int))
    observe = maps(setting.network(), targets, layers)
    found = motion(
        setting.train(
            inputs, targets, trials, seed, device, record=record, observe=observe, layers=layers
        )
    )
    return found.assign_coords(layer=list(layers)) if all_layers else found.isel(layer=0)


def rising(found: xr.Dataset) -> xr.Dataset:
    """Keep the displacements while a tenth to nine tenths of ‖Δy‖² are learned."""
    share = (found.dy2.values[1:] + found.dy2.values[:-1]) / 2 / TARGET_DISTANCE**2
    return found.isel(between=np.flatnonzero((share > 0.1) & (share < 0.9)))


def assessed(found: xr.Dataset, *, input_distance: float = INPUT_DISTANCE) -> xr.Dataset:
    r"""Return what Eq. 6 explains of a run, moment by moment and in all.

    Returns
    -------
    Over between: tau_h and tau_y, in steps, the constants that Eq. 6 would need at each moment,
    negative where a map moves against it. For the whole run share_h and share_y:
    :math:`\int v|v|\,dt / \int \|\dot{dh}\|^2dt` with v the component of the velocity along Eq. 6;
    1 if Eq. 6 holds with any constants that change in time, 0 if all motion is across, negative if
    against
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        taus = {
            "tau_h": input_distance**2 * found.force_h / (2 * found.along_h),
            "tau_y": found.force_y / (2 * found.along_y),
        }

    def share(name: str) -> xr.DataArray:
        along, speed = found[f"along_{name}"], found[f"speed_{name}"]
        return (along * abs(along)).sum("between") / (speed**2).sum("between")

    return xr.Dataset(taus | {"share_h": share("h"), "share_y": share("y")})


@takes(setting=instance(Setting))
def premise(
    setting: Setting,
    *,
    spacings: Sequence[int] = (50,),
    trials: int = 8,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Train a network until it has learned two points, and measure what Eq. 6 explains of its rise.

    Parameters
    ----------
    setting : dense, of `TABLE_1` or another
    spacings : steps between two records, ascending multiples of the first

    Returns
    -------
    Over (trial, spacing): share_h and share_y of `assessed` while a tenth to nine tenths of ‖Δy‖²
    are learned. Over trial: half, the time at half of ‖Δy‖². NaN where this is not reached. Time
    and the coordinate `spacing` are learning rate × steps.

    Source: the setting is that of Appendix B.1, the question ours.

    Settings
    --------
    as : assumption
    data : two points: inputs −1 and {INPUT_DISTANCE - 1}, targets 0.6 and 0.6 + {TARGET_DISTANCE}
    steps : at most {setting.epochs}
    stop : at the first record with a loss below 10⁻⁴
    read : hidden layer {setting.hidden_layers // 2 + 1} of {setting.hidden_layers} as at
        `assumption`, every {spacings[0]} steps; shares from all records and from those that are
        {spacings} steps apart
    """
    inputs, targets = toys.two_points(INPUT_DISTANCE, TARGET_DISTANCE)
    layer = setting.hidden_layers // 2
    found = setting.train(
        inputs,
        targets,
        trials,
        seed,
        device,
        record=np.arange(0, setting.epochs + 1, spacings[0]),
        observe=maps(setting.network(), targets, (layer,)),
        layers=(layer,),
        stop_below=1e-4,
    ).isel(layer=0)
    shares = [
        _shares(found.isel(step=slice(None, None, spacing // spacings[0]))) for spacing in spacings
    ]
    learned = (found.dy[..., 0] ** 2 > TARGET_DISTANCE**2 / 2).values  # (trial, step)
    half = np.where(learned.any(1), found.step.values[learned.argmax(1)], np.nan)
    times = np.round(setting.learning_rate * np.array(spacings), 9)
    together = xr.concat(shares, "spacing").assign_coords(spacing=times)
    return together.assign(half=("trial", setting.learning_rate * half))


def _shares(found: xr.Dataset) -> xr.Dataset:
    """Return what Eq. 6 explains of the rise of each trial, from what `maps` observed."""
    moved = motion(found)
    ones = [assessed(rising(moved.isel(trial=trial))) for trial in range(moved.sizes["trial"])]
    return xr.concat([one[["share_h", "share_y"]] for one in ones], "trial")


def growth(found: xr.Dataset) -> float:
    """Return the factor by which ‖dh‖² grows until half of ‖Δy‖² is learned, of a run of
    `assumption`.
    """
    half = int(np.argmax(found.dy2.values > TARGET_DISTANCE**2 / 2))
    return float(found.dh2[half] / found.dh2[0])


def own_share(found: xr.Dataset) -> float:
    r"""Return the share of the squared velocity of dh that lies along dh itself, of a run of
    `assumption` or its rise, counted negative where ‖dh‖ shrinks.
    """
    size = np.sqrt(found.dh2.values.astype(float))
    middle = (found.step.values[1:] + found.step.values[:-1]) / 2
    kept = np.isin(middle, found.between.values)
    along = (np.diff(size) / np.diff(found.step.values))[kept]
    speed = found.speed_h.values.astype(float)
    return float(np.sum(along * abs(along)) / np.sum(speed**2))


@takes(row=partial(one_of, allowed=TABLE_1))
def path(row: str, *, records: int = 200, seed: int = 0, device: str = "cpu") -> xr.Dataset:
    r"""Train a network and return the exponents with which the factors
    of ‖dy‖ grow between a tenth and nine tenths of ‖Δy‖².

    If the decoder is linear between the points, then :math:`\|dy\| = \|dh\|\,\|D_y\|\cos\angle` at
    each layer, and the exponents of the three factors in ‖dy‖ add up to 1.

    Returns
    -------
    Over layer, the weight layers before it: dh and cosine, the exponents, and theory, that of dh in
    Eq. 7 fitted to the layer. Over weight: squared, the mean squared singular value of each weight
    matrix at the start (its squared norm for a vector)

    Source: beyond van Rossem & Saxe, Eq. 24.

    Settings
    --------
    data : two points: inputs −1 and {INPUT_DISTANCE - 1}, targets 0.6 and 0.6 + {TARGET_DISTANCE}
    network : that of the row of Table 1, as at `dynamics`. Rows: {row}
    initialization : as at `dynamics` with the row's gain; a network for each seed, {seed}
    loss : ½ (output − target)², mean over the points
    rate : that of the row, the same for all weights and biases, no momentum
    batch : both points
    steps : {TABLE_1[row].epochs}
    stop : none
    read : each of the {TABLE_1[row].hidden_layers} hidden layers after its nonlinearity, every
        {TABLE_1[row].epochs // records} steps. An exponent is the slope of a straight line fitted
        to the logarithm of ‖dh‖ (or of the cosine) over that of ‖dy‖, at the records where ‖dy‖² is
        between 0.1 and 0.9 of ‖Δy‖²
    precision : 32 bits
    """
    setting = TABLE_1[row]
    found = assumption(
        setting, trials=1, records=records, all_layers=True, seed=seed, device=device
    ).isel(trial=0)
    times, dy2, w = (found[name].values.astype(float) for name in ("step", "dy2", "w"))
    dh2, alignment = (
        found[name].transpose("layer", "step").values.astype(float) for name in ("dh2", "alignment")
    )
    lengths = {"input_distance": INPUT_DISTANCE, "target_distance": TARGET_DISTANCE}
    curves = [theory.fit(times, of_layer, dy2, w, **lengths).curves for of_layer in dh2]
    first = setting.network().initialize(seed, 1, setting.gain)
    matrices = [value[0] for name, value in first.items() if name.startswith("weight")]
    return xr.Dataset(
        {
            "dh": ("layer", [_exponent(dy2, np.log(np.sqrt(of_layer))) for of_layer in dh2]),
            "cosine": ("layer", [_exponent(dy2, np.log(of_layer)) for of_layer in alignment]),
            "theory": (
                "layer",
                [_exponent(curve.dy2.values, np.log(curve.dh2.values) / 2) for curve in curves],
            ),
            "squared": (
                "weight",
                [float((value**2).sum() / min(value.shape)) for value in matrices],
            ),
        },
        {"layer": found.layer.values + 1},
    )


def _exponent(dy2: np.ndarray, log_factor: np.ndarray) -> float:
    """Return the exponent with which a factor grows in ‖dy‖,
    between a tenth and nine tenths of ‖Δy‖².
    """
    share = dy2 / TARGET_DISTANCE**2
    rising = (share > 0.1) & (share < 0.9)
    return float(np.polyfit(np.log(dy2[rising]) / 2, log_factor[rising], 1)[0])


DENSE = [
    name for name, row in TABLE_1.items() if row.architecture == "dense"
]  # those whose decoder `maps` can cut off


SOME = [
    "default",
    "shallow",
    "narrow",
    "linear",
]  # of which the learning rate and the records are varied
