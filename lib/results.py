"""Stored runs: experiments too heavy for a laptop, computed once and kept in `book/results/` as NetCDF, with their settings.

A `Run` consists of pieces, a `Growing` run of the members of a sweep. `lib.store` computes them.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lib.checks import instance, kind, one_of, positive, takes, text, whole
from lib.sweeps import Sweep, grown

ROOT = Path(__file__).parents[1]

Scale = Mapping[str, float]


class StaleResult(RuntimeError):
    """A stored run is missing, unreadable or made with other settings; the message says how to make it anew."""


@dataclass(frozen=True)
class Run:
    """An experiment to be stored.

    Attributes
    ----------
    name : "topic/experiment"
    function : returns a Dataset; takes the arguments of a piece, and `device`
    dimension : along which the pieces are joined
    pieces : arguments by label; plain values and dataclasses
    source : the scale of the source: numbers by argument's name; of a list counts the length
    """

    name: str
    function: Callable[..., xr.Dataset]
    dimension: str
    pieces: Mapping[str, Mapping[str, Any]]
    source: Scale = field(default_factory=dict)

    def __post_init__(self) -> None:
        text(name=self.name, dimension=self.dimension)
        kind("function", self.function, Callable)
        kind("pieces", self.pieces, Mapping)
        _check_scale(self.source)
        for label, piece in self.pieces.items():
            kind(f"pieces[{label!r}]", piece, Mapping)
        if not self.pieces:
            raise ValueError("pieces is empty: want the arguments of one piece at least")

    def settings(self, label: str | None = None) -> str:
        """Write down, as JSON, what determines the result: of one piece or of all."""
        if label is not None:
            one_of("label", label, self.pieces)
        return self.settings_of(self.pieces if label is None else [label])

    def settings_of(self, labels: Sequence[str]) -> str:
        """Write down, as JSON, what determines the result of some pieces."""
        call = f"{self.function.__module__}.{self.function.__qualname__}"
        pieces = {label: self.pieces[label] for label in labels}
        return json.dumps({"function": call, "dimension": self.dimension, "pieces": pieces}, default=_plain)

    @property
    def path(self) -> Path:
        """Where the result is kept."""
        return ROOT / "book" / "results" / f"{self.name}.nc"

    def scale(self) -> dict[str, list[float]]:
        """Return, for each name of the source's scale, our numbers: one of each piece."""
        return {name: [_number(self.function, piece, name) for piece in self.pieces.values()] for name in self.source}


@dataclass(frozen=True)
class Growing:
    """An experiment that is stored member by member: what is done can be shown and committed, and more be wanted later.

    Attributes
    ----------
    sweep : its function also takes `device`, by which members do not differ
    source : the scale of the source: `networks` are members, other names arguments in `fixed`
    dimension : a further dimension, of length one, under which the members are laid
    together : how many members a GPU trains in one call
    """

    sweep: Sweep
    source: Scale = field(default_factory=dict)
    dimension: str = ""
    together: int = 1

    def __post_init__(self) -> None:
        kind("sweep", self.sweep, Sweep)
        _check_scale(self.source)
        kind("dimension", self.dimension, str)
        whole("together", self.together, 1)

    @property
    def name(self) -> str:
        """Its topic and experiment."""
        return self.sweep.name

    @property
    def function(self) -> Callable[..., xr.Dataset]:
        """What computes a member."""
        return self.sweep.function

    @property
    def path(self) -> Path:
        """Where the result is kept."""
        return ROOT / "book" / "results" / f"{self.name}.nc"

    def settings(self) -> str:
        """Write down, as JSON, what determines a member beside its coordinates."""
        return grown.settings(self.sweep)

    def scale(self) -> dict[str, list[float]]:
        """Return, for each name of the source's scale but `networks`, our number."""
        return {name: [_number(self.function, self.sweep.fixed, name)] for name in self.source if name != "networks"}


def _check_scale(source: Scale) -> None:
    for name, value in kind("source", source, Mapping).items():
        positive(f"source[{name!r}]", value)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return asdict(value)
    raise TypeError(f"a stored run's argument must be plain or a dataclass, not {value!r}")


def _number(function: Callable, arguments: Mapping[str, Any], name: str) -> float:
    """Return an argument as a number: a list counts by its length; one that is not given has its default."""
    parts = {key: value for one in arguments.values() if is_dataclass(one) for key, value in asdict(one).items()}
    defaults = {key: one.default for key, one in inspect.signature(function).parameters.items()}
    value = (defaults | parts | dict(arguments))[name]
    return float(len(value) if isinstance(value, Sequence) else value)


def read(run: Run | Growing) -> xr.Dataset | None:
    """Return what the file of a run holds, whatever its settings are, or None where there is none.

    Raises
    ------
    StaleResult
        If it cannot be read.
    """
    if not run.path.is_file():
        return None
    try:
        return xr.load_dataset(run.path, engine="scipy")
    except Exception as problem:
        reason = str(problem).split("\n")[0]
        raise StaleResult(f"the stored run {run.path} cannot be read ({reason}); delete it and {_remedy(run)}") from problem


def _remedy(run: Run | Growing) -> str:
    return f"make it with: python -m lib store {run.name}"


@takes(run=instance(Run, Growing))
def load(run: Run | Growing) -> xr.Dataset:
    """Read a stored run; of one that grows, what is there, with NaN for members that are not (see `count`).

    Raises
    ------
    StaleResult
        If it is not there, cannot be read, or was made with other settings than `run` has now.
    """
    if (found := read(run)) is None:
        raise StaleResult(f"there is no stored run {run.name}; {_remedy(run)}")
    if found.attrs.get("settings") != run.settings():
        raise StaleResult(f"the stored run {run.name} was made with other settings than the book has now; {_remedy(run)}")
    if isinstance(run, Run):
        return found
    if not found.done.all():
        whole_numbers = [name for name, one in found.data_vars.items() if one.dtype.kind in "biu" and name != "done"]
        holes = {name: found[name].astype(float).where(found.done) for name in whole_numbers if "seed" in found[name].dims}
        found = found.assign(holes)
    if run.dimension:
        found = found.expand_dims({run.dimension: [" × ".join(str(found.sizes[name]) for name in run.sweep.coordinates)]})
    return found


@takes(found=instance(xr.Dataset))
def singles(found: xr.Dataset) -> xr.Dataset:
    """Return it in single precision, as large runs are stored."""
    return found.assign({name: values.astype(np.float32) for name, values in found.items() if values.dtype.kind == "f"})


@takes(found=instance(xr.Dataset))
def count(found: xr.Dataset) -> str:
    """Say how many members of a run that grows are there, like "162 of 4,624"."""
    if lacking := [name for name in ("members", "wanted") if name not in found.attrs]:
        raise ValueError(f"found has no {', '.join(lacking)}: want a Dataset that `load` has read of a run that grows")
    return f"{int(found.attrs['members']):,} of {int(found.attrs['wanted']):,}"


def describe(found: xr.Dataset) -> str:
    """Say in a line where a stored run comes from."""
    if lacking := [name for name in ("device", "seconds", "versions") if name not in getattr(found, "attrs", {})]:
        raise ValueError(f"found has no {', '.join(lacking)}: want a Dataset that `load` has read")
    return f"stored run: {found.attrs['device']}, {found.attrs['seconds'] / 60:.0f} min; {found.attrs['versions']}"
