"""What `lib store` does: compute what is missing of stored runs, piece by piece, and say what that takes.

Each finished piece is kept at once under `_build/`, so that a kill costs what was in hand; the files in `book/results/` are
renewed every minute and at the end. Only torch, NumPy, SciPy, xarray and tqdm are needed here.
"""

import hashlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from lib import files, progress, results
from lib.checks import instance, one_of, optional, takes, whole
from lib.provenance import code, device_name
from lib.results import Growing, Run, StaleResult
from lib.sweeps import grown, shards, workers
from lib.sweeps.table import Table

RENEWED = 60.0  # seconds after which a file in book/results is written again


class OutOfTime(KeyboardInterrupt):
    """The time that was given is over."""


@contextmanager
def limit(seconds: float | None) -> Iterator[float]:
    """Raise OutOfTime in this context's code when the time is over; say when that is, by `time.monotonic`."""
    if seconds is None:
        yield np.inf
        return

    def ring(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield time.monotonic() + seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@takes(run=instance(Run, Growing), device=partial(one_of, allowed=("cpu", "cuda")), shard_size=optional(whole))
def store(
    run: Run | Growing,
    device: str = "cpu",
    *,
    shard_size: int | None = None,
    part: tuple[int, int] | None = None,
    most: int | None = None,
    until: float = np.inf,
) -> Path:
    """Compute what is missing of a run and keep it; what is there with the same settings is left alone.

    Parameters
    ----------
    device : "cpu" or "cuda"
    shard_size : members in a call, of a run that grows; by default one on a CPU, and on a GPU what the run says
    part : (i, n): only the i-th, i + n-th, ... of the pieces or shards that the run's file lacks, i from 1, and leave the file
        alone, so that n machines with a common disk can do this at once
    most : how many pieces or shards at most
    until : nothing is begun that, by what is known, would not be finished by then (`time.monotonic`)

    Returns
    -------
    where the result is, or with `part` the folder of what was computed

    Raises
    ------
    lib.sweeps.TaskError
        If the function raised somewhere; all other pieces are done first.
    """
    kept = _open(run, device, shard_size)
    todo = kept.missing[part[0] - 1 :: part[1]] if part else kept.missing
    todo, saved = kept.found_of(todo)[:most], time.monotonic()
    left = len(todo)
    try:
        with closing(kept.compute(todo, partial(_fits, kept, until))) as done:
            for number, _ in enumerate(done, start=1):
                left = len(todo) - number
                if part is None and time.monotonic() - saved > RENEWED:
                    kept.save()
                    saved = time.monotonic()
    finally:
        if part is None:
            kept.save()
    if left:
        print(f"{run.name}: {left} more do not fit into the time", flush=True)
    return run.path if part is None else kept.folder


def _fits(kept: "_Members | _Pieces", until: float, task: Any) -> bool:
    """Say whether a task can be finished in time, as far as is known."""
    each = kept.seconds_each()
    return time.monotonic() + (each or 0) * kept.size(task) <= until


def _open(run: Run | Growing, device: str, shard_size: int | None) -> "_Members | _Pieces":
    if isinstance(run, Run):
        return _Pieces(run, device)
    return _Members(run, device, shard_size or (1 if device == "cpu" else run.together))


class _Members:
    """A growing run: its members in the file and in finished shards."""

    unit = "member"

    def __init__(self, run: Growing, device: str, shard_size: int) -> None:
        self.run, self.device = run, device_name(device)
        self.folder = results.ROOT / "_build" / "store" / run.name
        found = results.read(run)
        self.stale = found is not None and found.attrs.get("settings") != run.settings()
        self.table = self._restored(found) if found is not None and not self.stale else Table(run.sweep)
        self.changed, self.wanted = False, len(self.table.done)
        places = np.moveaxis(np.arange(self.wanted).reshape(run.sweep.shape), -1, 0).ravel()  # seed by seed
        parts = [part[~self.table.done[part]] for part in np.split(places, range(shard_size, self.wanted, shard_size))]
        self.missing = shards.cut(run.sweep, self.folder, [part for part in parts if len(part)], device)

    def _restored(self, found: xr.Dataset) -> Table:
        try:
            return grown.restore(self.run.sweep, found)
        except ValueError as problem:
            raise StaleResult(f"{self.run.path}: {problem}; put them back, or delete the file") from None

    def found_of(self, tasks: Sequence[shards.Shard]) -> list[shards.Shard]:
        """Take in what was finished before; return the rest."""
        missing = shards.read(self.table, tasks, show=True)
        self.changed |= len(missing) < len(tasks)
        return missing

    def compute(self, tasks: Sequence[shards.Shard], fits: Callable[[Any], bool]) -> Iterator[shards.Shard]:
        """Compute shards and keep each; yield it then."""
        for shard in shards.computed(self.table, tasks, errors="collect", show=True, fits=fits):
            self.changed = True
            yield shard

    def save(self) -> None:
        """Write what there is, if it is more than before."""
        if self.changed:
            files.write(self.run.path, grown.encode(self.table))
            self.changed = False

    def size(self, task: shards.Shard) -> int:
        """Return the number of members."""
        return len(task)

    @property
    def done(self) -> int:
        """How many members are there."""
        return int(self.table.done.sum())

    @property
    def made(self) -> list[dict]:
        """Where they come from."""
        return self.table.made

    def seconds_each(self) -> float | None:
        """Return the seconds of a member on this device, as far as known."""
        return _each(self.made, self.device)


class _Pieces:
    """A run of pieces: those in its file, if it was made for the same arguments, and those that were finished since."""

    unit = "piece"

    def __init__(self, run: Run, device: str) -> None:
        self.run, self.device, self.argument = run, device_name(device), device
        self.folder = results.ROOT / "_build" / "store" / run.name
        self.wanted, self.changed = len(run.pieces), False
        try:
            found = results.read(run)
        except StaleResult:
            found = None
        self.whole = found is not None and found.attrs.get("settings") == run.settings()
        self.found, self.parts = self._of_file(found) if found is not None else ({}, {})
        self.stale = found is not None and not self.whole and len(self.found) < len(found[run.dimension] if self.found else [0])
        self.missing = [label for label in run.pieces if label not in self.found]

    def _of_file(self, found: xr.Dataset) -> tuple[dict[str, xr.Dataset], dict[str, dict]]:
        """Return the pieces of a file that are wanted, and where they come from."""
        theirs, ours = json.loads(found.attrs.get("settings", "{}")), json.loads(self.run.settings())
        same = all(theirs.get(name) == ours[name] for name in ("function", "dimension"))
        there = theirs.get("pieces", {}) if same else {}
        labels = [label for label in self.run.pieces if label in there and there[label] == ours["pieces"][label]]
        attrs = {name: found.attrs.get(name, "") for name in ("device", "versions")}
        even = {"seconds": float(found.attrs.get("seconds", 0)) / max(len(there), 1), **attrs}
        made = json.loads(found.attrs.get("made", "{}"))
        bare = found.drop_attrs(deep=False)
        pieces = {label: bare.sel({self.run.dimension: label}, drop=True) for label in labels}
        return pieces, {label: made.get(label, even) for label in labels}

    def _path(self, label: str) -> Path:
        key = f"{self.run.settings(label)}\n{code(self.run.function)}"
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.nc"

    def found_of(self, tasks: Sequence[str]) -> list[str]:
        """Take in what was finished before; return the rest."""
        for label in tasks:
            before = files.kept(self._path(label), lambda data: xr.load_dataset(BytesIO(data), engine="scipy"))
            if before is not None:
                self._put(label, before.drop_attrs(deep=False), json.loads(before.attrs["made"]))
        return [label for label in tasks if label not in self.found]

    def _put(self, label: str, found: xr.Dataset, made: dict) -> None:
        if self.run.dimension in found.dims:  # of length one: the label takes the place of its coordinate
            found = found.squeeze(self.run.dimension, drop=True)
        self.found[label], self.parts[label], self.changed = found, made, True

    def compute(self, tasks: Sequence[str], fits: Callable[[Any], bool]) -> Iterator[str]:
        """Compute pieces and keep each; yield it then."""
        failed = []
        with closing(workers.compute(self.run.function, self._calls(tasks, fits), errors="collect")) as computed:
            for task, result in computed:
                if isinstance(result, workers.TaskError):
                    failed.append(result)
                    continue
                label, (found, made) = task.removeprefix(f"{self.run.name}: "), result
                made["code"] = code(self.run.function)
                found.attrs = {"made": json.dumps(made)}
                files.write(self._path(label), bytes(found.to_netcdf(engine="scipy")))
                self._put(label, found.drop_attrs(deep=False), made)
                yield label
        if len(failed) == 1 and not type(failed[0].__cause__).__module__.startswith("distributed"):
            raise failed[0].__cause__
        if failed:
            raise workers.several(failed, len(tasks))

    def _calls(self, tasks: Sequence[str], fits: Callable[[Any], bool]) -> Iterator[tuple[str, dict]]:
        """Say which piece begins; return its key and its arguments."""
        for number, label in enumerate(takewhile(fits, tasks), start=self.wanted - len(tasks) + 1):
            left = self.seconds_each()
            about = f", about {progress.duration(left)} each" if left else ""
            print(f"{self.run.name}: {label} (piece {number} of {self.wanted}{about})", flush=True)
            yield f"{self.run.name}: {label}", {**self.run.pieces[label], "device": self.argument}

    def save(self) -> None:
        """Write what there is, unless the file has it."""
        if not self.changed or self.whole:
            return
        labels = [label for label in self.run.pieces if label in self.found]
        pieces = [self.found[label] for label in labels]
        joined = xr.concat(pieces, self.run.dimension, join="outer", combine_attrs="drop")
        # a piece from a file remembers whole numbers, and cannot be NaN where it has no entry
        joined = joined.assign_coords({self.run.dimension: labels}).drop_encoding()
        made = {label: self.parts[label] for label in labels}
        joined.attrs = {
            "seconds": sum(part["seconds"] for part in made.values()),
            "device": ", ".join(sorted({part["device"] for part in made.values()})),
            "versions": "; ".join(sorted({part["versions"] for part in made.values()})),
            "settings": self.run.settings_of(labels),
            "made": json.dumps(made),
        }
        files.write(self.run.path, bytes(joined.to_netcdf(engine="scipy")))
        self.changed = False

    def size(self, task: str) -> int:
        """Return one, for a piece."""
        return 1

    @property
    def done(self) -> int:
        """How many pieces are there."""
        return len(self.found)

    @property
    def made(self) -> list[dict]:
        """Where they come from."""
        return [{"members": 1, **part} for part in self.parts.values()]

    def seconds_each(self) -> float | None:
        """Return the seconds of a piece on this device, as far as known."""
        return _each(self.made, self.device)


def _each(made: Sequence[dict], device: str) -> float | None:
    here = [part for part in made if part["device"] == device]
    return sum(part["seconds"] for part in here) / sum(part["members"] for part in here) if here else None


# --- the plan -------------------------------------------------------------------------------------------------------------


def measure(runs: Sequence[Run | Growing], device: str = "cpu", shard_size: int | None = None) -> None:
    """Compute, and keep, one piece of each run that lacks some and of which nothing was computed on this device."""
    for run in runs:
        kept = _open(run, device, shard_size)
        if kept.found_of(kept.missing) and kept.seconds_each() is None:
            store(run, device, shard_size=shard_size, most=1)


def plan(runs: Sequence[Run | Growing], device: str = "cpu") -> str:
    """Lay out what is there of each run and what is missing, the seconds taken and left on this device, and the scale."""
    rows, left, unknown = [("run", "state", "done", "taken", "left here", "scale / the source's")], 0.0, 0
    for run in runs:
        kept = _open(run, device, None)
        kept.found_of(kept.missing)
        missing, each = kept.wanted - kept.done, kept.seconds_each()
        left += missing * (each or 0)
        unknown += bool(missing and each is None)
        ahead = progress.duration(missing * each) if missing and each is not None else "?" if missing else ""
        taken = progress.duration(sum(part["seconds"] for part in kept.made))
        rows.append((run.name, _state(kept), f"{kept.done:,} of {kept.wanted:,} {kept.unit}s", taken, ahead, _scale(run, kept)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = f", and {unknown} of unknown length (--measure times them)" if unknown else ""
    return "\n".join([*lines, f"left on this device, {device_name(device)}: {progress.duration(left)}{more}"])


def _state(kept: _Members | _Pieces) -> str:
    """Say in a word or two how a run is."""
    now = code(kept.run.function)
    older = any(part.get("code", now) not in (now, "") for part in kept.made)
    state = "stale" if kept.stale else "done" if kept.done == kept.wanted else "part" if kept.done else "missing"
    return f"{state}, older code" if older else state


def _scale(run: Run | Growing, kept: _Members | _Pieces) -> str:
    """Write our numbers over those of the source."""
    ours = run.scale() | ({"networks": [kept.done]} if isinstance(run, Growing) else {})
    said = []
    for name, source in run.source.items():
        low, high = min(ours[name]), max(ours[name])
        numbers = f"{low:,g}" if low == high else f"{low:,g}–{high:,g}"
        shares = [f"{float(f'{100 * value / source:.3g}'):,g}" for value in dict.fromkeys((low, high))]
        said.append(f"{name} {numbers} / {source:,g} ({'–'.join(shares)} %)")
    return "; ".join(said)
