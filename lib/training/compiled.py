"""Compiled passes over the units of a committee and over the points of a two-layer network, in the weights' precision."""

import numpy as np
from numba import njit

TILE = 2**19  # multiplications in a product


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


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def descend_two_layers(w, a, inputs, targets, rate_w, rate_a, steps):
    """Take steps of x ↦ a·relu(W x), with w (h, d) and a (h,), on inputs (n, d) and targets (n,); rates are over n.

    A tile of points goes forward and back while it is in the cache. BLAS keeps to one thread at its size.
    """
    zero, units = w.dtype.type(0), len(a)
    rows = min(len(inputs), max(8, TILE // w.size))
    tile, pull, part = np.empty((rows, units), w.dtype), np.empty_like(w), np.empty_like(w)
    for _ in range(steps):
        pull[:] = 0
        for start in range(0, len(inputs), rows):
            x = inputs[start : start + rows]
            z = tile[: len(x)]
            np.dot(x, w.T, z)
            for i in range(len(x)):
                residual = -targets[start + i]
                for k in range(units):
                    residual += a[k] * (z[i, k] if z[i, k] > 0 else zero * z[i, k])
                for k in range(units):
                    z[i, k] = residual if z[i, k] > 0 else zero
            np.dot(z.T, x, part)
            pull += part
        for k in range(units):
            change, rate = zero, rate_w * a[k]
            for j in range(w.shape[1]):
                change += w[k, j] * pull[k, j]
                w[k, j] -= rate * pull[k, j]
            a[k] -= rate_a * change
