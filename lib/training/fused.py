"""Gradient descent for dense networks on few points: each
weight is read twice and written once a step.

With two points the arithmetic is small and the time goes into moving weights between memory and
core. So the backward pass updates a row of weights while it holds it, two points share each
reading, further pairs follow while the rows are near, and all weights of a member lie in one block.
Compiled by numba.
"""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from lib.networks import Dense
from lib.networks.base import Parameters

_REORDER = {
    "reassoc",
    "contract",
    "nsz",
    "arcp",
}  # sums may be reordered; NaN and infinity keep their meaning
# of a weight matrix that stay in the nearest cache while all points pass; a multiple of four
ROWS = 16
LINEAR, RELU, LEAKY_RELU, ELU, TANH, SWISH = range(6)  # numba compares numbers faster than texts
_KINDS = {
    "linear": LINEAR,
    "relu": RELU,
    "leaky_relu": LEAKY_RELU,
    "elu": ELU,
    "tanh": TANH,
    "swish": SWISH,
}


def fits(network: Dense) -> bool:
    """Say whether this is a network with biases, without dropout, and with one of the
    nonlinearities that are compiled.
    """
    return network.bias and not network.dropout and network.activation in _KINDS


class Stack:
    """One member, whose parameters are copied, and its inputs (n,
    d) and targets (n, c), laid out for `_descend`.
    """

    members = 1  # it leaves with its stack

    def __init__(
        self,
        network: Dense,
        parameters: Parameters,
        inputs: Tensor,
        targets: Tensor,
        rates: dict[str, float],
    ) -> None:
        layers = range(1, network.depth + 2)
        dtype = parameters["weight1"].numpy().dtype
        padded = (
            len(inputs) + len(inputs) % 2
        )  # points go in pairs: an odd one takes a partner without error
        shape = (network.depth + 2, padded, max(network.widths))
        self.network, self.points = network, len(inputs)
        self.widths = np.array(network.widths)
        self.starts = np.concatenate([[0, 0], np.cumsum(self.widths[1:] * self.widths[:-1])])
        self.weights = np.concatenate(
            [parameters[f"weight{layer}"].numpy().ravel() for layer in layers]
        )
        self.biases = np.zeros(shape[::2], dtype)
        self.rates = np.zeros((shape[0], 2), dtype)
        for layer in layers:
            self.biases[layer, : network.widths[layer]] = parameters[f"bias{layer}"].numpy()
            self.rates[layer] = rates[f"weight{layer}"], rates[f"bias{layer}"]
        self.hidden, self.slopes, self.errors = (np.zeros(shape, dtype) for _ in range(3))
        self.hidden[0, : self.points, : inputs.shape[1]] = inputs.numpy()
        self.targets = targets.numpy().astype(dtype)

    def advance(self, steps: int) -> None:
        """Take some steps, then pass the points forward once,
        so that `look` shows the network as it is.
        """
        state = self.weights, self.biases, self.hidden, self.slopes, self.errors
        form = self.starts, self.widths, _KINDS[self.network.activation], self.network.skip
        _descend(*state, *form, self.targets, self.rates, steps)

    def look(self, layers: tuple[int, ...]) -> tuple[Parameters, Tensor, list[Tensor]]:
        """Return the parameters, the outputs and the
        representations asked for, each with a member axis of one.
        """
        shown = self.network.depth + 1, *(layer + 1 for layer in layers)
        outputs, *hidden = (
            torch.from_numpy(self.hidden[i, : self.points, : self.widths[i]])[None] for i in shown
        )
        parameters = {}
        for i in range(1, self.network.depth + 2):
            block = self.weights[self.starts[i] : self.starts[i + 1]].reshape(
                self.widths[i], self.widths[i - 1]
            )
            parameters[f"weight{i}"] = torch.from_numpy(block)[None]
            parameters[f"bias{i}"] = torch.from_numpy(self.biases[i, : self.widths[i]])[None]
        return parameters, outputs, hidden


@njit(inline="always")
def _activate(kind, here, slopes):
    """Replace z by σ(z) and note σ'(z), both (point, width)."""
    one = here.dtype.type(1)
    leak = one if kind == LINEAR else one * 0 if kind == RELU else one / here.dtype.type(100)
    for p in range(here.shape[0]):
        for i in range(here.shape[1]):
            z = here[p, i]
            if kind == ELU:
                slopes[p, i] = np.exp(min(z, 0 * z))
                here[p, i] = z if z > 0 else np.expm1(z)
            elif kind == TANH:
                here[p, i] = np.tanh(z)
                slopes[p, i] = one - here[p, i] ** 2
            elif kind == SWISH:
                gate = one / (one + np.exp(-z))
                here[p, i] = z * gate
                slopes[p, i] = gate * (one + z * (one - gate))
            else:  # straight on each side of zero
                slopes[p, i] = one if z > 0 else leak
                here[p, i] = z * slopes[p, i]


@njit(fastmath=_REORDER, inline="always")
def _forward(weight, bias, in0, in1, out0, out1):
    for i in range(weight.shape[0]):
        row = weight[i]
        sum0 = sum1 = bias[i]
        for j in range(row.size):
            sum0 += row[j] * in0[j]
            sum1 += row[j] * in1[j]
        out0[i], out1[i] = sum0, sum1


@njit(fastmath=_REORDER, inline="always")
def _backward(weight, error0, error1, back0, back1):
    for i in range(weight.shape[0]):
        row = weight[i]
        e0, e1 = error0[i], error1[i]
        for j in range(row.size):
            back0[j] += e0 * row[j]
            back1[j] += e1 * row[j]


@njit(fastmath=_REORDER, inline="always")
def _update(weight, rate, error0, error1, in0, in1):
    for i in range(weight.shape[0]):
        row = weight[i]
        step0, step1 = rate * error0[i], rate * error1[i]
        for j in range(row.size):
            row[j] -= step0 * in0[j] + step1 * in1[j]


@njit(fastmath=_REORDER, inline="always")
def _backward_and_update(weight, rate, error0, error1, in0, in1, back0, back1):
    """Do both at once, four rows at a time, so that each row is
    read and written once and `back` is touched rarely.
    """
    for i in range(0, weight.shape[0] - 3, 4):
        row_a, row_b, row_c, row_d = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        a0, b0, c0, d0 = error0[i], error0[i + 1], error0[i + 2], error0[i + 3]
        a1, b1, c1, d1 = error1[i], error1[i + 1], error1[i + 2], error1[i + 3]
        for j in range(weight.shape[1]):
            a, b, c, d = row_a[j], row_b[j], row_c[j], row_d[j]
            back0[j] += a0 * a + b0 * b + c0 * c + d0 * d
            back1[j] += a1 * a + b1 * b + c1 * c + d1 * d
            step0, step1 = rate * in0[j], rate * in1[j]
            row_a[j] = a - (a0 * step0 + a1 * step1)
            row_b[j] = b - (b0 * step0 + b1 * step1)
            row_c[j] = c - (c0 * step0 + c1 * step1)
            row_d[j] = d - (d0 * step0 + d1 * step1)
    whole = weight.shape[0] // 4 * 4
    _backward(weight[whole:], error0[whole:], error1[whole:], back0, back1)
    _update(weight[whole:], rate, error0[whole:], error1[whole:], in0, in1)


@njit(nogil=True, cache=True, fastmath=_REORDER)
def _descend(
    weights, biases, hidden, slopes, errors, starts, widths, kind, skip, targets, rates, steps
):
    """Run gradient descent on ½ mean ‖output − target‖², in place.

    Shapes: weights (all,), biases (layer, width), hidden, slopes and errors (layer, point, width);
    layer 0 is the input.
    """
    last, padded, points = len(widths) - 1, hidden.shape[1], len(targets)
    for step in range(steps + 1):
        # forward: each layer reads the one below; a block of rows
        # stays in cache while all pairs of points pass
        for layer in range(1, last + 1):
            ins, outs = widths[layer - 1], widths[layer]
            weight = weights[starts[layer] : starts[layer + 1]].reshape(outs, ins)
            below, here, bias = hidden[layer - 1], hidden[layer], biases[layer, :outs]
            for i in range(0, outs, ROWS):
                rows = slice(i, min(i + ROWS, outs))
                for p in range(0, padded, 2):
                    _forward(
                        weight[rows],
                        bias[rows],
                        below[p, :ins],
                        below[p + 1, :ins],
                        here[p, rows],
                        here[p + 1, rows],
                    )
            if layer < last:
                _activate(kind, here, slopes[layer])
                if skip and layer > 2:
                    here += hidden[layer - 2]
        if step == steps:  # the last pass is only looked at
            return

        # backward: errors are derivatives of the loss by a layer's
        # output, from the top down; the padded point's stays zero
        errors[:] = 0
        errors[last, :points, : widths[last]] = (
            hidden[last, :points, : widths[last]] - targets
        ) / points
        for layer in range(last, 0, -1):
            ins, outs = widths[layer - 1], widths[layer]
            weight = weights[starts[layer] : starts[layer + 1]].reshape(outs, ins)
            below, error, back = hidden[layer - 1], errors[layer], errors[layer - 1]
            # through the skip connection, then through the
            # nonlinearity: from here on by z, not by σ(z)
            if layer < last:
                if skip and layer > 2:
                    errors[layer - 2] += error
                error *= slopes[layer]
            biases[layer] -= rates[layer, 1] * error.sum(axis=0)
            rate, u, v = rates[layer, 0], padded - 2, padded - 1
            for i in range(0, outs, ROWS):
                rows = slice(i, min(i + ROWS, outs))
                block = weight[rows]
                # all pairs go back through these rows before one changes them; the last pair, u and
                # v, does both at once
                for p in range(0, u, 2):
                    _backward(
                        block, error[p, rows], error[p + 1, rows], back[p, :ins], back[p + 1, :ins]
                    )
                _backward_and_update(
                    block,
                    rate,
                    error[u, rows],
                    error[v, rows],
                    below[u, :ins],
                    below[v, :ins],
                    back[u, :ins],
                    back[v, :ins],
                )
                for p in range(0, u, 2):
                    _update(
                        block,
                        rate,
                        error[p, rows],
                        error[p + 1, rows],
                        below[p, :ins],
                        below[p + 1, :ins],
                    )
