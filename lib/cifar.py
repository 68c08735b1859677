"""Reading CIFAR-10: the standard archive of pickled batches, and a copy of its images as JPEG. `lib.data.cifar10` finds them."""

import io
import pickle
import tarfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib.checks import kind

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {True: [f"data_batch_{number}" for number in range(1, 6)], False: ["test_batch"]}


class _Batch(pickle.Unpickler):
    """Reads a batch, a dictionary with bytes, lists and one array; a pickle that asks for anything else is refused."""

    ALLOWED = ("_reconstruct", "ndarray", "dtype")

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] != "numpy" or name not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch of images needs")
        return np._core.multiarray._reconstruct if name == "_reconstruct" else getattr(np, name)


def read_batches(archive: bytes, train: bool) -> tuple[NDArray, NDArray]:
    """Read the training or the test images from the standard archive, cifar-10-python.tar.gz; nothing is written or run.

    Returns
    -------
    images (n, 3, 32, 32), uint8, and labels (n,), int64, in the archive's order

    Raises
    ------
    ValueError
        If the archive, or a batch in it, is not what it should be.
    """
    files = _members(archive, [f"cifar-10-batches-py/{name}" for name in BATCHES[train]])
    images, labels = zip(*(_batch(name, content) for name, content in files.items()), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def _batch(name: str, content: bytes) -> tuple[NDArray, NDArray]:
    try:
        batch = _Batch(io.BytesIO(content), encoding="bytes").load()
        pixels, labels = batch[b"data"], np.array(batch[b"labels"], np.int64)
    except Exception as error:  # a pickle may raise anything
        raise ValueError(f"{name} is no batch of images: {error}") from error
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape != (len(labels), 3072):
        raise ValueError(f"{name} is no batch of images: want {len(labels)} × 3072 bytes")
    return pixels.reshape(-1, 3, 32, 32), labels


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
    files, images = _members(archive, names), np.empty((len(labels), 3, 32, 32), np.uint8)
    for image, name in zip(images, names, strict=True):
        try:
            with Image.open(io.BytesIO(files[name]), formats=["JPEG"]) as picture:
                image[:] = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
        except Exception as error:  # an image may be broken in many ways
            raise ValueError(f"{name} is no image of 32 × 32: {error}") from error
    return images, labels


def _members(archive: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Take files from an archive by their exact names, in the order asked; whatever else it holds is passed over."""
    kind("archive", archive, bytes)
    wanted = set(names)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            found = {file.name: tar.extractfile(file).read() for file in tar if file.name in wanted and file.isreg()}
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"the archive cannot be read: {error}") from error
    for name in names:
        if name not in found:
            raise ValueError(f"the archive lacks {name}")
    return {name: found[name] for name in names}
