"""Where a result comes from: profile, device, seed, the versions of packages, and hashes of our own sources."""

import ast
import ctypes
import hashlib
import inspect
import os
import platform
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from lib.checks import one_of, seed, takes

PROFILES = ("quick", "paper")
NO_GPU = "torch sees no GPU here"
PACKAGES = ("torch", "numpy", "scipy", "xarray", "numba")  # a number may depend on their versions


@takes(device=partial(one_of, allowed=("auto", "cpu", "cuda")))
def resolve_device(device: str) -> str:
    """Turn "auto" into "cuda" where torch can use a GPU and into "cpu" elsewhere; leave "cpu" and "cuda" as they are.

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
    """Say why the GPU cannot be used, or nothing; one that torch sees is tried, and one that fails is printed."""
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


def versions(*packages: str) -> str:
    """Name packages, by default those whose version a line of a chapter ends with, and their versions."""
    return ", ".join(f"{package} {version(package)}" for package in packages or PACKAGES[:3])


def syntax(tree: ast.Module) -> str:
    """Write what parsed source does: its syntax without docstrings and imports, the same under every Python."""
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if documented and ast.get_docstring(node) is not None:
            del node.body[0]
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return repr(_written(tree))


def _written(node: object) -> object:
    """Write a tree as lists without its empty fields, of which `ast.dump` shows more or fewer from one Python to the next."""
    if isinstance(node, list):
        return [_written(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    return [type(node).__name__, *([name, _written(part)] for name, part in ast.iter_fields(node) if part not in (None, []))]


@cache
def code(function: Callable) -> str:
    """Hash what a function's module does, and the modules of ours that it imports, directly or not.

    Docstrings, comments and imports do not count. Of a function in a notebook only its own source is known.
    """
    found, waiting = {}, [function.__module__]
    while waiting:
        name = waiting.pop()
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is None or name in found:
            continue
        tree = ast.parse(Path(path).read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("lib."):
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found[name] = syntax(tree)
    return hashlib.sha256(repr(sorted(found.items()) or inspect.getsource(function)).encode()).hexdigest()[:16]
