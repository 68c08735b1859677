r"""Two layers of piecewise linear neurons, :math:`f(x) = \sum_k a_k\,\sigma(w_k^\top x)`: their
flow and their directions.

Source: Kunin et al. (2024), "Get rich quick", section 5 and appendix C. The nonlinearity is
:math:`\sigma(z) = \max(z, \gamma z)` with :math:`0 \le \gamma < 1`, so that
:math:`c_{ki} = \sigma'(w_k^\top x_i)` is 1 where neuron k is active and γ elsewhere. With the
residuals :math:`\rho_i = f(x_i) - y_i` and :math:`\xi_k = \sum_i c_{ki} x_i \rho_i`, the flow of
:math:`\tfrac12\sum_i\rho_i^2` is :math:`\dot a_k = -\eta_a w_k^\top\xi_k`,
:math:`\dot w_k = -\eta_w a_k\xi_k`, and each neuron conserves
:math:`\delta_k = \eta_w a_k^2 - \eta_a\|w_k\|^2`. The mean squared error multiplies ξ by 2/n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from book.piecewise_linear.regions import TIED, _circle, _sectors, slope
from lib.checks import (
    broadcastable,
    matrix,
    numbers,
    positive,
    shaped,
    takes,
    vector,
    vectors,
)
from lib.theory.common import held, layer_sizes


@takes(mu=numbers, delta=numbers, eta_a=positive, eta_w=positive)
def direction_rate(
    mu: ArrayLike, delta: ArrayLike, eta_a: float = 1.0, eta_w: float = 1.0
) -> NDArray:
    r"""Return the rate at which a neuron turns,
    :math:`\tfrac{1}{2\mu}(\sqrt{\delta^2 + 4\eta_a\eta_w\mu^2} + \delta)`.

    In its parameters this is :math:`\eta_w a/\|w\|`. For unit learning rates it tends to δ/μ
    upstream, is sgn(μ) if balanced, and tends to μ/:math:`|\delta|` downstream.

    Parameters
    ----------
    mu : (...), the neuron's :math:`a\|w\|`
    delta : (...), its conserved quantity
    eta_a, eta_w : learning rates, positive

    Raises ValueError if μ = 0 and δ ≥ 0: then w = 0, which has no direction. Source: section 5,
    "Two-layer network".
    """
    broadcastable(mu=mu, delta=delta)
    if np.any((mu == 0) & (delta >= 0)):
        raise ValueError("mu is 0 and delta not negative: then w = 0, which has no direction")
    clock = np.sqrt(eta_a * eta_w)
    a, w = layer_sizes(clock * np.abs(mu), delta)
    with np.errstate(over="ignore"):
        return held("the rate", clock * np.sign(mu) * a / w)


@takes(mu=numbers, direction=vectors, xi=vectors, delta=numbers)
def neuron_flow(
    mu: ArrayLike,
    direction: ArrayLike,
    xi: ArrayLike,
    delta: ArrayLike,
    eta_a: float = 1.0,
    eta_w: float = 1.0,
) -> tuple[NDArray, NDArray]:
    r"""Return the velocity of a neuron in signed spherical coordinates, :math:`\mu = a\|w\|` and
    :math:`\hat\beta = w/\|w\|`:

    .. math:: \dot\mu = -\sqrt{\delta^2 + 4\eta_a\eta_w\mu^2}\;\hat\beta^\top\xi, \qquad
              \dot{\hat\beta} = -\frac{\sqrt{\delta^2 + 4\eta_a\eta_w\mu^2} + \delta}{2\mu}\,(I
              - \hat\beta\hat\beta^\top)\,\xi.

    Parameters
    ----------
    mu, delta, eta_a, eta_w : as in `direction_rate`
    direction : (..., d) unit vectors, which is not checked, since the stages of a solver may leave
        the sphere a little
    xi : (..., d), the drive ξ of the neuron

    Returns (...) and (..., d). Errors as `direction_rate`.

    Source: section 5, "Two-layer network", and appendix C.
    """  # noqa: D400
    if direction.shape[-1] != xi.shape[-1]:
        raise ValueError(f"direction {direction.shape} and xi {xi.shape} do not fit: want (..., d)")
    broadcastable(mu=mu, delta=delta, direction=direction[..., 0], xi=xi[..., 0])
    rate = direction_rate(mu, delta, eta_a, eta_w)
    along = np.sum(direction * xi, axis=-1)
    mu_dot = -np.hypot(delta, 2 * np.sqrt(eta_a * eta_w) * mu) * along
    return mu_dot, -rate[..., None] * (xi - along[..., None] * direction)


def _drive(direction: NDArray, inputs: NDArray, targets: NDArray, gamma: float) -> NDArray:
    """Return Σ c_i x_i y_i for neurons with these directions (...,
    d); where w·x_i = 0 a point counts as not active.
    """
    return np.where(direction @ inputs.T > 0, 1.0, gamma) * targets @ inputs


class FixedDirections(NamedTuple):
    """Directions in the plane that rest during alignment, by ascending angle."""

    directions: NDArray  # (k, 2)
    # (k,): 1 attracts from both sides, -1 repels to both, 0 is neither; for a > 0
    stability: NDArray
    # (k,): the drive along the direction; neurons of its sign grow there, the others shrink
    growth: NDArray


@takes(inputs=matrix, targets=vector, gamma=slope)
def aligned_directions(
    inputs: ArrayLike, targets: ArrayLike, gamma: float = 0.0
) -> FixedDirections:
    r"""Find all directions in the plane to which neurons align at
    vanishing scale, and from which they turn away.

    A direction d turns as
    :math:`\dot d \propto \operatorname{sgn}(a)\,(I - dd^\top)\sum_i c_i x_i y_i`. The sign of a
    therefore decides whether a direction attracts or repels. Between the lines orthogonal to the
    inputs the drive is constant, and only a d parallel to it rests. On a line some :math:`c_i` may
    be anything in [γ, 1]: d rests if the drive of one of these is parallel to it. Where the drive
    vanishes every direction rests; of these, only the edges of the sector are returned, with
    stability 0.

    A balanced neuron that shrinks while it aligns stays there. If δ > 0, its w passes through zero
    and comes out opposite; if δ < 0, its a changes sign.

    `inputs` are (n, 2) and `targets` (n,). Raises ValueError if no point has both an input and a
    target.

    Source: section 5, "Phase I: Partition alignment", which leaves the fixed points to earlier
    works.
    """
    shaped("(n, 2), (n,)", inputs=inputs, targets=targets)
    if not np.any(inputs * targets[:, None]):
        raise ValueError(
            "targets are zero where inputs are not: want at least one point with both an input "
            "and a target"
        )
    edges, widths = _sectors(inputs[targets != 0])
    drives = _drive(_circle(edges + widths / 2), inputs, targets, gamma)  # one for each sector
    drives[np.linalg.norm(drives, axis=1) < TIED * np.sum(np.abs(inputs * targets[:, None]))] = 0

    # Candidates with the drives on both sides: each edge, and in each
    # sector the directions along and against its drive.
    angles, before, after = [edges], [np.roll(drives, 1, axis=0)], [drives]
    for sign in (1, -1):
        angle = np.arctan2(*(sign * drives.T[::-1])) % (2 * np.pi)
        offset = (angle - edges) % (2 * np.pi)
        own = np.any(drives, axis=1) & (offset > TIED) & (offset < widths - TIED)
        angles, before, after = [*angles, angle[own]], [*before, drives[own]], [*after, drives[own]]
    angles, before, after = (np.concatenate(part) for part in (angles, before, after))

    d, tangent = _circle(angles), _circle(angles + np.pi / 2)
    turn = np.array(
        [np.sum(drive * tangent, axis=1) for drive in (before, after)]
    )  # just before and just after the angle
    turn[np.abs(turn) <= TIED * np.linalg.norm([before, after], axis=-1)] = 0
    rests = turn[0] * turn[1] <= 0
    nearby = np.sign(
        [np.sum(before * d, axis=1), -np.sum(after * d, axis=1)]
    )  # the turn's sign beside the angle, if 0 at it
    left, right = np.where(turn == 0, nearby, np.sign(turn))
    stability = np.where(left == -right, left, 0).astype(int)
    order = np.argsort(angles)
    order = order[rests[order]]
    return FixedDirections(d[order], stability[order], np.sum(after * d, axis=1)[order])
