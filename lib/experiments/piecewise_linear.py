"""Teacher and student: two-layer ReLU networks from initial weights of overall scale τ and relative scale δ.

Source: Kunin et al. (2024), "Get rich quick", figure 1 and appendix "Experimental details". A member's data, teacher and first
weights depend on its seed alone, so that members of one seed differ in τ and δ only.
"""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from lib.checks import broadcastable, fit, matrix, numbers, positives, seed, size, takes, vector, wholes
from lib.kernels import two_layer_ntk
from lib.networks import Dense
from lib.networks.base import check_device
from lib.results import Growing
from lib.sweeps import Sweep
from lib.theory.piecewise_linear import scale_initialization
from lib.training import log_steps, train


@takes(count=size, dimension=size)
def sphere(rng: np.random.Generator, count: int, dimension: int) -> NDArray:
    """Draw points uniformly from the unit sphere, (count, dimension)."""
    points = rng.normal(size=(count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@takes(w=matrix, a=vector, inputs=matrix)
def relu_network(w: NDArray, a: NDArray, inputs: NDArray) -> NDArray:
    """Return the outputs (n,) of Σ a_k relu(w_k·x), for w (h, d), a (h,) and inputs (n, d)."""
    fit("(h, d), (h,), (n, d)", w=w, a=a, inputs=inputs)
    return np.maximum(inputs @ w.T, 0) @ a


@takes(units=size)
def balanced_student(rng: np.random.Generator, units: int, dimension: int) -> tuple[NDArray, NDArray]:
    """Draw w (units, dimension) on the sphere and a = ±1; the second half repeats the first with opposite a, so that f = 0."""
    if units % 2:
        raise ValueError(f"units is {units}: want an even number, since each neuron has a twin")
    half = units // 2
    w, a = sphere(rng, half, dimension), rng.choice([-1.0, 1.0], half)
    return np.concatenate([w, w]), np.concatenate([a, -a])


@takes(dimension=size, units=size, teachers=size, points=size, device=check_device)
def students(
    tau: ArrayLike,
    delta: ArrayLike,
    seed: ArrayLike,
    *,
    learning_rate: ArrayLike,
    steps: int,
    record: Sequence[int],
    dimension: int = 100,
    units: int = 50,
    teachers: int = 3,
    points: int = 1000,
    device: str = "cpu",
) -> xr.Dataset:
    """Train students by gradient descent on the mean squared error (without ½), in float32.

    Parameters
    ----------
    tau, delta, seed : (m,), one entry for each student
    learning_rate : (m,) or one number
    record : steps at which the weights are kept
    units : of a student, an even number; a teacher has `teachers`

    Returns
    -------
    w (member, step, unit, input), a (member, step, unit), train (member, step): the mean squared error; x (member, point, input)
    and y (member, point); diverged (member)

    Source: figure 1(a) and the text about figure 1; the error is without ½ in the authors' code.
    """
    tau, delta, seed, learning_rate = _members(tau, delta, seed, learning_rate)
    problems = [_problem(int(s), dimension, units, teachers, points) for s in seed]
    x, y, w, a = (np.stack(parts) for parts in zip(*problems, strict=True))
    w, a = scale_initialization(w, a, tau, delta)
    parameters = {
        name: torch.tensor(value, dtype=torch.float32, device=device) for name, value in (("weight1", w), ("weight2", a[:, None]))
    }
    found = train(
        Dense((dimension, units, 1), "relu", bias=False),
        parameters,
        x,
        y[..., None],
        learning_rate=2 * learning_rate,  # `train` halves the error
        steps=steps,
        record=record,
        observe=_weights,
        progress=True,
    )
    data = {"x": (("member", "point", "input"), x), "y": (("member", "point"), y), "train": 2 * found.loss}
    return found.assign(data).drop_vars(["loss", "stopped"])


def _members(tau: ArrayLike, delta: ArrayLike, seed: ArrayLike, learning_rate: ArrayLike) -> tuple[NDArray, ...]:
    """Return them (m,), one entry for each student."""
    given = {"tau": tau, "delta": delta, "learning_rate": learning_rate}
    given = {name: numbers(name, np.atleast_1d(value), 1) for name, value in given.items()}
    seed = np.array(wholes("seed", np.atleast_1d(seed)))
    broadcastable(**given, seed=seed)
    tau, delta, learning_rate, seed = np.broadcast_arrays(*given.values(), seed)
    return tau, delta, seed, learning_rate


def _problem(seed: int, dimension: int, units: int, teachers: int, points: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return inputs, targets and balanced first weights."""
    rng = np.random.default_rng((seed, 0))
    x = sphere(rng, points, dimension)
    return x, relu_network(*teacher(seed, dimension, teachers), x), *balanced_student(rng, units, dimension)


@takes(seed=seed, dimension=size, neurons=size)
def teacher(seed: int, dimension: int, neurons: int = 3) -> tuple[NDArray, NDArray]:
    """Return the w (neurons, dimension) on the sphere and the a = ±1 of the teacher that goes with a seed."""
    rng = np.random.default_rng((seed, 1))
    return sphere(rng, neurons, dimension), rng.choice([-1.0, 1.0], neurons)


def _weights(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    return {"w": (("unit", "input"), parameters["weight1"]), "a": (("unit",), parameters["weight2"][:, 0])}


@takes(tau=positives)
def distances(
    tau: ArrayLike, delta: ArrayLike, seed: ArrayLike, *, steps: int, record: Sequence[int], device: str = "cpu"
) -> xr.Dataset:
    """Train `students` at a learning rate of .005/τ² and watch how far they go.

    Returns
    -------
    over (member, step) train and test: mean squared errors, the latter on 10,000 fresh points; and the distances from the start:
    kernel: S between tangent kernels on the training points; hamming: how many neurons change sign at a training point, on
    average; moved: Euclidean, in parameter space. Over member: diverged.

    Source: figure 1(b) and its supporting figure.
    """
    tau, delta, seed, rate = _members(tau, delta, seed, 5e-3 / np.atleast_1d(tau) ** 2)
    found = students(tau, delta, seed, learning_rate=rate, steps=steps, record=record, device=device)
    compared = [_compare(found.isel(member=m), int(s), device) for m, s in enumerate(seed)]
    return xr.concat(compared, "member").assign(train=found.train, diverged=found.diverged).drop_vars("member")


def _compare(student: xr.Dataset, seed: int, device: str) -> xr.Dataset:
    """Compare one student's states with its first, and with its teacher."""
    fresh = sphere(np.random.default_rng((seed, 2)), 10_000, student.sizes["input"])
    answers = relu_network(*teacher(seed, fresh.shape[1]), fresh)
    x, fresh, answers = (torch.tensor(v, dtype=torch.float32, device=device) for v in (student.x.values, fresh, answers))
    states = list(zip(torch.tensor(student.w.values, device=device), torch.tensor(student.a.values, device=device), strict=True))

    def unit_kernel(w: Tensor, a: Tensor) -> Tensor:
        kernel = two_layer_ntk(w, a, x)
        return kernel / torch.linalg.norm(kernel)

    first, signs = unit_kernel(*states[0]), states[0][0] @ x.T > 0
    found = {"test": [], "kernel": [], "hamming": [], "moved": []}
    for w, a in states:
        found["test"].append(torch.mean((torch.relu(fresh @ w.T) @ a - answers) ** 2))
        found["kernel"].append(torch.sum((unit_kernel(w, a) - first) ** 2) / 2)
        found["hamming"].append(((w @ x.T > 0) != signs).sum() / len(x))
        found["moved"].append(torch.sqrt(((w - states[0][0]) ** 2).sum() + ((a - states[0][1]) ** 2).sum()))
    return xr.Dataset(
        {name: ("step", torch.stack(values).cpu().numpy()) for name, values in found.items()}, {"step": student.step}
    )


# The paper's grid; 22 s a network on a core. `lib store --budget` does a part of it, seed by seed.
PLANE = Sweep(
    "piecewise_linear/plane",
    distances,
    {"tau": np.logspace(-1, 0.3, 17), "delta": np.linspace(-1, 1, 17)},
    range(16),
    {"steps": 100_000, "record": log_steps(100_000, 16).tolist()},
)
RUNS = [Growing(PLANE, {"networks": 17 * 17 * 16, "steps": 100_000}, dimension="scale", together=17 * 17)]
