"""Random signals in single precision, compiled: no entry waits for
another, so that the processor makes many at once.

A word is an unsigned integer of 32 bits. Polynomials stand in for library functions, which would be
called entry by entry.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

_REORDER = {
    "reassoc",
    "contract",
    "nsz",
    "arcp",
}  # sums may be reordered; NaN and infinity keep their meaning
_ONE, _TWO, _HALF, _LOG_2, _TURN = (np.float32(value) for value in (1, 2, 0.5, np.log(2), 2.0**-31))
_ROOT_HALF = np.float32(0.5**0.5).view(
    np.int32
)  # the bits of a number: 8 of the exponent, then 23 of the mantissa
_MANTISSA = np.int32(2**23 - 1)


def _polynomial(function: Callable, degree: int, low: float, high: float) -> tuple[np.float32, ...]:
    """Return the coefficients of the polynomial that meets a
    function at the Chebyshev points, lowest power first.
    """
    found = np.polynomial.Chebyshev.interpolate(function, degree, (low, high)).convert(
        kind=np.polynomial.Polynomial
    )
    return tuple(np.float32(value) for value in found.coef)


_LOG = _polynomial(
    lambda t: np.log1p(t) / t, 9, 0.5**0.5 - 1, 2**0.5 - 1
)  # no Chebyshev point is 0
_COSINE = _polynomial(lambda v2: np.cos(np.pi / 2 * np.sqrt(v2)), 5, 0, 1)
_SINE = _polynomial(lambda v2: np.pi / 2 * np.sinc(np.sqrt(v2) / 2), 5, 0, 1)
_ERF = tuple(
    np.float32(value)
    for value in (
        0.0705230784,
        0.0422820123,
        0.0092705272,
        0.0001520143,
        0.0002765672,
        0.0000430638,
    )
)


@njit(inline="always")
def _at(coefficients, x):
    total = coefficients[-1]
    for i in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[i]
    return total


@njit(inline="always")
def _mix(x, y, bits):
    x = np.uint32(x + y)
    return x, np.uint32(
        np.uint32(np.uint32(y << np.uint32(bits)) | np.uint32(y >> np.uint32(32 - bits))) ^ x
    )


@njit(nogil=True, cache=True)
def words(key0, key1, out):
    """Fill `out` (2, n) with random words: column i is the
    counter (i, 0), encrypted with two words as the key.

    Source: Threefry-2x32 with 20 rounds, Salmon, Moraes, Dror & Shaw (2011).
    """
    key2 = np.uint32(key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    for i in range(out.shape[1]):
        x, y = np.uint32(np.uint32(i) + key0), key1
        for group in range(5):
            if group % 2 == 0:
                x, y = _mix(x, y, 13)
                x, y = _mix(x, y, 15)
                x, y = _mix(x, y, 26)
                x, y = _mix(x, y, 6)
            else:
                x, y = _mix(x, y, 17)
                x, y = _mix(x, y, 29)
                x, y = _mix(x, y, 16)
                x, y = _mix(x, y, 24)
            first, second = (
                (key1, key2) if group % 3 == 0 else (key2, key0) if group % 3 == 1 else (key0, key1)
            )
            x, y = np.uint32(x + first), np.uint32(y + second + np.uint32(group + 1))
        out[0, i], out[1, i] = x, y


@njit(nogil=True, cache=True, fastmath=_REORDER, error_model="numpy")
def normals(pairs, out):
    r"""Turn random words (2, n) into standard normal numbers (2, n):
    :math:`\sqrt{-2\ln u}` times cosine and sine of πv.

    u is uniform in (0, 1], in steps of :math:`2^{-31}` that single precision rounds, so that no
    number lies beyond 6.67; v is uniform in [-1, 1).

    Source: Box & Muller (1958).
    """
    for i in range(pairs.shape[1]):
        u = np.float32(np.int32(pairs[0, i] >> np.uint32(1))) + _HALF  # times 2³¹
        bits = np.int32(np.float32(u).view(np.int32)) - _ROOT_HALF
        t = (
            np.int32((bits & _MANTISSA) + _ROOT_HALF).view(np.float32) - _ONE
        )  # u is 1 + t times a power of two
        log = np.float32((bits >> np.int32(23)) - np.int32(31)) * _LOG_2 + t * _at(_LOG, t)
        radius = np.sqrt(-_TWO * min(log, np.float32(0)))
        v = np.float32(np.int32(pairs[1, i])) * _TURN
        cosine, sine = _at(_COSINE, v * v), v * _at(_SINE, v * v)  # of half the angle
        out[0, i] = radius * (_ONE - _TWO * sine * sine)
        out[1, i] = radius * (_TWO * sine * cosine)


@njit(nogil=True, cache=True, fastmath=_REORDER, error_model="numpy")
def bend(z, rows, factor, out):
    r"""Replace z (samples, n) by factor · erf(z), and write its i-th row to row `rows[i]` of `out`.

    With a polynomial p, erf(z) is :math:`1-(1+p)^{-16}` to :math:`5\cdot10^{-7}`, for small z to a
    part in :math:`10^5`.

    Source: Abramowitz & Stegun (1964), 7.1.28.
    """
    flat = z.reshape(z.size)
    for i in range(flat.size):
        x = min(abs(flat[i]), np.float32(4))
        power = x * _at(_ERF, x)  # (1 + p)¹⁶ − 1, by squaring four times
        for _ in range(4):
            power *= _TWO + power
        flat[i] = np.copysign(factor * power / (_ONE + power), flat[i])
    for i in range(len(rows)):
        row = rows[i]
        for j in range(z.shape[1]):
            out[row, j] = z[i, j]
