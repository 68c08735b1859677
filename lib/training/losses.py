"""Losses of outputs and targets, averaged over points, and how they change with the outputs."""

from collections.abc import Callable

import torch
from torch import Tensor

from lib.networks.base import check_labels

Loss = Callable[[Tensor, Tensor], Tensor]


def half_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return ½ mean over points of ‖output − target‖², for
    outputs and targets (..., n, c); shape (...).
    """
    _check_targets(outputs, targets)
    return ((outputs - targets) ** 2).sum(-1).mean(-1) / 2


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Return the mean of −ln softmax(output)[label] over points, for
    outputs (..., n, c) and labels (n,) or (..., n); (...).
    """
    check_labels(outputs, labels)
    own = labels.expand(outputs.shape[:-1]).unsqueeze(-1)
    return -outputs.log_softmax(-1).gather(-1, own).squeeze(-1).mean(-1)


def _check_targets(outputs: Tensor, targets: Tensor) -> None:
    if outputs.shape[-2:] != targets.shape[-2:]:
        raise ValueError(
            f"outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)} do not fit: want "
            "(..., n, c) for both"
        )


def _squared_slope(outputs: Tensor, targets: Tensor) -> Tensor:
    _check_targets(outputs, targets)
    return outputs.sub_(targets).div_(outputs.shape[-2])


def _entropy_slope(outputs: Tensor, labels: Tensor) -> Tensor:
    check_labels(outputs, labels)
    # (..., c, n): in memory each output's points lie together, and softmax over few outputs is fast
    turned = outputs.mT
    errors, own = turned.softmax(-2), labels.expand(outputs.shape[:-1]).unsqueeze(-2)
    less = torch.full((), -1.0, dtype=errors.dtype).expand(own.shape)
    return errors.scatter_add_(-2, own, less).div_(outputs.shape[-2]).mT


# The derivatives of a loss by the outputs (..., n, c), in place of the outputs or in a new array.
SLOPES = {half_squared_error: _squared_slope, cross_entropy: _entropy_slope}
