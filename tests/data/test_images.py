"""MNIST from tiny files, and the real one."""

import hashlib
import os
import struct

import numpy as np
import pytest
import torch

from lib import data
from lib.data import fetch, images
from lib.data.fetch import DataUnavailable, Source


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, request):
    """Keep the tests out of the user's cache; return where this test's cache of
    CIFAR-10 will be.
    """
    monkeypatch.setattr(fetch, "RETRIES", 0)
    if "real_mnist" not in request.fixturenames:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("MNIST_DIR", raising=False)
        monkeypatch.delenv("CIFAR10_DIR", raising=False)
    return tmp_path / "cache" / "executable-learning-dynamics" / "cifar10"


def known(monkeypatch, files, route):
    """Make the hashes of MNIST those of `files`, and its
    only route `route`: a name -> its bytes.
    """
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    monkeypatch.setattr(fetch, "_content", lambda address, name: route(name))
    monkeypatch.setattr(images, "MNIST", Source("mnist", "MNIST_DIR", "some kB", digests, ("one",)))


def idx(array):
    """Write an IDX file of bytes, independently of the reader."""
    return (
        struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        + array.astype(np.uint8).tobytes()
    )


@pytest.mark.parametrize("train, part", [(True, "train"), (False, "t10k")])
def test_mnist_scales_and_flattens(train, part, monkeypatch):
    draw = np.random.default_rng(1).integers
    shapes = {"images-idx3-ubyte": (6, 28, 28), "labels-idx1-ubyte": (6,)}
    raw = {f"{part}-{what}": draw(0, 256, shape, dtype=np.uint8) for what, shape in shapes.items()}
    known(
        monkeypatch,
        {name: idx(array) for name, array in raw.items()},
        route=lambda name: idx(raw[name]),
    )
    digits, labels = data.mnist(train)
    assert digits.dtype == np.float32 and labels.dtype == np.int64
    np.testing.assert_array_equal(labels, raw[f"{part}-labels-idx1-ubyte"])
    np.testing.assert_array_equal(
        digits, raw[f"{part}-images-idx3-ubyte"].reshape(6, 784) / np.float32(255)
    )


def test_digits_are_standardized_images(monkeypatch):
    rng = np.random.default_rng(0)
    raw = rng.random((50, 784), np.float32)
    wanted = rng.integers(0, 10, 50)
    monkeypatch.setattr("lib.data.images.mnist", lambda train: (raw, wanted))
    inputs, labels = data.digits(5)
    assert inputs.dtype == torch.float32 and labels.tolist() == wanted[:5].tolist()
    np.testing.assert_allclose(inputs[2, 0, 3, 4] * 0.3081 + 0.1307, raw[2, 3 * 28 + 4], rtol=1e-5)


@pytest.fixture
def real_mnist():
    try:
        return data.mnist(), data.mnist(train=False)
    except DataUnavailable as error:
        if os.environ.get("MNIST_DIR"):
            raise  # a folder was named, and it is not good
        pytest.skip(str(error))


def test_the_real_mnist(real_mnist):
    (digits, labels), (test_digits, test_labels) = real_mnist
    assert digits.shape == (60000, 784) and labels.shape == (60000,)
    assert test_digits.shape == (10000, 784) and test_labels.shape == (10000,)
    assert digits.dtype == np.float32 and digits.min() == 0 and digits.max() == 1
    assert labels[:5].tolist() == [5, 0, 4, 1, 9] and test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(labels).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert np.bincount(test_labels).tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]
    np.testing.assert_allclose(digits.mean(dtype=float), 0.1307, atol=5e-5)
    np.testing.assert_allclose(digits.std(dtype=float), 0.3081, atol=5e-5)
