"""How arguments are checked outside of the theory: one line at the head of a function, one message for each fault.

Every check raises TypeError for a value of another kind, else ValueError, and names the argument.
"""

from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def whole(name: str, value: int, least: int = 1, most: float = np.inf) -> int:
    """Return `value` as an integer, or raise unless it is a whole number from `least` to `most`; 3.0 is one, too."""
    wanted = "a positive integer" if (least, most) == (1, np.inf) else f"an integer of at least {least}"
    wanted += "" if most == np.inf else f" and at most {most}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}: want {wanted}")
    if not float(value).is_integer() or not least <= value <= most:
        raise ValueError(f"{name} is {value}: want {wanted}")
    return int(value)


def sizes(**values: int) -> None:
    """Raise unless all values are positive integers, by type too, so that they can be used as they are."""
    for name, value in values.items():
        if not isinstance(whole(name, value) and value, Integral):
            raise TypeError(f"{name} is {value}: want a positive integer")


def numbers(name: str, value: ArrayLike, ndim: int | None = None) -> NDArray:
    """Return `value` as an array of floats, or raise unless it holds finite numbers on `ndim` axes, or on any."""
    try:
        array = np.asarray(value).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError, RuntimeError):  # text, None, lists of unequal length, a tensor with a gradient
        raise TypeError(f"{name} is of type {type(value).__name__}: want real numbers") from None
    if array.size == 0 or (ndim is not None and array.ndim != ndim):
        wanted = "at least one number" if ndim is None else "one number" if ndim == 0 else f"numbers on {ndim} axes"
        raise ValueError(f"{name} has shape {array.shape}: want {wanted}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, not {array[~np.isfinite(array)].flat[0]}")
    return array


def number(name: str, value: float, low: float = -np.inf, high: float = np.inf) -> float:
    """Return `value` as a float, or raise unless it is one finite number from `low` to `high`, both included."""
    found = float(numbers(name, value, ndim=0))
    if not low <= found <= high:
        raise ValueError(f"{name} is {found:g}: want a number from {low:g} to {high:g}")
    return found


def positive(name: str, value: float) -> float:
    """Return `value` as a float, or raise unless it is one finite number above zero."""
    if (found := number(name, value)) <= 0:
        raise ValueError(f"{name} is {found:g}: want a positive number")
    return found


def one_of(name: str, value: str, allowed: Collection[str]) -> None:
    """Raise unless `value` is one of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} is {value!r}: want one of {', '.join(allowed)}")


def kind(name: str, value: Any, *kinds: type) -> None:
    """Raise TypeError unless `value` is of one of these types."""
    if not isinstance(value, kinds):
        wanted = " or ".join(one.__name__ for one in kinds)
        raise TypeError(f"{name} is of type {type(value).__name__}: want {wanted}")


def text(**values: str) -> None:
    """Raise TypeError unless all values are text, ValueError if one is blank."""
    for name, value in values.items():
        kind(name, value, str)
        if not value.strip():
            raise ValueError(f"{name} is blank: want some words")


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """Return the random numbers of a seed, or raise unless it is a whole number of at least 0, or several of these."""
    parts = np.asarray(seed)
    if parts.dtype.kind not in "iu" or parts.size == 0 or np.any(parts < 0):
        raise ValueError(f"seed is {seed!r}: want a whole number of at least 0, or several")
    return np.random.default_rng(seed)
