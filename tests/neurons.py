"""One linear neuron for tests: its parameters, its data, its flow by another solver."""

from itertools import pairwise

import numpy as np
import torch
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

rates = st.floats(0.2, 5)


deltas = st.one_of(st.just(0.0), st.floats(-4, 4))


def white(beta_star):
    """Return ∂L/∂β for data with XᵀX = I."""
    return lambda beta: beta - beta_star


def integrate(a0, w0, slope, times, eta_a=1.0, eta_w=1.0, method="DOP853"):
    """Solve the flow numerically, each time a solver's step, (T, 1 + d) rows of a and w."""

    def velocity(_, state):
        a, w = state[0], state[1:]
        g = slope(a * w)
        return np.append(-eta_a * np.dot(w, g), -eta_w * a * g)

    rows = [np.append(float(a0), w0)]
    for start, stop in pairwise(times):
        rows.append(
            solve_ivp(velocity, (start, stop), rows[-1], method, rtol=1e-13, atol=1e-15).y[:, -1]
        )
    return np.array(rows)


def off(path, rows):
    """Return the largest distance of a trajectory from rows of a and w, relative to their norm."""
    return np.max(
        np.linalg.norm(np.column_stack([path.a, path.w]) - rows, axis=1)
        / np.linalg.norm(rows, axis=1)
    )


def start_with(rng, d, delta, sign=1):
    """Draw a0 and w0 with a0² - |w0|² = delta."""
    a0 = np.sqrt(max(delta, 0) + rng.uniform(0.1, 1.5))
    w0 = rng.normal(size=d)
    return sign * a0, w0 / np.linalg.norm(w0) * np.sqrt(a0**2 - delta)


def printed_potential(beta, delta):
    """Φ as printed, of torch tensors, without the constant."""
    kappa = torch.sqrt(delta**2 + 4 * torch.sum(beta**2))
    return (kappa - 2 * delta) * torch.sqrt(kappa + delta) / 3
