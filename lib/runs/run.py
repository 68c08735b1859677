"""What a precomputed run is: a function, and the cases for which it is called."""

import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import kind
from lib.fingerprint import code

ROOT = Path(__file__).parents[2]
TOLERANCE, MOMENTS = 0.01, 0.1


@dataclass(frozen=True)
class Cases:
    """The arguments of each case, and the coordinates over which
    results are laid out: the first varies fastest.
    """

    coordinates: Mapping[str, NDArray]
    arguments: Sequence[Mapping[str, Any]]
    named: bool = False  # whether the coordinate is a name, and not an argument

    def __len__(self) -> int:
        return len(self.arguments)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each coordinate."""
        return tuple(map(len, self.coordinates.values()))

    def label(self, case: int) -> str:
        """Name a case by its coordinates, as in "tau=0.1, seed=3"."""
        places = zip(
            self.coordinates.items(), np.unravel_index(case, self.shape, order="F"), strict=True
        )
        return ", ".join(f"{name}={values[place]}" for (name, values), place in places)


def grid(**values: Sequence[Any] | NDArray) -> Cases:
    """Return a case for each combination of values, which are its arguments.

    Examples
    --------
    >>> cases = grid(tau=[0.1, 0.2], seed=range(3))
    >>> len(cases), cases.arguments[1], cases.label(5)
    (6, {'tau': 0.2, 'seed': 0}, 'tau=0.2, seed=2')
    """
    coordinates = {name: _distinct(name, chosen) for name, chosen in values.items()}
    points = itertools.product(*[chosen.tolist() for chosen in reversed(coordinates.values())])
    return Cases(
        coordinates, [dict(zip(coordinates, reversed(point), strict=True)) for point in points]
    )


def named(dimension: str, cases: Mapping[str, Mapping[str, Any]]) -> Cases:
    """Return cases with any arguments, whose names become the coordinate of a dimension.

    Examples
    --------
    >>> named("row", {"default": {"width": 500}, "narrow": {"width": 50}}).label(1)
    'row=narrow'
    """
    arguments = [
        kind(f"cases[{name!r}]", given, Mapping)
        for name, given in kind("cases", cases, Mapping).items()
    ]
    return Cases({dimension: _distinct(dimension, [*cases])}, arguments, named=True)


def _distinct(name: str, values: ArrayLike) -> NDArray:
    found = np.array(np.asarray(values).tolist())  # float64, int64 or text
    fit = found.dtype.kind in "biufU" and not (
        found.dtype.kind == "f" and not np.isfinite(found).all()
    )
    if not fit or found.ndim != 1 or not found.size or len(np.unique(found)) < found.size:
        raise ValueError(
            f"{name} is {found.tolist()}: want at least one value, finite numbers or texts, each "
            "once"
        )
    return found


@dataclass(frozen=True)
class Run:
    """An experiment that is computed once and kept.

    Attributes
    ----------
    name : "chapter/experiment"
    function : from the top level of a module; takes `device`, "cpu" or "cuda", beside the other
        arguments, and returns a Dataset
    cases : what `grid` or `named` returns
    fixed : the arguments that are the same for all cases
    source : the scale of the source: numbers by argument, of a list its length; and `networks`, the
        number of cases
    batch : how many cases a GPU computes in one call. If more than one, the function takes arrays
        in place of a case's arguments and returns its results along a dimension `member`; on a CPU
        these arrays have one entry
    tolerance : how far a variable may lie from what today's code computes elsewhere, over its
        largest size; the gates of single neurons change with the last bit
    chaotic : variables that rounding changes by more, as it does single neurons on fresh samples;
        of these the mean and the standard deviation over all that is compared may differ by
        `MOMENTS` of the latter
    first : whether `lib store` computes it before others, by what it decides for its cost
    """

    name: str
    function: FunctionType
    cases: Cases
    fixed: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, float] = field(default_factory=dict)
    batch: int = 1
    tolerance: float = TOLERANCE
    chaotic: tuple[str, ...] = ()
    first: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w+/\w+", str(self.name)):
            raise ValueError(f"name is {self.name!r}: want chapter/experiment")
        if "<" in getattr(self.function, "__qualname__", "<none>"):
            raise ValueError(
                f"{self.name}: {self.function!r} is not from the top level of a module, so no "
                "worker could find it"
            )

    @property
    def chapter(self) -> str:
        """The chapter that it belongs to."""
        return self.name.split("/")[0]

    @property
    def path(self) -> Path:
        """Where the result is kept."""
        return result_file(ROOT / "book", self.name)

    def settings(self) -> dict[str, Any]:
        """Return what results depend on, as plain values: the
        function's name, fixed arguments, and those of named cases.
        """
        (names, *_) = self.cases.coordinates.values()
        cases = (
            dict(zip(names.tolist(), self.cases.arguments, strict=True)) if self.cases.named else {}
        )
        function = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.loads(_json({"function": function, "fixed": self.fixed, "cases": cases}))

    def arguments(self, cases: Sequence[int]) -> Mapping[str, Any]:
        """Return the arguments that vary, for a call of the function:
        those of a case, or arrays where it takes batches.
        """
        given = [self.cases.arguments[case] for case in cases]
        return (
            {name: np.array([one[name] for one in given]) for name in given[0]}
            if self.batch > 1
            else given[0]
        )

    def file_of(self, case: int, kind: str = "cpu", folder: str = "runs") -> Path:
        """Return where a finished case is kept, under a hash of
        its function, code, arguments and kind of device.
        """
        whole = [
            self.function.__qualname__,
            code(self.function),
            self.fixed,
            self.cases.arguments[case],
        ]
        whole += [kind] if kind != "cpu" else []
        return (
            ROOT
            / "_build"
            / folder
            / self.name
            / f"{hashlib.sha256(_json(whole).encode()).hexdigest()[:32]}.nc"
        )

    def scale(self, done: int) -> str:
        """Write our numbers over those of the source, when so many cases are finished."""
        said = []
        parameters = inspect.signature(self.function).parameters.items()
        fixed = {**{name: one.default for name, one in parameters}, **self.fixed}
        for name, source in self.source.items():
            found = [done]
            if name != "networks":
                found = [{**fixed, **case}[name] for case in self.cases.arguments]
            numbers = [len(value) if isinstance(value, Sequence) else value for value in found]
            ends = dict.fromkeys((min(numbers), max(numbers)))
            shares = "–".join(f"{float(f'{100 * value / source:.3g}'):,g}" for value in ends)
            said.append(
                f"{name} {'–'.join(f'{value:,g}' for value in ends)} / {source:,g} ({shares} %)"
            )
        return "; ".join(said)


def result_file(folder: Path, name: str) -> Path:
    """Return where the result of a run is kept in the folder `book`:
    CHAPTER/results/EXPERIMENT.nc.
    """
    chapter, experiment = name.split("/")
    return folder / chapter / "results" / f"{experiment}.nc"


def stored(folder: Path) -> dict[str, Path]:
    """Return the results that are kept in the folder `book`, by the names of their runs."""
    files = sorted(folder.glob("*/results/[!.]*.nc"))
    return {f"{file.parts[-3]}/{file.stem}": file for file in files}


def _json(value: Any) -> str:
    def plain(one: Any) -> Any:
        if is_dataclass(one):
            return asdict(one)
        raise TypeError(
            "the argument of a run must be a number, a text, a list, a mapping or a dataclass, "
            f"not {one!r}"
        )

    return json.dumps(value, default=plain, sort_keys=True)
