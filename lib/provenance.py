"""Where a result comes from: profile, device, seed, the versions of packages, and hashes of our own sources."""

import ast
import hashlib
import inspect
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from lib.checks import one_of, seed, takes

PROFILES = ("quick", "paper")
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
    import torch

    with warnings.catch_warnings():  # of an old driver
        warnings.simplefilter("ignore")
        if not torch.cuda.is_available():
            return "torch sees no GPU here"
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


# --- the code that computes something -------------------------------------------------------------------------------------


MUTE = {"lib.progress"}  # no number depends on it


def code(function: Callable) -> str:
    """Hash what a function does: its definition and all to which its names lead, in its module and in the library.

    Docstrings, comments and imports do not count, nor does what it never names.
    """
    return _reached(function.__module__, function.__qualname__.split(".")[0]) or _alone(function)


def _alone(function: Callable) -> str:
    """Hash a function whose module has no file, as in a notebook."""
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):
        return "unknown"


@cache
def _reached(module: str, name: str) -> str:
    """Hash a definition with all to which it leads, or return nothing where there is no source."""
    found, waiting, ours = {}, [(module, name)], {module, "lib"}
    if _Source.of(module) is None:
        return ""
    while waiting:
        place = waiting.pop()
        known = (place[0] in ours or place[0].startswith("lib.")) and place[0] not in MUTE
        source = _Source.of(place[0]) if known else None
        if source is None or place in found:
            continue
        found[place] = source.written(place[1])
        waiting += source.leads(place[1])
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16]


class _Source:
    """A module's definitions by name, its imports, and under the name "" what it does when it is imported."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module, self.imports, self.parts = module, dict(_imports(tree.body)), {"": []}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            else:
                names = [""]
            for name in names:
                self.parts.setdefault(name, []).append(node)

    @classmethod
    @cache
    def of(cls, module: str) -> "_Source | None":
        """Read a module, without importing it."""
        path = getattr(sys.modules.get(module), "__file__", None)
        try:
            path = path or find_spec(module).origin
            return cls(module, ast.parse(Path(path).read_text(encoding="utf-8")))
        except (AttributeError, ImportError, OSError, SyntaxError, TypeError, ValueError):
            return None

    def written(self, name: str) -> str:
        """Write down what a definition does, or all of the module if the name is `*`."""
        return syntax(ast.Module([*self._nodes(name)], []))

    def leads(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the places to which a definition's names lead."""
        yield self.module, ""
        if name not in self.parts and name in self.imports:  # handed on
            yield self._imported(*self.imports[name], None)
        for node in self._nodes(name):
            imports = self.imports | dict(_imports(ast.walk(node)))
            for used, attribute in _used(node):
                if used in imports:
                    yield self._imported(*imports[used], attribute)
                elif used in self.parts:
                    yield self.module, used

    def _nodes(self, name: str) -> list[ast.stmt]:
        return [node for part in self.parts.values() for node in part] if name == "*" else self.parts.get(name, [])

    @staticmethod
    def _imported(module: str, name: str, attribute: str | None) -> tuple[str, str]:
        """Return the place of an imported name: a definition, or a module of which one attribute is used, or all."""
        inner = f"{module}.{name}" if name else module
        if name and (not module.startswith("lib") or _Source.of(inner) is None):
            return module, name
        return inner, attribute or "*"


def _imports(nodes: "list[ast.stmt] | Iterator[ast.AST]") -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield for each imported name its module and its name there."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], (alias.name, "")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)


def _used(tree: ast.AST) -> set[tuple[str, str | None]]:
    """Return the names that are used, each with its attribute if it has one."""
    owners = {id(node.value): node for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {(node.id, owners[id(node)].attr if id(node) in owners else None) for node in names}
