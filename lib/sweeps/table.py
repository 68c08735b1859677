"""What is known of a sweep's members: arrays over the whole grid that fill up, and where their contents come from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from lib.sweeps.grid import Sweep

Made = Mapping[str, Any]  # seconds, device, versions and code of a computation


class Content(NamedTuple):
    """Some members: variables by name, over `member` first, except coordinates of further dimensions."""

    variables: Mapping[str, xr.Variable]
    coords: frozenset[str]
    made: Made

    def signature(self) -> dict[str, tuple]:
        """Return by name what all contents of a sweep must have in common of a variable."""
        found = {}
        for name, variable in self.variables.items():
            kind = "text" if variable.dtype.kind == "U" else variable.dtype.str  # the length of a text may differ
            shape, values = variable.shape[1:], None
            if not _own(variable):
                shape, values = variable.shape, variable.values.tolist()
            found[name] = variable.dims, shape, kind, str(variable.attrs), name in self.coords, values
        return found


def _own(variable: xr.Variable) -> bool:
    """Say whether each member has values of its own."""
    return variable.dims[:1] == ("member",)


class Table:
    """The members of a sweep, (members,) in the order of `Sweep.members`.

    Attributes
    ----------
    done : (members,) which are there
    made : where they come from, one entry for each device, version of packages and code: these, and members and seconds
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.made = sweep, []
        self.done = np.zeros(np.prod(sweep.shape), bool)
        self._first: Content | None = None
        self._arrays: dict[str, np.ndarray] = {}

    def odd(self, content: Content) -> list[str]:
        """Return the names of variables that do not fit with what is there."""
        if self._first is None:
            return []
        ours, theirs = self._signature, content.signature()
        return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))

    def put(self, places: np.ndarray, content: Content) -> None:
        """Take in some members; those that are there already stay what they are."""
        if self._first is None:
            self._first, self._signature = content, content.signature()
        new = ~self.done[places]
        for name, variable in content.variables.items():
            if _own(variable):
                self._array(name, variable)[places[new]] = variable.values[new]
        if content.made:
            self._count(content.made, int(new.sum()))
        self.done[places] = True

    def _count(self, made: Made, members: int) -> None:
        """Add to where the members come from."""
        new = {"members": members, **made}
        for part in self.made:
            if all(part.get(key) == new.get(key) for key in {*part, *new} - {"members", "seconds"}):
                part["members"] += members
                part["seconds"] += new["seconds"]
                return
        self.made.append(new)

    def _array(self, name: str, variable: xr.Variable) -> np.ndarray:
        array = self._arrays.get(name)
        if array is None:
            empty = np.nan if variable.dtype.kind == "f" else np.zeros((), variable.dtype)
            array = np.full((len(self.done), *variable.shape[1:]), empty, variable.dtype)
        elif variable.dtype.itemsize > array.itemsize:  # a longer text
            array = array.astype(variable.dtype)
        self._arrays[name] = array
        return array

    def dataset(self, *, trim: bool = False) -> xr.Dataset:
        """Lay the members out over the grid; if so asked, without values of a coordinate for which nothing is there."""
        shape, coordinates = self.sweep.shape, self.sweep.coordinates
        done, cut = self.done.reshape(shape), [slice(None)] * len(shape)
        if trim:
            others = [tuple(range(axis)) + tuple(range(axis + 1, len(shape))) for axis in range(len(shape))]
            kept = [np.flatnonzero(done.any(axes)) for axes in others]
            cut = np.ix_(*kept)
            coordinates = {name: values[places] for (name, values), places in zip(coordinates.items(), kept, strict=True)}
        variables = {}
        for name, variable in self._first.variables.items() if self._first else ():
            if not _own(variable):
                variables[name] = variable
                continue
            values = self._arrays[name]
            laid = values.reshape(*shape, *values.shape[1:])[tuple(cut)]
            variables[name] = ((*coordinates, *variable.dims[1:]), laid, variable.attrs)
        found = xr.Dataset(variables, coordinates).set_coords(list(self._first.coords) if self._first else [])
        return found.assign(done=(tuple(coordinates), done[tuple(cut)])) if trim else found
