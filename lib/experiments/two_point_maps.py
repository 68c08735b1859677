"""The assumption of "When representations align" (van Rossem & Saxe), measured: how the two maps of two points really move.

Eq. 6 is not fitted here but looked at: velocities by automatic differentiation, while a network trains.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import grad, jvp

from lib import data
from lib.checks import instance, labelled, matrix, numbers, one_of, positive, size, takes
from lib.experiments.two_point import INPUT_DISTANCE, TABLE_1, TABLE_2, TARGET_DISTANCE, Setting
from lib.networks import ACTIVATIONS, Dense, Observe
from lib.results import Run

PAIR = ((0, 1),)
_ALONE = Lock()  # torch.func differentiates in one thread at a time; members may train in several


@takes(network=instance(Dense), inputs=matrix, targets=matrix, pairs=partial(numbers, ndim=2))
def maps(network: Dense, inputs: ArrayLike, targets: ArrayLike, layers: Sequence[int], pairs: ArrayLike = PAIR) -> Observe:
    r"""Observe how the two maps of the two-point theory move in a network, beside how Eq. 6 says that they move.

    The network splits at a hidden layer; D_y is the decoder's Jacobian halfway between two representations. Velocities are
    those of the gradient flow of half the mean squared error, :math:`\dot\theta = -\nabla L`. Eq. 6, in the clock of Eq. 7, says

    .. math:: \dot{dh} = \frac{\|\Delta x\|^2}{2\tau_h}\,p, \quad p = D_y^\top(\Delta y - dy), \qquad
              \dot D_y = \frac{1}{2\tau_y}\,q, \quad q = (\Delta y - dy)\,dh^\top.

    Parameters
    ----------
    network : fully connected, without skip connections: its output must be a function of one hidden layer
    inputs, targets : (n, d) and (n, c), all points of the training set
    layers : hidden layers, counted from 0, the same as `lib.training.train` is asked for
    pairs : (P, 2) indices of points

    Returns
    -------
    For `lib.training.train`, over (pair, layer): dh2, dy2, w as in `lib.measures.two_points`; dh2_rate, the velocity of ‖dh‖²;
    speed_h and speed_y, norms of the two velocities; along_h and along_y, their components along p and q; force_h = ‖p‖ and
    force_y = ‖q‖; alignment, ‖D_y dh‖ / ‖D_y‖‖dh‖; bent, ‖dy − D_y dh‖ / ‖dy‖, 0 for a linear decoder; and dh itself (unit)

    Source: van Rossem & Saxe, Eq. 6, with the ½ of Eq. 17.
    """
    if network.skip:
        raise ValueError("network has skip connections: no single layer determines its output")
    first, second = torch.as_tensor(pairs, dtype=torch.long).T

    def observe(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
        x, y = (torch.as_tensor(values).to(outputs) for values in (inputs, targets))

        def loss(parameters: dict[str, Tensor]) -> Tensor:
            return ((network(parameters, x, ())[0] - y) ** 2).sum() / (2 * len(x))

        with _ALONE, torch.enable_grad():
            slope = grad(loss)(parameters)
            motion = {name: -value for name, value in slope.items()}
            _, hidden_motion = jvp(lambda parameters: network(parameters, x, tuple(layers))[1], (parameters,), (motion,))
            dy, wanted = outputs[:, second] - outputs[:, first], y[second] - y[first]
            dh = [h[:, second] - h[:, first] for h in hidden]
            moved = [v[:, second] - v[:, first] for v in hidden_motion]
            decoders = []
            for layer, h, v in zip(layers, hidden, hidden_motion, strict=True):
                middle = tuple((z[:, first] + z[:, second]) / 2 for z in (h, v))
                jacobian = partial(_jacobian, network, layer)
                decoders.append(jvp(jacobian, (parameters, middle[0]), (motion, middle[1])))
        each = [_read(*those, dy, wanted) for those in zip(dh, moved, decoders, strict=True)]
        seen = {name: (("pair", "layer"), torch.stack([one[name] for one in each], -1)) for name in each[0]}
        return seen | {"dh": (("pair", "layer", "unit"), torch.stack(dh, -2))}

    return observe


def _jacobian(network: Dense, layer: int, parameters: dict[str, Tensor], h: Tensor) -> Tensor:
    """Return the derivative (m, P, c, k) of the outputs by the representation `h` (m, P, k) after a hidden layer."""

    def output(h: Tensor, which: int) -> Tensor:
        for i in range(layer + 2, network.depth + 2):
            h = h @ parameters[f"weight{i}"].mT + parameters[f"bias{i}"].unsqueeze(-2)
            h = ACTIVATIONS[network.activation](h) if i <= network.depth else h
        return h[..., which].sum()

    return torch.stack([grad(output)(h, which) for which in range(network.outputs)], -2)


def _read(dh: Tensor, moved: Tensor, decoder: tuple[Tensor, Tensor], dy: Tensor, wanted: Tensor) -> dict[str, Tensor]:
    """Return the observables (m, P) of one layer, from dh and its velocity (m, P, k), D_y and its velocity (m, P, c, k)."""
    (d_y, turning), error = decoder, wanted - dy
    linear = (d_y @ dh.unsqueeze(-1)).squeeze(-1)
    p, q = (d_y.mT @ error.unsqueeze(-1)).squeeze(-1), error.unsqueeze(-1) * dh.unsqueeze(-2)
    size_h, size_y, size_d = dh.norm(dim=-1), dy.norm(dim=-1), d_y.flatten(-2).norm(dim=-1)
    force_h, force_y = p.norm(dim=-1), q.flatten(-2).norm(dim=-1)
    return {
        "dh2": size_h**2,
        "dy2": size_y**2,
        "w": size_y**2 - (dy * wanted).sum(-1),
        "dh2_rate": 2 * (dh * moved).sum(-1),
        "speed_h": moved.norm(dim=-1),
        "speed_y": turning.flatten(-2).norm(dim=-1),
        "along_h": (moved * p).sum(-1) / force_h,
        "along_y": (turning * q).flatten(-2).sum(-1) / force_y,
        "force_h": force_h,
        "force_y": force_y,
        "alignment": linear.norm(dim=-1) / (size_d * size_h),
        "bent": (dy - linear).norm(dim=-1) / size_y,
    }


@takes(setting=instance(Setting), trials=size, records=size)
def assumption(
    setting: Setting,
    *,
    trials: int = 3,
    records: int = 60,
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
    (trial, step) loss and what `maps` observes, which has a dimension layer, counted from 0, if all are asked for

    Source: the setting is that of Appendix B.1, the question ours.
    """
    inputs, targets = data.two_points(input_distance, target_distance)
    targets = targets - targets.mean() if centred else targets
    layers = tuple(range(setting.hidden_layers)) if all_layers else (setting.hidden_layers // 2,)
    found = _watch(setting, inputs, targets, PAIR, layers, trials, records, seed, device).isel(pair=0)
    return found.assign_coords(layer=list(layers)) if all_layers else found.isel(layer=0)


@takes(setting=instance(Setting), trials=size, records=size, pairs=size, images=size)
def among(
    setting: Setting,
    task: str,
    *,
    trials: int = 2,
    records: int = 30,
    pairs: int = 24,
    images: int = 60000,
    seed: int = 0,
    device: str = "cpu",
) -> xr.Dataset:
    """Watch the two maps of pairs of points that learn among others.

    Parameters
    ----------
    task : "xor", all six pairs; "blobs" or "digits", half of the pairs with equal targets, half with different ones, at random
    images : of the digits, how many

    Returns
    -------
    (trial, step) loss; (trial, step, pair) what `maps` observes half-way; (pair) target_distance and input_distance
    """
    inputs, targets = _task(one_of("task", task, ("xor", "blobs", "digits")), images)
    chosen = np.array([(i, j) for i in range(4) for j in range(i)]) if task == "xor" else _some_pairs(targets, pairs, seed)
    batches = {} if task == "xor" else setting.batches(len(inputs))
    layers = (setting.hidden_layers // 2,)
    found = _watch(setting, inputs, targets, chosen, layers, trials, records, seed, device, **batches).isel(layer=0)
    given = {"input_distance": inputs, "target_distance": targets}
    apart = {name: np.linalg.norm(np.subtract(*values[chosen.T]), axis=-1) for name, values in given.items()}
    return found.assign_coords({name: ("pair", values) for name, values in apart.items()})


def _task(task: str, images: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs (n, d) and targets (n, c)."""
    if task == "digits":
        inputs, labels = data.mnist()
        return inputs[:images], np.eye(10, dtype=np.float32)[labels[:images]]
    return data.xor() if task == "xor" else data.blobs()[:2]


def _some_pairs(targets: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Draw pairs (count, 2), the first half with equal targets."""
    rng, drawn = np.random.default_rng(seed), {True: [], False: []}
    while min(len(found) for found in drawn.values()) < count // 2:
        i, j = rng.integers(len(targets), size=2)
        if i != j:
            drawn[bool(np.allclose(targets[i], targets[j]))].append((i, j))
    return np.array(drawn[True][: count // 2] + drawn[False][: count // 2])


def _watch(
    setting: Setting,
    inputs: np.ndarray,
    targets: np.ndarray,
    pairs: ArrayLike,
    layers: tuple[int, ...],
    trials: int,
    records: int,
    seed: int,
    device: str,
    **batches: int,
) -> xr.Dataset:
    """Train and observe `maps`, one member after the other; in float32."""
    steps = batches.get("steps", setting.epochs)
    record = np.unique(np.linspace(0, steps, records + 1).astype(int))
    observe = maps(setting.network(inputs.shape[-1], targets.shape[-1]), inputs, targets, layers, pairs)
    options = {"record": record, "observe": observe, "layers": layers, **batches}
    found = setting.train(inputs, targets, trials, seed, device, **options)
    unit = found.dh / np.sqrt((found.dh**2).sum("unit"))
    turned = {name: (unit * unit.isel(step=at)).sum("unit") for name, at in (("turned", 0), ("to_go", -1))}
    return found.drop_vars("dh").assign(turned).astype(np.float32)


@takes(found=labelled("step", "speed_h", "along_h", "force_h"), input_distance=positive, learning_rate=positive)
def assessed(found: xr.Dataset, *, learning_rate: float, input_distance: float = INPUT_DISTANCE) -> xr.Dataset:
    r"""Return what Eq. 6 explains of a run of `assumption`, moment by moment and in all.

    Returns
    -------
    tau_h and tau_y, in steps, the constants that Eq. 6 would need at each moment, negative where a map moves against it; share_h
    and share_y, of the whole run: :math:`\int v|v|\,dt / \int \|\dot{dh}\|^2dt` with v the component of the velocity along
    Eq. 6, 1 if Eq. 6 holds with any constants that change in time, 0 if all motion is across, negative if it is against
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        taus = {
            "tau_h": input_distance**2 * found.force_h / (2 * found.along_h * learning_rate),
            "tau_y": found.force_y / (2 * found.along_y * learning_rate),
        }

    def share(name: str) -> xr.DataArray:
        along, speed = found[f"along_{name}"], found[f"speed_{name}"]
        return (along * abs(along)).sum("step") / (speed**2).sum("step")

    return xr.Dataset(taus | {"share_h": share("h"), "share_y": share("y")})


DENSE = [name for name, row in TABLE_1.items() if row.architecture == "dense"]
WIDTH = 100  # units of the networks that are watched more than once; Table 1 has 500
_SMALL = {name: replace(TABLE_1[name], units=WIDTH) for name in DENSE}
_FEW = ("default", "linear", "tanh", "high", "very high")
_AMONG = {
    "xor": {"task": "xor", "setting": replace(TABLE_2["xor low"], units=WIDTH, gain=0.95)},
    "blobs": {"task": "blobs", "setting": TABLE_2["blobs low"]},
    "digits": {"task": "digits", "setting": replace(TABLE_2["mnist"], learning_rate=0.02, epochs=10)},
}
RUNS = [
    Run("two_point/assumption", assumption, "row", {name: {"setting": TABLE_1[name], "trials": 1} for name in DENSE}),
    Run(
        "two_point/assumption_small",
        assumption,
        "row",
        {
            f"{name}{', centred' * centred}": {"setting": _SMALL[name], "trials": 2, "centred": centred}
            for name in _FEW
            for centred in (False, True)
        },
    ),
    Run(
        "two_point/assumption_depth",
        assumption,
        "row",
        {n: {"setting": _SMALL[n], "trials": 1, "records": 20, "all_layers": True} for n in ("default", "relu", "linear")},
    ),
    *(Run(f"two_point/among_{task}", among, "task", {task: piece | {"trials": 1}}) for task, piece in _AMONG.items()),
]
