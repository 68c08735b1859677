"""What chapters and users call refuses bad input with ValueError or TypeError, and says which argument is at fault.

The names are found by introspection; the tables in `bad_input` give a valid call for each.
"""

import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from bad_input.calls import spoilt

FILES = sorted(path.stem for path in (Path(__file__).parent / "bad_input").glob("*.py") if path.stem != "calls")
TABLES = [importlib.import_module(f"bad_input.{name}") for name in FILES]
CALLS = {name: call for table in TABLES for name, call in table.CALLS.items()}
EXEMPT = {name: why for table in TABLES for name, why in table.EXEMPT.items()}


ROOMS = [
    "claims",
    "data",
    "experiments",
    "kernels",
    "measures",
    "moving",
    "networks",
    "provenance",
    "style",
    "theory",
    "training",
]
INSIDE = {"lib.theory.common"}  # what modules of theory share


def modules() -> list[str]:
    """Return the modules from which chapters and users import: a room, or, if it names nothing itself, each module in it."""
    found = []
    for module in (importlib.import_module(f"lib.{room}") for room in ROOMS):
        within = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        found += [module.__name__] if hasattr(module, "__all__") else [one.name for one in within] or [module.__name__]
    return sorted({*found, "lib.training.schedules"} - INSIDE)


def public_names() -> dict[str, object]:
    """Return what chapters and users call: all public functions, constructors and methods that take arguments, by dotted names.

    A class derived from tuple is a record of what a function has found: it takes anything.
    """
    found = {}
    for name in modules():
        module = importlib.import_module(name)
        own = [key for key, value in vars(module).items() if key[0] != "_" and getattr(value, "__module__", None) == name]
        for key in getattr(module, "__all__", own):
            value = getattr(module, key)
            if inspect.isclass(value):
                found |= {f"{name}.{key}": value} | {f"{name}.{key}.{k}": v for k, v in methods(value).items()}
            elif inspect.isfunction(value):
                found[f"{name}.{key}"] = value
    return {name: value for name, value in found.items() if takes_arguments(value)}


def methods(cls: type) -> dict[str, object]:
    found = {name: getattr(cls, name) for name, value in vars(cls).items() if not name.startswith("_") and callable(value)}
    return {name: value for name, value in found.items() if inspect.isroutine(value)}


def takes_arguments(value: object) -> bool:
    if inspect.isclass(value) and issubclass(value, tuple | BaseException):
        return False
    return any(name != "self" for name in inspect.signature(value).parameters)


NAMES = public_names()
ANY = inspect.Parameter("any", inspect.Parameter.KEYWORD_ONLY)  # one of **arguments


def test_every_public_name_has_an_entry():
    listed = {*CALLS, *EXEMPT}
    assert not (new := sorted(NAMES.keys() - listed)), f"add to a table in tests/bad_input a valid call of {', '.join(new)}"
    assert not (gone := sorted(listed - NAMES.keys())), f"take out of the tables in tests/bad_input: {', '.join(gone)}"
    assert not (both := sorted(CALLS.keys() & EXEMPT.keys())), f"exempt, and yet with a call: {', '.join(both)}"


def numbers_in(result: object) -> list[np.ndarray]:
    """Return all arrays of floats in what a function returned."""
    if isinstance(result, dict):
        result = list(result.values())
    elif hasattr(result, "data_vars"):
        result = [array.values for array in result.data_vars.values()]
    if isinstance(result, list | tuple):
        return [array for part in result for array in numbers_in(part)]
    if hasattr(result, "detach"):
        result = result.detach().cpu().numpy()
    return [np.asarray(result)] if isinstance(result, float | np.ndarray | np.number) else []


def finite(result: object) -> bool:
    return all(np.isfinite(array).all() for array in numbers_in(result) if array.dtype.kind == "f")


def attempt(function, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(**arguments)
        if hasattr(result, "__enter__"):
            result.__enter__()
        return list(result) if inspect.isgenerator(result) else result


def names(message: str, argument: str) -> bool:
    """Tell whether a message speaks of an argument; `a` is also an article."""
    after = r"`?(\[\S+\])? (is|are|has|must|holds|maps|drives|\()" if argument == "a" else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(argument)}{after}", message) is not None


@pytest.mark.parametrize("name", sorted(CALLS))
def test_bad_input_is_refused_by_name(name):
    call, target = CALLS[name], NAMES[name]
    function = getattr(call.on, target.__name__) if call.on is not None else target
    parameters = inspect.signature(function).parameters
    left_out = [one.name for one in parameters.values() if one.kind != one.VAR_KEYWORD and not isinstance(one.default, bool)]
    left_out = sorted({*left_out} - call.arguments.keys() - {*call.opaque, "self"})
    assert not left_out, f"the table's call leaves out {', '.join(left_out)}"
    assert call.untried or finite(attempt(function, call.arguments)), "the valid call is not finite"

    faults, unused = [], {(argument, way) for argument, ways in call.may.items() for way in ways.split()}
    for argument in call.arguments:
        for way, arguments in spoilt(call, argument, parameters.get(argument, ANY)).items():
            what = way.split()[0]  # of "nan in weight1"
            allowed = what in call.may.get(argument, "").split()
            unused.discard((argument, what))
            if allowed and call.untried:
                continue
            try:
                result = attempt(function, arguments)
            except (TypeError, ValueError) as error:
                if type(error) not in (TypeError, ValueError) and type(error).__module__.startswith("numpy"):
                    faults.append(f"{argument} {way}: {type(error).__name__}: {error}")
                elif allowed:
                    faults.append(f"{argument} {way}: is refused, though the table allows it: {error}")
                elif not names(str(error), argument):
                    faults.append(f"{argument} {way}: the message does not name it: {error}")
            except Exception as error:
                faults.append(f"{argument} {way}: {type(error).__name__}: {error}")
            else:
                if not allowed:
                    faults.append(f"{argument} {way}: is accepted, though the table does not allow it")
                elif what not in ("nan", "inf") and not finite(result):
                    faults.append(f"{argument} {way}: is accepted, and the result is not finite")
    faults += [f"{argument} {way}: the table allows what is not tried" for argument, way in sorted(unused)]
    assert not faults, "\n" + "\n".join(faults)
