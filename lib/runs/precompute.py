"""What `python -m lib store` does: compute the missing cases of
runs, and say what is there and what is left.

A finished case is kept at once, as a file of its own under `_build/runs/`. The result in
`book/NAME/results/` is written at the end.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import closing
from io import BytesIO
from pathlib import Path

import xarray as xr

from lib import files
from lib.progress import bar, duration
from lib.provenance import UNKNOWN, device_name
from lib.runs.freshness import freshness
from lib.runs.results import OutdatedResult, matching, numbered, read, save
from lib.runs.run import Run
from lib.runs.workers import ComputationFailed, compute

ORIGIN = ("device", "versions", "code", "commit")  # of a case


def precompute(
    run: Run,
    device: str = "cpu",
    pool: Executor | None = None,
    batch: int | None = None,
    part: tuple[int, int] | None = None,
) -> None:
    """Compute the missing cases of a run and keep them.

    Parameters
    ----------
    device : "cpu" or "cuda"
    pool : what computes (see `lib.runs.workers.processes`); by default this process
    batch : cases in a call; by default one on a CPU, and on a GPU what the run says
    part : (i, n), i from 1: only the i-th, i + n-th, ... of the cases that the result lacks, and
        leave the result alone, so that n machines with a common disk can do this at once

    Raises
    ------
    ComputationFailed
        If the function raised or returned something unfit for some cases; the others are computed
        first.
    """
    progress = Progress(run, device)
    known = len(progress.parts)
    todo = progress.collect(progress.missing[part[0] - 1 :: part[1]] if part else progress.missing)
    try:
        progress.compute(todo, pool, batch)
    finally:
        if part is None and len(progress.parts) > known:
            progress.save()


def refuse_batch(runs: Sequence[Run], batch: int | None) -> None:
    """Raise a ValueError if a run takes one case in a call, but a batch of several is wanted."""
    if single := [run.name for run in runs if run.batch == 1 and (batch or 1) > 1]:
        raise ValueError(
            f"--batch {batch}: {', '.join(single)} take one case in a call; name others, or "
            "leave --batch out"
        )


class Progress:
    """How far a run is on a device: the finished cases,
    from its result and from their own files.
    """

    def __init__(self, run: Run, device: str, stored: bool = True, folder: str = "runs") -> None:
        self.run, self.kind, self.device, self.folder = run, device, device_name(device), folder
        # each along `case`; what some cases lack is NaN in the result
        self.parts: list[xr.Dataset] = []
        self.dimensions: dict[str, set[str]] = {}  # of each variable
        self.done = 0
        self.seconds = 0.0
        self.origin: dict[str, set[str]] = {name: set() for name in ORIGIN}
        self.freshness = ""
        self.outdated = False
        self.missing = list(range(len(run.cases)))
        if stored:
            self._add_stored()

    def compute(
        self, todo: Sequence[int], pool: Executor | None = None, batch: int | None = None
    ) -> None:
        """Compute cases and keep each; those that fail are
        named in a ComputationFailed at the end.
        """
        for case in todo[:1]:
            files.prepare(self.file_of(case).parent)
        size = batch or (self.run.batch if self.kind == "cuda" else 1)
        calls = [todo[start : start + size] for start in range(0, len(todo), size)]
        tasks = [
            {**self.run.fixed, **self.run.arguments(call), "device": self.kind} for call in calls
        ]
        total = len(self.run.cases)
        work, failed = compute(self.run.function, tasks, pool), []
        with bar(total, self.run.name, "case", initial=total - len(todo)) as shown, closing(work):
            for number, found in work:
                call = calls[number]
                try:
                    self.keep(call, found)
                except ValueError as problem:
                    labels = dict.fromkeys(map(self.run.cases.label, call))
                    failed.append(f"{self.run.name}, {' to '.join(labels)}: {problem}")
                shown.update(len(call))
        if failed:
            raise ComputationFailed(
                "\n  ".join(
                    [f"{len(failed)} of {len(calls)} failed, the others are kept:", *failed]
                )
            )

    def file_of(self, case: int) -> Path:
        """Return where a finished case is kept."""
        return self.run.file_of(case, self.kind, self.folder)

    def _add_stored(self) -> None:
        """Take in the cases of the result, if it can be
        read, that have the arguments of the run.
        """
        try:
            found = read(self.run)
        except OutdatedResult:
            return
        if found is None:
            return
        same = matching(self.run, found)
        self.freshness = str(freshness(found.attrs))
        self.outdated = same.sizes != found.sizes
        if same.sizes["case"]:
            known = numbered(self.run, same)
            self._add(known)
            done = set(known.case.values.tolist())
            self.missing = [case for case in self.missing if case not in done]

    def _add(self, found: xr.Dataset) -> None:
        """Take in finished cases."""
        dimensions = {
            str(name): {str(dim) for dim in one.dims} - {"case"} for name, one in found.items()
        }
        for name, ours in dimensions.items():
            if (theirs := self.dimensions.get(name, ours)) != ours:
                raise ValueError(
                    f"the function returned {name} along {sorted(ours)}, and for other cases "
                    f"along {sorted(theirs)}"
                )
        self.dimensions |= dimensions
        self.done += found.sizes["case"]
        self.seconds += float(found.attrs["seconds"])
        for name, known in self.origin.items():
            known.update(found.attrs.get(name, UNKNOWN).split("; "))
        self.parts.append(found.drop_attrs(deep=False))

    def collect(self, todo: Sequence[int]) -> list[int]:
        """Take in the cases that were finished before; return the others."""
        found = {case: files.kept(self.file_of(case), _decode) for case in todo}
        for case, before in found.items():
            if before is not None:
                self._add(before.expand_dims(case=[case]))
        return [case for case, before in found.items() if before is None]

    def keep(self, call: Sequence[int], found: xr.Dataset | BaseException) -> None:
        """Check what the function returned for some cases, and write each to a file of its own."""
        if isinstance(found, ComputationFailed):
            raise ValueError(str(found))
        if isinstance(found, BaseException):
            raise ValueError(f"{type(found).__name__}: {found}")
        if found.sizes.get("member", 1) != len(call):
            raise ValueError(
                f"the function returned {found.sizes.get('member', 1)} members for {len(call)} "
                "cases"
            )
        names = list(self.run.cases.coordinates)  # dimensions of length one may have them, too
        for i, case in enumerate(call):
            result = found.isel(member=i, missing_dims="ignore")
            result = result.drop_vars("member", errors="ignore")
            result = result.squeeze([name for name in names if name in result.dims])
            result = result.drop_vars(names, errors="ignore")
            result.attrs["seconds"] = found.attrs["seconds"] / len(call)
            try:
                data = bytes(result.to_netcdf(engine="scipy"))
            except Exception as problem:  # names, values and attributes may be unfit in many ways
                raise ValueError(
                    f"what the function returned cannot be kept as NetCDF ({problem})"
                ) from problem
            self._add(result.expand_dims(case=[case]))  # which refuses what does not fit
            files.write(self.file_of(case), data + hashlib.sha256(data).digest())

    def joined(self) -> xr.Dataset:
        """Return the finished cases along `case`, and where they come from."""
        found = xr.concat(
            self.parts, "case", data_vars="all", join="outer", combine_attrs="override"
        )
        origin = {name: "; ".join(sorted(known)) for name, known in self.origin.items()}
        return found.assign_attrs(seconds=self.seconds, **origin)

    def save(self) -> None:
        """Write the result."""
        save(self.run, self.joined())

    def seconds_each(self) -> float | None:
        """Return the seconds of a case, if all were computed on this device."""
        return self.seconds / self.done if self.origin["device"] == {self.device} else None

    def row(self) -> tuple[str, ...]:
        """Say how far the run is, as a row of `plan`."""
        total, each = len(self.run.cases), self.seconds_each()
        left = "" if self.done == total else "?"
        if left and each is not None:
            left = duration((total - self.done) * each)
        state = "done" if self.done == total else "part" if self.done else "missing"
        if self.outdated:
            state = "other arguments"
        done = f"{self.done:,} of {total:,} cases"
        return (
            self.run.name,
            state,
            self.freshness,
            done,
            duration(self.seconds),
            left,
            self.run.scale(self.done),
        )


def _decode(data: bytes) -> xr.Dataset:
    """Read the file of a case: NetCDF, and a hash of it."""
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise ValueError("its content is not what was written")
    return xr.load_dataset(BytesIO(data[:-32]), engine="scipy")


def plan(runs: Sequence[Run], device: str = "cpu") -> str:
    """Lay out what is there of each run and what is missing, the
    time taken and left on this device, and the scale.
    """
    rows: list[tuple[str, ...]] = [
        ("run", "state", "code", "done", "taken", "left here", "scale / the source's")
    ]
    left = 0.0
    for run in runs:
        progress = Progress(run, device)
        left += len(progress.collect(progress.missing)) * (progress.seconds_each() or 0)
        rows.append(progress.row())
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    more = ", and what is unknown (?)" if any(row[5] == "?" for row in rows) else ""
    return "\n".join(
        [*lines, f"left on this device, {device_name(device)}: {duration(left)}{more}"]
    )
