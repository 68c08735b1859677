"""Attention of the last place of strings to all their places, compiled: rows of keys and values are read where they stand.

A table holds keys and values of each token in each place. Each string asks for a few of its rows; they are not copied together,
and neither are their gradients.
"""

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.autograd.function import once_differentiable

_REORDER = {"reassoc", "contract", "nsz", "arcp"}  # sums may be reordered; NaN and infinity keep their meaning


class Attention(torch.autograd.Function):
    """Map queries (members, token, w), keys and values (members, row, 2w) and strings' rows to what they mix (members, n, w)."""

    @staticmethod
    def forward(ctx, queries: Tensor, table: Tensor, last: Tensor, rows: Tensor, heads: int) -> Tensor:
        """Attend: `last` (members or 1, n) says which query asks, `rows` (members or 1, n, place) what it sees."""
        members, points = len(queries), last.shape[1]
        weights, mixed = (
            queries.new_empty(members, points, heads, rows.shape[2]),
            queries.new_empty(members, points, table.shape[2] // 2),
        )
        arrays = [value.detach().contiguous().numpy() for value in (queries, table, last, rows)]
        _attend(*arrays, weights.numpy(), mixed.numpy())
        ctx.save_for_backward(queries, table, last, rows, weights)
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx, errors: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of queries and table."""
        queries, table = (torch.zeros_like(value) for value in ctx.saved_tensors[:2])
        arrays = [value.detach().contiguous().numpy() for value in (*ctx.saved_tensors, errors)]
        _differentiate(*arrays, queries.numpy(), table.numpy())
        return queries, table, None, None, None


@njit(nogil=True, cache=True, fastmath=_REORDER, error_model="numpy")
def _attend(queries, table, last, rows, weights, mixed):
    members, points, heads, places = weights.shape
    width = queries.shape[2]
    d = width // heads
    scale = queries.dtype.type(1 / np.sqrt(d))
    for m in range(members):
        own = m if rows.shape[0] > 1 else 0
        for i in range(points):
            for h in range(heads):
                lo = h * d
                query, out, weight = queries[m, last[own, i], lo : lo + d], mixed[m, i, lo : lo + d], weights[m, i, h]
                for p in range(places):
                    key, total = table[m, rows[own, i, p], lo : lo + d], scale * 0
                    for j in range(d):
                        total += query[j] * key[j]
                    weight[p] = scale * total
                top, total = weight.max(), scale * 0
                for p in range(places):
                    weight[p] = np.exp(weight[p] - top)
                    total += weight[p]
                out[:] = 0
                for p in range(places):
                    weight[p] /= total
                    value, share = table[m, rows[own, i, p], width + lo : width + lo + d], weight[p]
                    for j in range(d):
                        out[j] += share * value[j]


@njit(nogil=True, cache=True, fastmath=_REORDER, error_model="numpy")
def _differentiate(queries, table, last, rows, weights, errors, to_queries, to_table):
    members, points, heads, places = weights.shape
    width = queries.shape[2]
    d = width // heads
    scale = queries.dtype.type(1 / np.sqrt(d))
    pull = np.empty(places, queries.dtype)
    for m in range(members):
        own = m if rows.shape[0] > 1 else 0
        for i in range(points):
            for h in range(heads):
                lo = h * d
                here, weight, asks = slice(lo, lo + d), weights[m, i, h], last[own, i]
                error, query, to_query = errors[m, i, here], queries[m, asks, here], to_queries[m, asks, here]
                mean = scale * 0
                for p in range(places):
                    there = slice(width + lo, width + lo + d)
                    value, to_value = table[m, rows[own, i, p], there], to_table[m, rows[own, i, p], there]
                    total, share = scale * 0, weight[p]
                    for j in range(d):
                        total += error[j] * value[j]
                        to_value[j] += share * error[j]
                    pull[p] = total
                    mean += share * total
                for p in range(places):
                    key, to_key = table[m, rows[own, i, p], here], to_table[m, rows[own, i, p], here]
                    change = scale * weight[p] * (pull[p] - mean)
                    for j in range(d):
                        to_query[j] += change * key[j]
                        to_key[j] += change * query[j]
