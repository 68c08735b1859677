"""Where a result comes from: profile, device, seed, the versions of packages, and a hash of our own sources."""

import ast
import hashlib
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lib.checks import one_of, seed, takes

PROFILES = ("quick", "paper")
PACKAGES = ("torch", "numpy", "scipy", "xarray", "numba")  # a number may depend on their versions


@takes(device=partial(one_of, allowed=("auto", "cpu", "cuda")))
def resolve_device(device: str) -> str:
    """Turn "auto" into "cuda" where torch sees a GPU and into "cpu" elsewhere; leave "cpu" and "cuda" as they are.

    Raises
    ------
    ValueError
        If "cuda" is asked for where there is none.
    """
    if device == "cpu":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise ValueError("device 'cuda': torch sees no GPU here; use 'auto' or 'cpu'")
    return "cpu"


@takes(profile=partial(one_of, allowed=PROFILES), seed=seed)
def stamp(profile: str, device: str, seed: int) -> None:
    """Print profile, device, seed and the versions that a result may depend on."""
    print(f"profile {profile}, device {resolve_device(device)}, seed {seed}; {versions()}")


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
def library() -> dict[str, str]:
    """Say what results depend on: a hash of our sources, and the versions of what they use."""
    folder, sources = Path(__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sources.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return {"lib": sources.hexdigest()[:12]} | {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
