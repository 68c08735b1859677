"""The two profiles of a page: *quick* reads stored results;
*paper* reads none of them and computes each run here.

A page says once, beside its imports, `here = runs.at(profile, device)`. From there on `runs.load`
obeys it, `here.device` is where networks train, and `here.choose(quick=…, paper=…)` is the scale of
what is computed on the page.
"""

from functools import partial
from typing import NamedTuple, TypeVar

import xarray as xr

from lib import claims
from lib.checks import one_of, takes
from lib.provenance import PROFILES, resolve_device
from lib.runs import results
from lib.runs.chapters import find
from lib.runs.precompute import Progress
from lib.runs.run import Run

Value = TypeVar("Value")


class Here(NamedTuple):
    """The profile and the device of a page."""

    profile: str = "quick"
    device: str = "cpu"  # or "cuda"

    def choose(self, *, quick: Value, paper: Value) -> Value:
        """Return what belongs to the profile: a small scale, or the source's."""
        return paper if self.profile == "paper" else quick


_here = Here()


@takes(profile=partial(one_of, allowed=PROFILES))
def at(profile: str, device: str) -> Here:
    """Set what `load` obeys, and return it.

    Parameters
    ----------
    profile : "quick" or "paper"; at the latter a claim whose verdict changes is recorded and does
        not stop the page, since `python -m lib run` compares all of them with the committed ones at
        the end
    device : "auto", "cpu" or "cuda"

    Raises
    ------
    ValueError
        If "cuda" is asked for where there is no GPU that torch can use.
    """
    global _here
    _here = Here(profile, resolve_device(device))
    if profile == "paper":
        claims.insist = False
    return _here


def load(run: Run | str) -> xr.Dataset:
    """Return the result of a run, or of the one that a chapter
    lists under a name like "two_point/digits".

    With the quick profile the stored result is read. With the paper profile nothing stored is read:
    the cases are computed on the device of `at`, all of them, those apart that were finished there
    before.

    Returns
    -------
    Dataset over the coordinates of the cases, and `done` over these: where a case is not finished,
    numbers are NaN

    Raises
    ------
    OutdatedResult
        If the stored result is not there, cannot be read, or has cases or arguments that the run
        has no longer.
    ComputationFailed
        If a case cannot be computed.
    """
    run = run if isinstance(run, Run) else find(run)
    if _here.profile == "quick":
        return results.load(run)
    progress = Progress(run, _here.device, stored=False)
    progress.compute(progress.collect(range(len(run.cases))))
    return results.laid_out(run, progress.joined())
