"""Gradient descent for two-layer ReLU networks without biases, on many points and in place.

A step is two matrix products, X·Wᵀ and (slopes ∘ residuals)ᵀ·X; the rest passes over the arrays
between them. Compiled code takes a tile of points through both before it turns to the next one.
"""

from collections.abc import Mapping

import numpy as np
from numba import njit
from torch import Tensor

from lib.networks import Dense
from lib.networks.base import Parameters

TILE = 2**19  # multiplications in a product


def fits(network: Dense) -> bool:
    """Say whether this is a ReLU network with one hidden layer, one output and no biases."""
    plain = not (network.bias or network.dropout)
    return plain and network.depth == 1 and network.widths[-1] == 1 and network.activation == "relu"


class Stack:
    """One member x ↦ a·relu(W x), with W (h, d) and a (1, h), which
    are copied, and its inputs (n, d) and targets (n, 1).
    """

    members = 1  # it leaves with its stack

    def __init__(
        self,
        network: Dense,
        parameters: Parameters,
        inputs: Tensor,
        targets: Tensor,
        rates: Mapping[str, float],
    ) -> None:
        self.w = parameters["weight1"].clone()
        self.a = parameters["weight2"].clone()
        self.inputs = inputs.contiguous()
        self.targets = targets.flatten().to(self.w).numpy()
        number = self.w.numpy().dtype.type
        self.rates = [number(rates[name]) / number(len(inputs)) for name in ("weight1", "weight2")]

    def advance(self, steps: int) -> None:
        """Take some steps."""
        _descend(
            self.w.numpy(), self.a[0].numpy(), self.inputs.numpy(), self.targets, *self.rates, steps
        )

    def look(self, layers: tuple[int, ...]) -> tuple[Parameters, Tensor, list[Tensor]]:
        """Return the parameters, the outputs and the
        representations asked for, each with a member axis of one.
        """
        hidden = (self.w @ self.inputs.mT).relu()  # (h, n)
        parameters = {"weight1": self.w[None], "weight2": self.a[None]}
        return parameters, (self.a @ hidden).mT[None], [hidden.mT[None] for _ in layers]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
def _descend(w, a, inputs, targets, rate_w, rate_a, steps):
    """Take steps of x ↦ a·relu(W x), with w (h, d) and a (h,), on
    inputs (n, d) and targets (n,); rates are over n.

    With p = Σ 1{w·x > 0} x ρ and residuals ρ, ẇ = −a p and ȧ = −w·p. A tile of points goes forward
    and back while it is in the cache. BLAS keeps to one thread at its size.
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
