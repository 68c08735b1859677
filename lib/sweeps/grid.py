"""What a sweep computes: a function for each place of a grid and each seed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lib.checks import kind


@dataclass(frozen=True)
class Sweep:
    """A function, the grid and seeds to call it for, and what is the same for all.

    Attributes
    ----------
    name : "topic/experiment"
    function : from the top level of a module; called with an array (m,) for each coordinate and for `seed`, and with `fixed` by
        name; returns a Dataset whose variables start with dimension `member` (m,). What it returns for a member must not depend
        on who is beside it, beyond rounding
    grid : values by coordinate: numbers or texts, each once
    seeds : whole numbers, each once
    fixed : further arguments: numbers, texts, and lists and mappings of these

    Examples
    --------
    >>> def product(tau, delta, seed):
    ...     return xr.Dataset({"product": ("member", tau * delta)})
    >>> sweep = Sweep("topic/product", product, {"tau": [1, 2], "delta": [0.5, 1.0]}, seeds=[0])
    >>> sweep.shape, sweep.members()["tau"]
    ((2, 2, 1), array([1, 1, 2, 2]))
    """

    name: str
    function: Callable[..., xr.Dataset]
    grid: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kind("name", self.name, str)
        kind("grid", self.grid, Mapping)
        kind("fixed", self.fixed, Mapping)
        if not self.name or Path(self.name).is_absolute() or ".." in Path(self.name).parts:
            raise ValueError(f"name {self.name!r}: want topic/experiment")
        if "<" in getattr(self.function, "__qualname__", "<none>"):
            raise ValueError(
                f"function {self.function!r} has no name that a worker could find: want a function from a module's top level"
            )
        taken = [*self.grid, "seed", "member"]
        if twice := {name for name in [*taken, *self.fixed] if [*taken, *self.fixed].count(name) > 1}:
            raise ValueError(f"{', '.join(sorted(twice))}: want each name once among grid, fixed, seed and member")
        for name, values in self.coordinates.items():
            argument, kinds, wanted = f"grid, {name}", "biufU", "finite numbers or texts"
            if name == "seed":
                argument, kinds, wanted = "seeds", "iu", "whole numbers"
            fit = values.dtype.kind in kinds and (values.dtype.kind != "f" or np.isfinite(values).all())
            if not fit or values.ndim != 1 or not values.size or len(np.unique(values)) < values.size:
                raise ValueError(f"{argument} is {values.tolist()}: want at least one value, {wanted}, each once")
        try:
            json.dumps(dict(self.fixed), sort_keys=True)
        except TypeError as problem:
            raise ValueError(f"fixed: want numbers, texts, and lists and mappings of these ({problem})") from None

    @cached_property
    def coordinates(self) -> dict[str, np.ndarray]:
        """The grid's coordinates in order, then `seed`: one-dimensional arrays of float64, int64 or text."""
        named = {**self.grid, "seed": self.seeds}
        return {name: np.array(np.asarray(values).tolist()) for name, values in named.items()}  # float32 to float64, and so on

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each coordinate; their product is the number of members."""
        return tuple(len(values) for values in self.coordinates.values())

    def members(self) -> dict[str, np.ndarray]:
        """Return the coordinates of all members, (members,) each: the last coordinate, `seed`, runs fastest."""
        mesh = np.meshgrid(*self.coordinates.values(), indexing="ij")
        return {name: values.ravel() for name, values in zip(self.coordinates, mesh, strict=True)}
