"""Tangent kernels and the distance between them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import flag, for_torch, instance, squares, takes, tensors

if TYPE_CHECKING:
    from torch import Tensor

BLOCK_BYTES = 2**28  # of the Jacobian of one block of points


@takes(
    network=instance(Callable),
    parameters=partial(tensors, finite=True),
    inputs=for_torch,
    full=flag,
)
def ntk(
    network: Callable,
    parameters: Mapping[str, "Tensor"],
    inputs: "ArrayLike | Tensor",
    full: bool = False,
) -> "Tensor":
    r"""Return each member's tangent kernel,
    :math:`K_{ij} = \sum_o \nabla_\theta f_o(x_i)^\top\,\nabla_\theta f_o(x_j)`.

    Each point passes through the network alone. A network that notes the layers that its inputs
    pass (`Network.by_layer`) is taken layer by layer (`lib.kernels.layers`), any other by its
    Jacobian. Memory holds the kernels and the derivatives of two blocks of points, 256 MiB each.
    Training may bring neurons to rest at a kink of their nonlinearity; there rounding decides their
    slopes, and the kernel with them.

    Parameters
    ----------
    network : maps (parameters of one member, inputs (n, ...), hidden layers) to (outputs (n, c),
        representations), as those of `lib.networks` do
    parameters : by name, (members, ...); the result has their device and precision
    inputs : (n, ...) for all members or (members, n, ...); `network.point` tells which (numbers
        where it has none)
    full : give all pairs of outputs, points in the outer and outputs in the inner order, instead of
        the trace over outputs

    Returns
    -------
    (members, n, n), or if `full` (members, n·c, n·c)

    Source: Kunin et al. (2024), "Notation", after Jacot et al. (2018).
    """
    import torch  # not needed for what is below

    counts = {len(value) if value.ndim else 0 for value in parameters.values()}
    if len(counts) != 1 or counts == {0}:
        raise ValueError("parameters must start with one and the same member axis, (members, ...)")
    members = counts.pop()
    example = next(iter(parameters.values()))
    inputs = torch.as_tensor(inputs, device=example.device)
    numbers = inputs.is_floating_point() or getattr(network, "tokens", "unknown") is None
    inputs = inputs.to(example.dtype) if numbers else inputs
    point = getattr(network, "point", inputs.shape[-1:])
    inputs = inputs.expand(members, *inputs.shape) if inputs.ndim == len(point) + 1 else inputs
    if inputs.ndim != len(point) + 2 or len(inputs) != members or inputs.shape[2:] != point:
        wanted = ", ".join(["n", *map(str, point)])
        raise ValueError(
            f"inputs {tuple(inputs.shape)} do not fit: want ({wanted}), or ({members}, {wanted})"
        )
    if not _gives_a_pair(network, parameters, inputs):
        raise TypeError("network must give a pair: outputs (n, c), and representations")
    factors = _by_layer if getattr(network, "by_layer", False) else _by_jacobian
    kernels = []
    for m in range(members):
        one = {name: value[m] for name, value in parameters.items()}
        kernels.append(
            _kernel(
                partial(factors, network, one),
                inputs[m],
                _block(network, one, inputs[m], factors),
                full,
            )
        )
    return torch.stack(kernels)


def _gives_a_pair(network: Callable, parameters: Mapping[str, Any], inputs: "Tensor") -> bool:
    """Return whether a network gives outputs and something else: of outputs alone the first point's
    would count as those of all.
    """
    if getattr(network, "by_layer", False) or not len(inputs[0]):
        return True
    found = network({name: value[0] for name, value in parameters.items()}, inputs[0, :1], ())
    return isinstance(found, tuple | list) and len(found) == 2


def _by_layer(network: Callable, one: dict[str, "Tensor"], points: "Tensor") -> list:
    from lib.kernels import layers

    return layers.factors(network, one, points)


def _by_jacobian(network: Callable, one: dict[str, "Tensor"], points: "Tensor") -> list:
    """Return all derivatives at some points, each of which passes alone, by parameter."""
    from torch.func import jacrev, vmap

    from lib.kernels.layers import Whole

    jacobian = vmap(
        jacrev(lambda one, point: network(one, point[None], ())[0][0]), in_dims=(None, 0)
    )
    return [
        Whole(part if part.ndim > 2 else part[..., None]) for part in jacobian(one, points).values()
    ]


def _block(network: Callable, one: dict[str, "Tensor"], points: "Tensor", factors: Callable) -> int:
    """Return how many points' derivatives may lie in memory."""
    most = getattr(network, "outputs", np.inf) * sum(
        value.nbytes for value in one.values()
    )  # of a point, if written out
    if len(points) * most <= BLOCK_BYTES:
        return len(points)
    return max(
        1,
        BLOCK_BYTES
        // sum(part.nbytes for factor in factors(network, one, points[:1]) for part in factor),
    )


def _kernel(factors: Callable, points: "Tensor", block: int, full: bool) -> "Tensor":
    """Put one member's kernel together from tiles, each of two blocks of points."""
    import torch

    blocks = points.split(block)
    tiles = [[None] * len(blocks) for _ in blocks]
    for i, these in enumerate(blocks):
        left = factors(these)
        for j, those in enumerate(blocks[: i + 1]):
            right = left if i == j else factors(those)
            tiles[i][j] = sum(u.tile(v, full) for u, v in zip(left, right, strict=True))
            tiles[j][i] = tiles[i][j].mT  # ty: ignore[missing-union-attribute] it is there by now
    # ty: ignore[invalid-argument-type] all are there
    return torch.cat([torch.cat(row, dim=1) for row in tiles])


@takes(k0=partial(squares, largest=np.inf), kt=partial(squares, largest=np.inf))
def kernel_distance(k0: ArrayLike, kt: ArrayLike) -> NDArray:
    r"""How far a kernel has turned:
    :math:`S = 1 - \langle K_0, K_t\rangle / (\|K_0\|_F \|K_t\|_F)`.

    Computed as :math:`\tfrac12\|\hat K_0 - \hat K_t\|_F^2` of the normalized kernels in double
    precision, which stays exact where the two nearly agree. Kernels that were computed in single
    precision are known to about 1e-7, so that distances below about 1e-13 are noise and one of S
    has a relative error of about :math:`10^{-7}/\sqrt S`.

    Parameters
    ----------
    k0, kt : (..., n, n), broadcast against each other over the leading dimensions

    Returns
    -------
    (...), between 0 (same up to scale) and 1 for positive semidefinite kernels

    Source: Kunin et al. (2024), "Notation", after Fort et al. (2020).

    Examples
    --------
    >>> kernel = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> kernel_distance(kernel, [3 * kernel, np.eye(2)]).round(3)
    array([0.   , 0.106])
    """
    unit0, unit_t = _normalized("k0", k0), _normalized("kt", kt)
    if unit0.shape[-2:] != unit_t.shape[-2:]:
        raise ValueError(
            f"k0 is {unit0.shape[-2:]} and kt is {unit_t.shape[-2:]}: want kernels on the same "
            "points"
        )
    return 0.5 * np.sum((unit0 - unit_t) ** 2, axis=(-2, -1))


def _normalized(name: str, kernel: NDArray) -> NDArray:
    largest = np.max(np.abs(kernel), axis=(-2, -1), keepdims=True)
    if not np.all(largest > 0):
        raise ValueError(f"{name} is zero, so it has no direction")
    kernel = kernel / largest
    return kernel / np.linalg.norm(kernel, axis=(-2, -1), keepdims=True)
