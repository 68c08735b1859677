"""The step of an optimizer, compiled: one pass over weights, gradients and moments, each in one buffer.

Part p of them, up to `ends[p]`, belongs to one member and parameter, and has the rate `rates[p]`; each step takes `decays[p]`
times the rate off the weights first. All numbers are of the precision of the weights.
"""

import numpy as np
from numba import njit


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
