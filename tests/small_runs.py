"""Small runs for tests: functions that a worker can import by
name, and what one asks of their results.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np
import xarray as xr

from lib.runs import Run, grid

GRID = {"tau": [0.1, 0.2, 0.3], "delta": [1.0, 2.0], "seed": [0, 1]}


def wave(tau, delta, seed, device="cpu", log=None, steps=3):
    """Return numbers that belong to the arguments; leave a file in `log` for each call."""
    if log:
        (Path(log) / f"{tau}-{delta}-{seed}-{time.time_ns()}").touch()
    noise = np.random.default_rng(seed).standard_normal(steps)
    return xr.Dataset(
        {
            "height": ("step", np.sin(tau) * delta + noise, {"units": "m"}),
            "short": ("step", noise.astype(np.float32)),
            "number": ((), 7 * seed),
            "high": ((), delta > 1),
        },
        {"step": np.arange(steps), "label": ("step", ["first", "", "ü"][:steps])},
    )


def waves(tau, delta, seed, device="cpu", log=None):
    """Return the same for arrays of arguments."""
    return xr.concat(
        [
            wave(*one, log=log)
            for one in zip(tau.tolist(), delta.tolist(), seed.tolist(), strict=True)
        ],
        "member",
    )


def fails(tau, delta, seed, device="cpu"):
    """Raise for two of the cases."""
    if tau == 0.2 and seed == 1:
        raise ZeroDivisionError("too small")
    return wave(tau, delta, seed)


class Stubborn(Exception):
    """An exception that cannot be made from its message alone, as pickle does."""

    def __init__(self, message, reason):
        super().__init__(message)


def stubborn(seed, device):
    """Raise what no process can send to another."""
    raise Stubborn("too large", "a reason")


def dies_once(tau, delta, seed, device, mark):
    """Take the worker along the first time that a case is computed."""
    if tau == 0.2 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return wave(tau, delta, seed)


def spoils(seed, device, how):
    """Return something unfit for one of the cases."""
    good = wave(0.1, 1.0, seed)
    if seed == 0:
        return good
    return {
        "no dataset": lambda: good.height,
        "objects": lambda: good.assign(thing=((), {})),
        "another dimension": lambda: good.assign(short=("place", [1.0])),
    }[how]()


def biased(bias, device="cpu"):
    """Return a variable that some cases lack."""
    found = xr.Dataset({"value": ((), 1.0)})
    return found.assign(offset=((), 2.0)) if bias else found


def ragged(size, device="cpu"):
    """Return as many numbers as are asked for, and labels of them."""
    return xr.Dataset(
        {"value": ("step", np.arange(size) / 7), "count": ("step", np.arange(size))},
        {"step": np.arange(size)},
    )


def waits(seed, device, place):
    """Say that it has begun, and wait until the file `go` is there."""
    (Path(place) / f"begun-{seed}").touch()
    while not (Path(place) / "go").exists():
        time.sleep(0.02)
    return xr.Dataset({"value": ((), float(seed))})


def low(tau, delta, seed, device="cpu"):
    """Return something else than `wave` for the same arguments."""
    return wave(tau, -delta, seed)


def echo(device, **arguments):
    """Return the arguments."""
    return xr.Dataset({f"{name}_": ((), value) for name, value in arguments.items()})


def rests(seed, device, seconds):
    """Return the seed after some seconds."""
    time.sleep(seconds)
    return xr.Dataset({"value": ((), float(seed))})


def plane(function=wave, values=GRID, source=None, batch=1, **fixed):
    return Run("topic/plane", function, grid(**values), fixed, source or {}, batch)


def calls(log):
    return sorted(path.name.rsplit("-", 1)[0] for path in Path(log).iterdir())


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def case_files(root):
    return sorted((root / "_build/runs").rglob("*.nc"))


def same(one, other):
    """Compare two results bitwise: values, types, dimensions and attributes."""
    assert {*one.variables} == {*other.variables}
    for name, values in one.variables.items():
        assert (values.dims, values.dtype, values.attrs) == (
            other[name].dims,
            other[name].dtype,
            other[name].attrs,
        ), name
        text = values.dtype.kind in "UO"
        assert (
            values.values.tolist() == other[name].values.tolist()
            if text
            else values.data.tobytes() == other[name].data.tobytes()
        )
    return True


def read(path):
    """Read a result without what differs from computation to computation."""
    return xr.load_dataset(path, engine="scipy").drop_attrs(deep=False)
