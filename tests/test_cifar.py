"""CIFAR-10 from tiny archives: the standard one, one of JPEGs, and many that are not what they should be."""

import gzip
import hashlib
import io
import lzma
import pickle
import tarfile
from functools import partial

import numpy as np
import pytest
from PIL import Image

from lib import cifar, data

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
    f"cifar-10-batches-bin/{name}": batch(number) for number, name in enumerate([*cifar.BATCHES[True], *cifar.BATCHES[False]])
}


def archive(test=BATCHES["cifar-10-batches-bin/test_batch.bin"]):
    """Pack the batches, with this one for the test images."""
    others = [("cifar-10-batches-bin/readme.html", b"hello")]
    return packed(list((BATCHES | {"cifar-10-batches-bin/test_batch.bin": test}).items()) + others)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CIFAR10_DIR", raising=False)
    return tmp_path / "cache" / "executable-learning-dynamics" / "cifar10"


def known(monkeypatch, name, files, route=None):
    """Make the hashes those of `files`, and the authors' site `route`."""
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    routes = {} if route is None else {"site": route}
    monkeypatch.setattr(data, name, data.Source("cifar10", "CIFAR10_DIR", digests, routes))
    return files


def lay(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


# --- the standard archive


@pytest.mark.parametrize("train, numbers", [(True, range(5)), (False, [5])])
def test_batches_come_in_their_order(train, numbers):
    images, labels = cifar.read_batches(archive(), train)
    assert images.dtype == np.uint8 and images.shape == (3 * len(numbers), 3, 32, 32) and labels.dtype == np.int64
    np.testing.assert_array_equal(images, np.concatenate([pixels(n) for n in numbers]).reshape(-1, 3, 32, 32))
    assert labels.tolist() == [label for n in numbers for label in (n, 9, 0)]


def test_a_pixel_lies_at_colour_row_column():
    images, _ = cifar.read_batches(archive(), False)
    assert images[1, 2, 7, 30] == pixels(5)[1, 2 * 1024 + 7 * 32 + 30]


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", batch(5)[:-200], batch(5) + b"x", bytes([10]) + batch(5)[1:], pickle.dumps({"labels": [1]})],
    ids=["empty", "page", "truncated", "too long", "an eleventh class", "pickled"],
)
def test_a_batch_that_is_none_is_refused(content):
    with pytest.raises(ValueError, match=r"test_batch\.bin is no batch of images: want for each a label below 10"):
        cifar.read_batches(archive(test=content), False)


@pytest.mark.parametrize(
    "harmed, message",
    [
        (b"", "cannot be read"),
        (b"not an archive", "cannot be read"),
        (archive()[:200], "cannot be read"),
        (packed(list(BATCHES.items())[:4]), "lacks cifar-10-batches-bin/data_batch_5.bin"),
        (packed([(name, None) for name in BATCHES]), "lacks cifar-10-batches-bin/data_batch_1.bin"),
        (packed([(f"../{name}", content) for name, content in BATCHES.items()]), "lacks"),
    ],
    ids=["empty", "text", "truncated", "short", "links", "outside"],
)
def test_an_archive_that_is_none_is_refused(harmed, message):
    with pytest.raises(ValueError, match=message):
        cifar.read_batches(harmed, True)


def test_strange_members_are_passed_over_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    strange = [("../../escaped", b"x"), (f"{tmp_path}/absolute", b"x"), ("cifar-10-batches-bin/../test_batch.bin", b"x")]
    images, _ = cifar.read_batches(packed(strange + list(BATCHES.items()) + strange), False)
    assert len(images) == 3 and list(tmp_path.rglob("*")) == []


def test_a_member_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(cifar, "MOST", 3 * 3073)
    assert len(cifar.read_batches(archive(), False)[0]) == 3
    monkeypatch.setattr(cifar, "MOST", 3 * 3073 - 1)
    with pytest.raises(ValueError, match=r"lacks .*test_batch.bin \(as a plain file of at most 9218 bytes\)"):
        cifar.read_batches(archive(), False)


# --- the JPEG copy

LABELS = {"train": [6, 9, 9, 0, 6], "test": [3, 3]}


def jpeg(value, shape=(32, 32)):
    """Make an image whose colours are value, value + 40 and value + 80 everywhere."""
    image = io.BytesIO()
    Image.fromarray(np.full((*shape, 3), [value, value + 40, value + 80], np.uint8)).save(image, "JPEG", quality=95)
    return image.getvalue()


def jpegs(**changed):
    """Return the files of a JPEG copy; its training images are 10, 20, … in the first order."""
    places = {"frog/0000": 10, "truck/0000": 20, "truck/0001": 30, "airplane/0000": 40, "frog/0001": 50}
    images = [(f"train/{place}.jpg", changed.get(place, jpeg(value))) for place, value in places.items()]
    images += [(f"test/cat/000{number}.jpg", jpeg(60 + 10 * number)) for number in range(2)]
    files = {JPEG: packed([each for each in sorted(images, key=lambda each: each[0]) if each[1] != b""], lzma.compress)}
    for part, labels in LABELS.items():
        saved = io.BytesIO()
        np.save(saved, np.array(labels, np.uint8))
        files[f"cifar10-{part}-labels.npy"] = saved.getvalue()
    return files


@pytest.mark.parametrize("part, values", [("train", [10, 20, 30, 40, 50]), ("test", [60, 70])])
def test_jpegs_are_put_in_the_first_order(part, values):
    files = jpegs()
    images, labels = cifar.read_jpegs(files[JPEG], files[f"cifar10-{part}-labels.npy"], part == "train")
    assert images.dtype == np.uint8 and images.shape == (len(values), 3, 32, 32) and labels.tolist() == LABELS[part]
    expected = np.array(values)[:, None] + np.array([0, 40, 80])
    np.testing.assert_allclose(images.mean(axis=(2, 3)), expected, atol=2)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "the archive lacks train/frog/0001.jpg"),
        (b"<html>", "train/frog/0001.jpg is no image"),
        (jpeg(10)[:300], "train/frog/0001.jpg is no image"),
        (jpeg(10, (16, 16)), "train/frog/0001.jpg is no image of 32 × 32"),
    ],
    ids=["absent", "page", "truncated", "small"],
)
def test_a_missing_or_broken_image_is_named(content, message):
    files = jpegs(**{"frog/0001": content})
    with pytest.raises(ValueError, match=message):
        cifar.read_jpegs(files[JPEG], files["cifar10-train-labels.npy"], True)


def test_labels_are_not_unpickled():
    saved = io.BytesIO()
    np.save(saved, np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        cifar.read_jpegs(jpegs()[JPEG], saved.getvalue(), True)


# --- where they are from


def never(names):
    raise AssertionError("nobody should ask here")


def test_the_archive_is_fetched_once_and_kept(home, monkeypatch):
    files = known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=lambda names: {STANDARD: archive()})
    assert data.cifar10(False).copy == "standard"
    known(monkeypatch, "CIFAR10", files, route=never)
    images, labels, copy = data.cifar10()
    assert images.shape == (15, 3, 32, 32) and labels[3] == 1 and copy == "standard"
    assert [path.name for path in home.iterdir()] == [STANDARD]


def test_a_folder_with_jpegs_is_read_and_said(tmp_path, monkeypatch):
    files = known(monkeypatch, "CIFAR10_JPEG", jpegs())
    known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=never)
    monkeypatch.setenv("CIFAR10_DIR", str(lay(tmp_path / "mine", files)))
    assert data.cifar10().copy == "JPEG" and data.cifar10(False).labels.tolist() == LABELS["test"]
    lay(tmp_path / "mine", {STANDARD: archive()})
    assert data.cifar10().copy == "standard"  # the better one, where both are


@pytest.mark.fault("spoilt data", "CIFAR-10 in CIFAR10_DIR, its last byte cut off", "the folder as it was; nothing is unpacked")
def test_a_changed_archive_is_refused_before_it_is_read(tmp_path, monkeypatch, record_property):
    known(monkeypatch, "CIFAR10", {STANDARD: archive()})
    known(monkeypatch, "CIFAR10_JPEG", jpegs())
    monkeypatch.setattr(cifar, "read_batches", never)
    monkeypatch.setattr(cifar, "read_jpegs", never)
    for name, content in ((JPEG, jpegs()[JPEG]), (STANDARD, archive())):
        folder = lay(tmp_path / name, jpegs() | {name: content[:-1]})
        monkeypatch.setenv("CIFAR10_DIR", str(folder))
        with pytest.raises(data.DataUnavailable, match=f"CIFAR10_DIR is .*{name} is corrupt.*unset it") as refused:
            data.cifar10()
    record_property("said", str(refused.value).splitlines()[0])


def test_without_the_archive_one_error_says_how_to_get_it(monkeypatch):
    known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=never)
    with pytest.raises(data.DataUnavailable, match=f"Set CIFAR10_DIR .*{STANDARD}(.|\n)*python -m lib.data cifar10"):
        data.cifar10(download=False)


def test_the_command_fetches_what_it_is_told(home, monkeypatch, capsys):
    known(monkeypatch, "CIFAR10", {STANDARD: archive()}, route=lambda names: {STANDARD: archive()})
    assert data.main(["cifar10"]) == 0 and capsys.readouterr().out == f"{home}\n"
    assert data.main(["cifar11"]) == 1
    assert "no data set 'cifar11': want mnist or cifar10" in capsys.readouterr().err


def test_the_sources_are_the_standard_archive_and_its_site():
    assert list(data.CIFAR10.sha256) == [STANDARD] and data.CIFAR10_JPEG.routes == {}
    assert list(data.CIFAR10.routes) == ["https://www.cs.toronto.edu/~kriz"]


AT_HAND = data.place(data.CIFAR10)  # before the tests move the cache


@pytest.mark.skipif(not AT_HAND.is_dir(), reason="CIFAR-10 is not at hand")
def test_the_real_images(monkeypatch):
    monkeypatch.setenv("CIFAR10_DIR", str(AT_HAND))
    images, labels, copy = data.cifar10(train=False)
    assert images.shape == (10000, 3, 32, 32) and labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert np.bincount(labels).tolist() == [1000] * 10 and copy in ("standard", "JPEG")
    np.testing.assert_allclose(images.mean(axis=(0, 2, 3)) / 255, [0.494, 0.485, 0.450], atol=5e-3)
