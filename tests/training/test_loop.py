"""Training against a loop of torch.optim for each member; records,
early stop, divergence; members do not feel each other.
"""

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from observing import everything
from plain_training import assert_plain
from torch.nn import functional

from lib.networks import ACTIVATIONS, Committee, Convolutional, Dense
from lib.training import cross_entropy, half_squared_error, log_steps, loop, train
from lib.training.schedules import cosine, piecewise, warm_up

NETWORKS = {
    "dense": Dense((3, 7, 5, 2), "elu"),
    "skip": Dense((3, 6, 6, 6, 2), "swish", skip=True),
    "dropout": Dense((3, 6, 7, 2), "tanh", dropout=0.3),
    "convolutional": Convolutional(
        3, 2, units=13, convolutions=3, channels=4, kernel=3, activation="elu"
    ),
}


def data(points, *members, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*members, points, 3)), rng.normal(size=(*members, points, 2))


METHODS = [  # with the networks that are trained by them
    ({}, "dense skip dropout convolutional"),
    ({"momentum": 0.9}, "skip"),
    ({"optimizer": "adam"}, "dense skip dropout convolutional"),
    (
        {"batch_size": 4},
        "dense skip dropout convolutional",
    ),  # of 10 points: the last batch of an epoch has two
    ({"batch_size": 10}, "dense"),
    ({"batch_size": 1, "momentum": 0.5}, "dropout"),
    ({"momentum": 0.9, "nesterov": True}, "convolutional"),
    ({"optimizer": "adam", "betas": (0.7, 0.98)}, "dense"),
    ({"schedule": cosine(7, 0.8)}, "skip"),
    (
        {
            "batch_size": 5,
            "momentum": 0.9,
            "nesterov": True,
            "schedule": piecewise([0, 3, 6], [0, 2, 0.5]),
        },
        "dense convolutional",
    ),
    ({"weight_decay": 0.5}, "dense dropout"),
    (
        {"optimizer": "adam", "weight_decay": 0.5, "batch_size": 5, "schedule": warm_up(4)},
        "dropout convolutional",
    ),
]
CASES = [(name, method) for method, names in METHODS for name in names.split()]
CASE_NAMES = [f"{name}-{'-'.join(method)}" for name, method in CASES]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_fresh_batches_are_those_that_are_drawn(optimizer):
    network = Committee(3, 4, "tanh", bias=True)
    inputs, targets = data(6)

    def draw(member, step):
        inputs, targets = data(5, seed=(member, step))
        return inputs, targets[:, :1]

    given = network.initialize(0, 2, dtype=torch.float64), inputs, targets[:, :1]
    assert_plain(network, *given, draw=draw, learning_rate=0.1, optimizer=optimizer, steps=6)


@pytest.mark.parametrize("name, method", CASES, ids=CASE_NAMES)
def test_train_is_the_plain_loop(name, method):
    network, (inputs, targets) = NETWORKS[name], data(10)
    parameters = network.initialize(1, 3, dtype=torch.float64)
    settings = {"learning_rate": 0.02, "steps": 7, "seed": 5} | method
    found = assert_plain(network, parameters, inputs, targets, **settings)
    assert found.loss.dims == ("member", "step") and found.weight1.dims == (
        "member",
        "step",
        "weight1_1",
        "weight1_2",
    )
    np.testing.assert_array_equal(found.step, range(8))
    assert len(set(found.loss.values[:, -1])) == 3


@given(
    seed=st.integers(0, 1000),
    points=st.integers(1, 20),
    batch=st.integers(1, 20),
    members=st.integers(1, 3),
    own=st.booleans(),
    method=st.sampled_from([{}, {"optimizer": "adam"}, {"momentum": 0.7}]),
)
@settings(max_examples=25)
def test_batches_of_any_size_and_data(seed, points, batch, members, own, method):
    network = Dense((3, 4, 2), "tanh")
    inputs, targets = data(points, *[members] * own, seed=seed)
    parameters = network.initialize(seed, members, dtype=torch.float64)
    settings = {
        "learning_rate": 0.05,
        "steps": 9,
        "batch_size": min(batch, points),
        "seed": seed,
    } | method
    assert_plain(network, parameters, inputs, targets, own, **settings)


@pytest.mark.parametrize(
    "what, name, method, own",
    [
        ("learning_rate", "dense", {}, True),
        ("learning_rate", "dense", {"optimizer": "adam"}, False),
        ("learning_rate", "convolutional", {"momentum": 0.9}, True),
        ("weight_decay", "convolutional", {}, False),  # torch lets the decay enter the momentum
        ("weight_decay", "dense", {"optimizer": "adam"}, True),
    ],
)
def test_rates_and_decays_of_members_and_parameters(what, name, method, own):
    network, (inputs, targets) = NETWORKS[name], data(4, *[3] * own)
    parameters = network.initialize(1, 3, dtype=torch.float64)
    members = np.array([0.01, 0.03, 0.002] if what == "learning_rate" else [0.0, 0.5, 2.0])
    both = {key: members * (i + 1) if i % 2 else 0.01 for i, key in enumerate(parameters)}
    for values in (list(members), both):

        def each(m, values=values):
            if isinstance(values, dict):
                return {
                    what: {
                        key: value if np.ndim(value) == 0 else value[m]
                        for key, value in values.items()
                    }
                }
            return {what: values[m]}

        settings = {"learning_rate": 0.05, "steps": 3} | method | {what: values}
        assert_plain(network, parameters, inputs, targets, own, each, **settings)


def test_weight_decay_does_not_enter_the_momentum():
    """As Loshchilov & Hutter's SGDW, and unlike torch's SGD: θ ← (1 − λη) θ − η v."""
    network, (inputs, targets) = NETWORKS["dense"], data(4)
    parameters = network.initialize(1, 1, dtype=torch.float64)
    settings = {"learning_rate": 0.05, "momentum": 0.9, "observe": everything}
    found = train(network, parameters, inputs, targets, weight_decay=2.0, steps=3, **settings)
    theta, speed = (
        {name: value[0] for name, value in parameters.items()},
        {name: 0.0 for name in parameters},
    )
    for _ in range(3):
        leaves = {name: value.requires_grad_() for name, value in theta.items()}
        loss = half_squared_error(
            network(leaves, torch.from_numpy(inputs))[0], torch.from_numpy(targets)
        )
        gradients = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
        speed = {name: 0.9 * speed[name] + gradients[name] for name in theta}
        theta = {name: (0.9 * theta[name] - 0.05 * speed[name]).detach() for name in theta}
    for name, value in theta.items():
        np.testing.assert_allclose(found[name][0, -1], value, rtol=1e-9, atol=1e-12)


def test_cross_entropy_is_torchs_and_stable():
    outputs, labels = 3 * torch.randn(4, 6, 5, dtype=torch.float64), torch.randint(5, (4, 6))
    expected = functional.cross_entropy(outputs.movedim(-1, 1), labels, reduction="none").mean(-1)
    torch.testing.assert_close(cross_entropy(outputs, labels), expected)
    torch.testing.assert_close(
        cross_entropy(outputs, labels[0])[0], expected[0]
    )  # labels that all members share
    huge = torch.tensor([[[1e4, -1e4, 0.0]], [[-1e4, 1e4, 0.0]]], requires_grad=True)
    loss = cross_entropy(huge, torch.tensor([0]))
    loss.sum().backward()
    assert loss.tolist() == [0.0, 2e4] and huge.grad.isfinite().all()


@pytest.mark.parametrize(
    "name, method, own", [("dense", {}, False), ("convolutional", {"optimizer": "adam"}, True)]
)
def test_observables_metrics_and_a_test_set(name, method, own):
    """At each recorded step: loss and metrics at the training points
    and at others that nobody learns from; hidden layers.
    """
    network, (inputs, targets) = NETWORKS[name], data(5, *[3] * own)
    test, parameters = data(8, *[3] * own, seed=1), network.initialize(0, 3, dtype=torch.float64)

    def far(outputs, targets):
        return (outputs - targets).abs().amax((-1, -2))

    settings = {
        "learning_rate": 0.1,
        "steps": 4,
        "record": [0, 1, 4],
        "observe": everything,
        "layers": (1, 0),
    } | method
    found = train(network, parameters, inputs, targets, metrics={"far": far}, test=test, **settings)
    without = train(network, parameters, inputs, targets, **settings)
    assert found.drop_vars(["far", "test_loss", "test_far"]).identical(without)
    for m, i in np.ndindex(3, 3):
        state = {key: torch.from_numpy(found[key].values[m, i]) for key in parameters}
        for prefix, (x, y) in (("", (inputs, targets)), ("test_", test)):
            x, y = (torch.from_numpy(v[m] if own else v) for v in (x, y))
            outputs, hidden = network(state, x, (1, 0))
            np.testing.assert_allclose(
                found[f"{prefix}loss"][m, i], half_squared_error(outputs, y), rtol=1e-12
            )
            np.testing.assert_allclose(found[f"{prefix}far"][m, i], far(outputs, y), rtol=1e-12)
            if not prefix:
                for layer, h in enumerate(hidden):
                    np.testing.assert_allclose(found[f"hidden{layer}"][m, i], h, rtol=1e-12)


def test_what_is_passed_in_stays_as_it_is():
    network, (inputs, targets) = NETWORKS["dense"], data(4)
    parameters = {name: value.requires_grad_() for name, value in network.initialize(0, 2).items()}
    before, inputs_before = (
        {name: value.detach().clone() for name, value in parameters.items()},
        inputs.copy(),
    )
    for optimizer in ("sgd", "adam"):
        train(network, parameters, inputs, targets, learning_rate=0.1, steps=3, optimizer=optimizer)
    assert all(
        torch.equal(value, before[name]) and value.grad is None
        for name, value in parameters.items()
    )
    np.testing.assert_array_equal(inputs, inputs_before)


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])  # the compiled path and torch's
@pytest.mark.parametrize("record", [[0], [1, 2, 5], log_steps(7, 4)], ids=str)
def test_records_are_a_part_of_all_records(optimizer, record):
    network, (inputs, targets) = NETWORKS["dense"], data(5)
    parameters = network.initialize(0, 2)
    settings = {"learning_rate": 0.05, "steps": 7, "optimizer": optimizer, "observe": everything}
    dense = train(network, parameters, inputs, targets, **settings)
    some = train(network, parameters, inputs, targets, record=record, **settings)
    assert some.step.values.tolist() == list(record)
    assert some.identical(dense.sel(step=some.step.values))


@given(steps=st.integers(1, 100_000), count=st.integers(2, 300))
def test_log_steps_ascend_evenly(steps, count):
    found = log_steps(steps, count)
    assert found[0] == 0 and found[1] == 1 and found[-1] == steps and found.dtype.kind == "i"
    assert np.all(np.diff(found) > 0) and len(found) <= count + 1
    ratios = found[2:] / found[1:-1]  # a ratio is at most the even one, or the next integer
    assert np.all(
        (ratios <= steps ** (1 / (count - 1)) * (1 + 1 / found[1:-1])) | (np.diff(found)[1:] == 1)
    )


def test_members_of_one_seed_share_their_batches_and_masks():
    network, (inputs, targets) = NETWORKS["dropout"], data(9)
    parameters = network.initialize(0, 1, dtype=torch.float64)
    three = {name: value.repeat(3, *[1] * (value.ndim - 1)) for name, value in parameters.items()}
    settings = {"learning_rate": 0.1, "steps": 9, "batch_size": 2}
    found = train(network, three, inputs, targets, seed=[5, 2, 5], **settings).loss
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(
        found[1], train(network, parameters, inputs, targets, seed=[2], **settings).loss[0]
    )
    assert np.all(found[0, 1:] != found[1, 1:])


# --- early stop and divergence --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, method",
    [("dense", {}), ("skip", {"momentum": 0.5}), ("convolutional", {"batch_size": 2})],
)
def test_a_member_that_diverges_leaves_the_others(name, method):
    network, (inputs, targets) = NETWORKS[name], data(4)
    parameters = network.initialize(0, 3, dtype=torch.float64)
    settings = {"steps": 40, "observe": everything} | method
    found = train(network, parameters, inputs, targets, learning_rate=[0.01, 1e4, 0.02], **settings)
    lost = np.flatnonzero(~np.isfinite(found.loss[1]))
    assert found.diverged.values.tolist() == [-1, lost[0], -1] and lost[0] > 0
    assert np.all(found.stopped == -1)
    for last in (
        found.isel(member=1, step=slice(int(lost[0]), None))
        .drop_vars(["stopped", "diverged"])
        .values()
    ):
        assert np.array_equal(last, np.broadcast_to(last[0], last.shape), equal_nan=True)
    for m, rate in ((0, 0.01), (2, 0.02)):
        calm = train(
            network, parameters, inputs, targets, learning_rate=[0.01, rate, 0.02], **settings
        )
        assert found.isel(member=m).identical(calm.isel(member=m))
        assert np.all(np.isfinite(calm.loss))
    sparse = train(
        network,
        parameters,
        inputs,
        targets,
        learning_rate=[0.01, 1e4, 0.02],
        record=[0, 40],
        **settings,
    )
    assert sparse.diverged.values.tolist() == [-1, 40, -1]  # the record at which it is seen


# --- who trains beside whom -----------------------------------------------------------------------


@pytest.mark.parametrize("name, method", CASES, ids=CASE_NAMES)
def test_one_member_is_bitwise_the_same_among_many(name, method):
    """With data of each member's own where the method has batches."""
    own = "batch_size" in method
    network, (inputs, targets) = NETWORKS[name], data(10, *[5] * own)
    parameters = network.initialize(3, 5, dtype=torch.float64)
    settings = {"learning_rate": 0.03, "steps": 6, "observe": everything, "seed": 1} | method
    many = train(network, parameters, inputs, targets, **settings)
    for few in (1, 3):
        x, y = (inputs[:few], targets[:few]) if own else (inputs, targets)
        found = train(
            network, {key: value[:few] for key, value in parameters.items()}, x, y, **settings
        )
        assert found.identical(many.isel(member=slice(few)))


@given(
    seed=st.integers(0, 1000),
    widths=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    activation=st.sampled_from(list(ACTIVATIONS)),
    points=st.integers(1, 70),
    members=st.integers(2, 9),
    batch=st.integers(1, 70),
    optimizer=st.sampled_from(["sgd", "adam"]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
@example(
    0, [2, 29], "linear", 7, 2, 7, "adam", torch.float64
)  # odd sizes: members lie at odd places in memory
@settings(max_examples=40)
def test_any_member_is_bitwise_the_same_alone(
    seed, widths, activation, points, members, batch, optimizer, dtype
):
    network, (inputs, targets) = Dense((3, *widths, 2), activation), data(points, seed=seed)
    parameters = network.initialize(seed, members, dtype=dtype)
    settings = {"learning_rate": 0.01, "steps": 4, "observe": everything, "optimizer": optimizer}
    settings["batch_size"] = min(batch, points)
    many = train(network, parameters, inputs, targets, **settings)
    for few in (1, 2):
        found = train(
            network,
            {key: value[:few] for key, value in parameters.items()},
            inputs,
            targets,
            **settings,
        )
        if dtype == torch.float64 or few > 1:
            assert found.identical(many.isel(member=slice(few)))
        else:
            xr.testing.assert_allclose(found, many.isel(member=[0]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "widths, points", [((3, 31, 1), 13), ((2, 500, 1), 4), ((3, 500, 100, 1), 64)], ids=str
)
def test_a_member_with_one_output_is_bitwise_the_same_alone(widths, points):
    """Here the library for matrix products multiplies one
    matrix in another order than each of many.
    """
    network, (inputs, targets) = Dense(widths), data(points)
    parameters = network.initialize(0, 3, dtype=torch.float64)
    settings = {"learning_rate": 0.01, "steps": 9, "optimizer": "adam", "observe": everything}
    many, alone = (
        train(
            network,
            {key: value[:m] for key, value in parameters.items()},
            inputs[:, : widths[0]],
            targets[:, :1],
            **settings,
        )
        for m in (3, 1)
    )
    assert alone.identical(many.isel(member=[0]))


def test_the_number_of_threads_does_not_matter(monkeypatch):
    network, (inputs, targets), runs = NETWORKS["skip"], data(3, 6), []
    for threads in (1, 2, 7):
        monkeypatch.setattr(loop, "cpu_count", lambda threads=threads: threads)
        parameters = network.initialize(3, 6)
        runs.append(
            train(
                network,
                parameters,
                inputs,
                targets,
                learning_rate=0.05,
                steps=30,
                observe=everything,
            )
        )
    assert runs[0].identical(runs[1]) and runs[0].identical(runs[2])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_gpu_agrees_with_the_cpu_to_rounding(name):
    network, (inputs, targets) = NETWORKS[name], data(10)
    settings = {"learning_rate": 0.03, "steps": 12, "observe": everything, "batch_size": 4}
    runs = []
    for device in ("cpu", "cuda"):
        parameters = network.initialize(3, 5, dtype=torch.float64, device=device)
        runs.append(train(network, parameters, inputs, targets, **settings))
    for key in runs[0].data_vars:
        np.testing.assert_allclose(runs[0][key], runs[1][key], rtol=1e-9, atol=1e-12)
