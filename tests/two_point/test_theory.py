"""Velocity and loss of two points, and the fit of their constants,
against autograd and curves of known constants.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import solve_ivp

from book.two_point import theory
from lib.theory import two_points
from lib.theory.two_points import Pair


def w_of(dy2, cosine, target_distance):
    return dy2 - cosine * np.sqrt(dy2) * target_distance


def stack(curves):
    return np.stack([curves[name] for name in two_points.CURVES])


def draw_maps(rng, k, n_in, n_out, scale=1.0):
    d_h, d_y = scale * rng.normal(size=(k, n_in)), scale * rng.normal(size=(n_out, k))
    return d_h, d_y, rng.normal(size=n_in), rng.normal(size=n_out)


def two_point_loss(d_h, d_y, mean, dx, targets):
    """Eq. 2 for the linear maps of Eq. 5: half the squared
    error, averaged over the two points x = ±Δx/2.
    """
    inputs = torch.stack([-dx / 2, dx / 2])
    outputs = mean + inputs @ d_h.T @ d_y.T
    return (outputs - targets).square().sum(dim=1).mean() / 2


def autograd_flow(d_h, d_y, mean, dx, targets, times, tau_h, tau_y, tau_mean):
    """Integrate Eq. 6 with autograd gradients of the loss; return the
    two maps, the mean output and the loss over time.
    """
    shapes, taus = [d_h.shape, d_y.shape, mean.shape], (tau_h, tau_y, tau_mean)
    dx, targets = torch.tensor(dx), torch.tensor(targets)

    def split(state):
        parts = np.split(state, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
        return [
            torch.tensor(part.reshape(shape), requires_grad=True)
            for part, shape in zip(parts, shapes, strict=True)
        ]

    def descend(_, state):
        parts = split(state)
        gradients = torch.autograd.grad(two_point_loss(*parts, dx, targets), parts)
        return np.concatenate(
            [-gradient.numpy().ravel() / tau for gradient, tau in zip(gradients, taus, strict=True)]
        )

    start = np.concatenate([d_h.ravel(), d_y.ravel(), mean])
    path = solve_ivp(descend, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-11).y.T
    losses = [two_point_loss(*split(state), dx, targets).item() for state in path]
    return (
        *(
            [part.detach().numpy() for part in parts]
            for parts in zip(*map(split, path), strict=True)
        ),
        np.array(losses),
    )


@settings(max_examples=5)
@given(seed=seeds, k=st.integers(1, 3), n_in=st.integers(1, 3), n_out=st.integers(1, 3))
def test_linear_flow_descends_the_loss_of_two_points(seed, k, n_in, n_out):
    rng = np.random.default_rng(seed)
    d_h, d_y, dx, target = draw_maps(rng, k, n_in, n_out)
    assume(np.linalg.norm(d_h @ dx) > 0.1)
    middle, mean, times = rng.normal(size=n_out), rng.normal(size=n_out), [0.0, 0.5, 3.0]
    tau_h, tau_y, tau_mean = rng.uniform(0.5, 2, 3)
    targets = middle + np.array([-0.5, 0.5])[:, None] * target
    to_h, to_y, means, losses = autograd_flow(
        d_h, d_y, mean, dx, targets, times, tau_h, tau_y, tau_mean
    )
    flow = two_points.linear_flow(
        d_h, d_y, times, input_difference=dx, target_difference=target, tau_h=tau_h, tau_y=tau_y
    )
    np.testing.assert_allclose(flow.d_h, to_h, atol=1e-7)
    np.testing.assert_allclose(flow.d_y, to_y, atol=1e-7)

    dh = np.array(to_h) @ dx
    dy = np.array([y @ h for y, h in zip(to_y, dh, strict=True)])
    np.testing.assert_allclose(flow.dh2, np.sum(dh**2, axis=1), atol=1e-6)
    np.testing.assert_allclose(flow.dy2, np.sum(dy**2, axis=1), atol=1e-6)
    np.testing.assert_allclose(flow.w, np.sum(dy**2, axis=1) - dy @ target, atol=1e-6)
    cosine = dh @ dh[0] / np.linalg.norm(dh, axis=1) / np.linalg.norm(dh[0])
    np.testing.assert_allclose(flow.rotation, cosine, atol=1e-6)

    np.testing.assert_allclose(
        means - middle, np.exp(-np.array(times) / tau_mean)[:, None] * (mean - middle), atol=1e-7
    )
    settings_ = {
        "target_distance": np.linalg.norm(target),
        "mean_error": np.linalg.norm(mean - middle),
    }
    np.testing.assert_allclose(
        theory.loss(flow.dy2, flow.w, times, tau_mean=tau_mean, **settings_), losses, atol=1e-6
    )


def test_velocity_is_eq_7():
    h, y, w, x, target, tau_h, tau_y = 0.7, 1.3, -0.4, 1.7, 2.1, 0.6, 3.1
    expected = [
        -(x**2) * w / tau_h,
        -w * (h / tau_y + x**2 / tau_h * y / h),
        -0.5 / tau_y * (3 * w - y + target**2) * h - 0.5 / tau_h * x**2 * (y + w) * w / h,
    ]
    constants = Pair(x=x, y=target, tau_h=tau_h, tau_y=tau_y)
    np.testing.assert_allclose(theory.velocity(h, y, w, constants), expected, rtol=1e-14)
    assert theory.velocity(h, [y, y, y], w, constants).shape == (3, 3)


@given(
    seed=seeds, start=st.floats(1e-12, 1e-2), ratio=st.floats(1e-6, 1e6), cosine=st.floats(-1, 1)
)
def test_solve_obeys_eq_7_from_tiny_and_stiff_starts(seed, start, ratio, cosine):
    """A finite difference in time gives Eq. 7, also where no solver
    gets through the plateau; A_high stays what it was.
    """
    rng = np.random.default_rng(seed)
    constants = Pair(x=1.3, y=0.7, tau_h=1.0, tau_y=ratio)
    y = start * 10 ** rng.uniform(-3, 0)
    high, low = two_points.high_low(start, y, constants)
    assume(cosine > 0 or high > 0)  # else dh passes through zero
    rate = np.hypot(high, 2 * low) / ratio
    times = np.array([0.1, 1, 5, 10, 20, 40])[:, None] / rate + np.array([-1, 0, 1]) * 1e-5 / rate
    curves = two_points.solve(start, y, w_of(y, cosine, 0.7), times.ravel(), constants)
    assert list(curves) == ["dh2", "dy2", "w"]
    np.testing.assert_array_equal(curves.time, times.ravel())
    curves = stack(curves).reshape(3, -1, 3)
    slope = (curves[..., 2] - curves[..., 0]) / (times[:, 2] - times[:, 0])
    h, y, w = curves[..., 1]
    size = np.max(np.abs(curves), axis=(1, 2))[:, None] * rate
    np.testing.assert_allclose((slope - theory.velocity(h, y, w, constants)) / size, 0, atol=1e-8)
    np.testing.assert_allclose(
        two_points.high_low(h, y, constants)[0], high, rtol=1e-8, atol=1e-8 * (h.max() + low)
    )


def test_loss_is_eq_9():
    found = theory.loss(
        [0.3, 0.5], [-0.2, 0.1], [0.0, 2.0], target_distance=1.5, tau_mean=3.0, mean_error=0.4
    )
    np.testing.assert_allclose(found[0], 0.5 * 0.4**2 + 0.25 * (-0.2 + 0.5 * (1.5**2 - 0.3)))
    np.testing.assert_allclose(
        found[1], 0.5 * (0.4 * np.exp(-2 / 3)) ** 2 + 0.25 * (0.1 + 0.5 * (1.5**2 - 0.5))
    )


@pytest.mark.parametrize("tau", [0.3, 7.0, 1e4])
def test_fit_mean_finds_the_constant(tau):
    times = np.linspace(0, 100, 1001)
    curves = two_points.solve(0.1, 0.01, -0.05, times, Pair(x=1, y=1, tau_h=5, tau_y=3))
    kind = {"target_distance": 1, "mean_error": 0.7}
    losses = theory.loss(curves.dy2, curves.w, times, tau_mean=tau, **kind)
    found = theory.fit_mean(times + 5, losses, curves.dy2, curves.w, **kind)
    assert isinstance(found, float)
    np.testing.assert_allclose(found, tau, rtol=1e-5)
    noisy = losses + 1e-3 * np.random.default_rng(0).normal(size=losses.shape)
    np.testing.assert_allclose(
        theory.fit_mean(times, noisy, curves.dy2, curves.w, **kind), tau, rtol=0.3
    )


@pytest.mark.parametrize(("mean_is_learned", "tau"), [("never", 1e8), ("at once", 1e-4)])
def test_fit_mean_ends_at_a_million_spans(mean_is_learned, tau):
    times = np.linspace(0, 100, 11)
    excess = 0.5 * 0.7**2 * ((times == 0) | (mean_is_learned == "never"))
    found = theory.fit_mean(
        times, excess, np.ones(11), np.zeros(11), target_distance=1, mean_error=0.7
    )
    np.testing.assert_allclose(found, tau, rtol=0.3)


def synthetic(seed, points=600):
    """Draw constants over six decades, a start from plateau to
    lazy, and the curves to beyond the transition.
    """
    rng = np.random.default_rng(seed)
    x, target = 10 ** rng.uniform(-0.5, 0.5, 2)
    tau_h, tau_y = 10 ** rng.uniform(-1, 5, 2)
    constants = Pair(x=x, y=target, tau_h=tau_h, tau_y=tau_y)
    h = np.sqrt(tau_y / tau_h) * x * target * 10 ** rng.uniform(-5, 1)
    y = h**2 * tau_h / (tau_y * x**2) * 10 ** rng.uniform(-2, 2)
    high, low = two_points.high_low(h, y, constants)
    slowest = (
        min(two_points.final_distance2(h, y, constants), np.hypot(high, 2 * low) / 2) / tau_y
    )  # at the end
    times = np.linspace(0, rng.uniform(15, 40) / slowest, points)
    return constants, two_points.solve(h, y, w_of(y, rng.uniform(-1, 1), target), times, constants)


def refit(curves, constants, shift=0.0):
    distances = {"input_distance": constants.x, "target_distance": constants.y}
    return theory.fit(curves.time.values + shift, curves.dh2, curves.dy2, curves.w, **distances)


@settings(max_examples=30)
@given(seed=seeds)
def test_fit_finds_the_constants(seed):
    constants, curves = synthetic(seed)
    found = refit(curves, constants)
    np.testing.assert_allclose(
        [found.pair.tau_h, found.pair.tau_y], [constants.tau_h, constants.tau_y], rtol=1e-4
    )
    np.testing.assert_allclose(
        stack(found.curves), stack(curves), rtol=1e-4, atol=1e-6 * np.abs(stack(curves)).max()
    )
    assert min(found.r2.values()) > 0.999


@pytest.mark.parametrize(
    ("h2", "y2"), [(1e8, 1), (1, 1e8), (1e20, 1), (1e-20, 1), (1, 1e20), (1, 1e-20)]
)
def test_fit_does_not_depend_on_the_units(h2, y2):
    times = np.linspace(0, 50, 101)
    curves = two_points.solve(0.1, 0.01, -0.05, times, Pair(x=1, y=1, tau_h=5, tau_y=3))
    dh2, dy2, w = h2 * curves.dh2, y2 * curves.dy2, y2 * curves.w
    found = theory.fit(times, dh2, dy2, w, input_distance=1, target_distance=np.sqrt(y2))
    np.testing.assert_allclose(
        [found.pair.tau_h * h2 / y2, found.pair.tau_y / h2], [5, 3], rtol=1e-4
    )


@pytest.mark.parametrize(
    "x, target, tau_h, tau_y, h, y, cosine, end",
    [
        (1.49, 0.78, 1.55, 46600.0, 0.079, 2.95e-9, 0.0834, 1990.0),
        (0.787, 0.545, 10.7, 218.0, 5.74e-6, 4.89e-14, -0.49, 1670.0),
        (1.5465, 0.68468, 105.53, 71712.0, 0.77754, 3.7887e-4, -0.868, 16298.0),
    ],
)
def test_fit_survives_curves_that_end_within_the_transition(
    x, target, tau_h, tau_y, h, y, cosine, end
):
    constants = Pair(x=x, y=target, tau_h=tau_h, tau_y=tau_y)
    curves = two_points.solve(h, y, w_of(y, cosine, target), np.linspace(0, end, 600), constants)
    assert curves.dy2[-1] < 0.5 * target**2
    found = refit(curves, constants)
    np.testing.assert_allclose([found.pair.tau_h, found.pair.tau_y], [tau_h, tau_y], rtol=1e-4)


def test_fit_with_equal_targets_and_times_from_anywhere():
    constants, times = Pair(0.7, 0, tau_h=300, tau_y=2000), np.linspace(0, 6000, 200)
    curves = two_points.solve(0.5, 0.7, 0.7, times, constants)
    found = refit(curves.assign(w=curves.dy2), constants, shift=-123.0)
    np.testing.assert_allclose([found.pair.tau_h, found.pair.tau_y], [300, 2000], rtol=1e-6)
    np.testing.assert_allclose(found.curves.time, times - 123)


def test_fit_reports_the_errors_of_noisy_curves():
    constants, curves = synthetic(3, 2000)
    rng = np.random.default_rng(0)
    noise = 0.02 * rng.normal(size=(3, 2000)) * (np.arange(2000) > 0)
    measured = np.maximum(stack(curves) + noise, [[1e-9], [-np.inf], [-np.inf]])
    distances = {"input_distance": constants.x, "target_distance": constants.y}
    found = theory.fit(curves.time, *measured, **distances)
    np.testing.assert_allclose(
        [found.pair.tau_h, found.pair.tau_y], [constants.tau_h, constants.tau_y], rtol=0.05
    )
    errors = stack(found.curves) - measured
    np.testing.assert_allclose(found.loss, np.sum(errors**2), rtol=1e-12)
    r2 = (
        1
        - errors.var(axis=1) / measured.var(axis=1)
        - errors.mean(axis=1) ** 2 / measured.var(axis=1)
    )
    np.testing.assert_allclose(list(found.r2.values()), r2, rtol=1e-9)
    assert list(found.r2) == list(two_points.CURVES)
    best = two_points.solve(*measured[:, 0], curves.time, found.pair)
    np.testing.assert_allclose(stack(found.curves), stack(best))
    for tau_h, tau_y in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        moved = replace(found.pair, tau_h=tau_h * found.pair.tau_h, tau_y=tau_y * found.pair.tau_y)
        other = two_points.solve(*measured[:, 0], curves.time, moved)
        assert np.sum((stack(other) - measured) ** 2) > found.loss


@pytest.mark.parametrize("kind", ["wrong w", "noise", "flat", "silent", "huge", "impossible start"])
def test_fit_survives_what_eq_7_cannot_describe(kind):
    _, curves = synthetic(3)
    h, y, w = stack(curves)
    rng, one = np.random.default_rng(0), np.ones_like(h)
    h, y, w = {
        "wrong w": (h, y, -w),
        "noise": (*rng.random((2, len(h))) + 0.1, rng.normal(size=len(h))),
        "flat": (1e-3 * one, 1e-5 * one, -1e-3 * one),
        "silent": (1e-3 * one, 0 * one, 0 * one),
        "huge": (h + 1e6, y, w),
        "impossible start": (h, np.append(-0.01, y[1:]), np.append(0.5, w[1:])),
    }[kind]
    found = theory.fit(np.arange(len(h)), h, y, w, input_distance=1, target_distance=1)
    assert (
        0 < found.pair.tau_h < np.inf and 0 < found.pair.tau_y < np.inf and np.isfinite(found.loss)
    )
    if kind == "impossible start":
        assert (found.curves.dy2[0], found.curves.w[0]) == (0, 0)
    else:
        assert not min(found.r2.values()) > 0.5


@given(
    seed=seeds,
    units=st.integers(1, 30),
    sizes=st.tuples(st.floats(-3, 0.5), st.floats(-3, 0.5)),
    target=st.sampled_from([0.0, 0.3, 1.7]),
)
def test_one_output_is_the_flow_of_both_maps(seed, units, sizes, target):
    rng = np.random.default_rng(seed)
    dh, decoder = 10.0 ** np.array(sizes)[:, None] * rng.normal(size=(2, units))
    x, tau_h, tau_y = rng.uniform(0.4, 2, size=3)
    times = np.array([0.0, 0.1, 1, 5, 30])
    found = theory.one_output(dh, decoder, times, Pair(x, target, tau_h, tau_y))
    flow = two_points.linear_flow(
        dh[:, None] / x,
        decoder[None],
        times,
        input_difference=[x],
        target_difference=[target],
        tau_h=tau_h / 2,
        tau_y=tau_y / 2,
    )
    scale = 1 + max(np.abs(stack(flow)).max(), 0)
    np.testing.assert_allclose(stack(found), stack(flow), atol=1e-7 * scale)
    np.testing.assert_allclose(found.decoder, flow.d_y[:, 0], atol=1e-6 * scale)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_output_with_equal_targets_and_balanced_maps(sign):
    """Then the equation of z is no longer hyperbolic: dh shrinks as 1/sqrt(1 + t dh(0)²)."""
    times = np.array([0.0, 1, 10, 1000])
    found = theory.one_output([0.6, 0.8], [sign * 0.6, sign * 0.8], times, Pair(1, 0, 1, 1))
    np.testing.assert_allclose(found.dh2, 1 / (1 + times), rtol=1e-12)


def test_one_output_leaves_a_tiny_start_without_losing_digits():
    pair, times = Pair(1.0, 1.0, 1.0, 1.0), np.linspace(0, 200, 9)
    found = theory.one_output([1e-20], [1e-20], times, pair)
    exact = two_points.solve(1e-40, 1e-80, 1e-80 - 1e-40, times, pair)
    np.testing.assert_allclose(found.dh2, exact.dh2, rtol=1e-9)


def test_one_output_ends_where_the_lesson_says():
    rng = np.random.default_rng(0)
    for scale in (0.01, 1.0, 30.0):
        dh, decoder = scale * rng.normal(size=(2, 7))
        pair = Pair(*rng.uniform(0.5, 2, size=4))
        h, b = dh @ dh, pair.slope * decoder @ decoder
        root = (h + b) ** 2 / 4 + pair.slope * pair.y**2 - pair.slope * (dh @ decoder) ** 2
        end = theory.one_output(dh, decoder, [1e6], pair).dh2[0]
        np.testing.assert_allclose(end, (h - b) / 2 + np.sqrt(root), rtol=1e-9)


def test_equal_targets_follow_eq_39_in_units_of_tau_y():
    pair, times = Pair(x=0.8, y=0.0, tau_h=0.7, tau_y=1.9), np.linspace(0, 8, 33)
    h, y = 0.9, 0.2
    high, _ = two_points.high_low(h, y, pair)
    expected = high / (1 + (high / h - 1) * np.exp(-high * times / 1.9))
    np.testing.assert_allclose(two_points.solve(h, y, y, times, pair).dh2, expected, rtol=1e-10)


UNIT = Pair(x=1.0, y=1.0, tau_h=1.0, tau_y=1.0)


DISTANCES = {"input_distance": 1.0, "target_distance": 1.0}


MAPS = {"input_difference": [1.0, 0.0], "tau_h": 1.0, "tau_y": 1.0}


EYE, FOUR = np.eye(2), np.arange(1.0, 5)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: two_points.solve(1, 1, 0, [0], replace(UNIT, y=0)), "no dy has"),
        (lambda: replace(UNIT, y=0.9e-100), "y must be 0 or at least 1e-100"),
        (lambda: two_points.linear_flow(np.diag([0, 1]), EYE, [0], target_difference=[1, 1], **MAPS), "to zero"),
        (lambda: theory.fit(FOUR[:3], FOUR[:3], FOUR[:3], FOUR[:3], **DISTANCES), "at least 4"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_network_that_learns_nothing_fits_badly():
    """Where neither constant has an effect, SciPy's optimizer proposes
    no number; whether it does hangs on the last digits.
    """
    k = np.arange(40)
    first = k == 0
    dy2, w = 1e-10 + 2.5e-6 * first, np.where(first, -1.1e-3, 7e-6 - 1.1e-7 * k)
    for end in np.linspace(0.0236, 0.0252, 9):
        found = theory.fit(
            10.0 * k, end + 1e-3 * np.exp(-k), dy2, w, input_distance=1, target_distance=0.5**0.5
        )
        assert np.isfinite([found.pair.tau_h, found.pair.tau_y]).all() and found.r2["w"] < 0


def test_one_output_shrinks_to_zero_from_opposed_maps():
    found = theory.one_output([0.6, 0.8], [-0.6, -0.8], [0.0, 5, 5000], Pair(1, 1, 1, 1))
    assert np.isfinite(found.dh2).all() and found.dh2[-1] < 1e-100
