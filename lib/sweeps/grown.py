"""A sweep whose result grows: one NetCDF file holds the members that are done, and whoever wants more goes on from it.

The file holds the grid's values for which something is there; where a member is missing its numbers are NaN and `done` is false.
Seeds and values can be added to the grid later. What counts is in the file alone, so that it can be committed at any time.
"""

import json

import numpy as np
import xarray as xr

from lib.sweeps.grid import Sweep
from lib.sweeps.table import Content, Table

CLOSE = 1e-9  # relative distance of two values of the grid that are one: another processor may round them in another way


def settings(sweep: Sweep) -> str:
    """Write down, as JSON, what determines a member beside its coordinates."""
    call = f"{sweep.function.__module__}.{sweep.function.__qualname__}"
    return json.dumps({"function": call, "fixed": dict(sweep.fixed)}, sort_keys=True)


def encode(table: Table) -> bytes:
    """Return a NetCDF file of the members that are done; at least one is."""
    found = table.dataset(trim=True)
    layout = {name: [v.dtype.str, v.attrs] for name, v in found.variables.items() if name != "done"}
    found.attrs = {
        "settings": settings(table.sweep),
        "members": int(table.done.sum()),
        "wanted": len(table.done),
        "seconds": sum(part["seconds"] for part in table.made),
        **{name: "; ".join(sorted({part[name] for part in table.made})) for name in ("device", "versions")},
        "made": json.dumps(table.made),
        "layout": json.dumps(layout),
    }
    return bytes(found.to_netcdf(engine="scipy"))


def restore(sweep: Sweep, found: xr.Dataset) -> Table:
    """Return what a file holds as a table of the sweep.

    Raises
    ------
    ValueError
        If the file holds members that are not in the grid, which would be lost.
    """
    table, layout = Table(sweep), json.loads(found.attrs["layout"])
    done = found.done.values.astype(bool)
    axes = [_places(name, values, found[name].values) for name, values in sweep.coordinates.items()]
    places = np.arange(len(table.done)).reshape(sweep.shape)[np.ix_(*axes)][done]
    variables = {}
    for name, (kind, attrs) in layout.items():
        if name in sweep.coordinates:
            continue
        dims, values = found.variables[name].dims, found.variables[name].values
        if dims[: len(axes)] == tuple(sweep.coordinates):
            dims, values = ("member", *dims[len(axes) :]), values[done]
        variables[name] = xr.Variable(dims, values.astype(kind), attrs)
    table.put(places, Content(variables, frozenset(map(str, found.coords)) - {*sweep.coordinates}, {}))
    table.made = json.loads(found.attrs["made"])
    return table


def _places(name: str, wanted: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return where in the grid the values are that a file has."""
    if wanted.dtype.kind == "f":
        same = np.isclose(there[:, None].astype(float), wanted, rtol=CLOSE, atol=0)
    else:
        same = there[:, None] == wanted
    if lost := [str(value) for value, any_ in zip(there, same.any(axis=1), strict=True) if not any_]:
        raise ValueError(f"{name} {', '.join(lost)}: the stored members have values that the grid has no longer")
    return same.argmax(axis=1)
