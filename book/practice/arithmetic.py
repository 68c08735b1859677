"""Arithmetic modulo a prime: equations x ∘ y = z as strings
of tokens, and their split into two parts.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import generator, one_of, takes, whole

OPERATIONS = ("division", "multiplication")


def _prime(name: str, value: int) -> int:
    p = whole(name, value, 2)
    if not all(p % q for q in range(2, int(p**0.5) + 1)):
        raise ValueError(f"{name} is {p}: want a prime")
    return p


@takes(p=_prime, operation=partial(one_of, allowed=OPERATIONS))
def modular(p: int, operation: str = "division") -> tuple[NDArray, NDArray]:
    """Return all equations x / y = z or x · y = z modulo p, for x
    from 0 and y from 1 to p − 1, x running slower.

    Parameters
    ----------
    p : a prime
    operation : "division" or "multiplication"

    Returns
    -------
    tokens (p(p − 1), 4): x, ∘, y and =, where x and y stand for themselves, = is p and ∘ is p + 1;
    labels z (p(p − 1),)

    Source: Power et al. (2022), "Grokking"; the tokens as in the code that Kunin et al. (2024)
    build on, which says division and computes products.
    """
    x, y = (side.ravel() for side in np.meshgrid(np.arange(p), np.arange(1, p), indexing="ij"))
    factor = (
        np.array([0] + [pow(q, -1, p) for q in range(1, p)])[y] if operation == "division" else y
    )
    return np.stack([x, np.full_like(x, p + 1), y, np.full_like(x, p)], axis=1), x * factor % p


def split(seed: ArrayLike, count: int, first: int) -> tuple[NDArray, NDArray]:
    """Draw `first` of the numbers 0 to `count` − 1, and return
    them and the others, each in random order.
    """
    count = whole("count", count, 2)
    first = whole("first", first, 1, count - 1)  # so that both parts hold something
    order = generator(seed).permutation(count)
    return order[:first], order[first:]
