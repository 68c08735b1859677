"""A compiled pass over the units of a committee, in the weights' precision."""

from numba import njit


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def rectify(z, means):
    """Write the means (rows,) of the rectified z (rows, units),
    and replace z by the rectifier's slopes, 1 or 0.
    """
    one = z.dtype.type(1)
    for row in range(z.shape[0]):
        total = 0 * one
        for unit in range(z.shape[1]):
            slope = one if z[row, unit] > 0 else 0 * one
            total += slope * z[row, unit]
            z[row, unit] = slope
        means[row] = total / z.shape[1]
