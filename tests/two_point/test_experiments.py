"""The experiments at sizes of a second: names, order, and what must not depend on what."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from book.two_point import experiments, measures, settings, toys
from book.two_point.placement import placement
from book.two_point.settings import TABLE_1, TABLE_2, Setting
from lib.training import train

SMALL = Setting(units=6, hidden_layers=4, epochs=40, learning_rate=0.02)


@pytest.mark.parametrize(
    "setting",
    [
        SMALL,
        replace(SMALL, architecture="skip"),
        replace(SMALL, architecture="dropout"),
        replace(SMALL, architecture="convolutional", units=60),
        replace(SMALL, optimizer="adam", learning_rate=1e-3),
        replace(SMALL, activation="tanh", gain=0.5),
    ],
    ids=lambda setting: f"{setting.architecture}-{setting.activation}-{setting.optimizer}",
)
def test_dynamics(setting):
    found = experiments.dynamics(setting, trials=2)
    assert all(found[name].dims == ("trial", "step") for name in ("loss", "dh2", "dy2", "w"))
    np.testing.assert_array_equal(found.step, [0, 10, 20, 30, 40])
    every = experiments.dynamics(setting, trials=2, every=20, all_layers=True)
    assert every.dh2.dims == ("trial", "step", "layer") and every.layer.values.tolist() == list(
        range(setting.network().depth)
    )
    middle = every.dh2.sel(layer=setting.hidden_layers // 2, drop=True)
    assert middle.identical(found.dh2.sel(step=[0, 20, 40]))
    assert found.identical(experiments.dynamics(setting, trials=2))
    assert not found.equals(experiments.dynamics(setting, trials=2, seed=1))
    xr.testing.assert_allclose(
        found.isel(trial=[0]), experiments.dynamics(setting, trials=1), rtol=1e-4, atol=1e-6
    )
    if setting.architecture != "dropout":
        assert np.all(found.loss.isel(step=-1) < found.loss.isel(step=0))


@pytest.mark.parametrize("speed, epochs", [(1.0, 2000), (1.0, 120), (2.0, 120)])
def test_final_distance_has_each_pair_in_its_place(monkeypatch, speed, epochs):
    setting = replace(SMALL, learning_rate=0.05, activation="tanh")
    monkeypatch.setitem(settings.FIGURE_5, "small", setting)
    grid = {"input_distances": (0.5, 1.0, 1.5), "target_distances": (0.25, 1.0)}
    found = experiments.final_distance("small", **grid, speed=speed, epochs=epochs, seed=3)
    assert set(found.data_vars) == {"loss", "dh2", "dy2"} and found.moment.values.tolist() == [
        "start",
        "end",
    ]
    assert found.dh2.dims == (
        "moment",
        "input_distance",
        "target_distance",
    ) and found.dh2.shape == (2, 3, 2)
    network, member, steps = setting.network(), 0, int(epochs / speed)
    for dx in grid["input_distances"]:
        for dy in grid["target_distances"]:
            inputs, targets = toys.two_points(dx, dy)
            parameters = {
                name: value[member : member + 1] for name, value in network.initialize(3, 6).items()
            }
            apart = train(
                network,
                parameters,
                inputs,
                targets,
                learning_rate=0.02 * speed,
                steps=steps,
                record=np.unique([*range(0, steps, 50), steps]),
                observe=measures.two_points(targets),
                layers=2,
                stop_below=1e-4,
            )
            here = found.sel(input_distance=dx, target_distance=dy)
            for name in ("loss", "dy2"):
                np.testing.assert_allclose(
                    here[name], apart[name].isel(member=0, step=[0, -1]), rtol=1e-4, atol=1e-7
                )
            np.testing.assert_allclose(
                here.dh2, apart.dh2.isel(member=0, step=[0, -1], layer=0), rtol=1e-4, atol=1e-7
            )
            member += 1
    if epochs == 2000:
        assert np.all(found.loss.sel(moment="end") < 1e-4)
        np.testing.assert_allclose(
            found.dy2.sel(moment="end") ** 0.5, np.broadcast_to([0.25, 1], (3, 2)), atol=0.04
        )


def test_final_distance_takes_other_units():
    one = dict(input_distances=(1.0,), target_distances=(0.5,), epochs=50)
    found = experiments.final_distance("two layers", units=4, seed=3, **one)
    setting = replace(settings.FIGURE_5["two layers"], units=4)
    encoder = setting.network().initialize(3, 1, setting.gain)["weight1"][0]
    np.testing.assert_allclose(found.dh2.sel(moment="start"), (encoder**2).sum(), rtol=1e-5)


def test_placement_trains_each_pair_from_its_first_input(monkeypatch):
    seen, train_in_full = {}, Setting.train

    def brief(setting, inputs, targets, *rest, record, **options):
        seen.update(inputs=inputs[..., 0], targets=targets[..., 0])
        small = replace(setting, units=4)
        return train_in_full(small, inputs, targets, *rest, record=record[:2], **options)

    monkeypatch.setattr(Setting, "train", brief)
    found = placement(4, 0.5, input_distances=(0.5, 1.5), target_distances=(0.25, 1.0), seed=3)
    assert seen["inputs"].tolist() == [[0.5, 1.0], [0.5, 1.0], [0.5, 2.0], [0.5, 2.0]]
    np.testing.assert_allclose(seen["targets"], [[0.6, 0.85], [0.6, 1.6]] * 2)
    network = replace(SMALL, units=4).network()
    parameters = network.initialize(3, 4, 1.0)
    inputs = torch.tensor(seen["inputs"], dtype=torch.float32)[..., None]
    _, (hidden,) = network(parameters, inputs, (2,))
    start = ((hidden[:, 1] - hidden[:, 0]) ** 2).sum(-1)
    np.testing.assert_allclose(found.dh2.sel(moment="start").values.ravel(), start, rtol=1e-4)


def test_xor():
    setting = replace(SMALL, epochs=800, activation="tanh", learning_rate=0.1)
    found = experiments.xor(setting, trials=2)
    assert found.outputs.dims == ("trial", "moment", "point", "output") and found.outputs.shape == (
        2,
        2,
        4,
        1,
    )
    assert found.distance2.dims == (
        "trial",
        "moment",
        "point",
        "other",
    ) and found.distance2.shape == (2, 2, 4, 4)
    np.testing.assert_allclose(
        found.outputs.sel(moment="end").squeeze(), [[0, 1, 1, 0]] * 2, atol=0.1
    )
    expected = np.sum((found.outputs.values[..., 0] - [0, 1, 1, 0]) ** 2, -1) / 8
    np.testing.assert_allclose(found.loss.transpose("trial", "moment"), expected, rtol=1e-4)
    assert found.isel(trial=[0]).identical(experiments.xor(setting))
    assert not found.equals(experiments.xor(setting, trials=2, seed=1))


def test_blobs():
    setting = replace(SMALL, epochs=3, learning_rate=0.05)
    found = experiments.blobs(setting, side=6, trials=2)
    assert found.place.dims == ("moment", "point", "axis") and found.place.shape == (2, 72, 3)
    assert found.spread.dims == (
        "trial",
        "moment",
        "context",
        "feature",
    ) and found.spread.shape == (2, 2, 2, 2)
    assert found.apart.dims == ("trial", "moment") and "hidden" not in found
    xr.testing.assert_allclose(
        found.isel(trial=[0]), experiments.blobs(setting, side=6), rtol=1e-3, atol=1e-5
    )
    assert not found.equals(experiments.blobs(setting, side=6, trials=2, seed=1))

    inputs, _, features = toys.blobs(6)
    network = setting.network(inputs=27)
    hidden = (
        network(network.initialize(0, 2), torch.from_numpy(inputs).float(), 2)[1][0]
        .double()
        .numpy()
    )
    for trial in range(2):
        means = {}
        for context in range(2):
            inside = features.context == context
            means[context] = hidden[trial][inside].mean(axis=0)
            for i, feature in enumerate((features.x, features.y)):
                rows = [
                    hidden[trial][inside & (feature == value)].mean(axis=0)
                    for value in np.unique(feature)
                ]
                spread = sum(np.var([row[unit] for row in rows]) for unit in range(6))
                np.testing.assert_allclose(found.spread[trial, 0, context, i], spread, rtol=1e-4)
        np.testing.assert_allclose(
            found.apart[trial, 0], np.sum((means[0] - means[1]) ** 2), rtol=1e-4
        )
    np.testing.assert_allclose(found.place[0], measures.principal_axes(hidden[0], 3), atol=1e-4)


@pytest.mark.parametrize(
    "name, optimizer, rate, outputs",
    [("sgd", torch.optim.SGD, 0.02, 1), ("adam", torch.optim.Adam, 2e-4, 10)],
)
def test_digits_are_trained_as_the_authors_do(monkeypatch, name, optimizer, rate, outputs):
    """The loss is a mean over outputs; with their sum Adam takes
    the same steps but for its ε, which matters here.
    """
    raw, labels = np.random.default_rng(1).random((130, 784), np.float32), np.arange(130) % 10
    labels[:4] = [5, 1, 0, 0]  # the first one comes before the first zero
    monkeypatch.setattr("lib.data.images.mnist", lambda train=True: (raw, labels))
    found = experiments.digits([3, 8], learning_rate=rate, epochs=25, optimizer=name, records=50)
    assert found.dh2.dtype == np.float32 and not np.allclose(found.dh2[0], found.dh2[1])
    network, first = TABLE_2["mnist"].network(784, 10), np.argsort(labels[:100], kind="stable")
    pairs = np.triu_indices(100, 1)
    close = {
        0: 1e-4,
        1: 1e-4,
        5: 1e-4,
        25: 0.1,
    }  # at last a rectifier may have switched that did not switch there
    inputs = torch.from_numpy((raw - np.float32(0.1307)) / np.float32(0.3081))
    targets = torch.eye(10)[torch.from_numpy(labels)]
    for member, own in enumerate((3, 8)):
        now = {
            key: value[0].requires_grad_()
            for key, value in network.initialize(own, 1, TABLE_2["mnist"].gain).items()
        }
        method, seen, course = optimizer(now.values(), lr=rate), [], []
        for epoch in range(26):
            with torch.no_grad():
                outs, (hidden,) = network(now, inputs, 2)
                seen.append(
                    torch.cdist(
                        hidden[first], hidden[first], compute_mode="donot_use_mm_for_euclid_dist"
                    )
                    ** 2
                )
                dy = outs[1] - outs[2]
                course.append(
                    [
                        float(((hidden[1] - hidden[2]) ** 2).sum()),
                        float(dy @ dy),
                        float(dy @ dy - dy[1] + dy[0]),
                    ]
                )
            order = np.random.default_rng((own, 0, epoch + 1)).permutation(130)
            for start in (0, 64, 128):
                chosen = torch.from_numpy(order[start : start + 64])
                method.zero_grad()
                loss = (
                    torch.nn.functional.mse_loss(
                        network(now, inputs[chosen], ())[0], targets[chosen]
                    )
                    / 2
                )
                (outputs * loss).backward()
                method.step()
        own = found.isel(
            member=member, step=[list(found.step.values).index(3 * epoch) for epoch in close]
        )
        for moment, (epoch, share) in enumerate(close.items()):
            np.testing.assert_allclose(
                own.distance2[moment],
                seen[epoch][pairs],
                rtol=0,
                atol=share * float(seen[epoch].max()),
            )
            for name, wanted in zip(("dh2", "dy2", "w"), course[epoch], strict=True):
                largest = max(abs(each[("dh2", "dy2", "w").index(name)]) for each in course)
                np.testing.assert_allclose(own[name][moment], wanted, rtol=0, atol=share * largest)
        np.testing.assert_array_equal(own.label, labels[first])
        np.testing.assert_array_equal(
            own.target2, 2.0 * (labels[first][:, None] != labels[first])[pairs]
        )
        np.testing.assert_allclose(
            own.input2,
            (torch.cdist(inputs[first], inputs[first]) ** 2)[pairs],
            rtol=1e-3,
            atol=1e-2,
        )
    assert float(abs(seen[-1] - seen[0]).max()) > 0.01 * float(seen[0].max())


def test_settings_make_the_networks_of_the_paper():
    assert TABLE_1["shallow"].network().depth == 2 and TABLE_1["narrow"].network().widths[1] == 50
    assert TABLE_1["skip"].network().skip and TABLE_1["dropout"].network().dropout == 0.1
    assert TABLE_2["mnist"].network(784, 10).widths == (784, 100, 100, 100, 100, 10)

    def count(network):
        return sum(int(np.prod(shape)) for shape in network.shapes().values())

    assert count(Setting().network()) == 500 + 500 + 19 * (500 * 500 + 500) + 500 + 1 == 4_761_001
    assert count(Setting("skip").network()) == count(Setting("dropout").network()) == 4_761_001
    convolutional = Setting("convolutional", hidden_layers=10).network()
    shapes = convolutional.shapes()
    assert convolutional.depth == 12 and shapes["weight1"] == (500, 1)
    assert (
        shapes["weight2"] == (20, 1, 11)
        and shapes["weight7"] == (20, 20, 11)
        and shapes["weight12"] == (1, 20, 11)
    )
    assert shapes["weight13"] == (1, 390) and shapes["bias13"] == (1,)  # 500 less 11 times 10
    _, hidden = convolutional(
        {name: value[0] for name, value in convolutional.initialize().items()}, torch.ones(2, 1)
    )
    assert [h.shape[1] for h in hidden] == [500, *(20 * (500 - 10 * i) for i in range(1, 11)), 390]
