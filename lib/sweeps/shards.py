"""Run a sweep in shards, here or on workers.

Each finished shard is a file of its own, written whole or not at all, with its settings and a checksum, so that a sweep that was
killed resumes to a bitwise identical result. Without workers this needs NumPy, SciPy, xarray and tqdm only.
"""

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.io import netcdf_file

from lib import files, progress
from lib.checks import instance, one_of, takes, whole
from lib.provenance import code
from lib.sweeps import workers
from lib.sweeps.grid import Sweep
from lib.sweeps.table import Content, Made, Table

ERRORS = ("raise", "collect")


@takes(sweep=instance(Sweep), folder=instance(Path, str), shard_size=whole, errors=partial(one_of, allowed=ERRORS))
def run(sweep: Sweep, folder: Path | str, *, shard_size: int = 1, errors: str = "raise", progress: bool = True) -> xr.Dataset:
    """Compute what is missing of a sweep and return all of it.

    A shard is `shard_size` consecutive members (the last may have fewer), given to the function in one call, and is kept as
    `folder/name/KEY.nc`, where KEY is a hash of the function's name and code, `fixed` and the coordinates of the shard's members.
    It is used again only whole, since a GPU rounds differently with other members beside: with another shard size all is
    computed anew, as it is when the function, or anything of the library to which it leads, does something else (see
    `lib.provenance.code`). Two runs may share a folder, so shards of other settings are left alone; a file that is spoilt is
    computed anew, with a line on stderr.

    With a current Dask client (see `lib.sweeps.cluster`) each shard is a task on a worker, and its result is written here as soon
    as it arrives, so workers need no common disk. A worker that dies costs the shard it had in hand, which goes to another.

    Parameters
    ----------
    sweep : what to compute
    folder : where finished shards are kept
    shard_size : members in a call, at least 1
    errors : when the function raises: "raise" at once, or "collect", which finishes the other shards first
    progress : show a bar, or a line a minute where there is no terminal

    Returns
    -------
    Dataset over the grid's coordinates, `seed` and the further dimensions of the function's variables, which keep their
    attributes and types; bitwise the same in whichever order, on however many workers and in however many attempts

    Raises
    ------
    ValueError
        If what the function returns is malformed or does not fit with other shards, or if a worker has another library.
    lib.sweeps.workers.TaskError
        If the function raises, or if workers keep dying on a shard; the message names the shard.
    OSError
        If a shard cannot be written, as on a full disk. After each of these errors the shards that were finished are there.
    """
    table = Table(sweep)
    places = np.arange(len(table.done))
    shards = cut(sweep, Path(folder) / sweep.name, np.split(places, places[shard_size::shard_size]))
    compute(table, read(table, shards, show=progress), errors=errors, show=progress)
    return table.dataset()


def cut(sweep: Sweep, folder: Path, parts: Sequence[np.ndarray], device: str | None = None) -> "list[Shard]":
    """Make shards of a sweep's members."""
    members = sweep.members()
    return [Shard(sweep, folder, part, {name: values[part] for name, values in members.items()}, device) for part in parts]


def read(table: Table, shards: "Sequence[Shard]", *, show: bool) -> "list[Shard]":
    """Put the finished shards into a table; return the others."""
    missing = []
    with progress.bar(len(shards), f"{table.sweep.name}, finished shards", "shard", show=show) as bar:
        for shard in shards:
            if (content := shard.read()) is None:
                missing.append(shard)
            else:
                shard.put(table, content)
            bar.update(1)
    return missing


def compute(table: Table, missing: "Sequence[Shard]", *, errors: str = "raise", show: bool = True) -> None:
    """Compute shards, keep each as a file and put it into a table."""
    for _ in computed(table, missing, errors=errors, show=show):
        pass


def computed(
    table: Table,
    missing: "Sequence[Shard]",
    *,
    errors: str,
    show: bool,
    fits: "Callable[[Shard], bool]" = lambda shard: True,
) -> "Iterator[Shard]":
    """Do the same, yielding each shard when it is done; stop before the first one that does not fit."""
    failed: list[workers.TaskError] = []
    tasks = ((shard, shard.arguments()) for shard in takewhile(fits, missing))
    name, initial = table.sweep.name, int(table.done.sum())
    bar = progress.bar(initial + sum(map(len, missing)), name, "member", initial=initial, show=show)
    with bar, closing(workers.compute(table.sweep.function, tasks, errors=errors)) as results:
        for shard, result in results:
            if isinstance(result, workers.TaskError):
                failed.append(result)
                continue
            content, data = shard.encode(result)
            shard.put(table, content, data)
            bar.update(len(shard))
            yield shard
    if failed:
        raise workers.several(failed, len(missing))


@dataclass(frozen=True, eq=False)
class Shard:
    """Members of a sweep, computed in one call and kept in one file; their places are those in `Sweep.members`."""

    sweep: Sweep
    folder: Path
    places: np.ndarray
    coordinates: Mapping[str, np.ndarray]
    device: str | None = None  # for a function that is told its device, which then does not count as a setting

    def __len__(self) -> int:
        return len(self.places)

    def __str__(self) -> str:
        ends = [", ".join(f"{name}={values[k]}" for name, values in self.coordinates.items()) for k in (0, -1)]
        return f"{self.sweep.name}, shard {ends[0]}" + (f" to {ends[1]} ({len(self)} members)" if len(self) > 1 else "")

    def arguments(self) -> dict[str, Any]:
        """Return what the function is called with."""
        given = {**self.coordinates, **self.sweep.fixed}
        return given if self.device is None else given | {"device": self.device}

    @cached_property
    def settings(self) -> str:
        """What determines the result, as JSON."""
        function = self.sweep.function
        call = {"function": f"{function.__module__}.{function.__qualname__}", "code": code(function)}
        members = {name: values.tolist() for name, values in self.coordinates.items()}
        return json.dumps(call | {"fixed": dict(self.sweep.fixed), "members": members}, sort_keys=True)

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return self.folder / f"{hashlib.sha256(self.settings.encode()).hexdigest()[:32]}.nc"

    def read(self) -> Content | None:
        """Return what is kept, or None where there is nothing; what is spoilt or foreign is removed."""
        return files.kept(self.path, lambda data: _decode(data, self.settings))

    def put(self, table: Table, content: Content, data: bytes | None = None) -> None:
        """Put the content into a table, if it fits, and keep it as a file if `data` are given."""
        if odd := table.odd(content):
            raise ValueError(
                f"{self}: {', '.join(odd)}: other dimensions, sizes, type, values or attributes than in another shard;"
                f" if the function has changed, delete {self.folder}"
            )
        if data is not None:
            self.write(data)
        table.put(self.places, content)

    def write(self, data: bytes) -> None:
        """Keep the shard."""
        try:
            files.write(self.path, data)
        except OSError as problem:
            remedy = "free some space and start again" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else "start again"
            message = f"a shard cannot be written to {self.folder}: {problem.strerror}; finished shards are kept; {remedy}"
            raise OSError(problem.errno, message) from problem

    def encode(self, found: workers.Found) -> tuple[Content, bytes]:
        """Check what the function returned; return it as it will be read, and as the bytes to be written."""
        result, made = found
        if not isinstance(result, xr.Dataset):
            raise ValueError(f"{self}: the function returned {type(result).__name__}: want a Dataset")
        result = result.drop_vars("member", errors="ignore")
        if not result.data_vars:
            raise ValueError(f"{self}: the function returned no variables")
        free = {name for name, v in result.coords.items() if "member" not in v.dims}  # coordinates of further dimensions
        if astray := [name for name, v in result.variables.items() if name not in free and v.dims[:1] != ("member",)]:
            raise ValueError(f"{self}: {', '.join(map(str, astray))}: want variables whose first dimension is member")
        if result.sizes["member"] != len(self):
            raise ValueError(f"{self}: the function returned {result.sizes['member']} members for {len(self)}")
        if taken := set(self.coordinates) & {*result.variables, *result.dims}:
            raise ValueError(f"{self}: {', '.join(sorted(taken))}: the sweep labels these itself; leave them out")
        if odd := [name for name, variable in result.variables.items() if variable.dtype.kind not in "biufU"]:
            raise ValueError(f"{self}: {', '.join(map(str, odd))}: want numbers, booleans or texts")
        try:
            data = _encode(result, self.settings, {**made, "code": code(self.sweep.function)})
            return _decode(data, self.settings), data
        except Exception as problem:  # names, values and attributes may be unfit in many ways
            raise ValueError(f"{self}: what the function returned cannot be kept as NetCDF ({problem})") from problem


def _encode(content: xr.Dataset, settings: str, made: Made) -> bytes:
    """Return a NetCDF file. NetCDF knows fewer types than NumPy, so a header says what the variables really are."""
    layout = json.dumps(
        {name: (v.dims, v.shape, v.dtype.str, name in content.coords, v.attrs) for name, v in content.variables.items()},
        default=lambda value: value.tolist() if isinstance(value, np.ndarray | np.generic) else json.dumps(value),
    )
    bare = xr.Dataset({name: (v.dims, v.values) for name, v in content.variables.items()})
    header = {"settings": settings, "layout": layout, "made": json.dumps(made)}
    bare.attrs = header | {"checksum": _checksum(*header.values(), arrays=[v.values for v in content.variables.values()])}
    exact = {name: {"_FillValue": None} for name in bare.variables}  # a NaN is a value like any other
    return bytes(bare.to_netcdf(engine="scipy", encoding=exact))


def _decode(data: bytes, settings: str) -> Content:
    """Return what was encoded with these settings; raise an exception, of any kind, if that is not what it is."""
    with netcdf_file(BytesIO(data), mmap=False) as file:  # without xarray, which takes a millisecond
        header = [getattr(file, name).decode() for name in ("settings", "layout", "made", "checksum")]
        raw = {name: variable.data for name, variable in file.variables.items()}
    if header[0] != settings:
        raise ValueError("it was made with other settings")
    layout = json.loads(header[1])
    if any(np.dtype(kind).kind == "U" for _, _, kind, _, _ in layout.values()):
        raw = {name: variable.values for name, variable in xr.load_dataset(BytesIO(data), engine="scipy").variables.items()}
    values = {name: raw[name].astype(kind) for name, (_, _, kind, _, _) in layout.items()}
    shapes = {name: tuple(shape) for name, (_, shape, _, _, _) in layout.items()}
    checksum = _checksum(*header[:3], arrays=list(values.values()))
    if checksum != header[3] or shapes != {name: array.shape for name, array in values.items()}:
        raise ValueError("its checksum is not that of its content")
    variables = {name: xr.Variable(dims, values[name], attrs) for name, (dims, _, _, _, attrs) in layout.items()}
    labels = frozenset(name for name, (_, _, _, coordinate, _) in layout.items() if coordinate)
    return Content(variables, labels, json.loads(header[2]))


def _checksum(*header: str, arrays: Sequence[np.ndarray]) -> str:
    digest = hashlib.sha256("\n".join([*header, ""]).encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()
