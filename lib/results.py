"""Stored runs: experiments too heavy for a laptop, computed once and kept in `book/results/` as NetCDF, with their settings.

A run has pieces that are computed one after another; finished pieces are kept under `_build/store/`, so that a run that was
interrupted goes on where it stopped. Only torch, NumPy, SciPy, xarray and tqdm are needed here.
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import xarray as xr

from lib import files
from lib.checks import kind, one_of, text
from lib.provenance import versions

ROOT = Path(__file__).parents[1]


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
    """

    name: str
    function: Callable[..., xr.Dataset]
    dimension: str
    pieces: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        text(name=self.name, dimension=self.dimension)
        kind("function", self.function, Callable)
        kind("pieces", self.pieces, Mapping)
        for label, piece in self.pieces.items():
            kind(f"pieces[{label!r}]", piece, Mapping)
        if not self.pieces:
            raise ValueError("pieces is empty: want the arguments of one piece at least")

    def settings(self, label: str | None = None) -> str:
        """Write down, as JSON, what determines the result: of one piece or of all."""
        if label is not None:
            one_of("label", label, self.pieces)
        pieces = self.pieces if label is None else {label: self.pieces[label]}
        call = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps({"function": call, "dimension": self.dimension, "pieces": pieces}, default=_plain)

    @property
    def path(self) -> Path:
        """Where the result is kept."""
        return ROOT / "book" / "results" / f"{self.name}.nc"


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return asdict(value)
    raise TypeError(f"a stored run's argument must be plain or a dataclass, not {value!r}")


def load(run: Run) -> xr.Dataset:
    """Read a stored run.

    Raises
    ------
    StaleResult
        If it is not there, cannot be read, or was made with other settings than `run` has now.
    """
    kind("run", run, Run)
    remedy = f"make it with: python -m lib store {run.name}"
    if not run.path.is_file():
        raise StaleResult(f"there is no stored run {run.name}; {remedy}")
    try:
        found = xr.load_dataset(run.path, engine="scipy")
    except Exception as problem:
        reason = str(problem).split("\n")[0]
        raise StaleResult(f"the stored run {run.path} cannot be read ({reason}); delete it and {remedy}") from problem
    if found.attrs.get("settings") != run.settings():
        raise StaleResult(f"the stored run {run.name} was made with other settings than the book has now; {remedy}")
    return found


def store(run: Run, device: str = "cpu") -> Path:
    """Compute what is missing of a run, keep it, and return where; a run that is there with the same settings is left alone."""
    text(device=device)
    try:
        load(run)
        return run.path
    except StaleResult:
        pass
    pieces = [_piece(run, label, device) for label in run.pieces]
    joined = xr.concat(pieces, run.dimension, join="outer", combine_attrs="drop").assign_coords({run.dimension: list(run.pieces)})
    joined = joined.drop_encoding()  # a piece from a file remembers whole numbers, and cannot be NaN where it has no entry
    joined.attrs = pieces[0].attrs | {
        "settings": run.settings(),
        "seconds": sum(piece.attrs["seconds"] for piece in pieces),
        "device": ", ".join(sorted({piece.attrs["device"] for piece in pieces})),
    }
    files.write(run.path, bytes(joined.to_netcdf(engine="scipy")))
    return run.path


def _piece(run: Run, label: str, device: str) -> xr.Dataset:
    """Return one piece, computed now or before."""
    settings = run.settings(label)
    path = ROOT / "_build" / "store" / run.name / f"{hashlib.sha256(settings.encode()).hexdigest()[:16]}.nc"
    before = files.kept(path, lambda data: xr.load_dataset(BytesIO(data), engine="scipy"))
    if before is not None:
        return before
    print(f"{run.name}: {label}", flush=True)
    start = time.perf_counter()
    found = run.function(**run.pieces[label], device=device)
    found.attrs = {
        "seconds": time.perf_counter() - start,
        "device": _device_name(device),
        "versions": versions("torch", "numpy", "scipy", "xarray"),
    }
    files.write(path, bytes(found.to_netcdf(engine="scipy")))
    return found


def _device_name(device: str) -> str:
    if device == "cpu":
        return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"
    import torch

    return torch.cuda.get_device_name()


def describe(found: xr.Dataset) -> str:
    """Say in a line where a stored run comes from."""
    if lacking := [name for name in ("device", "seconds", "versions") if name not in getattr(found, "attrs", {})]:
        raise ValueError(f"found has no {', '.join(lacking)}: want a Dataset that `load` has read")
    return f"stored run: {found.attrs['device']}, {found.attrs['seconds'] / 60:.0f} min; {found.attrs['versions']}"
