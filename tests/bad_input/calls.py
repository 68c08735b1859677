"""How a table of bad input is written, and how one valid argument is spoilt.

A table gives one valid call for each public name, `call(argument=value, …)`. Every argument is then spoilt in the ways that
follow from its value, each of which has a name:

    text       "x"                      wherever a number, an array or an object of ours stands
    none       None                     unless the signature says that None is allowed
    nan, inf   in its first place       of numbers, also of each array in a list or a dictionary
    fraction   1.5                      of a whole number
    negative   -1                       of a whole number, and of numbers that the table calls `positive`
    zero       0                        the same
    several    two of them              of a number that is annotated as one, `float` or `int`
    empty      an array or list of none
    scalar     its first number         of an array with axes
    longer     its last axis repeated   of an array with axes: it does not fit the others, or is no vector
    deeper     one more axis in front   of an array with axes
    apart      two, and three of the next one   of numbers that the table says must `broadcast`
    unknown    "no such"                of a name; and `digit`, 3

`may={"times": "inf scalar"}` says that a spoilt argument is good input here: then the call must succeed. `also={"gamma": (1.0,)}`
adds values that must be refused. `opaque="network"` names arguments that are not spoilt: functions, generators and other objects
whose methods are called; flags are never spoilt, since anything is true or false. `on` is the object of a method.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Call:
    """A valid call, and what is known of its arguments."""

    arguments: dict[str, Any]
    may: Mapping[str, str]
    also: Mapping[str, Sequence]
    positive: tuple[str, ...]
    broadcast: tuple[str, ...]
    opaque: tuple[str, ...]
    on: Any


def call(*, may=None, also=None, positive="", broadcast="", opaque="", on=None, **arguments) -> Call:
    """Describe a public name by one valid call."""
    return Call(arguments, may or {}, also or {}, tuple(positive.split()), tuple(broadcast.split()), tuple(opaque.split()), on)


def room(module: str, **calls: Call) -> dict[str, Call]:
    """Give the calls of one module their full names."""
    return {f"lib.{module}.{name}": one for name, one in calls.items()}


def spoilt(call: Call, name: str, parameter: inspect.Parameter) -> dict[str, dict[str, Any]]:
    """Return the arguments with one of them spoilt, by the name of the way."""
    value, annotation = call.arguments[name], parameter.annotation
    ways = {f"also {i}": bad for i, bad in enumerate(call.also.get(name, ()))}
    if name not in call.opaque and not isinstance(value, bool):
        if not (parameter.default is None or "None" in str(annotation)):
            ways["none"] = None
        ways |= _spoilt(value, annotation in (int, float), name in call.positive)
    calls = {way: call.arguments | {name: bad} for way, bad in ways.items()}
    if name in call.broadcast[:-1]:
        other = call.broadcast[call.broadcast.index(name) + 1]
        calls["apart"] = call.arguments | {name: [value] * 2, other: [call.arguments[other]] * 3}
    return calls


def _spoilt(value: Any, single: bool, positive: bool) -> dict[str, Any]:
    if isinstance(value, str):
        return {"unknown": "no such", "digit": 3}
    ways = {"text": "x"}
    if isinstance(value, int):
        ways |= {"nan": np.nan, "inf": np.inf, "fraction": value + 0.5, "negative": -1, "zero": 0}
    elif isinstance(value, float):
        ways |= {"nan": np.nan, "inf": np.inf}
        if positive:
            ways |= {"negative": -value, "zero": 0.0}
    elif isinstance(value, Mapping):
        ways["empty"] = {}
        for key, part in value.items():
            ways |= {f"{way} in {key}": value | {key: bad} for way, bad in _inside(part).items()}
    elif isinstance(value, list | tuple) and not _numeric(value):
        ways["empty"] = value[:0]
        for i, part in enumerate(value):
            ways |= {f"{way} in {i}": type(value)([*value[:i], bad, *value[i + 1 :]]) for way, bad in _inside(part).items()}
    elif _numeric(value):
        ways |= _array(value, positive)
    if single:
        ways["several"] = [value, value]
    return ways


def _inside(part: Any) -> dict[str, Any]:
    """Return how a part of a list or a dictionary is spoilt."""
    return {way: bad for way, bad in _spoilt(part, False, False).items() if way in ("text", "nan", "inf")}


def _numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError, RuntimeError):
        return False


def _array(value: Any, positive: bool) -> dict[str, Any]:
    """Return how an array, a tensor or a list of numbers is spoilt; a tensor stays one."""

    def like(bad: np.ndarray) -> Any:
        return bad if isinstance(value, list | tuple | np.ndarray) else value.new_tensor(bad.tolist())

    good = np.asarray(value)
    ways = {"empty": like(np.zeros((0, *good.shape[1:])))}
    if good.dtype.kind == "f":
        for way, number in {"nan": np.nan, "inf": np.inf, **({"negative": -1.0, "zero": 0.0} if positive else {})}.items():
            bad = good.copy()
            bad.flat[0] = number
            ways[way] = like(bad)
    if good.ndim:
        longer = np.concatenate([good, good[..., -1:]], axis=-1)
        ways |= {"scalar": like(good.flat[0]), "longer": like(longer), "deeper": like(good[None])}
    return ways
