"""The result of a run: a NetCDF file over the coordinates of its cases, with what is finished of them."""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.io import netcdf_file

from lib import files
from lib.progress import duration
from lib.runs.freshness import numbers_of
from lib.runs.run import Run

CLOSE = 1e-9  # relative distance of coordinates that are the same: another processor may round them in another way


class OutdatedResult(RuntimeError):
    """A result is missing, unreadable or of other arguments; the message says which command computes it."""


def load(run: Run) -> xr.Dataset:
    """Read the stored result of a run, as `lib.runs.load` returns it."""
    if (found := read(run)) is None:
        raise OutdatedResult(f"there is no result of {run.name}; {_remedy(run)}")
    if matching(run, found).sizes != found.sizes:
        raise OutdatedResult(f"the result of {run.name} was computed with other arguments than the run has now; {_remedy(run)}")
    for name in run.cases.coordinates:
        _places(run, name, found[name].values)
    return with_done(run, found)


def with_done(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Name the run of a result, and say which of its cases are done; numbers of the others are NaN."""
    found = _flagged(run, found)
    if not found.done.all():
        whole = {name: one.astype(float) for name, one in found.items() if name != "done" and one.dtype.kind in "biu"}
        found = found.assign({name: one.where(found.done) for name, one in whole.items()})
    return found.assign_attrs(run=run.name, cases=len(run.cases))


def _flagged(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return a result with `done`, which a file of finished cases leaves out."""
    shape = {name: found.sizes[name] for name in run.cases.coordinates}
    return found.assign(done=found.get("done", xr.DataArray(np.ones([*shape.values()], bool), dims=[*shape])))


def _remedy(run: Run) -> str:
    return f"compute it with: python -m lib store {run.name}"


def read(run: Run) -> xr.Dataset | None:
    """Return what the file of a run holds, whatever its arguments were, or None where there is none."""
    if not run.path.is_file():
        return None
    try:
        return _flagged(run, xr.load_dataset(run.path, engine="scipy"))
    except Exception as problem:  # a spoilt file may make its reader stumble in any way
        reason = str(problem).split("\n")[0]
        raise OutdatedResult(f"{run.path} cannot be read ({reason}); delete it and {_remedy(run)}") from problem


def matching(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return the part of a result that was computed with the arguments that the run has now; named cases may have changed."""
    theirs, ours = json.loads(found.attrs["settings"]), run.settings()
    (dimension, *_) = run.cases.coordinates
    if any(theirs[name] != ours[name] for name in ("function", "fixed")):
        return found.isel({name: [] for name in found.done.dims})
    if not run.cases.named:
        return found
    return found.sel({dimension: [n for n, given in theirs["cases"].items() if given == ours["cases"].get(n, given)]})


def save(run: Run, found: xr.Dataset) -> None:
    """Write finished cases, along the dimension `case` with their numbers, over the coordinates of the run."""
    files.write(run.path, bytes(laid_out(run, found).drop_encoding().to_netcdf(engine="scipy")))


def laid_out(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return finished cases, along the dimension `case` with their numbers, over the coordinates of the run."""
    origin, places = found.attrs, np.unravel_index(found.case.values, run.cases.shape, order="F")
    index = pd.MultiIndex.from_arrays(places, names=list(run.cases.coordinates))
    found = found.drop_vars("case").assign(done=("case", np.ones(len(index), bool)))
    found = found.assign_coords(xr.Coordinates.from_pandas_multiindex(index, "case"))
    empty = {name: np.zeros((), one.dtype)[()] for name, one in found.items() if one.dtype.kind in "biuU"}
    found = found.unstack("case", fill_value=empty).transpose(*run.cases.coordinates, ...)
    found = found.assign_coords({name: values[found[name].values] for name, values in run.cases.coordinates.items()})
    settings = run.settings()
    (names, *_) = (found[name].values.tolist() for name in run.cases.coordinates)
    settings["cases"] = {name: settings["cases"][name] for name in names if run.cases.named}
    found.attrs = {"settings": json.dumps(settings, separators=(",", ":")), **origin}
    return found.drop_vars("done") if found.done.all() else found


def attach(run: Run, check: Mapping[str, Any]) -> None:
    """Keep what was found of a result, and the hash of its numbers, in its attributes; the numbers stay, bit for bit."""
    content = BytesIO(run.path.read_bytes())
    with netcdf_file(content, "a") as found:
        found.verified = json.dumps({**check, "numbers": numbers_of(found)})
        found.flush()
        files.write(run.path, content.getvalue())


def flatten(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return what a result holds along the dimension `case`, with the cases' numbers; each must be one of the run's."""
    places = {name: (name, _places(run, name, found[name].values)) for name in run.cases.coordinates}
    found = found.assign_coords(places).stack(case=[*places], create_index=False)
    numbers = np.ravel_multi_index([found[name].values for name in places], run.cases.shape, order="F")
    found = found.drop_vars([*places]).assign_coords(case=("case", numbers)).isel(case=found.done.values)
    return found.drop_vars("done").transpose("case", ...).drop_encoding()


def _places(run: Run, name: str, there: np.ndarray) -> np.ndarray:
    """Return where among the run's values of a coordinate those of a file are; none may be lost."""
    ours = run.cases.coordinates[name]
    same = there[:, None] == ours
    if ours.dtype.kind == "f":
        same = np.isclose(there[:, None].astype(float), ours, rtol=CLOSE, atol=0)
    if lost := [str(value) for value, any_ in zip(there, same.any(axis=1), strict=True) if not any_]:
        raise OutdatedResult(
            f"{run.path} has cases that {run.name} has no longer, {name} {', '.join(lost)}: put them back, or delete the file"
        )
    return same.argmax(axis=1)


def count(found: xr.Dataset) -> str:
    """Say how many cases of a result that `load` has read are finished, like "162 of 4,624"."""
    return f"{int(found.done.sum()):,} of {found.attrs['cases']:,}"


def describe(found: xr.Dataset) -> str:
    """Say in a line how a result that `load` has read was computed, and how to compute it again."""
    known = found.attrs
    command = f"python -m lib store --again {known['run']}"
    return f"{known['device']}, {duration(known['seconds'])}; {known['versions']}; again: {command}"
