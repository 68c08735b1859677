"""The flow of a product against autograd through another solver."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import solve_ivp

from lib.theory import monomial


def loss_gradient(weights, target, exponents):
    """Differentiate ½(Πw^k - s)² with autograd."""
    w = torch.tensor(weights, dtype=torch.float64, requires_grad=True)
    (0.5 * (torch.prod(w ** torch.tensor(exponents, dtype=torch.float64)) - target) ** 2).backward()
    return w.grad.numpy()


@given(seed=seeds, d=st.integers(1, 4))
def test_flow_follows_autograd_through_another_solver(seed, d):
    rng = np.random.default_rng(seed)
    w, k, target = rng.uniform(-1.2, 1.2, size=d), rng.integers(1, 4, size=d), rng.normal()
    times = [0.3, 1.0]
    ode = solve_ivp(
        lambda t, v: -loss_gradient(v, target, k), (0, 1), w, "DOP853", times, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(monomial.flow(w, target, times, k), ode.y.T, rtol=1e-7, atol=1e-9)
