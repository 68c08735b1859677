"""What the tests sweep: functions that a worker can import by name."""

import os
import resource
import signal
import time
import uuid
from pathlib import Path

import numpy as np
import torch
import xarray as xr


def wave(tau, delta, seed, log=None, steps=3, hold=None):
    """Return, for each member, numbers that belong to its coordinates; leave a file in `log` for each call of a member."""
    for member in zip(tau, delta, seed, strict=True):
        if log:
            (Path(log) / "-".join([*map(str, member), uuid.uuid4().hex])).touch()
        while hold and Path(hold).exists() and member[:2] == (0.2, 2.0):
            time.sleep(0.02)
    noise = np.stack([np.random.default_rng(one).standard_normal(steps) for one in seed])
    return xr.Dataset(
        {
            "height": (("member", "step"), (np.sin(tau) * delta)[:, None] + noise, {"units": "m"}),
            "short": (("member", "step"), noise.astype(np.float32)),
            "number": ("member", 7 * seed),
            "high": ("member", delta > 1),
            "process": ("member", np.full(len(seed), os.getpid())),
        },
        {"step": np.arange(steps), "label": ("step", ["first", "", "ü"][:steps])},
    )


def grows(tau, delta, seed, device, log=None, hold=None, stop=None):
    """Return waves, and be interrupted at a member that is named in the file `stop`."""
    if stop and Path(stop).exists() and f"{tau[0]}-{delta[0]}-{seed[0]}" in Path(stop).read_text():
        raise KeyboardInterrupt
    return wave(tau, delta, seed, log, hold=hold)


def low(tau, delta, seed, log):
    """Return something else for the same arguments."""
    return wave(tau, -delta, seed, log)


def dies_once(tau, delta, seed, mark):
    """Take the worker along the first time that one of the members is computed."""
    if tau[0] == 0.2 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return wave(tau, delta, seed, str(Path(mark).parent))


def dies(tau, delta, seed, log):
    """Take the worker along whenever one of the members is computed, once all others are done."""
    if (tau[0], delta[0], seed[0]) == (0.2, 2.0, 1):
        while len(list(Path(log).iterdir())) < 11:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)
    return wave(tau, delta, seed, log)


def fails(tau, delta, seed, log):
    """Raise for one of the members."""
    if 0.2 in tau and 1 in seed:
        tau *= 2
        raise RuntimeError("the power is gone")
    return wave(tau, delta, seed, log)


def spoils(tau, delta, seed, how):
    """Return something malformed from the second shard on."""
    good = wave(tau, delta, seed)
    if (tau[0], delta[0], seed[0]) == (0.1, 1.0, 0):
        return good
    return {
        "no dataset": lambda: good.height,
        "empty": lambda: good[["step"]],
        "one too few": lambda: good.isel(member=slice(1, None)),
        "no member": lambda: good.assign(mean=good.height.mean()),
        "member last": lambda: good.transpose(),
        "labels itself": lambda: good.assign_coords(tau=("member", tau)),
        "own dimension": lambda: good.rename(step="delta"),
        "objects": lambda: good.assign(thing=("member", np.array([{}] * len(tau)))),
        "large": lambda: good.assign(large=("member", seed + 2**40)),
        "attribute": lambda: good.assign(height=good.height.assign_attrs(thing={1})),
        "other variable": lambda: good.assign(more=good.height),
        "missing variable": lambda: good.drop_vars("short"),
        "other type": lambda: good.assign(short=good.short.astype(float)),
        "other coordinate": lambda: good.assign_coords(step=good.step + 1),
        "other size": lambda: good.isel(step=slice(2)),
        "other label": lambda: good.assign_coords(label=("step", ["a", "b", "c"])),
        "other unit": lambda: good.assign(height=good.height.assign_attrs(units="km")),
    }[how]()


def page_faults(count, pages):
    """Fill an array of so many pages so many times; return how often the system had to give a page."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        torch.ones(pages, 4096, dtype=torch.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def meets(mine, other):
    """Wait until another call has begun; say whether it has."""
    Path(mine).touch()
    end = time.monotonic() + 60
    while not Path(other).exists() and time.monotonic() < end:
        time.sleep(0.02)
    return Path(other).exists()
