"""Teacher and student: two-layer ReLU networks from initial
weights of overall scale τ and relative scale δ.

Source: Kunin et al. (2024), "Get rich quick", figure 1 and appendix "Experimental details". A
member's data, teacher and first weights depend on its seed alone, so that members of one seed
differ in τ and δ only. Seeds are ours, or the authors' own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from book.piecewise_linear import authors_draw
from book.piecewise_linear.tangent_kernels import _gated, kernel_turn, two_layer_ntk
from lib.checks import optional, positives, seed, size, takes
from lib.experiments.teachers import (
    balanced_student,
    relu_network,
    scale_initialization,
    sphere,
    teacher,
)
from lib.kernels.tangent import kernel_distance
from lib.networks import Dense
from lib.training import log_steps, train


@takes(dimension=size, units=size, teachers=size, points=size, teacher_seed=optional(seed))
def students(
    tau: ArrayLike,
    delta: ArrayLike,
    seed: ArrayLike,
    *,
    learning_rate: ArrayLike,
    steps: int,
    record: ArrayLike,
    dimension: int = 100,
    units: int = 50,
    teachers: int = 3,
    points: int = 1000,
    device: str = "cpu",
    precise: bool = False,
    authors: bool = False,
    teacher_seed: int | None = None,
) -> xr.Dataset:
    """Train students by gradient descent on the mean squared error (without ½), in float32.

    Parameters
    ----------
    tau, delta, seed : (m,), one entry for each student
    learning_rate : (m,) or one number
    record : steps at which the weights are kept
    units : of a student, an even number; a teacher has `teachers`
    precise : train in float64
    authors, teacher_seed : draw what the authors' code draws at a seed (see
        `book.piecewise_linear.authors_draw.problem`)

    Returns
    -------
    w (member, step, unit, input), a (member, step, unit), train (member, step): the mean squared
    error; x (member, point, input) and y (member, point); diverged (member)

    Source: figure 1(a) and the text about figure 1; the error is without ½ in
    allanraventos/getrichquick.

    Settings
    --------
    data : {points} points, uniform on the unit sphere in {dimension} dimensions; targets of a
        teacher with {teachers} neurons Σ a relu(w·x), w uniform on the unit sphere, a = 1 or −1, of
        its own for each seed (unless all have that of a `teacher_seed`: {teacher_seed}); drawn as
        the authors' code draws them if `authors` is yes
    network : f(x) = Σ aₖ relu(wₖ·x), {units} neurons, no biases
    initialization : half of the neurons have w uniform on the unit sphere and a = 1 or −1, the
        other half the same w and opposite a, so that f = 0; then w is multiplied by τ/α and a by
        τα, with δ = τ²(α² − 1/α²). τ = {tau}; δ = {delta}; seeds {seed}
    loss : (output − target)², without ½, mean over the points
    rate : {learning_rate}, the same for w and a, no momentum
    batch : all points
    steps : {steps}
    stop : none
    read : w and a at the recorded steps, {record}
    precision : {64 if precise else 32} bits
    """
    tau, delta, seed, learning_rate = np.broadcast_arrays(
        *np.atleast_1d(tau, delta, seed, learning_rate)
    )
    draw = partial(authors_draw.problem, teacher_seed=teacher_seed) if authors else _problem
    problems = [draw(int(s), dimension, units, teachers, points)[:4] for s in seed]
    x, y, w, a = (np.stack(parts) for parts in zip(*problems, strict=True))
    w, a = scale_initialization(w, a, tau, delta)
    dtype = torch.float64 if precise else torch.float32
    found = train(
        Dense((dimension, units, 1), "relu", bias=False),
        {
            "weight1": torch.tensor(w, dtype=dtype, device=device),
            "weight2": torch.tensor(a[:, None], dtype=dtype, device=device),
        },
        x,
        y[..., None],
        learning_rate=2 * learning_rate,  # `train` halves the error
        steps=steps,
        record=record,
        observe=_weights,
        progress=True,
    )
    data = {
        "x": (("member", "point", "input"), x),
        "y": (("member", "point"), y),
        "train": 2 * found.loss,
    }
    return found.assign(data).drop_vars(["loss", "stopped"])


def _problem(
    seed: int, dimension: int, units: int, teachers: int, points: int
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return inputs, targets and balanced first weights."""
    rng = np.random.default_rng((seed, 0))
    x = sphere(rng, points, dimension)
    return (
        x,
        relu_network(*teacher(seed, dimension, teachers), x),
        *balanced_student(rng, units, dimension),
    )


def _weights(parameters: dict[str, Tensor], outputs: Tensor, hidden: list[Tensor]) -> dict:
    return {
        "w": (("unit", "input"), parameters["weight1"]),
        "a": (("unit",), parameters["weight2"][:, 0]),
    }


def authors_teachers(seed: int, *, device: str = "cpu") -> xr.Dataset:
    """Return a (neuron): the readouts ±1 of the teacher that the authors' code draws at a seed.

    The CPU draws, whatever device is given.

    Settings
    --------
    data : none
    initialization : three neurons as the authors' code draws them, for seeds {seed}
    solved : nothing
    read : their readouts, 1 or −1
    precision : 32 bits, as torch draws them
    """
    return xr.Dataset({"a": ("neuron", authors_draw.problem(seed).teacher_a)})


@takes(tau=positives)
def distances(
    tau: ArrayLike,
    delta: ArrayLike,
    seed: ArrayLike,
    *,
    steps: int,
    record: Sequence[int],
    authors: bool = False,
    precise: bool = False,
    rate: float = 5e-3,
    split: Callable[[xr.Dataset], xr.Dataset] | None = None,
    device: str = "cpu",
) -> xr.Dataset:
    """Train `students` at a learning rate of `rate`/τ² and watch how far they go.

    `steps`, `record`, `authors` and `precise` are those of `students`; `split` returns what else to
    say of one student.

    Returns
    -------
    over (member, step) train and test: mean squared errors, the latter on 10,000 fresh points; and
    the distances from the start: kernel: S between tangent kernels on the training points; hamming:
    how many neurons change sign at a training point, on average; moved: Euclidean, in parameter
    space. Over member: diverged.

    Source: figure 1(b) and its supporting figure.

    Settings
    --------
    as : students
    rate : {rate}/τ², the same for w and a, no momentum
    read : at steps {record}: S = ½ ‖K/‖K‖ − K₀/‖K₀‖‖², Frobenius norms, of the tangent kernel on
        the training points and its first value; the number of neurons whose sign differs from the
        first, averaged over the training points; the distance of all parameters from the first
        ones; the training error, which is the loss, and the same on 10,000 fresh points of the
        sphere
    """
    found = students(
        tau,
        delta,
        seed,
        learning_rate=rate / np.atleast_1d(tau) ** 2,
        steps=steps,
        record=record,
        authors=authors,
        precise=precise,
        device=device,
    )
    seen = []
    for m, s in enumerate(np.broadcast_to(seed, found.sizes["member"])):
        student = found.isel(member=m)
        own = _compare(student, int(s), authors, device)
        seen.append(own if split is None else own.merge(split(student)))
    return (
        xr.concat(seen, "member")
        .assign(train=found.train, diverged=found.diverged)
        .drop_vars("member")
    )


def _compare(student: xr.Dataset, seed: int, authors: bool, device: str) -> xr.Dataset:
    """Compare one student's states with its first, and with its teacher."""
    dimension = student.sizes["input"]
    if authors:
        fresh = authors_draw.fresh(10_000, dimension)
        teacher_w, teacher_a = authors_draw.problem(seed, dimension)[4:]
    else:
        fresh = sphere(np.random.default_rng((seed, 2)), 10_000, dimension)
        teacher_w, teacher_a = teacher(seed, dimension)
    answers = relu_network(teacher_w, teacher_a, fresh)
    ws = torch.tensor(student.w.values, device=device)  # (step, unit, input)
    readouts = torch.tensor(student.a.values, device=device)  # (step, unit)
    x, fresh, answers = (
        torch.tensor(v, dtype=ws.dtype, device=device) for v in (student.x.values, fresh, answers)
    )

    def unit_kernel(w: Tensor, a: Tensor) -> Tensor:
        kernel = two_layer_ntk(w, a, x)
        return kernel / torch.linalg.norm(kernel)

    first = unit_kernel(ws[0], readouts[0])
    signs = ws[0] @ x.T > 0
    found = {"test": [], "kernel": [], "hamming": [], "moved": []}
    for w, a in zip(ws, readouts, strict=True):
        found["test"].append(torch.mean((torch.relu(fresh @ w.T) @ a - answers) ** 2))
        found["kernel"].append(torch.sum((unit_kernel(w, a) - first) ** 2) / 2)
        found["hamming"].append(((w @ x.T > 0) != signs).sum() / len(x))
        found["moved"].append(torch.sqrt(((w - ws[0]) ** 2).sum() + ((a - readouts[0]) ** 2).sum()))
    return xr.Dataset(
        {name: ("step", torch.stack(values).cpu().numpy()) for name, values in found.items()},
        {"step": student.step},
    )


def turns(
    tau: ArrayLike, delta: ArrayLike, seed: ArrayLike, *, layers: bool = False, **options: Any
) -> xr.Dataset:
    """Train as `distances` does, with its `options`, and split
    the turn of the kernel into gates and weights.

    Returns
    -------
    over (member, step) what `distances` returns and gates, weights: the kernel distance with the
    gates (weights) of the step and the first weights (gates). Over member: diverged. With `layers`
    also readouts and inputs: the kernel distance if of the weights a or w alone are those of the
    step.

    Source: `book.piecewise_linear.tangent_kernels.kernel_turn`, for section 5 and figure 1(b).

    Settings
    --------
    as : distances
    read : at steps {record} what `distances` reads; the same S of the kernel with today's gates and
        the first weights, and with the first gates and today's weights, or today's a or w alone
    """
    return distances(tau, delta, seed, split=partial(_split, layers=layers), **options)


def _split(student: xr.Dataset, layers: bool) -> xr.Dataset:
    """Return the parts of the kernel distance of one student's states from its first."""
    w, a, x = (student[name].values for name in ("w", "a", "x"))
    turns = [kernel_turn(w[0], a[0], *state, x) for state in zip(w, a, strict=True)]
    found = {"gates": [turn.gates for turn in turns], "weights": [turn.weights for turn in turns]}
    if layers:
        found["readouts"] = [kernel_turn(w[0], a[0], w[0], one, x).weights for one in a]
        found["inputs"] = [kernel_turn(w[0], a[0], one, a[0], x).weights for one in w]
    return xr.Dataset(
        {name: ("step", np.array(values)) for name, values in found.items()}, {"step": student.step}
    )


def exchanges(tau: ArrayLike, delta: ArrayLike, seed: ArrayLike, **options: Any) -> xr.Dataset:
    """Train as `distances` does, with its `options`, and say how far the kernels that part of
    the change gives are from the true one.

    Returns
    -------
    over (member, step) what `distances` returns and the kernel distance between the kernel of the
    step and that with, gates_left: today's gates and the first weights; weights_left: the first
    gates and today's weights; level_left: the first gates and weights w, and for each readout the
    root mean square of today's.

    Source: new, for section 5.

    Settings
    --------
    as : distances
    read : at steps {record} what `distances` reads; the same S between today's kernel and that
        with today's gates and the first weights, with the first gates and today's weights, and with
        the first gates and w and the root mean square of today's readouts
    """
    return distances(tau, delta, seed, split=_exchange, **options)


def _exchange(student: xr.Dataset) -> xr.Dataset:
    """Return how far exchanged kernels of one student are from its kernel, at each step."""
    w, a, x = (student[name].values for name in ("w", "a", "x"))
    first = x @ w[0].T > 0
    found = {"gates_left": [], "weights_left": [], "level_left": []}
    for w_now, a_now in zip(w, a, strict=True):
        now = x @ w_now.T > 0
        kernel = _gated(now, w_now, a_now, x)
        level = np.full_like(a_now, np.sqrt(np.mean(a_now**2)))
        others = {
            "gates_left": _gated(now, w[0], a[0], x),
            "weights_left": _gated(first, w_now, a_now, x),
            "level_left": _gated(first, w[0], level, x),
        }
        for name, other in others.items():
            found[name].append(kernel_distance(kernel, other))
    return xr.Dataset(
        {name: ("step", np.array(values)) for name, values in found.items()}, {"step": student.step}
    )


def widths(
    width: int,
    p: Sequence[float],
    q: Sequence[float],
    seeds: Sequence[int],
    *,
    steps: int = 800,
    device: str = "cpu",
) -> xr.Dataset:
    r"""Train students of a width h with :math:`\tau^2 = h^{-p}`
    and :math:`\alpha^2 = h^{-q}` until they fit.

    50 points in ten dimensions, float64, with a learning rate of .25 over the size of the first
    kernel and of the fitted one.

    Returns
    -------
    turned (seed, p, q): the angle in radians by which a neuron has turned, median, when the
    training error has fallen to 30 % (or at the end); left (seed, p, q): the training error then,
    over the first.

    Source: section 5, "Connections to infinite-width"; Luo et al. (2021).

    Settings
    --------
    as : students
    data : 50 points, uniform on the unit sphere in 10 dimensions; targets of a teacher with 3
        neurons Σ a relu(w·x), w uniform on the unit sphere, a = 1 or −1, of its own for each seed
    network : f(x) = Σ aₖ relu(wₖ·x), h = {width} neurons, no biases
    initialization : as at `distances`, with τ² = h⁻ᵖ, α² = h^(−q), p in {p}, q in {q}; seeds
        {seeds}
    rate : 0.25 / (h τ²(α² + 1/α²) + 2), the same for w and a, no momentum
    steps : at most {steps}, of which about 60, evenly spaced on a logarithmic scale, are looked at
    stop : none
    read : at the first of these with a training error below 0.3 of the first error, or at the last:
        the median over the neurons of the angle between w and the first w
    precision : 64 bits
    """
    found = [_turn_until_fit(width, p, q, s, steps, device) for s in seeds]
    return xr.concat(found, "seed").assign_coords(seed=list(seeds))


def _turn_until_fit(
    width: int, p: Sequence[float], q: Sequence[float], seed: int, steps: int, device: str
) -> xr.Dataset:
    grid = np.array([(u, v) for u in p for v in q])
    tau2, alpha2 = float(width) ** -grid.T
    found = students(
        np.sqrt(tau2),
        tau2 * (alpha2 - 1 / alpha2),
        seed,
        learning_rate=0.25 / (width * tau2 * (alpha2 + 1 / alpha2) + 2),
        steps=steps,
        record=log_steps(steps, 60),
        dimension=10,
        units=width,
        points=50,
        device=device,
        precise=True,
    )
    share = (found.train / found.train.isel(step=0)).values
    fits = share < 0.3
    moment = np.where(fits.any(axis=1), fits.argmax(axis=1), -1)
    member = np.arange(len(grid))
    first, then = found.w.values[:, 0], found.w.values[member, moment]
    unit = first / np.linalg.norm(first, axis=-1, keepdims=True)
    along = np.sum(then * unit, axis=-1)
    angle = np.arctan2(np.linalg.norm(then - along[..., None] * unit, axis=-1), along)
    values = {"turned": np.median(angle, axis=1), "left": share[member, moment]}
    shape = {"p": list(p), "q": list(q)}
    return xr.Dataset(
        {name: (tuple(shape), v.reshape(len(p), len(q))) for name, v in values.items()}, shape
    )


# The paper's grid; half a minute a network on a core. `lib
# store --budget` does a part of it, seed by seed.
TAU, DELTA = np.logspace(-1, 0.3, 17), np.linspace(-1, 1, 17)
