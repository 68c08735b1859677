"""Run a sweep in shards, here or on workers.

Each finished shard is a file of its own, written whole or not at all, with its settings and a checksum, so that a sweep that was
killed resumes to a bitwise identical result. Without workers this needs NumPy, SciPy, xarray and tqdm only.
"""

import errno
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from lib import files
from lib.checks import instance, takes, whole
from lib.sweeps import workers
from lib.sweeps.grid import Sweep


@takes(sweep=instance(Sweep), folder=instance(Path, str), shard_size=whole)
def run(sweep: Sweep, folder: Path | str, *, shard_size: int = 1, progress: bool = True) -> xr.Dataset:
    """Compute what is missing of a sweep and return all of it.

    A shard is `shard_size` consecutive members (the last may have fewer), given to the function in one call, and is kept as
    `folder/name/KEY.nc`, where KEY is a hash of the function's name, `fixed` and the coordinates of the shard's members. It is
    used again only whole, since a GPU rounds differently with other members beside: with another shard size all is computed anew.
    A change in the function's code does not change the key: delete the folder then. Two runs may share a folder, so shards of
    other settings are left alone; a file that is spoilt is computed anew, with a line on stderr.

    With a current Dask client (see `lib.sweeps.cluster`) each shard is a task on a worker, and its result is written here as soon
    as it arrives, so workers need no common disk. A worker that dies costs the shard it had in hand, which goes to another.

    Parameters
    ----------
    sweep : what to compute
    folder : where finished shards are kept
    shard_size : members in a call, at least 1
    progress : show a bar

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
    home, members = Path(folder) / sweep.name, sweep.members()
    count = math.prod(sweep.shape)
    starts = range(0, count, shard_size)
    cuts = [{name: values[k : k + shard_size] for name, values in members.items()} for k in starts]
    shards = [_Shard(sweep, home, coordinates) for coordinates in cuts]
    contents = {shard: content for shard in shards if (content := shard.read()) is not None}
    for shard, content in contents.items():
        shard.check_fit(content, next(iter(contents.values())))
    initial, missing = sum(map(len, contents)), [shard for shard in shards if shard not in contents]
    bar = tqdm(total=count, initial=initial, desc=sweep.name, unit="member", disable=None if progress else True)
    tasks = {shard: shard.arguments() for shard in missing}
    with bar, closing(workers.compute(sweep.function, tasks)) as results:
        for shard, result in results:
            content, data = shard.encode(result)
            shard.check_fit(content, next(iter(contents.values()), content))
            shard.write(data)
            contents[shard] = content
            bar.update(len(shard))
    return _join(sweep, [contents[shard] for shard in shards])


@dataclass(frozen=True, eq=False)
class _Shard:
    """Consecutive members of a sweep, computed in one call and kept in one file."""

    sweep: Sweep
    folder: Path
    coordinates: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.coordinates["seed"])

    def __str__(self) -> str:
        ends = [", ".join(f"{name}={values[k]}" for name, values in self.coordinates.items()) for k in (0, -1)]
        return f"{self.sweep.name}, shard {ends[0]}" + (f" to {ends[1]} ({len(self)} members)" if len(self) > 1 else "")

    def arguments(self) -> dict[str, Any]:
        """Return what the function is called with, its own to change."""
        return {name: values.copy() for name, values in self.coordinates.items()} | deepcopy(dict(self.sweep.fixed))

    @cached_property
    def settings(self) -> str:
        """What determines the result, as JSON."""
        call = f"{self.sweep.function.__module__}.{self.sweep.function.__qualname__}"
        members = {name: values.tolist() for name, values in self.coordinates.items()}
        return json.dumps({"function": call, "fixed": dict(self.sweep.fixed), "members": members}, sort_keys=True)

    @cached_property
    def path(self) -> Path:
        return self.folder / f"{hashlib.sha256(self.settings.encode()).hexdigest()[:32]}.nc"

    def read(self) -> xr.Dataset | None:
        """Return what is kept, or None where there is nothing; what is spoilt or foreign is removed."""
        return files.kept(self.path, lambda data: _decode(data, self.settings))

    def write(self, data: bytes) -> None:
        """Keep the shard."""
        try:
            files.write(self.path, data)
        except OSError as problem:
            remedy = "free some space and start again" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else "start again"
            message = f"a shard cannot be written to {self.folder}: {problem.strerror}; finished shards are kept; {remedy}"
            raise OSError(problem.errno, message) from problem

    def encode(self, result: xr.Dataset) -> tuple[xr.Dataset, bytes]:
        """Check what the function returned; return it as it will be read, and as the bytes to be written."""
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
            data = _encode(result, self.settings)
            return _decode(data, self.settings), data
        except Exception as problem:  # names, values and attributes may be unfit in many ways
            raise ValueError(f"{self}: what the function returned cannot be kept as NetCDF ({problem})") from problem

    def check_fit(self, content: xr.Dataset, other: xr.Dataset) -> None:
        """Raise ValueError unless both have the same variables over the same further dimensions."""
        ours, theirs = _signature(content), _signature(other)
        if odd := sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)):
            raise ValueError(
                f"{self}: {', '.join(odd)}: other dimensions, sizes, type, values or attributes than in another shard;"
                f" if the function has changed, delete {self.folder}"
            )


def _signature(content: xr.Dataset) -> dict[str, tuple]:
    """Return by name what all shards must have in common of a variable."""
    found = {}
    for name, variable in content.variables.items():
        kind = "text" if variable.dtype.kind == "U" else variable.dtype.str  # the length of a text may differ
        shape, values = variable.shape[1:], None
        if variable.dims[:1] != ("member",):  # it labels a further dimension, with the same values in all shards
            shape, values = variable.shape, variable.values.tolist()
        found[str(name)] = variable.dims, shape, kind, str(variable.attrs), name in content.coords, values
    return found


def _encode(content: xr.Dataset, settings: str) -> bytes:
    """Return a NetCDF file. NetCDF knows fewer types than NumPy, so a header says what the variables really are."""
    layout = json.dumps(
        {name: (v.dims, v.shape, v.dtype.str, name in content.coords, v.attrs) for name, v in content.variables.items()},
        default=lambda value: value.tolist() if isinstance(value, np.ndarray | np.generic) else json.dumps(value),
    )
    bare = xr.Dataset({name: (v.dims, v.values) for name, v in content.variables.items()})
    checksum = _checksum(settings, layout, [v.values for v in content.variables.values()])
    bare.attrs = {"settings": settings, "layout": layout, "checksum": checksum}
    exact = {name: {"_FillValue": None} for name in bare.variables}  # a NaN is a value like any other
    return bytes(bare.to_netcdf(engine="scipy", encoding=exact))


def _decode(data: bytes, settings: str) -> xr.Dataset:
    """Return what was encoded with these settings; raise an exception, of any kind, if that is not what it is."""
    found = xr.load_dataset(BytesIO(data), engine="scipy")
    if found.attrs["settings"] != settings:
        raise ValueError("it was made with other settings")
    layout = json.loads(found.attrs["layout"])
    values = {name: found.variables[name].values.astype(dtype) for name, (_, _, dtype, _, _) in layout.items()}
    shapes = {name: tuple(shape) for name, (_, shape, _, _, _) in layout.items()}
    checksum = _checksum(settings, found.attrs["layout"], list(values.values()))
    if checksum != found.attrs["checksum"] or shapes != {name: array.shape for name, array in values.items()}:
        raise ValueError("its checksum is not that of its content")
    content = xr.Dataset({name: (dims, values[name], attrs) for name, (dims, _, _, _, attrs) in layout.items()})
    return content.set_coords([name for name, (_, _, _, coordinate, _) in layout.items() if coordinate])


def _checksum(settings: str, layout: str, arrays: Sequence[np.ndarray]) -> str:
    digest = hashlib.sha256(f"{settings}\n{layout}\n".encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()


def _join(sweep: Sweep, contents: Sequence[xr.Dataset]) -> xr.Dataset:
    """Lay the members of all shards, in order, out over the grid."""
    first, variables = contents[0], {}
    for name, variable in first.variables.items():
        if variable.dims[:1] == ("member",):
            values = np.concatenate([content.variables[name].values for content in contents])
            dims = (*sweep.coordinates, *variable.dims[1:])
            variables[name] = (dims, values.reshape(*sweep.shape, *values.shape[1:]), variable.attrs)
        else:
            variables[name] = variable
    return xr.Dataset(variables, sweep.coordinates).set_coords(list(first.coords))
