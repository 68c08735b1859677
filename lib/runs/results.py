"""The result of a run: a NetCDF file over the coordinates of
its cases, with what is finished of them.
"""

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
from lib.runs.dictionary import annotated
from lib.runs.freshness import numbers_of
from lib.runs.run import Run

# relative distance of coordinates that are the same:
# another processor may round them in another way
CLOSE = 1e-9


class OutdatedResult(RuntimeError):
    """A result is missing, unreadable or of other arguments;
    the message says which command computes it.
    """


def load(run: Run) -> xr.Dataset:
    """Read the stored result of a run, as `lib.runs.load` returns it."""
    if (found := read(run)) is None:
        raise OutdatedResult(f"there is no result of {run.name}; {_remedy(run)}")
    if matching(run, found).sizes != found.sizes:
        raise OutdatedResult(
            f"the result of {run.name} was computed with other arguments than the run has now; "
            f"{_remedy(run)}"
        )
    return laid_out(run, numbered(run, found))


def _remedy(run: Run) -> str:
    return f"compute it with: python -m lib store {run.name}"


def read(run: Run) -> xr.Dataset | None:
    """Return the cases in the file of a run, with their
    coordinates along `case`, or None where there is no file.
    """
    if not run.path.is_file():
        return None
    try:
        return xr.load_dataset(run.path, engine="scipy").drop_encoding()
    except Exception as problem:  # a spoilt file may make its reader stumble in any way
        reason = str(problem).split("\n")[0]
        raise OutdatedResult(
            f"{run.path} cannot be read ({reason}); delete it and {_remedy(run)}"
        ) from problem


def matching(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return the cases of a file that were computed with the arguments
    that the run has now; named cases may have changed.
    """
    theirs, ours = json.loads(found.attrs["settings"]), run.settings()
    if any(theirs[name] != ours[name] for name in ("function", "fixed")):
        return found.isel(case=[])
    if not run.cases.named:
        return found
    (dimension,) = run.cases.coordinates
    changed = [
        name for name, given in theirs["cases"].items() if given != ours["cases"].get(name, given)
    ]
    return found.isel(case=~found[dimension].isin(changed))


def numbered(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return the cases of a file along `case` with the run's numbers in
    place of coordinates; each must be one of the run's.
    """
    places = [_places(run, name, found[name].values) for name in run.cases.coordinates]
    numbers = np.ravel_multi_index(places, run.cases.shape, order="F")
    return found.drop_vars([*run.cases.coordinates]).assign_coords(case=numbers)


def _places(run: Run, name: str, there: np.ndarray) -> np.ndarray:
    """Return where among the run's values of a coordinate those of a file are; none may be lost."""
    ours = run.cases.coordinates[name]
    same = there[:, None] == ours
    if ours.dtype.kind == "f":
        same = np.isclose(there[:, None].astype(float), ours, rtol=CLOSE, atol=0)
    if lost := dict.fromkeys(there[~same.any(axis=1)].tolist()):
        raise OutdatedResult(
            f"{run.path} has cases that {run.name} has no longer, {name} "
            f"{', '.join(map(str, lost))}: put them back,"
            " or delete the file"
        )
    return same.argmax(axis=1)


def save(run: Run, found: xr.Dataset) -> None:
    """Write finished cases, along `case` with their numbers, as a
    table of their coordinates and what was found of each.
    """
    found = found.sortby("case")
    places = np.unravel_index(found.case.values, run.cases.shape, order="F")
    columns = {
        name: ("case", values[at])
        for (name, values), at in zip(run.cases.coordinates.items(), places, strict=True)
    }
    settings = run.settings()
    if run.cases.named:
        (names,) = (values.tolist() for _, values in columns.values())
        settings["cases"] = {name: settings["cases"][name] for name in names}
    table = found.drop_vars("case").assign_coords(columns).drop_encoding()
    table.attrs = {"settings": json.dumps(settings, separators=(",", ":")), **found.attrs}
    files.write(run.path, annotated(run, bytes(table.to_netcdf(engine="scipy"))))


def laid_out(run: Run, found: xr.Dataset) -> xr.Dataset:
    """Return cases, along `case` with their numbers, over the
    coordinates of the run, and `done`; numbers of others are NaN.
    """
    names = [*run.cases.coordinates]
    places = np.unravel_index(found.case.values, run.cases.shape, order="F")
    index = pd.MultiIndex.from_arrays(places, names=names)
    table = found.drop_vars("case")
    if len(index) < np.prod([len(level) for level in index.levels]):  # no boolean is NaN
        answers = [name for name, one in table.items() if one.dtype.kind == "b"]
        table = table.assign({name: table[name].astype(float) for name in answers})
    table = table.assign(done=("case", np.ones(len(index), bool)))
    table = table.assign_coords(xr.Coordinates.from_pandas_multiindex(index, "case"))
    wide = table.unstack("case", fill_value={"done": False}).transpose(*names, ...)
    wide = wide.assign_coords(
        {name: values[wide[name].values] for name, values in run.cases.coordinates.items()}
    )
    return wide.assign_attrs(
        run=run.name, cases=len(run.cases), settings=json.dumps(run.settings())
    )


def attach(run: Run, check: Mapping[str, Any]) -> None:
    """Keep what was found of a result, and the hash of its numbers,
    in its attributes; the numbers stay, bit for bit.
    """
    content = BytesIO(run.path.read_bytes())
    with netcdf_file(content, "a") as found:
        found.verified = json.dumps({**check, "numbers": numbers_of(found)})
        found.flush()
        files.write(run.path, annotated(run, content.getvalue()))


def count(found: xr.Dataset) -> str:
    """Say how many cases of a result that `load` has read are finished, like "162 of 4,624"."""
    return f"{int(found.done.sum()):,} of {found.attrs['cases']:,}"


def describe(found: xr.Dataset) -> str:
    """Say in a line how a result that `load` has read was computed, and how to compute it again."""
    known = found.attrs
    command = f"python -m lib store --again {known['run']}"
    return f"{known['device']}, {duration(known['seconds'])}; {known['versions']}; again: {command}"
