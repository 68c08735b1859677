"""What networks, training, data and kernels refuse: one sentence, before any work."""

import numpy as np
import pytest
import torch
from sample_networks import Words

from lib import data
from lib.kernels import kernel_distance, ntk
from lib.networks import Convolutional, Dense, LeNet
from lib.training import cross_entropy, half_squared_error, train
from lib.training.schedules import piecewise

NETWORK = Dense((3, 4, 2))
PARAMETERS = NETWORK.initialize(0, 2)
X, Y = np.ones((5, 3)), np.ones((5, 2))
GOOD = {"inputs": X, "targets": Y, "learning_rate": 0.1, "steps": 10}
TRAINING = [
    ({"learning_rate": [0.1] * 3}, "want one number, or one for each of 2 members"),
    (
        {"learning_rate": {"weight1": 0.1}},
        "must name each of the parameters weight1, bias1, weight2, bias2",
    ),
    ({"learning_rate": [0.1, -1]}, "learning_rate must be positive, not -1"),
    ({"record": [0, 11]}, "record must be whole steps that ascend, from 0 to 10 at most"),
    ({"batch_size": 6}, "batch_size is 6: want an integer of at least 1 and at most 5"),
    ({"batch_size": 2, "draw": max}, "batch_size and draw: want one of them"),
    ({"momentum": 0.5, "optimizer": "adam"}, "with sgd only"),
    ({"seed": [1, 2, 3]}, r"seed is \[1, 2, 3\]: want one number, or one for each of 2 members"),
    ({"betas": (0.9, 1.0)}, r"betas are \(0.9, 1.0\): want two numbers in \[0, 1\)"),
    ({"weight_decay": -1.0}, "weight_decay must not be negative"),
    ({"schedule": lambda step: -1}, "schedule gives -1.0 at update 0: want a number of at least 0"),
    (
        {"test": (np.ones((4, 3)), np.ones((5, 2)))},
        r"test inputs \(4, 3\) and targets \(5, 2\): want as many",
    ),
    ({"layers": 1}, "layer 1: hidden layers are numbered 0 to 0"),
    (
        {"inputs": np.ones((3, 5, 3))},
        r"inputs have shape \(3, 5, 3\): want \(n, 3\), or \(2, n, 3\)",
    ),
    (
        {"targets": np.ones((5, 1))},
        r"targets are \(5, 1\) for each member: want \(5, 2\), points and outputs",
    ),
    (
        {"targets": np.full(5, 2), "loss": cross_entropy},
        r"want \(5,\) labels, whole numbers from 0 to 1",
    ),
    ({"stop_when": lambda seen: seen["loss"]}, "stop_when gives float32 .*: want a mask"),
    ({"metrics": {"loss": half_squared_error}}, "the name 'loss', which is taken"),
    (
        {"metrics": {"a": lambda outputs, targets: outputs.mean()}},
        r"metrics\['a'\] gives a Tensor of shape \(\): want a tensor \(1,\)",
    ),
    (
        {"loss": lambda outputs, targets: ((outputs - targets) ** 2).mean()},
        r"loss gives a Tensor of shape \(\): want a tensor \(2,\), one number for each member",
    ),
    (
        {"observe": lambda parameters, outputs, hidden: {"step": ((), outputs[:, 0, 0])}},
        "the name 'step', which is taken",
    ),
    (
        {"observe": lambda parameters, outputs, hidden: {"a": ((), outputs[:, 0, 0].numpy())}},
        r"observe\['a'\] is a ndarray of shape \(1,\): want dimensions and a tensor",
    ),
    (
        {"observe": lambda parameters, outputs, hidden: {"a": (("x",), outputs[:, 0, 0])}},
        "want a name of its own for each axis but the member's",
    ),
    ({"draw": lambda member, step: (X[:, :2], Y)}, r"draw gives \(5, 2\): want \(b, 3\)"),
    ({"draw": lambda member, step: (X[:0], Y[:0])}, r"draw gives \(0, 3\): want \(b, 3\)"),
    (
        {"draw": lambda member, step: (X[: 4 + member], Y[: 4 + member])},
        r"draw gives \(4, 3\) and \(5, 3\): want \(b, 3\), b the same for each member",
    ),
    ({"draw": lambda member, step: (X,)}, r"draw\(0, 0\) has length 1: want two parts"),
    (
        {"draw": lambda member, step: (np.ma.masked_greater(X, 0), Y)},
        r"draw\(0, 0\)\[0\] has masked entries",
    ),
    (
        {"parameters": PARAMETERS | {"bias2": torch.zeros(2, 3)}},
        r"parameters\['bias2'\] has shape \(2, 3\)",
    ),
    ({"parameters": {"weight1": PARAMETERS["weight1"]}}, r"parameters\['bias1'\] has shape None"),
]


# Parameters in other forms, and what is said of them.
FORMS = [
    (torch.Tensor.half, "parameters are of torch.float16: want float32 or float64 in all"),
    (torch.Tensor.long, "parameters are of torch.int64: want"),
    (lambda value: value + 0j, r"parameters\['weight1'\] is a tensor of torch.complex64"),
    (lambda value: value.to("meta"), "on meta: want real numbers"),
    (torch.Tensor.to_sparse, "torch.sparse_coo, on cpu: want real numbers"),
    (torch.Tensor.numpy, r"parameters\['weight1'\] is of type ndarray: want a tensor"),
    (
        lambda value: value.double() if value.ndim == 2 else value,
        "parameters are of torch.float32, torch.float64: want float32 or float64 in all",
    ),
]


@pytest.mark.parametrize("change, message", FORMS, ids=[message[:30] for _, message in FORMS])
def test_parameters_have_one_of_two_precisions(change, message):
    parameters = {name: change(value) for name, value in PARAMETERS.items()}
    with pytest.raises(TypeError, match=message):
        train(NETWORK, parameters, **GOOD)
    with pytest.raises(TypeError, match=message):
        ntk(NETWORK, parameters, X)


@pytest.mark.parametrize("kind", [torch.uint8, torch.bool, torch.float32])
def test_a_loss_names_the_type_of_labels(kind):
    with pytest.raises(TypeError, match=f"labels are of {kind}: want torch.int64"):
        cross_entropy(torch.ones(3, 2), torch.ones(3).to(kind))


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.float16, "float64"])
def test_parameters_are_drawn_in_one_of_two_precisions(dtype):
    with pytest.raises(ValueError, match=r"dtype is .*: want torch.float32 or torch.float64"):
        NETWORK.initialize(dtype=dtype)


@pytest.mark.parametrize(
    "network, message",
    [
        (lambda one, points, layers: points @ one["w"].mT, "network must give a pair"),
        (None, "network is of type NoneType"),
    ],
)
def test_a_kernel_wants_outputs_and_representations(network, message):
    with pytest.raises(TypeError, match=message):
        ntk(network, {"w": torch.ones(1, 3, 2)}, np.ones((4, 2)))


def on_tokens(tokens):
    network = Words()
    train(
        network,
        network.initialize(),
        np.array([tokens]),
        np.array([0]),
        loss=cross_entropy,
        learning_rate=0.1,
        steps=1,
    )


EYE = np.eye(2)
CALLS = [
    (lambda: on_tokens([0, 1, 5]), "inputs are tokens: want whole numbers from 0 to 4"),
    (lambda: piecewise([0, 1], [1]), "want equally many, and steps that ascend"),
    (lambda: Convolutional(convolutions=1), "at least 2 convolutions"),
    (lambda: Dense((1, 1)), r"widths \(1, 1\): want inputs, at least one hidden layer, outputs"),
    (lambda: Dense((1, 2, 3, 1), skip=True), "skip connections need hidden layers of one width"),
    (lambda: Dense((1, 2, 1), dropout=1.0), "dropout is 1.0: want a probability below 1"),
    (lambda: Dense((1, 2, 2, 1)).layers((0, -1)), "layer -1: hidden layers are numbered 0 to 1"),
    (
        lambda: Dense((1, 2, 1)).initialize(members=2, gain=[1, 1, 1]),
        "one positive gain or one for each",
    ),
    (lambda: data.nlgp(0, 3, 5, (1, 0), 1), "want two positive correlation lengths"),
    (lambda: data.gaussian_clone(0, 3, np.eye(2), np.eye(3)), "do not fit"),
    (lambda: data.single_pulse(0, 3, 30, ((0.2, 0.1), (0, 0.1))), "0 <= low < high <= 1"),
    (lambda: data.single_pulse(0, 3, 5, ((0.1, 0.15), (0.5, 1))), "no whole number of sites"),
    (
        lambda: kernel_distance(EYE, np.ones((1, 1))),
        r"k0 is \(2, 2\) and kt is \(1, 1\): want .* same points",
    ),
    (lambda: kernel_distance(EYE, np.stack([EYE, 0 * EYE])), "kt is zero, so it has no direction"),
    (lambda: ntk(NETWORK, PARAMETERS, np.ones((3, 4, 3))), r"inputs \(3, 4, 3\) do not fit"),
    (lambda: ntk(NETWORK, PARAMETERS, np.ones((2, 4, 5))), r"inputs \(2, 4, 5\) do not fit"),
    (
        lambda: ntk(NETWORK, PARAMETERS, np.ones(2)),
        r"inputs \(2,\) do not fit: want \(n, 3\), or \(2, n, 3\)",
    ),
    (
        lambda: ntk(LeNet(), {"w": torch.ones(2, 1), "b": torch.ones(3)}, EYE),
        "one and the same member axis",
    ),
]


@pytest.mark.parametrize("change, message", TRAINING, ids=lambda value: str(value)[:30])
def test_training_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        train(NETWORK, **{"parameters": PARAMETERS, **GOOD, **change})


@pytest.mark.parametrize("call, message", CALLS, ids=[message[:30] for _, message in CALLS])
def test_what_does_not_exist_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
