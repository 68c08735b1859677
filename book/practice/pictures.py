"""The photographs of CIFAR-10.

Readers need not doubt what they are given: `lib.data.fetch` has checked its hash.
"""

import io
from collections import defaultdict
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lib.data.fetch import CIFAR10, CIFAR10_JPEG, fetch, members, place

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


BATCHES = {True: [f"data_batch_{number}.bin" for number in range(1, 6)], False: ["test_batch.bin"]}


class Pictures(NamedTuple):
    """Images (n, 3, 32, 32), uint8; labels (n,), int64; and
    which copy they are from: "standard" or "JPEG".
    """

    images: NDArray
    labels: NDArray
    copy: str


def cifar10(train: bool = True) -> Pictures:
    """Return small photographs of ten kinds of things, in their original order.

    They come from the authors' binary archive (cifar-10-binary.tar.gz, 170 MB; the one for Python
    is a pickle, which we do not read): in the folder that the environment variable CIFAR10_DIR
    names, or else in the cache, or from its authors' site. The folder may instead hold a copy of
    the images as JPEG (cifar10-jpeg.tar.xz, with cifar10-train-labels.npy and
    cifar10-test-labels.npy), which differs from the original by what the compression lost.

    Parameters
    ----------
    train : the 50,000 training images, or else the 10,000 test images

    Raises
    ------
    DataUnavailable
        If no route has them, or CIFAR10_DIR is set and its files are missing or corrupt.

    Source: Krizhevsky (2009), Learning multiple layers of features from tiny images.
    """
    (archive,) = CIFAR10.sha256
    packed, *labels = CIFAR10_JPEG.sha256
    home = place(CIFAR10)
    if (home / packed).exists() and not (home / archive).exists():
        found = fetch(CIFAR10_JPEG, [packed, labels[0 if train else 1]])
        return Pictures(*read_jpegs(*found.values(), train), "JPEG")
    return Pictures(*read_batches(fetch(CIFAR10)[archive], train), "standard")


def read_batches(archive: bytes, train: bool) -> tuple[NDArray, NDArray]:
    """Read images (n, 3, 32, 32) and labels (n,) from the standard
    archive, in its order; nothing is written or run.

    An image is 3073 bytes: its label, then 32 × 32 of red, of green and of blue, row by row.
    """
    files = members(archive, [f"cifar-10-batches-bin/{name}" for name in BATCHES[train]])
    records = np.frombuffer(b"".join(files.values()), np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def read_jpegs(archive: bytes, labels: bytes, train: bool) -> tuple[NDArray, NDArray]:
    """Read the same from an archive of train|test/CLASS/NUMBER.jpg, numbered within a class.

    `labels` is a NumPy file with the labels in the standard archive's order.
    """
    from PIL import Image  # only this copy needs it

    labels = np.load(io.BytesIO(labels), allow_pickle=False).astype(np.int64)
    part, numbers = "train" if train else "test", defaultdict(count)
    names = [f"{part}/{CLASSES[label]}/{next(numbers[label]):04}.jpg" for label in labels]
    files, images = members(archive, names), np.empty((len(labels), 3, 32, 32), np.uint8)
    for image, name in zip(images, names, strict=True):
        with Image.open(io.BytesIO(files[name]), formats=["JPEG"]) as picture:
            image[:] = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
    return images, labels
