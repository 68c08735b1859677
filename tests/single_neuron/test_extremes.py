"""The closed forms where floats overflow, underflow or cancel,
beside as many digits as it takes; the rest is refused.

Moderate numbers are in the tests of each module. That the results are finite and nothing warns is a
part of each comparison.
"""

import numpy as np
import pytest
import references
from hypothesis import given
from mpmath import mp
from references import balances, magnitudes, same

from book.single_neuron import theory
from lib.theory import neuron


@given(size=magnitudes, delta=balances)
def test_start_metric_and_potential_of_a_neuron(size, delta):
    beta = [0.6 * size, 0.8 * size]
    same(np.append(*neuron.initialize(beta, delta)), references.neuron_start(beta, delta))
    m = neuron.preconditioner(beta, delta)
    found = [
        m[0, 0],
        m[0, 1],
        m[1, 1],
        theory.potential(beta, delta),
        *theory.potential_gradient(beta, delta),
    ]
    same(found, references.neuron_geometry(beta, delta))


@pytest.mark.parametrize(
    "y, a, w",
    [
        (1, 1, [1e-8, 0]),
        (1, 1e-100, [0, 1e-100]),
        (1e-12, 1, [1, 0]),
        (1e12, 1, [1, 0]),
        (1, 1, [1e6, 1 - 1e6]),
    ],
)
def test_interpolator(y, a, w):
    """Of a neuron that sees x = (1, 1) and the label y."""
    with mp.workdps(100):
        (first, second), label = map(mp.mpf, w), mp.mpf(y)
        half = (mp.mpf(a) ** 2 - (first + second) ** 2 / 2) / 2
        end = mp.sqrt(half + mp.sqrt(half**2 + label**2 / 2)) * (first - second) / 2
        expected = [float(label / 2 + end), float(label / 2 - end)]
    same(
        theory.interpolator(np.ones((2, 2)), [y, y], a, w), expected, 1e-9 if w[0] == 1e6 else 1e-12
    )
