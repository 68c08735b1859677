"""The workloads, at the sizes of the chapters and the stored runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evidence.speed import formulas, training
from evidence.speed.case import Case


@dataclass(frozen=True)
class Workload:
    """What is measured.

    Attributes
    ----------
    title, step : what is computed, and what a step of it is, for the page
    build : from a device and sizes by axis, a case
    sizes : those of the book
    axes : by axis, the sizes from which a slope is taken
    cuda : sizes that differ on a GPU
    """

    title: str
    step: str
    build: Callable[..., Case]
    sizes: Mapping[str, int]
    axes: Mapping[str, Sequence[int]]
    cuda: Mapping[str, int] = field(default_factory=dict)


WORKLOADS = {
    "two_point": Workload(
        "two points",
        "a step of gradient descent on all points",
        training.two_points,
        {"members": 1, "width": 500, "depth": 20, "points": 2},
        {"members": (1, 2, 4), "width": (250, 500, 1000), "depth": (10, 20, 40), "points": (2, 4, 8, 16)},
        {"members": 25},
    ),
    "xor": Workload(
        "XOR",
        "a step of gradient descent on the four points",
        training.xor,
        {"members": 5, "width": 500, "depth": 20},
        {"members": (1, 2, 4), "width": (250, 500, 1000), "depth": (10, 20, 40)},
    ),
    "teacher_student": Workload(
        "teacher and student",
        "a step of gradient descent on all points, which have 100 coordinates",
        training.teacher_student,
        {"members": 1, "width": 50, "points": 1000},
        {"members": (1, 2, 4, 8), "width": (50, 100, 200, 400), "points": (500, 1000, 2000, 4000)},
        {"members": 289},
    ),
    "receptive_fields": Workload(
        "receptive fields",
        "a step of gradient descent on a fresh batch of the nonlinear Gaussian process on 40 sites",
        training.receptive_fields,
        {"members": 1, "width": 100, "points": 1000},
        {"members": (1, 2, 4), "width": (50, 100, 200, 400), "points": (500, 1000, 2000, 4000)},
    ),
    "hierarchy": Workload(
        "random hierarchy",
        "a step of descent with momentum on a batch of strings",
        training.hierarchy,
        {"members": 12, "width": 64, "depth": 3, "points": 128},
        {"members": (6, 12, 24), "width": (64, 128, 256), "depth": (3, 6, 12), "points": (128, 256, 512, 1024)},
        {"members": 36},
    ),
    "grokking": Workload(
        "transformer",
        "a step of Adam on a batch of strings",
        training.grokking,
        {"members": 6, "width": 128, "points": 512},
        {"members": (2, 4, 8), "width": (64, 128, 256), "points": (256, 512, 1024)},
        {"members": 125},
    ),
    "lenet_kernel": Workload(
        "tangent kernel of LeNet-5",
        "one kernel, traced over 10 outputs",
        formulas.lenet_kernel,
        {"members": 1, "points": 64},
        {"members": (1, 2, 4), "points": (16, 32, 64)},
    ),
    "dense_kernel": Workload(
        "tangent kernel of a dense network",
        "one kernel, traced over 8 outputs",
        formulas.dense_kernel,
        {"members": 1, "width": 64, "depth": 3, "points": 64},
        {"members": (1, 2, 4), "width": (64, 128, 256), "depth": (3, 6, 12), "points": (64, 128, 256)},
    ),
    "exact_neuron": Workload(
        "exact solution of a neuron",
        "one trajectory; the width is that of the input, the points are times",
        formulas.exact_neuron,
        {"members": 7, "width": 2, "points": 400},
        {"members": (7, 14, 28), "width": (16, 64, 256), "points": (1000, 10_000, 100_000)},
    ),
    "exact_modes": Workload(
        "exact solution of linear modes",
        "all modes of one network; the width is their number, the points are times",
        formulas.exact_modes,
        {"members": 2, "width": 4, "points": 200},
        {"members": (2, 4, 8), "width": (16, 64, 256), "points": (1000, 10_000, 100_000)},
    ),
}
