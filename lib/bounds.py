"""Bounds that a measured number must keep: at least, at most, near."""

import math
from dataclasses import dataclass

import numpy as np

from lib.checks import limit, number, real, takes


@dataclass(frozen=True)
class Bound:
    """A closed interval that a measured number must lie in."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not limit("low", self.low) <= limit("high", self.high):
            raise ValueError(f"low {self.low} and high {self.high}: want an interval")

    def __str__(self) -> str:
        """Write the interval, its centre to a hundredth of its tolerance.

        >>> print(at_least(0.95), "|", at_most(1e-9), "|", near(0.12345, 0.1), "|", near(3, 0))
        at least 0.95 | at most 1e-09 | 0.123 ± 0.1 | exactly 3
        """
        if self.high == np.inf:
            return f"at least {self.low:.15g}"
        if self.low == -np.inf:
            return f"at most {self.high:.15g}"
        centre, tolerance = (self.low + self.high) / 2, (self.high - self.low) / 2
        if tolerance == 0:
            return f"exactly {centre:.15g}"
        return f"{round(centre, 2 - math.floor(math.log10(tolerance))):.15g} ± {tolerance:.4g}"

    def holds(self, value: float) -> bool:
        """Say whether `value` lies in the interval (NaN never does)."""
        return bool(self.low <= real("value", value) <= self.high)

    def share(self, value: float) -> float | None:
        """Return how much of the interval `value` uses: 1 at its edge,
        more outside; None where a bound of zero has no scale.

        Measured over bound for `at_most`, bound over measured for `at_least`, distance over
        tolerance for `near`.

        >>> at_most(4).share(1), at_least(4).share(8), near(2, 0.5).share(3), at_most(0).share(1)
        (0.25, 0.5, 2.0, None)
        """
        low, high, value = self.low, self.high, real("value", value)
        if np.isfinite(low) and np.isfinite(high):
            centre, tolerance = (low + high) / 2, (high - low) / 2
            distance = abs(value - centre)
            return distance / tolerance if tolerance else float(np.inf if distance else 0)
        if np.isfinite(low):  # as for "at most", with the sign turned
            low, high, value = -high, -low, -value
        if high == 0:
            return None
        if high > 0:
            return max(value, 0) / high
        return high / value if value < 0 else np.inf

    def shown(self, value: float) -> str:
        """Write `value` with three digits, or with as many as
        tell it from the nearer edge of the interval.

        >>> near(0.5, 0.1).shown(0.523456), near(0.5, 1e-6).shown(0.50000012345)
        ('0.523', '0.5000001')
        """
        value = real("value", value)
        room = min(
            (abs(value - edge) for edge in (self.low, self.high) if np.isfinite(edge)),
            default=np.inf,
        )
        texts = (f"{value:.{digits}g}" for digits in range(3, 18))
        return next(
            (text for text in texts if abs(float(text) - value) <= room / 20), f"{value:.17g}"
        )


def at_least(low: float) -> Bound:
    """Expect a number of at least `low`."""
    return Bound(low, np.inf)


def at_most(high: float) -> Bound:
    """Expect a number of at most `high`."""
    return Bound(-np.inf, high)


@takes(value=number, tolerance=limit)
def near(value: float, tolerance: float) -> Bound:
    """Expect a number within `tolerance` (absolute) of `value`.

    >>> bound = near(0.5, 0.1)
    >>> print(bound, bound.holds(0.55), bound.holds(0.7))
    0.5 ± 0.1 True False
    """
    if tolerance < 0:
        raise ValueError(f"tolerance is {tolerance}: want a number of at least 0")
    return Bound(value - tolerance, value + tolerance)
