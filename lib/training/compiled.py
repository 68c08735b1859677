"""Single passes, compiled: over the units of a committee, and over weights, gradients and moments at an optimizer's step.

Of these part p, up to `ends[p]` in one buffer, belongs to one member and parameter, and has the rate `rates[p]`; each step takes
`decays[p]` times the rate off the weights first. All numbers are of the precision of the weights.
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def rectify(z, means):
    """Write the means (rows,) of the rectified z (rows, units), and replace z by the rectifier's slopes, 1 or 0."""
    one = z.dtype.type(1)
    for row in range(z.shape[0]):
        total = 0 * one
        for unit in range(z.shape[1]):
            slope = one if z[row, unit] > 0 else 0 * one
            total += slope * z[row, unit]
            z[row, unit] = slope
        means[row] = total / z.shape[1]


@njit(nogil=True, cache=True, error_model="numpy")
def descend(weights, gradients, first, ends, rates, decays, momentum, nesterov):
    """Go down, with momentum `first` or without."""
    one, start = weights.dtype.type(1), 0
    for part in range(ends.size):
        here, rate, rest = slice(start, ends[part]), rates[part], one - rates[part] * decays[part]
        w, g, v = weights[here], gradients[here], first[here]
        if momentum == 0:
            for i in range(w.size):
                w[i] = w[i] * rest - rate * g[i]
        elif nesterov:
            for i in range(w.size):
                v[i] = momentum * v[i] + g[i]
                w[i] = w[i] * rest - rate * (g[i] + momentum * v[i])
        else:
            for i in range(w.size):
                v[i] = momentum * v[i] + g[i]
                w[i] = w[i] * rest - rate * v[i]
        start = ends[part]


@njit(nogil=True, cache=True, error_model="numpy")
def adam(weights, gradients, first, second, ends, rates, decays, slow, slower, risen, spread):
    """Go down by the moments `first` and `second`."""
    one, small, start = weights.dtype.type(1), weights.dtype.type(1e-8), 0
    for part in range(ends.size):
        here, rate, rest = slice(start, ends[part]), rates[part], one - rates[part] * decays[part]
        w, g, v, s = weights[here], gradients[here], first[here], second[here]
        for i in range(w.size):
            v[i] += slow * (g[i] - v[i])
            s[i] += slower * (g[i] * g[i] - s[i])
            w[i] = w[i] * rest - rate * (v[i] / ((np.sqrt(s[i]) / spread + small) * risen))
        start = ends[part]
