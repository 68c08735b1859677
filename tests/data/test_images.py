"""MNIST and CIFAR-10 from tiny files: good ones, and many that are not what they should be."""

import gzip
import hashlib
import io
import lzma
import os
import struct
import tarfile
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image

from book.practice import pictures as practice
from lib import data
from lib.data import fetch, images
from lib.data.fetch import DataUnavailable, Source, place

AT_HAND = place(fetch.CIFAR10)  # before the tests move the cache


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, request):
    """Keep the tests out of the user's cache; return where this test's cache of CIFAR-10 will be."""
    monkeypatch.setattr(fetch, "RETRIES", 0)
    if "real_mnist" not in request.fixturenames:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("MNIST_DIR", raising=False)
        monkeypatch.delenv("CIFAR10_DIR", raising=False)
    return tmp_path / "cache" / "executable-learning-dynamics" / "cifar10"


def known(monkeypatch, name, files, route=None):
    """Make the hashes of MNIST, CIFAR10 or CIFAR10_JPEG those of `files`, and its only route `route`: a name -> its bytes."""
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    folder, variable = ("mnist", "MNIST_DIR") if name == "MNIST" else ("cifar10", "CIFAR10_DIR")
    monkeypatch.setattr(fetch, "_content", lambda address, name: route(name))
    monkeypatch.setattr(images, name, Source(folder, variable, "some kB", digests, ("one",) if route else ()))
    return files


def lay(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def never(*arguments):
    pytest.fail("nobody should ask here")


# --- MNIST


def idx(array):
    """Write an IDX file of bytes, independently of the reader."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize("train, part", [(True, "train"), (False, "t10k")])
def test_mnist_scales_and_flattens(train, part, monkeypatch):
    draw = np.random.default_rng(1).integers
    shapes = {"images-idx3-ubyte": (6, 28, 28), "labels-idx1-ubyte": (6,)}
    raw = {f"{part}-{what}": draw(0, 256, shape, dtype=np.uint8) for what, shape in shapes.items()}
    known(monkeypatch, "MNIST", {name: idx(array) for name, array in raw.items()}, route=lambda name: idx(raw[name]))
    digits, labels = data.mnist(train)
    assert digits.dtype == np.float32 and labels.dtype == np.int64
    np.testing.assert_array_equal(labels, raw[f"{part}-labels-idx1-ubyte"])
    np.testing.assert_array_equal(digits, raw[f"{part}-images-idx3-ubyte"].reshape(6, 784) / np.float32(255))


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
    assert np.bincount(labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_allclose(digits.mean(dtype=float), 0.1307, atol=5e-5)
    np.testing.assert_allclose(digits.std(dtype=float), 0.3081, atol=5e-5)


# --- CIFAR-10

STANDARD, JPEG = "cifar-10-binary.tar.gz", "cifar10-jpeg.tar.xz"
timeless = partial(gzip.compress, mtime=0)  # an archive is the same whenever it is made


def packed(files, compress=timeless):
    """Pack (name, content) into an archive; content None makes a link to a file of this machine."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(info, io.BytesIO(content or b""))
    return compress(archive.getvalue())


def pixels(batch):
    return np.random.default_rng(batch).integers(0, 256, (3, 3072), dtype=np.uint8)


def batch(number):
    """Write a batch of three images, labelled NUMBER, 9 and 0."""
    return b"".join(bytes([label]) + row.tobytes() for label, row in zip((number, 9, 0), pixels(number), strict=True))


BATCHES = {
    f"cifar-10-batches-bin/{name}": batch(number)
    for number, name in enumerate([*practice.BATCHES[True], *practice.BATCHES[False]])
}


def archive():
    """Pack the batches, in another order and beside another file."""
    return packed([("cifar-10-batches-bin/readme.html", b"hello"), *reversed(BATCHES.items())])


@pytest.mark.parametrize("train, numbers", [(True, range(5)), (False, [5])])
def test_batches_come_in_their_order(train, numbers):
    pictures, labels = practice.read_batches(archive(), train)
    assert pictures.dtype == np.uint8 and pictures.shape == (3 * len(numbers), 3, 32, 32) and labels.dtype == np.int64
    np.testing.assert_array_equal(pictures, np.concatenate([pixels(n) for n in numbers]).reshape(-1, 3, 32, 32))
    assert labels.tolist() == [label for n in numbers for label in (n, 9, 0)]


@pytest.mark.parametrize("batches", [[*BATCHES.items()][:4], [(name, None) for name in BATCHES]], ids=["short", "links"])
def test_an_archive_that_lacks_a_file_is_refused(batches):
    with pytest.raises(ValueError, match=r"lacks cifar-10-batches-bin/test_batch\.bin"):
        practice.read_batches(packed(batches), False)


# --- the JPEG copy

LABELS = {"train": [6, 9, 9, 0, 6], "test": [3, 3]}
PLACES = ["frog/0000", "truck/0000", "truck/0001", "airplane/0000", "frog/0001"]  # of the training images, in the first order


def jpeg(value):
    """Make an image whose colours are value, value + 40 and value + 80 everywhere."""
    image = io.BytesIO()
    Image.fromarray(np.full((32, 32, 3), [value, value + 40, value + 80], np.uint8)).save(image, "JPEG", quality=95)
    return image.getvalue()


def test_a_folder_with_jpegs_is_read(tmp_path, monkeypatch):
    pictures = {f"train/{place}.jpg": jpeg(10 * number) for number, place in enumerate(PLACES, start=1)}
    pictures |= {f"test/cat/000{number}.jpg": jpeg(60) for number in range(2)}
    files = {JPEG: packed(sorted(pictures.items()), lzma.compress)}
    for part, labels in LABELS.items():
        np.save(saved := io.BytesIO(), np.array(labels, np.uint8))
        files[f"cifar10-{part}-labels.npy"] = saved.getvalue()
    known(monkeypatch, "CIFAR10_JPEG", files)
    known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=never)
    monkeypatch.setenv("CIFAR10_DIR", str(lay(tmp_path / "mine", files)))
    found = practice.cifar10()
    assert found.copy == "JPEG" and found.labels.tolist() == LABELS["train"] and found.images.dtype == np.uint8
    expected = 10 * np.arange(1, 6)[:, None] + np.array([0, 40, 80])
    np.testing.assert_allclose(found.images.mean(axis=(2, 3)), expected, atol=2)
    assert practice.cifar10(False).labels.tolist() == LABELS["test"]
    lay(tmp_path / "mine", {STANDARD: archive()})
    assert practice.cifar10().copy == "standard"  # the better one, where both are


@pytest.mark.skipif(not [*AT_HAND.glob("*")], reason="CIFAR-10 is not at hand")
def test_the_real_images(monkeypatch):
    monkeypatch.setenv("CIFAR10_DIR", str(AT_HAND))
    images, labels, copy = practice.cifar10(train=False)
    assert images.shape == (10000, 3, 32, 32) and labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert np.bincount(labels).tolist() == [1000] * 10 and copy in ("standard", "JPEG")
    np.testing.assert_allclose(images.mean(axis=(0, 2, 3)) / 255, [0.494, 0.485, 0.450], atol=5e-3)
