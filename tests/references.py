"""Formulas as their sources write them, with so many digits that no
cancellation, overflow or underflow can touch them.
"""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from mpmath import mp, mpf

DIGITS = 900  # the square of what is below 1e-308 keeps its digits beside what is near 1

seeds = st.integers(0, 2**32 - 1)
signs = st.sampled_from([-1, 1])
magnitudes = st.floats(-90, 90).map(lambda power: 10**power)
balances = st.one_of(st.just(0.0), st.tuples(magnitudes, signs).map(np.prod))


def same(found, expected, rtol=1e-12, atol=1e-300):
    """Compare each entry with its own size; what is below 1e-300 has lost digits."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def digits(function: Callable) -> Callable:
    """Evaluate a function of numbers and lists of numbers with `DIGITS` digits and round the
    numbers it returns to floats.
    """

    def exact(value):
        return mpf(float(value)) if np.ndim(value) == 0 else [exact(v) for v in value]

    def rounded(found):
        return [rounded(v) for v in found] if isinstance(found, list) else float(found)

    def called(*args):
        with mp.workdps(DIGITS):
            return np.array(rounded(function(*map(exact, args))))

    return called


def dot(first, second):
    return sum(u * v for u, v in zip(first, second, strict=True))


@digits
def time_to_reach(product, target, degree, start):
    """Integrate the time that a product takes from its start to
    a value, 1/velocity, by its antiderivative.
    """
    a = 2 / degree - 1

    def antiderivative(x):
        return mp.log(x / (1 - x)) if a == 0 else x**a / a * mp.hyp2f1(1, a, a + 1, x)

    with mp.workdps(120):
        return (
            target ** -(2 - 2 / degree)
            / degree
            * (antiderivative(product / target) - antiderivative(start / target))
        )


def neuron_rows(a0, w0, target, times):
    """Evaluate the closed form of a neuron's trajectory as
    the source would write it: rows of a and w.
    """
    delta = a0**2 - dot(w0, w0)
    root = mp.sqrt(delta**2 + 4 * dot(target, target))
    rise, fall = (delta + root) / 2, (delta - root) / 2
    p, m, rows = neuron_mode(a0, w0, target), a0 - neuron_mode(a0, w0, target), []

    def integral(rate, t):
        return mp.expm1(rate * t) / rate if rate else t

    for t in times:
        n, big_n = (
            p * mp.exp(rise * t) + m * mp.exp(fall * t),
            p * integral(rise, t) + m * integral(fall, t),
        )
        squares = (
            p**2 * integral(2 * rise, t)
            + m**2 * integral(2 * fall, t)
            + 2 * p * m * integral(delta, t)
        )
        norm = mp.sqrt(1 + 2 * squares)
        rows.append([n / norm, *((v + u * big_n) / norm for v, u in zip(w0, target, strict=True))])
    return rows


def neuron_mode(a0, w0, target):
    """Return p, the amplitude of the growing mode: its sign decides where the neuron ends."""
    delta = a0**2 - dot(w0, w0)
    return (
        a0 + (2 * dot(w0, target) + delta * a0) / mp.sqrt(delta**2 + 4 * dot(target, target))
    ) / 2


neuron_path, growing_mode = digits(neuron_rows), digits(neuron_mode)


@digits
def neuron_start(beta, delta):
    """Return a and w of a neuron with the map β and the balance δ."""
    a = mp.sqrt((delta + mp.sqrt(delta**2 + 4 * dot(beta, beta))) / 2)
    return [a, *(v / a for v in beta)]


@digits
def neuron_geometry(beta, delta):
    """Return the preconditioner's three entries in the plane, the potential and its
    gradient, (6,).
    """
    norm2 = dot(beta, beta)
    kappa = mp.sqrt(delta**2 + 4 * norm2)
    entries = [
        (kappa + delta) / 2 * (i == j) + (kappa - delta) / 2 * beta[i] * beta[j] / norm2
        for i, j in ((0, 0), (0, 1), (1, 1))
    ]
    above, at_zero = ((k - 2 * delta) * mp.sqrt(k + delta) / 3 for k in (kappa, abs(delta)))
    return [*entries, above - at_zero, *(mp.sqrt(kappa - delta) * v / mp.sqrt(norm2) for v in beta)]


@digits
def mode(start, target, delta, times):
    """Solve the Riccati equation of a mode, z' = -(z - z₊)(z - z₋)/2,
    by separation; for δ = 0 the sigmoid of either sign.
    """
    found = []
    for t in times:
        if delta == 0:
            rate = target if start > 0 else -target
            grown = mp.exp(2 * rate * t)
            steps = mp.expm1(2 * rate * t) / target if target else 2 * t * mp.sign(start)
            found.append(start * grown / (1 + start * steps) if start else mpf(0))
            continue
        kappa, z = mp.sqrt(delta**2 + 4 * target**2), mp.sqrt(delta**2 + 4 * start**2) + 2 * start
        above, below = 2 * target + kappa, 2 * target - kappa
        ratio = (z - above) / (z - below) * mp.exp(-kappa * t)
        z = (above - below * ratio) / (1 - ratio)
        found.append((z - delta**2 / z) / 4)
    return found


@digits
def final_distance(h, y, x, target, tau_h, tau_y):
    """Return A_high, A_low and the final distance of two points."""
    slope = tau_y / tau_h * x**2
    high, low2 = h - slope * y / h, slope * target**2
    return [high, mp.sqrt(low2), high / 2 + mp.sqrt(high**2 / 4 + low2)]


@digits
def two_point_path(h, y, w, x, target, tau_h, tau_y, times):
    """Return ‖dh‖² and ‖dy‖² by the neuron that Eq. 7 is, rows of times."""
    along, a = (y - w) / target, mp.sqrt(h)
    across = mp.sqrt(max(y - along**2, mpf(0)))
    eta_a, eta_w = x**2 / (2 * tau_h), 1 / (2 * tau_y)
    start, goal = (
        [v / a * mp.sqrt(eta_a) for v in (along, across)],
        [target * mp.sqrt(eta_a * eta_w), mpf(0)],
    )
    rows = neuron_rows(a * mp.sqrt(eta_w), start, goal, times)
    return [[a**2 / eta_w, a**2 / eta_w * (u**2 + v**2) / eta_a] for a, u, v in rows]


@digits
def turned_kernel(balance, size, cosine):
    """Return the kernel distance of a neuron in the plane, as 1 - cos."""

    def strengths(r):
        root = mp.sqrt(balance**2 + r**2)
        return root + balance, root - balance

    (a0, b0), (a1, b1) = strengths(size), strengths(mpf(1))
    overlap = 2 * a0 * a1 + a0 * b1 + b0 * a1 + b0 * b1 * cosine**2
    return 1 - overlap / mp.sqrt(
        (2 * a0**2 + 2 * a0 * b0 + b0**2) * (2 * a1**2 + 2 * a1 * b1 + b1**2)
    )
