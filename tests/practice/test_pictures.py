"""CIFAR-10 from an archive, from a folder with JPEGs, and the real one."""

import gzip
import hashlib
import io
import lzma
import tarfile
from functools import partial

import numpy as np
import pytest
from PIL import Image

from book.practice import pictures as practice
from lib.data import fetch
from lib.data.fetch import Source, place

AT_HAND = place(fetch.CIFAR10)  # before the tests move the cache


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


def known(monkeypatch, name, files, route=None):
    """Make the hashes of CIFAR10 or CIFAR10_JPEG those of `files`,
    and its only route `route`: a name -> its bytes.
    """
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    monkeypatch.setattr(fetch, "_content", lambda address, name: route(name))
    monkeypatch.setattr(
        practice,
        name,
        Source("cifar10", "CIFAR10_DIR", "some kB", digests, ("one",) if route else ()),
    )
    return files


def lay(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def never(*arguments):
    pytest.fail("nobody should ask here")


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
    return b"".join(
        bytes([label]) + row.tobytes()
        for label, row in zip((number, 9, 0), pixels(number), strict=True)
    )


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
    assert (
        pictures.dtype == np.uint8
        and pictures.shape == (3 * len(numbers), 3, 32, 32)
        and labels.dtype == np.int64
    )
    np.testing.assert_array_equal(
        pictures, np.concatenate([pixels(n) for n in numbers]).reshape(-1, 3, 32, 32)
    )
    assert labels.tolist() == [label for n in numbers for label in (n, 9, 0)]


@pytest.mark.parametrize(
    "batches", [[*BATCHES.items()][:4], [(name, None) for name in BATCHES]], ids=["short", "links"]
)
def test_an_archive_that_lacks_a_file_is_refused(batches):
    with pytest.raises(ValueError, match=r"lacks cifar-10-batches-bin/test_batch\.bin"):
        practice.read_batches(packed(batches), False)


LABELS = {"train": [6, 9, 9, 0, 6], "test": [3, 3]}


PLACES = [
    "frog/0000",
    "truck/0000",
    "truck/0001",
    "airplane/0000",
    "frog/0001",
]  # of the training images, in the first order


def jpeg(value):
    """Make an image whose colours are value, value + 40 and value + 80 everywhere."""
    image = io.BytesIO()
    Image.fromarray(np.full((32, 32, 3), [value, value + 40, value + 80], np.uint8)).save(
        image, "JPEG", quality=95
    )
    return image.getvalue()


def test_a_folder_with_jpegs_is_read(tmp_path, monkeypatch):
    pictures = {
        f"train/{place}.jpg": jpeg(10 * number) for number, place in enumerate(PLACES, start=1)
    }
    pictures |= {f"test/cat/000{number}.jpg": jpeg(60) for number in range(2)}
    files = {JPEG: packed(sorted(pictures.items()), lzma.compress)}
    for part, labels in LABELS.items():
        np.save(saved := io.BytesIO(), np.array(labels, np.uint8))
        files[f"cifar10-{part}-labels.npy"] = saved.getvalue()
    known(monkeypatch, "CIFAR10_JPEG", files)
    known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=never)
    monkeypatch.setenv("CIFAR10_DIR", str(lay(tmp_path / "mine", files)))
    found = practice.cifar10()
    assert (
        found.copy == "JPEG"
        and found.labels.tolist() == LABELS["train"]
        and found.images.dtype == np.uint8
    )
    expected = 10 * np.arange(1, 6)[:, None] + np.array([0, 40, 80])
    np.testing.assert_allclose(found.images.mean(axis=(2, 3)), expected, atol=2)
    assert practice.cifar10(False).labels.tolist() == LABELS["test"]
    lay(tmp_path / "mine", {STANDARD: archive()})
    assert practice.cifar10().copy == "standard"  # the better one, where both are


@pytest.mark.skipif(not [*AT_HAND.glob("*")], reason="CIFAR-10 is not at hand")
def test_the_real_images(monkeypatch):
    monkeypatch.setenv("CIFAR10_DIR", str(AT_HAND))
    images, labels, copy = practice.cifar10(train=False)
    assert images.shape == (10000, 3, 32, 32) and labels[:10].tolist() == [
        3,
        8,
        8,
        0,
        6,
        6,
        1,
        6,
        3,
        1,
    ]
    assert np.bincount(labels).tolist() == [1000] * 10 and copy in ("standard", "JPEG")
    np.testing.assert_allclose(images.mean(axis=(0, 2, 3)) / 255, [0.494, 0.485, 0.450], atol=5e-3)
