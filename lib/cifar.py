"""Reading CIFAR-10: the standard archive of binary batches, and a copy of its images as JPEG. `lib.data.cifar10` finds them."""

import io
import lzma
import tarfile
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lib.checks import kind

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {True: [f"data_batch_{number}.bin" for number in range(1, 6)], False: ["test_batch.bin"]}
MOST = 256 * 2**20  # bytes that a file from elsewhere may have, packed or not; the largest that we want has 170 million


def read_batches(archive: bytes, train: bool) -> tuple[NDArray, NDArray]:
    """Read the training or the test images from the standard archive, cifar-10-binary.tar.gz; nothing is written or run.

    An image is 3073 bytes: its label, then 32 × 32 of red, of green and of blue, row by row.

    Returns
    -------
    images (n, 3, 32, 32), uint8, and labels (n,), int64, in the archive's order

    Raises
    ------
    ValueError
        If the archive, or a batch in it, is not what it should be.
    """
    files = members(archive, [f"cifar-10-batches-bin/{name}" for name in BATCHES[train]])
    for name, content in files.items():
        if not content or len(content) % 3073 or max(content[::3073]) >= len(CLASSES):
            raise ValueError(f"{name} is no batch of images: want for each a label below {len(CLASSES)} and 3072 bytes")
    records = np.frombuffer(b"".join(files.values()), np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def read_jpegs(archive: bytes, labels: bytes, train: bool) -> tuple[NDArray, NDArray]:
    """Read the images from an archive of train|test/CLASS/NUMBER.jpg, numbered within a class, and put them in their first order.

    Parameters
    ----------
    archive : a .tar, compressed or not
    labels : a NumPy file with the labels in the standard archive's order

    Returns
    -------
    as for `read_batches`; the pixels are those of the JPEGs

    Raises
    ------
    ValueError
        If an image is missing, or is none.
    """
    from PIL import Image  # only this copy needs it

    kind("labels", labels, bytes)
    try:
        labels = np.load(io.BytesIO(labels), allow_pickle=False).astype(np.int64)
    except (ValueError, EOFError) as error:
        raise ValueError(f"labels are no NumPy file: {error}") from error
    numbers = np.empty_like(labels)
    for label in range(len(CLASSES)):
        numbers[labels == label] = np.arange(np.sum(labels == label))
    part = "train" if train else "test"
    names = [f"{part}/{CLASSES[label]}/{number:04}.jpg" for label, number in zip(labels, numbers, strict=True)]
    files, images = members(archive, names), np.empty((len(labels), 3, 32, 32), np.uint8)
    for image, name in zip(images, names, strict=True):
        try:
            with Image.open(io.BytesIO(files[name]), formats=["JPEG"]) as picture:
                if picture.size != (32, 32):
                    raise ValueError(f"it has {picture.size[0]} × {picture.size[1]} pixels")
                image[:] = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
        except Exception as error:  # an image may be broken in many ways
            raise ValueError(f"{name} is no image of 32 × 32: {error}") from error
    return images, labels


def members(archive: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Take files from an archive by their exact names, in the order asked; whatever else it holds is passed over.

    Nothing is written, so that a name like ../../x leads nowhere.

    Raises
    ------
    ValueError
        If it is no whole archive, or if it lacks one of the files as a plain file of at most `MOST` bytes.
    """
    kind("archive", archive, bytes)
    wanted = set(names)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            fit = (file for file in tar if file.name in wanted and file.isreg() and file.size <= MOST)
            found = {file.name: tar.extractfile(file).read() for file in fit}
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"the archive cannot be read: {error}") from error
    for name in names:
        if name not in found:
            raise ValueError(f"the archive lacks {name} (as a plain file of at most {MOST} bytes)")
    return {name: found[name] for name in names}
