"""What `python -m lib store --again` does: compute stored cases with today's code, and compare."""

import shutil
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from lib.fingerprint import code
from lib.provenance import PACKAGES, blas, versions
from lib.runs.precompute import Progress
from lib.runs.results import OutdatedResult, attach, numbered, read
from lib.runs.run import MOMENTS, Run

AGAIN = "again"


class Difference(NamedTuple):
    """How far a variable of a result lies from what today's code
    computes: in each number, or in mean and deviation.
    """

    variable: str
    what: str  # "number" or "moment"
    largest: float
    scale: float  # the largest size of a stored number, or their standard deviation
    allowed: float

    @property
    def relative(self) -> float:
        """The largest difference over the scale."""
        return self.largest / self.scale if self.scale else self.largest

    @property
    def within(self) -> bool:
        """Whether the difference is within what is allowed."""
        return self.relative <= self.allowed

    def __str__(self) -> str:
        said = (
            f"largest difference of a {self.what} {self.largest:.2g}, scale "
            f"{self.scale:.3g}: {self.relative:.2g}"
        )
        return (
            f"  {self.variable:<20} {said}{'' if self.within else f', more than {self.allowed:g}'}"
        )


def again(
    run: Run,
    device: str,
    pool: Executor | None = None,
    cases: int | None = None,
    replace: bool = False,
) -> str:
    """Compute cases of a stored result with today's code; record in
    it that they agree, or replace it; return a table.

    What is compared is computed here and now; if that was interrupted, or the numbers differed, it
    goes on with what is kept under `_build/again/`. A result is replaced by the cases that today's
    code has finished under `_build/runs/` and by the missing ones.

    Parameters
    ----------
    device, pool : as of `precompute`
    cases : how many, spread over the stored ones; by default all
    replace : put what is computed, all cases, in the place of the result

    Raises
    ------
    OutdatedResult
        If there is no result, or a number differs by more than the run's tolerance and the result
        is not replaced.
    """
    before, progress = recompute(run, device, pool, cases, "runs" if replace else AGAIN)
    found = progress.joined()
    differences = compare(run, before.sel(case=found.case), found)
    count = f"{found.sizes['case']} of {before.sizes['case']}"
    lines = [f"{run.name}, {count} stored cases with today's code:", *map(str, differences)]
    if replace:
        progress.save()
        return "\n".join([*lines, f"  replaced: {run.path}"])
    if not all(one.within for one in differences):
        raise OutdatedResult(
            "\n".join([*lines, "  not the stored numbers: --replace takes the new ones"])
        )
    largest = {"number": 0.0, "moment": 0.0}
    for one in differences:
        largest[one.what] = max(largest[one.what], one.relative)
    check = {
        "code": code(run.function),
        "cases": [run.cases.label(case) for case in found.case.values],
        "of": before.sizes["case"],
        "seconds": progress.seconds / found.sizes["case"],
        "difference": largest["number"],
        "moments": largest["moment"],
        "chaotic": [one.variable for one in differences if one.what == "moment"],
        "device": progress.device,
        "blas": blas(),
        "versions": versions(*PACKAGES),
    }
    attach(run, check)
    shutil.rmtree(progress.file_of(0).parent, ignore_errors=True)
    return "\n".join([*lines, f"  these agree: recorded in {run.path}"])


def recompute(
    run: Run,
    device: str,
    pool: Executor | None = None,
    cases: int | None = None,
    folder: str = AGAIN,
) -> tuple[xr.Dataset, Progress]:
    """Compute stored cases with today's code; return all that
    is stored, along `case`, and what is computed.

    Cases that are finished in `folder` of `_build/` are taken from there.
    """
    if (stored := read(run)) is None:
        raise OutdatedResult(f"there is no result of {run.name}: python -m lib store {run.name}")
    before = numbered(run, stored)
    chosen = before.case.values.tolist()
    if cases is not None and cases < len(chosen):
        places = np.linspace(0, len(chosen) - 1, cases).round().astype(int)
        chosen = before.case.values[places].tolist()
    progress = Progress(run, device, stored=False, folder=folder)
    progress.compute(progress.collect(chosen), pool)
    return before, progress


def compare(run: Run, before: xr.Dataset, after: xr.Dataset) -> list[Difference]:
    """Compare two results of the same cases, variable by variable;
    what is lacking on one side only differs without bound.
    """
    before, after = xr.align(before, after, join="outer")
    found = []
    for name in sorted({*map(str, before.data_vars)} ^ {*map(str, after.data_vars)}):
        there = before if name in before else after
        if not there[name].isnull().all():  # NaN stands for what a case lacks
            found.append(Difference(name, "number", np.inf, 1.0, run.tolerance))
    for name in map(str, before.data_vars):
        if name in after:
            pair = (before[name].values, after[name].transpose(*before[name].dims).values)
            found.append(
                _in_moments(name, *pair)
                if name in run.chaotic
                else _in_numbers(name, *pair, run.tolerance)
            )
    return found


def _in_numbers(name: str, before: NDArray, after: NDArray, allowed: float) -> Difference:
    if before.dtype.kind not in "biuf":
        return Difference(
            name, "number", 0.0 if np.array_equal(before, after) else np.inf, 1.0, allowed
        )
    before, after = before.astype(float), after.astype(float)
    apart = np.where(
        (before == after) | (np.isnan(before) & np.isnan(after)), 0.0, np.abs(before - after)
    )
    finite = np.abs(before[np.isfinite(before)])
    largest = float(np.nan_to_num(apart, nan=np.inf).max(initial=0))
    return Difference(name, "number", largest, float(finite.max(initial=0)), allowed)


def _in_moments(name: str, before: NDArray, after: NDArray) -> Difference:
    mean = abs(np.nanmean(after) - np.nanmean(before))
    deviation = np.nanstd(before)
    largest = max(mean, abs(np.nanstd(after) - deviation))
    return Difference(name, "moment", float(largest), float(deviation), MOMENTS)
