"""Where a result comes from: profile, device, seed, and the versions of packages."""

import ctypes
import os
import platform
import subprocess
import sys
import warnings
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

from lib.checks import one_of, seed, takes

PROFILES = ("quick", "paper")
SHA = 40  # characters of a commit's name
UNKNOWN = "unknown"  # of what is in no checkout, like a downloaded archive
NO_GPU = "torch sees no GPU here"
PACKAGES = ("torch", "numpy", "scipy", "xarray", "numba")  # a number may depend on their versions


@takes(device=partial(one_of, allowed=("auto", "cpu", "cuda")))
def resolve_device(device: str) -> str:
    """Turn "auto" into "cuda" where torch can use a GPU and into
    "cpu" elsewhere; leave "cpu" and "cuda" as they are.

    Raises
    ------
    ValueError
        If "cuda" is asked for where there is none, or none that can be used.
    """
    if device == "cpu":
        return device
    trouble = _gpu_trouble()
    if trouble and device == "cuda":
        raise ValueError(f"device 'cuda': {trouble}; use 'auto' or 'cpu'")
    return "cpu" if trouble else "cuda"


@cache
def _gpu_trouble() -> str:
    """Say why the GPU cannot be used, or nothing; one that torch
    sees is tried, and one that fails is printed.
    """
    if "torch" not in sys.modules:  # to import it takes seconds
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            return NO_GPU
    import torch

    with warnings.catch_warnings():  # of an old driver
        warnings.simplefilter("ignore")
        if not torch.cuda.is_available():
            return NO_GPU
        try:
            torch.ones(2, 2, device="cuda").mm(torch.ones(2, 2, device="cuda")).sum().item()
        except (RuntimeError, AssertionError) as problem:
            trouble = f"torch cannot use the GPU ({str(problem).splitlines()[0]})"
            print(f"{trouble}: device 'auto' is the CPU")
            return trouble
    return ""


@takes(profile=partial(one_of, allowed=PROFILES), seed=seed)
def stamp(profile: str, device: str, seed: int) -> None:
    """Print profile, device, seed and the versions that a result may depend on."""
    print(f"profile {profile}, device {resolve_device(device)}, seed {seed}; {versions()}")


def device_name(device: str) -> str:
    """Say what "cpu" or "cuda" is here."""
    if device == "cpu":
        return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"
    import torch

    return torch.cuda.get_device_name()


@cache
def versions(*packages: str) -> str:
    """Name packages, by default those whose version a line
    of a chapter ends with, and their versions.
    """
    return ", ".join(f"{package} {version(package)}" for package in packages or PACKAGES[:3])


@cache
def commit(root: Path) -> str:
    """Name the commit that is checked out in a folder, with "-dirty" if its files differ, or ""."""
    if not (root / ".git").exists():  # or else git would name that of a folder around it
        return ""
    command = ["git", "describe", "--always", "--dirty", "--match=", f"--abbrev={SHA}"]
    # A hook of git names its own repository in GIT_DIR.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True)
    except FileNotFoundError:  # a machine without git
        return ""
    return done.stdout.decode().strip()


def blas() -> str:
    """Name the libraries that compute matrix products here, and the
    kind of processor that each takes this one for.
    """
    names = {
        f"{one['internal_api']} {one['version']} ({one['architecture']})"
        for one in threadpool_info()
        if "architecture" in one
    }
    return ", ".join(sorted(names))
