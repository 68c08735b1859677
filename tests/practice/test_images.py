"""Unbalanced starts and the first filters, on tiny data,
against plain loops and exact symmetries.
"""

import numpy as np
import pytest

from book.practice import images, pictures
from book.practice.measures import filter_laplacian
from book.practice.resnet import SmallResNet
from book.practice.theory import LAPLACIAN
from lib.training import loop

FILTERS = dict(
    images=40,
    channels=2,
    kernel=5,
    epochs=6,
    batch_size=16,
    learning_rate=0.1,
    looked_at=12,
    doublings=2,
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Give random photographs instead of the real ones."""

    def cifar10(train=True):
        rng = np.random.default_rng(2 + train)
        return pictures.Pictures(
            rng.integers(0, 256, (50, 3, 32, 32), np.uint8), rng.integers(0, 10, 50), "JPEG"
        )

    monkeypatch.setattr(pictures, "cifar10", cifar10)


def test_filters_are_looked_at_along_training():
    found = images.photographs([1.0, 4.0], [0, 0], **FILTERS | {"epochs": 8, "looks": 6})
    assert found.step.values.tolist() == [0, 1, 2, 4, 7, 13, 24] and found.look.values.tolist() == [
        0,
        2,
        24,
    ]
    assert (
        found["filter"].dims == ("member", "look", *images.FILTER)
        and found.origin.values.tolist() == ["CIFAR-10, JPEG copy"] * 2
    )
    first = SmallResNet(2, 5).initialize(0)["weight1"][0].numpy()
    np.testing.assert_allclose(found["filter"].isel(member=1, look=0), first / 4, rtol=1e-6)
    rough = filter_laplacian(found["filter"].values, LAPLACIAN).mean((2, 3))
    np.testing.assert_allclose(found.roughness.sel(step=[0, 2, 24]), rough, rtol=1e-6)
    assert not np.allclose(found["filter"][:, -1], found["filter"][:, 0])
    assert np.all(found.diverged == -1) and np.all(np.isfinite(found.test_loss))


def test_under_normalization_alpha_is_a_learning_rate(monkeypatch):
    """Filters divided by α that learn at η follow, up to α, filters that learn at η α²."""
    train, rates = loop.train, []

    def faster(network, parameters, *args, learning_rate, **options):
        by_name = {
            name: learning_rate * (rates[0] if name == "weight1" else 1) for name in parameters
        }
        doubled = {name: value.double() for name, value in parameters.items()}
        return train(network, doubled, *args, learning_rate=by_name, **options)

    monkeypatch.setattr(images, "train", faster)
    rates[:] = [1.0]
    small = images.photographs([0.5], [0], **FILTERS)["filter"].values[0]
    rates[:] = [0.25]
    plain = images.photographs([1.0], [0], **FILTERS)["filter"].values[0]
    np.testing.assert_allclose(small * 0.5, plain, rtol=0, atol=3e-4 * np.abs(plain).max())
    assert np.abs(plain[-1] - plain[0]).max() > 1e-2


def test_pictures_are_standardized_by_colour():
    (train, labels), (test, _), origin = images._pictures(30, 7)
    assert (
        train.shape == (30, 3, 32, 32)
        and test.shape == (7, 3, 32, 32)
        and len(labels) == 30
        and origin == "CIFAR-10, JPEG copy"
    )
    np.testing.assert_allclose(train.mean(axis=(0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=(0, 2, 3)), 1, rtol=1e-5)
    raw_train, raw = pictures.cifar10().images[:30], pictures.cifar10(train=False).images
    expected = (raw[3, 1, 2, 5] - raw_train[:, 1].mean()) / raw_train[:, 1].std()
    np.testing.assert_allclose(test[3, 1, 2, 5], expected, rtol=1e-4)


# --- batches


def numbered(count, side=12):
    """Make images whose every pixel tells image, row and column."""
    image, row, column = np.ogrid[:count, :side, :side]
    return np.float32(10000 * (image + 1) + 100 * row + column)[:, None], np.arange(count)


def test_an_epoch_shows_every_image_once():
    draw = images.batches(*numbered(10), 4, augment=False, seed=0)
    epochs = [
        [draw(member, 3 * epoch + step)[1] for step in range(3)]
        for member in (0, 1)
        for epoch in (0, 1)
    ]
    orders = [np.concatenate(epoch).tolist() for epoch in epochs]
    assert [len(batch) for batch in epochs[0]] == [4, 4, 2]
    assert (
        all(sorted(order) == list(range(10)) for order in orders)
        and len({tuple(order) for order in orders}) == 4
    )
    shown, labels = draw(1, 2)
    np.testing.assert_array_equal(shown, numbered(10)[0][labels])
    again = images.batches(*numbered(10), 4, augment=False, seed=0)
    np.testing.assert_array_equal(again(1, 2)[0], shown)


def test_changed_images_are_shifted_mirrored_and_cut():
    inputs, labels = numbered(200, 28)
    shown, own = images.batches(inputs, labels, 200, augment=True, seed=1)(0, 0)
    assert shown.shape == inputs.shape and shown.dtype == np.float32
    tops, lefts, falls, mirrored, holes = set(), set(), set(), 0, []
    for image, number in zip(shown[:, 0], own, strict=True):
        rest = np.where(image == 0, np.nan, image - 10000 * (number + 1))
        rows, columns = rest // 100, rest % 100
        hole = np.argwhere(np.isnan(rest))
        assert len(hole) == 64 and np.ptp(hole, axis=0).tolist() == [7, 7]
        holes.append(hole[0])
        tops.add(np.nanmax(rows[0]))  # the margin of four pixels is a reflection, where rows fall
        falls.add(float(np.nanmax(rows[1]) - np.nanmax(rows[0])))
        lefts.add(np.nanmin(columns[:, [0, -1]]))
        mirrored += np.nansum(np.sign(np.diff(columns, axis=1))) < 0
    assert tops == lefts == {0, 1, 2, 3, 4} and falls == {-1, 1}
    assert np.min(holes, axis=0).tolist() == [0, 0] and np.max(holes, axis=0).tolist() == [20, 20]
    assert 60 < mirrored < 140
    both = np.concatenate([inputs, 2 * inputs], axis=1)  # colours are shifted together
    shown, _ = images.batches(both, labels, 200, augment=True, seed=1)(0, 0)
    np.testing.assert_array_equal(shown[:, 1], 2 * shown[:, 0])
