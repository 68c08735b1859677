"""LeNet-5 and the first filters from unbalanced starts, on tiny data, against plain loops and exact symmetries."""

import json

import numpy as np
import pytest
import torch
import xarray as xr

from lib import data
from lib.experiments import RUNS, images
from lib.kernels import kernel_distance, ntk
from lib.networks import Dense
from lib.networks.convolutional import LeNet, SmallResNet
from lib.results import Run

LENET = dict(members=2, images=24, epochs=2, batch_size=8, learning_rate=1e-3, records=3, probe=4, tested=10)
FILTERS = dict(
    members=2, pictures="mnist", images=40, channels=2, kernel=5, epochs=6, batch_size=16, learning_rate=0.1, looked_at=12
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Give random digits and photographs instead of the real ones."""

    def mnist(train=True):
        rng = np.random.default_rng(int(train))
        return rng.random((50, 784), np.float32), rng.integers(0, 10, 50)

    def cifar10(train=True):
        rng = np.random.default_rng(2 + train)
        return data.Pictures(rng.integers(0, 256, (50, 3, 32, 32), np.uint8), rng.integers(0, 10, 50), "JPEG")

    monkeypatch.setattr(data, "mnist", mnist)
    monkeypatch.setattr(data, "cifar10", cifar10)


# --- unbalanced starts


def test_unbalance_scales_what_it_is_told_and_nothing_else():
    parameters = Dense((2, 3, 1)).initialize(0, 2)
    changed = images.unbalance(parameters, 4.0, "weight1", "weight2")
    torch.testing.assert_close(changed["weight1"] * 4, parameters["weight1"])
    torch.testing.assert_close(changed["weight2"] / 4, parameters["weight2"])
    assert list(changed) == list(parameters) and changed["bias1"] is parameters["bias1"]
    assert images.unbalance(parameters, 4.0, "weight1")["weight2"] is parameters["weight2"]


def test_states_are_packed_and_unpacked():
    network = LeNet()
    parameters = network.initialize(0, 3)
    dims, theta = images.states(parameters, torch.empty(0), [])["theta"]
    assert dims == ("parameter",) and theta.shape == (3, 61_706)
    unpacked = images.unpack(network, theta)
    assert list(unpacked) == list(parameters)
    assert all(torch.equal(unpacked[name], parameters[name]) for name in parameters)


# --- the kernel of LeNet


def test_lenet_descends_as_a_plain_loop_does():
    found = images.lenet(alphas=[3.0], **LENET)
    assert found.step.values.tolist() == [0, 1, 2, 6]
    network = LeNet()
    for m in range(2):
        inputs, labels = images.digits(24)
        now = {name: value[m].clone() for name, value in network.initialize(0, 2).items()}
        now["weight1"] /= 3
        now["weight5"] *= 3
        start = {name: value.clone() for name, value in now.items()}
        for step in range(6):
            order = np.random.default_rng((0, m, step // 3 + 1)).permutation(24)[8 * (step % 3) :][:8]
            leaves = {name: value.requires_grad_() for name, value in now.items()}
            loss = torch.nn.functional.cross_entropy(network(leaves, inputs[order])[0], labels[order])
            gradients = torch.autograd.grad(loss, list(leaves.values()))
            now = {name: (now[name] - 1e-3 * g).detach() for name, g in zip(now, gradients, strict=True)}
        last = found.isel(alpha=0, member=m, step=-1)
        with torch.no_grad():
            outputs, _ = network(now, inputs)
            np.testing.assert_allclose(last.loss, torch.nn.functional.cross_entropy(outputs, labels), rtol=1e-4)
            np.testing.assert_allclose(last.accuracy, (outputs.argmax(1) == labels).double().mean(), rtol=1e-6)
            before = torch.cat(network(start, inputs[:4])[1], 1) > 0
            after = torch.cat(network(now, inputs[:4])[1], 1) > 0
        np.testing.assert_allclose(last.hamming, (before != after).double().mean(), atol=2e-4)
        k0, kt = (ntk(network, {n: v[None] for n, v in p.items()}, inputs[:4])[0] for p in (start, now))
        np.testing.assert_allclose(last.kernel, kernel_distance(k0, kt), rtol=1e-2)
        moved = np.sqrt(sum(float(((now[n] - start[n]) ** 2).sum()) for n in now))
        np.testing.assert_allclose(last.moved, moved, rtol=1e-3)
        np.testing.assert_allclose(last["size"], np.sqrt(sum(float((v**2).sum()) for v in now.values())), rtol=1e-5)


def test_the_first_function_does_not_depend_on_alpha():
    found = images.lenet(alphas=[0.1, 1.0, 10.0], **LENET).isel(step=0)
    for name in ("loss", "test_loss", "accuracy"):
        np.testing.assert_allclose(found[name], found[name].values[[1, 1, 1]], rtol=1e-4)
    for name in ("kernel", "hamming", "moved"):
        np.testing.assert_array_equal(found[name], 0)
    assert np.ptp(found.loss.values[0]) > 1e-3  # seeds differ


def test_lenet_of_one_seed_is_as_if_alone():
    both = images.lenet(alphas=[0.1, 10.0], **LENET)
    alone = images.lenet(alphas=[10.0], **LENET | {"members": 1})
    xr.testing.assert_allclose(both.isel(alpha=[1], member=[0]), alone, rtol=1e-4)
    other = images.lenet(alphas=[10.0], **LENET | {"members": 1}, seed=1)
    assert abs(float(other.loss[0, 0, 0] - alone.loss[0, 0, 0])) > 1e-3


def test_digits_are_standardized_images():
    inputs, labels = images.digits(5)
    raw, wanted = data.mnist()
    assert inputs.dtype == torch.float32 and labels.tolist() == wanted[:5].tolist()
    np.testing.assert_allclose(inputs[2, 0, 3, 4] * 0.3081 + 0.1307, raw[2, 3 * 28 + 4], rtol=1e-5)


# --- the first filters


@pytest.mark.parametrize(
    "pictures, shape, origin", [("mnist", (1, 28, 28), "MNIST"), ("cifar10", (3, 32, 32), "CIFAR-10, JPEG copy")]
)
def test_filters_are_kept_along_training(pictures, shape, origin):
    found = images.first_filters(alphas=[1.0, 4.0], **FILTERS | {"pictures": pictures, "epochs": 8})
    assert found.step.values.tolist() == [0, 1, 5, 24] and found.origin == origin
    assert found["filter"].dims[:3] == ("alpha", "member", "step") and found["filter"].shape[3:] == (2, shape[0], 5, 5)
    first = SmallResNet(2, 5, shape).initialize(0, 2)["weight1"].numpy()
    np.testing.assert_allclose(found["filter"].sel(alpha=4.0, step=0), first / 4, rtol=1e-6)
    assert not np.allclose(found["filter"][:, :, -1], found["filter"][:, :, 0])
    assert np.all(found.diverged == -1) and np.all(np.isfinite(found.test_loss))


def test_one_can_look_oftener():
    often, seldom = (images.first_filters(alphas=[4.0], **FILTERS | {"epochs": 8, "looks": looks}) for looks in (6, None))
    assert often.step.values.tolist() == [0, 1, 2, 4, 7, 13, 24]
    both = np.intersect1d(often.step, seldom.step)
    np.testing.assert_array_equal(often["filter"].sel(step=both), seldom["filter"].sel(step=both))


def test_under_normalization_alpha_is_a_learning_rate_of_the_first_layer(monkeypatch):
    """Filters divided by α that learn at η follow, up to α, filters that learn at η α²."""
    train, rates = images.train, []

    def faster(network, parameters, *args, learning_rate, **options):
        by_name = {name: learning_rate * (rates[0] if name == "weight1" else 1) for name in parameters}
        doubled = {name: value.double() for name, value in parameters.items()}
        return train(network, doubled, *args, learning_rate=by_name, **options)

    monkeypatch.setattr(images, "train", faster)
    rates[:] = [1.0]
    small = images.first_filters(alphas=[0.5], **FILTERS)
    rates[:] = [0.25]
    plain = images.first_filters(alphas=[1.0], **FILTERS)
    np.testing.assert_allclose(
        small["filter"][0] * 0.5, plain["filter"][0], rtol=0, atol=3e-4 * float(abs(plain["filter"]).max())
    )
    assert float(abs(plain["filter"][0, :, -1] - plain["filter"][0, :, 0]).max()) > 1e-2


def test_without_normalization_the_first_function_does_not_depend_on_alpha():
    found = images.first_filters(alphas=[0.2, 5.0], **FILTERS | {"learning_rate": 1e-4}, normalize=False).isel(step=0)
    np.testing.assert_allclose(found.loss[0], found.loss[1], rtol=1e-4)
    np.testing.assert_allclose(found["filter"][0] * 0.2, found["filter"][1] * 5, rtol=1e-5)


def test_networks_that_are_stored_one_by_one_are_those_of_their_seed():
    options = {name: value for name, value in FILTERS.items() if name != "members"}
    found = images.photographs([4.0, 0.5, 4.0], [7, 7, 3], **options)
    assert found.loss.dims == ("member", "step") and found.origin.values.tolist() == ["MNIST"] * 3
    for member, (alpha, seed) in enumerate([(4.0, 7), (0.5, 7), (4.0, 3)]):
        alone = images.first_filters(alphas=[alpha], **FILTERS | {"members": 1}, seed=seed)
        for name in ("filter", "loss", "test_accuracy"):
            np.testing.assert_allclose(found[name].isel(member=member), alone[name].isel(alpha=0, member=0), rtol=1e-5)


def test_pictures_are_standardized_by_colour():
    (train, labels), (test, _), origin = images._pictures("cifar10", 30, 7)
    assert (
        train.shape == (30, 3, 32, 32) and test.shape == (7, 3, 32, 32) and len(labels) == 30 and origin == "CIFAR-10, JPEG copy"
    )
    np.testing.assert_allclose(train.mean(axis=(0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=(0, 2, 3)), 1, rtol=1e-5)
    raw_train, raw = data.cifar10().images[:30], data.cifar10(train=False).images
    expected = (raw[3, 1, 2, 5] - raw_train[:, 1].mean()) / raw_train[:, 1].std()
    np.testing.assert_allclose(test[3, 1, 2, 5], expected, rtol=1e-4)


# --- batches


def numbered(count, side=12):
    """Make images whose every pixel tells image, row and column."""
    image, row, column = np.ogrid[:count, :side, :side]
    return np.float32(10000 * (image + 1) + 100 * row + column)[:, None], np.arange(count)


def test_an_epoch_shows_every_image_once_in_an_order_of_the_members_own():
    draw = images._batches(*numbered(10), 4, augment=False, mirror=False, seed=0)
    epochs = [[draw(member, 3 * epoch + step)[1] for step in range(3)] for member in (0, 1) for epoch in (0, 1)]
    orders = [np.concatenate(epoch).tolist() for epoch in epochs]
    assert [len(batch) for batch in epochs[0]] == [4, 4, 2]
    assert all(sorted(order) == list(range(10)) for order in orders) and len({tuple(order) for order in orders}) == 4
    shown, labels = draw(1, 2)
    np.testing.assert_array_equal(shown, numbered(10)[0][labels])
    again = images._batches(*numbered(10), 4, augment=False, mirror=False, seed=0)
    np.testing.assert_array_equal(again(1, 2)[0], shown)


@pytest.mark.parametrize("mirror", [False, True])
def test_changed_images_are_shifted_mirrored_and_cut(mirror):
    inputs, labels = numbered(200, 28)
    shown, own = images._batches(inputs, labels, 200, augment=True, mirror=mirror, seed=1)(0, 0)
    assert shown.shape == inputs.shape and shown.dtype == np.float32
    tops, lefts, mirrored, holes = set(), set(), 0, []
    for image, number in zip(shown[:, 0], own, strict=True):
        rest = np.where(image == 0, np.nan, image - 10000 * (number + 1))
        rows, columns = rest // 100, rest % 100
        hole = np.argwhere(np.isnan(rest))
        assert len(hole) == 64 and np.ptp(hole, axis=0).tolist() == [7, 7]
        holes.append(hole[0])
        tops.add(np.nanmax(rows[0]))  # the margin of four pixels is a reflection
        lefts.add(np.nanmin(columns[:, [0, -1]]))
        mirrored += np.nansum(np.sign(np.diff(columns, axis=1))) < 0
    assert tops == lefts == {0, 1, 2, 3, 4}
    assert np.min(holes, axis=0).tolist() == [0, 0] and np.max(holes, axis=0).tolist() == [20, 20]
    assert 60 < mirrored < 140 if mirror else mirrored == 0


def test_a_colour_is_shifted_as_the_others_are():
    inputs, labels = numbered(20)
    both = np.concatenate([inputs, 2 * inputs], axis=1)
    shown, _ = images._batches(both, labels, 20, augment=True, mirror=True, seed=1)(0, 0)
    np.testing.assert_array_equal(shown[:, 1], 2 * shown[:, 0])


def test_stored_runs_have_names_of_their_own_and_settings_in_json():
    assert len({run.name for run in RUNS}) == len(RUNS)
    for run in images.RUNS:
        assert run in RUNS and run.name.startswith("practice/")
        settings = json.loads(run.settings())
        assert settings["function"].startswith("lib.experiments.images.")
        assert not isinstance(run, Run) or list(settings["pieces"]) == list(run.pieces)
