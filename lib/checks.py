"""How arguments are checked: one vocabulary for all.

A check is a function of a name and a value. It returns the value in the form that formulas want, or
raises TypeError for a value of another kind, else ValueError, with the name, what was given and
what is wanted. `takes` applies checks before a function runs, so that its body holds the formula
alone:

>>> @takes(price=positives, weight=number)
... def cost(price, weight):
...     return weight * price
>>> cost([1, 2], 3)
array([3., 6.])
>>> cost([1, -2], 3)
Traceback (most recent call last):
ValueError: price must be positive, not -2
"""

import re
import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from decimal import Decimal
from functools import partial, wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

# in size: formulas square and cube what they are given, and a float ends at 1.8e308
LARGEST = 1e100
DEVICES = ("cpu", "cuda")
NUMBERS = (Real, Decimal)

Check = Callable[[str, Any], Any]
_NOTHING = nullcontext()
Function = TypeVar("Function", bound=Callable)


def takes(**checks: Check) -> Callable[[Function], Function]:
    """Check the arguments of a function by name, in this
    order, and hand on what the checks return.
    """

    def decorate(function: Function) -> Function:
        parameters = signature(function)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = parameters.bind(*args, **kwargs)
            torch = sys.modules.get("torch")
            # an underflow is zero, and tensors hold numbers, whatever the caller has set
            with np.errstate(under="ignore"), usual(torch) if disturbed(torch) else _NOTHING:
                for name, check in checks.items():
                    if name in given.arguments:
                        given.arguments[name] = check(name, given.arguments[name])
                return function(*given.args, **given.kwargs)

        return cast(Function, checked)

    return decorate


def disturbed(torch: Any) -> bool:
    """Return whether torch, if imported, does not make tensors and products as `usual`."""
    return torch is not None and (
        torch.is_inference_mode_enabled()
        or any(map(torch.is_autocast_enabled, DEVICES))
        or not torch.empty(0).is_cpu
    )


@contextmanager
def usual(torch: Any) -> Generator[None]:
    """Have torch make tensors on the CPU that can have gradients, and products in full."""
    cpu, cuda = (torch.autocast(device, enabled=False) for device in DEVICES)
    with torch.device("cpu"), torch.inference_mode(False), cpu, cuda:
        yield


def optional(check: Check) -> Check:
    """Return a check that lets None pass."""
    return lambda name, value: None if value is None else check(name, value)


# --- one number -----------------------------------------------------------------------------------


def number(name: str, value: float, low: float = -LARGEST, high: float = LARGEST) -> float:
    """Return one finite number from `low` to `high`, both included."""
    found = float(numbers(name, value, ndim=0))
    if not low <= found <= high:
        raise ValueError(f"{name} is {found:g}: want a number from {low:g} to {high:g}")
    return found


def positive(name: str, value: float) -> float:
    """Return one finite number above zero."""
    return float(positives(name, value, ndim=0))


def non_negative(name: str, value: float) -> float:
    """Return one finite number of at least zero."""
    return float(non_negatives(name, value, ndim=0))


def whole(name: str, value: int, least: int = 1, most: float = np.inf) -> int:
    """Return a whole number from `least` to `most` as an integer; 3.0 is one, too."""
    wanted = (
        "a positive integer" if (least, most) == (1, np.inf) else f"an integer of at least {least}"
    )
    wanted += "" if most == np.inf else f" and at most {most}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}: want {wanted}")
    if isinstance(value, Integral) or float(value).is_integer():
        found = int(value)
        if least <= found <= most:
            return found
    raise ValueError(f"{name} is {value}: want {wanted}")


seed = partial(whole, least=0)


def size(name: str, value: int) -> int:
    """Return a positive integer, by type too, so that it can be used as it is."""
    whole(name, value)
    if not isinstance(value, Integral):
        raise TypeError(f"{name} is {value}: want a positive integer")
    return value


def sizes(**values: int) -> None:
    """Raise unless all values are positive integers."""
    for name, value in values.items():
        size(name, value)


def real(name: str, value: float) -> float:
    """Return one real number, which may be infinite or NaN."""
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(value, str | bytes) and np.ndim(value) == 0:
            return float(value)
    raise TypeError(f"{name} is {value!r}: want one real number")


def limit(name: str, value: float) -> float:
    """Return one number, finite or infinite."""
    found = real(name, value)
    if np.isnan(found):
        raise ValueError(f"{name} is nan: want a number, finite or infinite")
    return found


# --- arrays ---------------------------------------------------------------------------------------


def numbers(
    name: str, value: ArrayLike, ndim: int | None = None, largest: float = LARGEST
) -> NDArray:
    """Return an array of floats, on `ndim` axes if given: at
    least one, all finite, in size at most `largest`.
    """
    if (
        type(value) is float and not ndim and -largest <= value <= largest
    ):  # the commonest, in a tenth of the time
        return np.array(value)
    if hasattr(value, "detach"):
        value = _plain(name, value)[0].double().cpu().numpy()
    array = _array(name, value).astype(float)  # a copy, which no later change reaches
    if array.size == 0:
        raise ValueError(f"{name} is empty, of shape {array.shape}: want at least one number")
    if ndim is not None and array.ndim != ndim:
        wanted = {0: "one number", 1: "a vector (d,)", 2: "one matrix (m, n)"}.get(
            ndim, f"numbers on {ndim} axes"
        )
        raise ValueError(f"{name} has shape {array.shape}: want {wanted}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, not {array[~np.isfinite(array)].flat[0]}")
    if np.any(np.abs(array) > largest):
        raise ValueError(
            f"{name} must be at most {largest:g} in size, not {np.abs(array).max():g}: measure "
            "in larger units"
        )
    return array


def for_torch(name: str, value: Any) -> Any:
    """Return finite real numbers as PyTorch takes them: a tensor, or an array that it can share.

    Truth values and whole numbers become int64, other numbers keep their precision, and those of a
    list are double. A tensor loses its gradient.
    """
    found, finite = (_plain if hasattr(value, "detach") else _native)(name, value)
    if not finite:
        raise ValueError(f"{name} must be finite")
    return found


def _plain(name: str, tensor: Any) -> tuple[Any, bool]:
    """Return a tensor for `for_torch`, and whether it is finite."""
    try:
        finite = bool(tensor.isfinite().all())
    except RuntimeError:  # of a tensor that is sparse, quantized, or without data
        finite = None
    if finite is None or tensor.is_complex() or tensor.is_nested:
        what = f"a tensor of {tensor.dtype}, {tensor.layout}, on {tensor.device}"
        raise TypeError(f"{name} is {what}: want real numbers")
    own = (tensor.clone() if tensor.is_inference() else tensor).detach().resolve_neg()
    if own.is_floating_point():
        return own, finite
    fits = str(own.dtype) != "torch.uint64" or bool((own.long() >= 0).all())
    return own.long() if fits else own.double(), finite


def _native(name: str, value: Any) -> tuple[NDArray, bool]:
    """Return an array for `for_torch`, and whether it is finite."""
    array = _array(name, value)
    if array.dtype.kind == "f":
        wanted = array.dtype.newbyteorder("=") if array.dtype.itemsize <= 8 else float
    else:
        wanted = np.int64 if not array.size or array.max() <= np.iinfo(np.int64).max else float
    return np.require(array, wanted, ["C", "W"]), bool(np.isfinite(array).all())


def _array(name: str, value: Any) -> NDArray:
    """Return the real numbers that NumPy makes of a value; of objects integers if all are."""
    with suppress(RecursionError):  # a list that holds itself
        if _masked(value):
            raise ValueError(f"{name} has masked entries: fill them, or leave them out")
    try:
        array = np.asarray(value)
        if array.dtype == object and all(isinstance(one, NUMBERS) for one in array.flat):
            whole = all(isinstance(one, Integral) and abs(int(one)) < 2**63 for one in array.flat)
            array = array.astype(np.int64 if whole else float)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # such as lists of unequal length
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        what = f"{name} is of type {type(value).__name__} and dtype {array.dtype}"
        raise TypeError(f"{what}: want real numbers")
    return array


def _masked(value: Any) -> bool:
    """Return whether an entry is masked, also of an array in a list, where NumPy forgets it."""
    if isinstance(value, list | tuple):
        parts = (one for one in value if isinstance(one, list | tuple | np.ma.MaskedArray))
        return any(map(_masked, parts))
    return np.ma.is_masked(value)


def differentiable(name: str, value: Any) -> Any:
    """Return a tensor of real numbers with its gradient; anything else as it is."""
    if not hasattr(value, "detach"):
        return value
    plain, _ = _plain(name, value)
    return value if value.is_floating_point() and value.element_size() > 1 else plain.double()


def tensors(name: str, value: Any, finite: bool = False) -> dict[str, Any]:
    """Return tensors by name, one at least, of one precision, without their gradients."""
    if not isinstance(value, Mapping) or not value:
        raise TypeError(f"{name} is of type {type(value).__name__}: want tensors by name")
    found = {}
    for key, part in value.items():
        own = f"{name}[{key!r}]"
        if not hasattr(part, "detach"):
            raise TypeError(f"{own} is of type {type(part).__name__}: want a tensor")
        found[key], good = _plain(own, part)
        if finite and not good:
            raise ValueError(f"{own} must be finite")
    given = {str(part.dtype) for part in value.values()}
    if given not in ({"torch.float32"}, {"torch.float64"}):
        raise TypeError(f"{name} are of {', '.join(sorted(given))}: want float32 or float64 in all")
    return found


def positives(
    name: str, value: ArrayLike, ndim: int | None = None, least: float = 1 / LARGEST
) -> NDArray:
    """Return an array of positive numbers of at least `least`: most of them divide."""
    array = numbers(name, value, ndim)
    if np.any(array <= 0):
        raise ValueError(f"{name} must be positive, not {array.min():g}")
    if np.any(array < least):
        raise ValueError(
            f"{name} must be at least {least:g}, not {array.min():g}: measure in smaller units"
        )
    return array


def non_negatives(name: str, value: ArrayLike, ndim: int | None = None) -> NDArray:
    """Return an array of numbers of at least zero."""
    array = numbers(name, value, ndim)
    if np.any(array < 0):
        raise ValueError(f"{name} must not be negative, but {array.min():g} is")
    return array


vector = partial(numbers, ndim=1)
matrix = partial(numbers, ndim=2)


def nonzero(name: str, value: ArrayLike) -> NDArray:
    """Return one vector (d,) other than zero."""
    array = numbers(name, value)
    if array.ndim != 1 or not np.any(array):
        raise ValueError(f"{name} must be a vector (d,) other than zero")
    return array


def batch(
    name: str, value: ArrayLike, largest: float = LARGEST, *, axes: int, wanted: str
) -> NDArray:
    """Return an array of numbers on `axes` axes or more, which are `wanted`."""
    array = numbers(name, value, largest=largest)
    if array.ndim < axes:
        raise ValueError(f"{name} has shape {array.shape}: want {wanted}")
    return array


vectors = partial(batch, axes=1, wanted="vectors (..., d)")
matrices = partial(batch, axes=2, wanted="matrices (..., m, n)")


def squares(name: str, value: ArrayLike, largest: float = LARGEST) -> NDArray:
    """Return a square matrix or an array of them (..., d, d)."""
    array = matrices(name, value, largest)
    if array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{name} has shape {array.shape}: want (..., d, d)")
    return array


def gram(name: str, value: ArrayLike) -> NDArray:
    """Return one symmetric and positive semidefinite matrix (d, d), like XᵀX."""
    array = squares(name, value)
    size = np.abs(array).max()
    symmetric = array.ndim == 2 and np.allclose(array, array.T, rtol=0, atol=1e-8 * size)
    if not symmetric or np.linalg.eigvalsh(array)[0] < -1e-10 * size:
        raise ValueError(
            f"{name} must be symmetric and positive semidefinite, (d, d), as X.T @ X is"
        )
    return array


def nonnegative_times(name: str, value: ArrayLike) -> NDArray:
    """Return times (T,), of any size and in any order, of at least 0; one number is one time."""
    times = np.atleast_1d(numbers(name, value, largest=np.inf))
    if times.ndim != 1 or np.any(times < 0):
        raise ValueError(f"{name} must be non-negative, shape (T,)")
    return times


def ascending(name: str, value: ArrayLike) -> NDArray:
    """Return times (T,), of any size, that ascend from 0 or later; one number is one time."""
    times = nonnegative_times(name, value)
    if np.any(np.diff(times) < 0):
        raise ValueError(f"{name} must ascend, shape (T,)")
    return times


def binary(name: str, value: ArrayLike) -> NDArray:
    """Return an array of booleans from 0 and 1, or False and True."""
    array = numbers(name, value)
    if not np.all((array == 0) | (array == 1)):
        raise ValueError(f"{name} must be 0 or 1, True or False")
    return array == 1


def flag(name: str, value: bool) -> bool:
    """Return True or False, which may be written 1 or 0."""
    return bool(binary(name, numbers(name, value, ndim=0)))


def wholes(name: str, values: Sequence[int], least: int = 0) -> list[int]:
    """Return a list of whole numbers of at least `least`, one at least."""
    if isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{name} is {values!r}: want a list of whole numbers, one at least")
    return [whole(f"{name}[{i}]", value, least) for i, value in enumerate(values)]


def arrays(name: str, values: Sequence[ArrayLike], check: Check = numbers) -> list[NDArray]:
    """Return a list of arrays, one at least, each of them checked."""
    if isinstance(values, str) or not np.iterable(values):
        raise TypeError(f"{name} is of type {type(values).__name__}: want a list of arrays")
    values = list(values)
    if not values:
        raise ValueError(f"{name} is empty: want at least one array")
    return [check(f"{name}[{i}]", value) for i, value in enumerate(values)]


def alike(name: str, parts: Sequence[Any], shape: Sequence[int]) -> None:
    """Raise ValueError unless what is drawn for each member, (b, ...), has one shape, with points
    of the shape that is given.
    """
    found = {np.shape(part) for part in parts}
    first = next(iter(found))
    if len(found) > 1 or 0 in first or first[1:] != tuple(shape):
        wanted = ", ".join(["b", *map(str, shape)])
        given = " and ".join(map(str, sorted(found)))
        raise ValueError(f"{name} gives {given}: want ({wanted}), b the same for each member")


def broadcastable(**values: ArrayLike) -> None:
    """Raise ValueError unless the shapes of these arrays broadcast."""
    shapes = {name: np.shape(value) for name, value in values.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{given} do not fit each other: want shapes that broadcast") from None


def shaped(wanted: str, **arrays: NDArray) -> None:
    """Raise ValueError unless the shapes are as wanted, with one size
    for each name of an axis and one shape for each `...`.

    >>> shaped("(h, d), (h,)", w=np.ones((3, 2)), a=np.ones(2))
    Traceback (most recent call last):
    ValueError: w (3, 2), a (2,) do not fit: want (h, d), (h,)
    """
    sizes: dict[str, Any] = {}
    for axes, array in zip(re.findall(r"\((.*?),?\)", wanted), arrays.values(), strict=True):
        names, shape = axes.split(", "), list(array.shape)
        if names[0] == "...":
            rest = len(shape) - len(names) + 1
            shape = [shape[:rest], *shape[rest:]]
        known = [
            sizes.setdefault(name, int(name) if name.isdigit() else size)
            for name, size in zip(names, shape, strict=False)
        ]
        if len(names) != len(shape) or known != shape:
            given = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ValueError(f"{given} do not fit: want {wanted}")


# --- other things ---------------------------------------------------------------------------------


def one_of(name: str, value: str, allowed: Collection[str]) -> str:
    """Return one of the allowed names."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} is {value!r}: want one of {', '.join(allowed)}")
    return value


def kind(name: str, value: Any, *kinds: type) -> Any:
    """Return a value of one of these types."""
    if not isinstance(value, kinds):
        wanted = " or ".join(one.__name__ for one in kinds)
        raise TypeError(f"{name} is of type {type(value).__name__}: want {wanted}")
    return value


def instance(*kinds: type) -> Check:
    """Return the check that a value is of one of these types."""
    return lambda name, value: kind(name, value, *kinds)


def words(name: str, value: str) -> str:
    """Return text that is not blank."""
    if not kind(name, value, str).strip():
        raise ValueError(f"{name} is blank: want some words")
    return value


def seeds(name: str, value: int | Sequence[int]) -> int | list[int]:
    """Return a whole number of at least 0, or several of these."""
    parts = np.asarray(value)
    if parts.dtype.kind not in "iu" or parts.size == 0 or np.any(parts < 0):
        raise ValueError(f"{name} is {value!r}: want a whole number of at least 0, or several")
    return parts.tolist()


def generator(seed: int | Sequence[int]) -> np.random.Generator:
    """Return the random numbers of a seed."""
    return np.random.default_rng(seeds("seed", seed))
