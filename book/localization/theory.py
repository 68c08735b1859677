r"""Localization in one-layer ReLU networks: where one neuron
rests, and its course on any symmetric data.

Source: the localization notes (unfinished). The network is :math:`\hat y(x) =
\frac1K\sum_k\mathrm{ReLU}(\langle w_k, x\rangle)`, its loss :math:`L = \tfrac12E(\hat y -
y)^2`. `lib.theory.gaussian_classes` has its flow on Gaussian data and explains the names. Where a
formula of the notes is wrong, the docstring says so.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from lib.checks import (
    gram,
    matrix,
    shaped,
    takes,
    vector,
    vectors,
    whole,
)
from lib.theory.common import EPS
from lib.theory.orthants import _compare, _root


def classes(name: str, value: ArrayLike) -> NDArray:
    """Return labels (s,), 0 and 1, both of them: a check for `takes`."""
    labels = vector(name, value)
    if not np.array_equal(np.unique(labels), [0, 1]):
        raise ValueError(f"{name} must be 0 and 1, both of them")
    return labels


class FixedPoints(NamedTuple):
    """Where one neuron may come to rest on Gaussian data, the winner first."""

    ratio: NDArray  # (n,) μ = λ₁/(λ₁ + λ₀), descending
    weights: NDArray  # (n, n) a fixed point per row
    loss: NDArray  # (n,) ¼ − μ/4π


@takes(w1=vectors, wk=vectors, sigma=gram)
def relu_pair_moment(w1: ArrayLike, wk: ArrayLike, sigma: ArrayLike) -> NDArray:
    r"""Return what two neurons share,
    :math:`E[\langle w_k, X\rangle X; \langle w_1, X\rangle > 0, \langle w_k, X\rangle > 0]`.

    .. math:: \frac{1}{2\pi}\left[\sqrt{\frac{\rho_{kk}}{\rho_{11}}}\,\sin\theta\;\Sigma w_1 + (\pi
              - \theta)\,\Sigma w_k\right]

    Arguments and errors as `angle`; the result is (..., n), Σw_k/2 for parallel and 0 for
    antiparallel vectors.

    Source: corrects localization notes, Eqs. 43–48 (the "[??]" of Eq. 48 is (π − θ)/2π), 49 and
    53–54.
    """
    root = _root(sigma, w1=w1, wk=wk)
    p = _compare(w1 @ root, wk @ root)
    (first, second), sine, rest = p.lengths, p.sine[..., None], p.rest[..., None]
    return ((second / first)[..., None] * sine * w1 + rest * wk) @ (root @ root.T) / (2 * np.pi)


@takes(sigma1=gram, sigma0=gram)
def fixed_points(sigma1: ArrayLike, sigma0: ArrayLike) -> FixedPoints:
    r"""Return the fixed points of one neuron on Gaussian data,
    whose covariances `sigma1` and `sigma0` are (n, n).

    The flow :math:`F = \tfrac14[\sqrt{2/\pi}\,\rho_1^{-1/2}\Sigma_1w -
    (\Sigma_1+\Sigma_0)w]` vanishes where :math:`\Sigma_1w = \mu(\Sigma_1 +
    \Sigma_0)w` and :math:`w^\top\Sigma_1w = 2\mu^2/\pi`. On a ring these are Fourier modes,

    .. math:: \|w\| = \sqrt{\frac2\pi}\,\frac{\sqrt{\lambda_1}}{\lambda_1+\lambda_0}, \qquad
              \mu = \frac{\lambda_1}{\lambda_1+\lambda_0}.

    A small step towards a mode μ' grows at the rate
    :math:`\tfrac14(\lambda_1'+\lambda_0')(\mu'/\mu - 1)`: only modes with the largest
    :math:`\lambda_1/\lambda_0` are stable; their loss, :math:`\tfrac14 - \mu/4\pi`, is the least.

    Of two pixels the neuron ends at the one that varies more where y = 1:

    >>> found = fixed_points(sigma1=np.diag([4, 1]), sigma0=np.eye(2))
    >>> found.ratio
    array([0.8, 0.5])
    >>> np.abs(found.weights).round(2)
    array([[0.32, 0.  ],
           [0.  , 0.4 ]])

    Every sign, and within equal μ every rotation, is a fixed point too. Raises ValueError if the
    sum of the covariances is singular.

    Source: corrects localization notes, Eqs. 138 and 144–147 ("this shrinks u_1 to 0").
    """
    shaped("(n, n), (n, n)", sigma1=sigma1, sigma0=sigma0)
    one, zero = (root @ root.T for root in (_root(sigma1), _root(sigma0)))
    variances = np.linalg.eigvalsh(one + zero)
    if variances[0] <= len(one) * EPS * variances[-1]:
        raise ValueError("sigma1 + sigma0 is singular: weights in its null space rest anywhere")
    ratio, modes = eigh(one, one + zero)  # modesᵀ (Σ₁ + Σ₀) modes = I, hence wᵀΣ₁w = μ
    ratio = np.clip(ratio[::-1], 0, 1)
    return FixedPoints(
        ratio, np.sqrt(2 * ratio / np.pi)[:, None] * modes.T[::-1], 0.25 - ratio / (4 * np.pi)
    )


@takes(inputs=matrix, labels=classes, w=matrix)
def scores(inputs: ArrayLike, labels: ArrayLike, w: ArrayLike) -> NDArray:
    r"""Return what one neuron maximizes over the directions of w,
    on any data symmetric about zero, with S = ⟨w, X⟩:

    .. math:: R(w) = \frac{(E[|S| \mid y=1])^2}{E[S^2 \mid y=1]
              + E[S^2 \mid y=0]}, \qquad \min_s L(sw) = \frac14 - \frac R8.

    The best scale is :math:`s = E|S|/(E[S^2\mid 1] + E[S^2\mid 0])`. The local maxima of R over
    directions are the flow's stable points. On Gaussian data R is :math:`\tfrac2\pi\mu`, with μ as
    in `fixed_points`; otherwise it is that times Geary's ratio of the projection,
    :math:`\tfrac\pi2(E|S|)^2/E[S^2]`, above 1 for a projection flatter than a Gaussian, such as a
    sign.

    Parameters
    ----------
    inputs, labels : (samples, n) and (samples,), 1 or 0; the sample's moments stand for the
        expectations, uncentred
    w : (k, n), one neuron each

    Returns
    -------
    (k,), between 0 and 1

    Source: ours; towards section 3.2 of the localization notes, which is empty, for K = 1.
    """  # noqa: D400
    shaped("(s, n), (s,), (k, n)", inputs=inputs, labels=labels, w=w)
    projections = inputs @ w.T
    one, zero = projections[labels == 1], projections[labels == 0]
    return np.abs(one).mean(axis=0) ** 2 / ((one**2).mean(axis=0) + (zero**2).mean(axis=0))


@takes(starts=matrix, inputs=matrix, labels=classes, steps=partial(whole, least=0))
def climb_score(
    starts: ArrayLike, inputs: ArrayLike, labels: ArrayLike, steps: int = 100
) -> NDArray:
    r"""Climb the score R of `scores` on given signals, from several starts
    at once; no step size, and no step that goes down.

    .. math:: w \leftarrow Q^{-1}g(w), \qquad g(w) = E[X\,\mathrm{sign}\,S \mid y=1], \qquad Q
              = \Sigma_1 + \Sigma_0 .

    With :math:`a(w) = E[|S| \mid 1] = w^\top g(w)` and :math:`w' = Q^{-1}g(w)`: a is convex, so
    :math:`a(w') \ge g^\top w' = w'^\top Qw'`; and
    :math:`a(w)^2 = (w^\top Qw')^2 \le w^\top Qw\;w'^\top Qw'`. Hence
    :math:`R(w) \le w'^\top Qw' \le R(w')`.

    Parameters
    ----------
    starts : (k, n) weight vectors
    inputs, labels : (samples, n) and (samples,), 1 or 0; the sample's moments stand for the
        expectations, uncentred
    steps : how often, from 0

    Returns
    -------
    weights (k, n), of the length at which the flow of one neuron would rest

    Raises
    ------
    ValueError
        If shapes do not fit, a label is neither 1 nor 0, or Q is singular.

    Source: ours; towards section 3.2 of the localization notes.
    """
    shaped("(k, n), (s, n), (s,)", starts=starts, inputs=inputs, labels=labels)
    one, zero = inputs[labels == 1], inputs[labels == 0]
    total = one.T @ one / len(one) + zero.T @ zero / len(zero)
    if np.linalg.cond(total) > 1 / (len(total) * EPS):
        raise ValueError("inputs vary in fewer directions than there are sites: want more samples")
    w = starts
    for _ in range(steps):
        w = np.linalg.solve(total, (np.sign(one @ w.T).T @ one / len(one)).T).T
    return w
