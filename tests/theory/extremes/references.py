"""Formulas as their sources write them, with so many digits that no cancellation, overflow or underflow can touch them."""

from collections.abc import Callable

import numpy as np
from mpmath import mp, mpf

DIGITS = 900  # the square of what is below 1e-308 keeps its digits beside what is near 1


def digits(function: Callable) -> Callable:
    """Evaluate a function of numbers and lists of numbers with `DIGITS` digits and round the numbers it returns to floats."""

    def exact(value):
        return mpf(float(value)) if np.ndim(value) == 0 else [exact(v) for v in value]

    def rounded(found):
        return [rounded(v) for v in found] if isinstance(found, list) else float(found)

    def called(*args):
        with mp.workdps(DIGITS):
            return np.array(rounded(function(*map(exact, args))))

    return called


@digits
def time_integral(product, target, degree, start):
    """Integrate the time that a product takes from its start to a value, 1/velocity, by its antiderivative."""
    a = 2 / degree - 1

    def antiderivative(x):
        return mp.log(x / (1 - x)) if a == 0 else x**a / a * mp.hyp2f1(1, a, a + 1, x)

    with mp.workdps(120):
        return [target ** -(2 - 2 / degree) / degree * (antiderivative(product / target) - antiderivative(start / target))]


@digits
def conserved_pair(w, k):
    """Return the conserved quantity of two weights with exponents."""
    return [w[0] ** 2 / k[0] - w[1] ** 2 / k[1]]


@digits
def end_rates(target, degree):
    """Return the rate of approach at the end, and the largest learning rate."""
    rate = degree * target ** (2 - 2 / degree)
    return [rate, 2 / rate]


@digits
def monomial_depth(k):
    """Return K and c of a balanced monomial."""
    return [sum(k), mp.exp(sum(v * mp.log(v) for v in k) / sum(k))]


@digits
def sigmoid(w, times):
    """Return either of two equal weights over time."""
    return [mp.sqrt(1 / (1 + (1 / w**2 - 1) * mp.exp(-2 * t))) for t in times]


def neuron_rows(a0, w0, target, times):
    """Evaluate the closed form of a neuron's trajectory as the source would write it: rows of a and w."""
    s2, omega = sum(v * v for v in target), sum(v * u for v, u in zip(w0, target, strict=True))
    delta = a0**2 - sum(v * v for v in w0)
    root = mp.sqrt(delta**2 + 4 * s2)
    rise, fall = (delta + root) / 2, (delta - root) / 2
    p, m, rows = (omega + a0 * rise) / root, -(omega + a0 * fall) / root, []

    def integral(rate, t):
        return mp.expm1(rate * t) / rate if rate else t

    for t in times:
        n, big_n = p * mp.exp(rise * t) + m * mp.exp(fall * t), p * integral(rise, t) + m * integral(fall, t)
        squares = p**2 * integral(2 * rise, t) + m**2 * integral(2 * fall, t) + 2 * p * m * integral(delta, t)
        norm = mp.sqrt(1 + 2 * squares)
        rows.append([n / norm, *((v + u * big_n) / norm for v, u in zip(w0, target, strict=True))])
    return rows


neuron_path = digits(neuron_rows)


@digits
def neuron_start(beta, delta):
    """Return a and w of a neuron with the map β and the balance δ."""
    a = mp.sqrt((delta + mp.sqrt(delta**2 + 4 * sum(v * v for v in beta))) / 2)
    return [a, *(v / a for v in beta)]


@digits
def neuron_metric(beta, delta):
    """Return the preconditioner's three entries, the potential and its gradient, (6,)."""
    norm2 = sum(v * v for v in beta)
    kappa = mp.sqrt(delta**2 + 4 * norm2)
    entries = [
        (kappa + delta) / 2 * (i == j) + (kappa - delta) / 2 * beta[i] * beta[j] / norm2 for i, j in ((0, 0), (0, 1), (1, 1))
    ]
    above, at_zero = ((k - 2 * delta) * mp.sqrt(k + delta) / 3 for k in (kappa, abs(delta)))
    return [*entries, above - at_zero, *(mp.sqrt(kappa - delta) * v / mp.sqrt(norm2) for v in beta)]


@digits
def interpolated(y, a, w):
    """Where a neuron with a > 0 ends that sees x = (1, 1) and the label y."""
    k, half = (w[0] - w[1]) / mp.sqrt(2), (a**2 - (w[0] + w[1]) ** 2 / 2) / 2
    end = mp.sqrt(half + mp.sqrt(half**2 + y**2 / 2)) * k / mp.sqrt(2)
    return [y / 2 + end, y / 2 - end]


# --- linear networks


@digits
def mode(start, target, delta, times):
    """Solve the Riccati equation of a mode, z' = -(z - z₊)(z - z₋)/2, by separation; for δ = 0 the sigmoid of either sign."""
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


# --- two points


@digits
def settled(h, y, x, target, tau_h, tau_y):
    """Return A_high, A_low and the final distance."""
    slope = tau_y / tau_h * x**2
    high, low2 = h - slope * y / h, slope * target**2
    end = high / 2 + mp.sqrt(high**2 / 4 + low2)
    return [high, mp.sqrt(low2), end]


@digits
def two_point_path(h, y, w, x, target, tau_h, tau_y, times):
    """Return ‖dh‖² and ‖dy‖² by the neuron that Eq. 7 is, rows of times."""
    along = (y - w) / target
    across, a = mp.sqrt(max(y - along**2, mpf(0))), mp.sqrt(h)
    eta_a, eta_w = x**2 / (2 * tau_h), 1 / (2 * tau_y)
    scaled = neuron_rows(
        a * mp.sqrt(eta_w), [v / a * mp.sqrt(eta_a) for v in (along, across)], [target * mp.sqrt(eta_a * eta_w), mpf(0)], times
    )
    return [[a**2 / eta_w, a**2 / eta_w * (u**2 + v**2) / eta_a] for a, u, v in scaled]


# --- piecewise linear networks


@digits
def scaled(tau, delta):
    """Return (w, a) of a balanced neuron with w = (.6, .8)."""
    alpha = mp.exp(mp.asinh(delta / (2 * tau**2)) / 2)
    return [mpf(0.6) * tau / alpha, mpf(0.8) * tau / alpha, tau * alpha]


@digits
def turning(mu, delta):
    """Return the rate at which a neuron's direction turns."""
    return [(mp.sqrt(delta**2 + 4 * mu**2) + delta) / (2 * mu)]


@digits
def aligning(w, a, drive, times):
    """Return w and a, rows of times, for a drive along an axis."""
    speed = mp.sqrt(sum(v * v for v in drive))
    axis = [v / speed for v in drive]
    u, rows = sum(p * q for p, q in zip(w, axis, strict=True)), []
    for t in times:
        c, s = mp.cosh(speed * t), mp.sinh(speed * t)
        rows.append([*(p + (u * (c - 1) + a * s) * q for p, q in zip(w, axis, strict=True)), a * c + u * s])
    return rows


# --- Gaussian data


@digits
def half_spaces(first, second):
    """Return angle, P, E[S²; ·], E[ST; ·] and E[T²; ·] for Σ = 1 in the plane."""
    with mp.workdps(500):
        dot, wedge = sum(u * v for u, v in zip(first, second, strict=True)), first[0] * second[1] - first[1] * second[0]
        s2, t2 = (sum(v * v for v in vector) for vector in (first, second))
        angle = mp.atan2(abs(wedge), dot)
        rest = mp.pi - angle
        own, mixed = rest + mp.sin(angle) * mp.cos(angle), mp.sin(angle) + rest * mp.cos(angle)
        return [angle, *(v / (2 * mp.pi) for v in (rest, s2 * own, mp.sqrt(s2 * t2) * mixed, t2 * own))]


@digits
def saturated(n, xi, gain):
    """Return the first row of the covariance of the nonlinear Gaussian process."""
    with mp.workdps(250):
        row, s = [], 2 * gain**2 / (1 + 2 * gain**2)
        z2 = 2 / mp.pi * mp.asin(s)
        for d in range(int(n)):
            c = mp.exp(-(min(d, n - d) ** 2) / xi**2)
            row.append(2 / (mp.pi * z2) * mp.asin(s * c))
        return row


# --- the rest


@digits
def long_wave(middle, horizontal, vertical):
    """Return the squared response of a filter, its middle given, to a plane wave."""
    across, down = mp.cos(horizontal), mp.cos(vertical)
    return [(middle - across - down - across * down) ** 2]


@digits
def turned_kernels(balance, size, cosine):
    """Return the kernel distances of a neuron and of one with a twin, in the plane, as 1 - cos."""

    def parts(r):
        root = mp.sqrt(balance**2 + r**2)
        return root + balance, root - balance

    (a0, b0), (a1, b1) = parts(size), parts(mpf(1))
    overlap = 2 * a0 * a1 + a0 * b1 + b0 * a1 + b0 * b1 * cosine**2
    one = 1 - overlap / mp.sqrt((2 * a0**2 + 2 * a0 * b0 + b0**2) * (2 * a1**2 + 2 * a1 * b1 + b1**2))
    root = mp.sqrt(a0**2 / 4 + 1)
    start, end = (a0 + b0, a0), (root + a0 / 2 + b0, 2 * root)
    twin = 1 - (start[0] * end[0] + start[1] * end[1]) / mp.sqrt(sum(v * v for v in start) * sum(v * v for v in end))
    return [one, twin]


@digits
def kernel_angle(k0, kt):
    """Return 1 - cos between two kernels, given flat."""
    overlap, first, second = (sum(u * v for u, v in zip(*p, strict=True)) for p in ((k0, kt), (k0, k0), (kt, kt)))
    return [1 - overlap / mp.sqrt(first * second)]
