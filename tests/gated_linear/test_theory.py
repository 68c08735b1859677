"""Noise, gates and the flows of gated networks against
sampling, recursion, quadrature and an ODE solver.
"""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import quad, solve_ivp
from scipy.stats import norm

from book.gated_linear import theory
from lib.theory import gaussian_classes


def loss(w, a, b):
    """Return ½E(ŷ − y)² for weights (..., K, n) and E y² = ½."""
    flat = np.reshape(w, (*np.shape(w)[:-2], -1)) / np.shape(w)[-2]
    return 0.5 * (np.sum(flat @ a * flat, axis=-1) - 2 * flat @ b + 0.5)


def spectrum(rng, d, low, high):
    modes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return modes * rng.uniform(low, high, d) @ modes.T


@given(margin=st.floats(-3, 3), spread=st.floats(0.05, 3))
def test_a_flip_is_a_gaussian_beyond_the_edge(margin, spread):
    """P(sign(S + sε) ≠ sign S), by quadrature over the change."""
    wanted = quad(norm(0, spread).pdf, abs(margin), abs(margin) + 12 * spread)[0]
    np.testing.assert_allclose(theory.flip_probability(margin, spread), wanted, atol=1e-9)


@settings(max_examples=30)
@given(seed=seeds, d=st.integers(1, 5), steps=st.integers(1, 60))
def test_jitter_is_what_the_recursion_of_the_covariances_gives(seed, d, steps):
    """Iterate S ← QSQ + η²C to rest and the covariance of (w_L,
    w_0) from there, with matrices that do not commute.
    """
    rng = np.random.default_rng(seed)
    hessian, noise, rate = spectrum(rng, d, 0.2, 1), spectrum(rng, d, 0, 2), 0.6
    q = np.eye(d) - rate * hessian
    rest = np.zeros((d, d))
    for _ in range(600):
        rest = q @ rest @ q + rate**2 * noise
    power = np.linalg.matrix_power(q, steps)
    wanted = 2 * rest - power @ rest - rest @ power
    (found,) = theory.jitter(hessian, noise, rate, [steps])
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@given(seed=seeds, d=st.integers(1, 4), steps=st.integers(1, 10**6))
def test_without_a_pull_noise_adds_up(seed, d, steps):
    noise = spectrum(np.random.default_rng(seed), d, 0, 2)
    for hessian in (np.zeros((d, d)), -1e-3 * np.eye(d)):
        (found,) = theory.jitter(hessian, noise, 0.5, [steps])
        np.testing.assert_allclose(found, 0.25 * steps * noise, rtol=1e-9, atol=1e-12 * steps)


def test_steps_that_overshoot_are_refused():
    with pytest.raises(ValueError, match="learning_rate"):
        theory.jitter(np.eye(2), np.eye(2), 1.0, [3])


# --- the flow of a gated network ------------------------------------------------------------------


def network(seed, k, n):
    """Return weights (k, n) and two covariances (n, n)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n)), spectrum(rng, n, 0.4, 2.7), spectrum(rng, n, 0.4, 2.7)


def gated_data(seed, k, n, samples=30, gates=None):
    rng = np.random.default_rng(seed)
    x, y = (
        rng.normal(size=(samples, n)) @ rng.normal(size=(n, n)),
        rng.integers(2, size=samples).astype(float),
    )
    gates = rng.integers(2, size=(k, samples)) if gates is None else gates(x)
    return rng.normal(size=(k, n)), x, y, gates


def loss_of_gated_network(w, x, y, gates):
    """½⟨(ŷ − y)²⟩ of Eq. 80, in torch."""
    w, x, y, g = (
        torch.as_tensor(np.asarray(v, float)) if not torch.is_tensor(v) else v
        for v in (w, x, y, gates)
    )
    return 0.5 * torch.mean((torch.sum(g * (w @ x.T), 0) / len(w) - y) ** 2)


def velocity_of_gated_network(x, y, gates, shape):
    def slope(_, state):
        w = torch.tensor(state.reshape(shape), requires_grad=True)
        return -torch.autograd.grad(loss_of_gated_network(w, x, y, gates), w)[0].numpy().ravel()

    return slope


@given(seed=seeds, k=st.integers(1, 5), n=st.integers(1, 4), samples=st.integers(1, 30))
def test_moments_give_the_gradient_of_eq_80s_loss(seed, k, n, samples):
    w, x, y, gates = gated_data(seed, k, n, samples)
    a, b = theory.gdln_moments(x, y, gates)
    slope = velocity_of_gated_network(x, y, gates, (k, n))(0, w.ravel())
    np.testing.assert_allclose((b - a @ w.ravel() / k) / k, slope, rtol=1e-9, atol=1e-10)
    if k > 1 and np.linalg.norm(slope) > 1e-6:  # Eqs. 82 and 85 as printed, without the inner 1/K
        assert np.linalg.norm((b - a @ w.ravel()) / k - slope) > 1e-6 * np.linalg.norm(
            a @ w.ravel()
        )
    balanced = loss(w, a, b) + 0.5 * (np.mean(y**2) - 0.5)
    np.testing.assert_allclose(balanced, loss_of_gated_network(w, x, y, gates), rtol=1e-9)


@settings(max_examples=20)
@given(
    seed=seeds,
    k=st.integers(1, 3),
    n=st.integers(1, 3),
    samples=st.sampled_from([2, 5, 30]),
    tau=st.floats(0.3, 3),
)  # few samples: zero modes
def test_trajectory_follows_an_ode_solver_on_the_loss(seed, k, n, samples, tau):
    w, x, y, gates = gated_data(seed, k, n, samples)
    slope = velocity_of_gated_network(x, y, gates, (k, n))
    ode = solve_ivp(
        lambda t, v: slope(t, v) / tau, (0, 3), w.ravel(), "RK45", [0, 1, 3], rtol=1e-7, atol=1e-9
    )
    path = theory.gdln_trajectory(w, *theory.gdln_moments(x, y, gates), [0, 1, 3], tau)
    assert path.shape == (3, k, n)
    np.testing.assert_allclose(path.reshape(3, -1), ode.y.T, atol=2e-5 * (1 + np.abs(ode.y).max()))


@given(seed=seeds, k=st.integers(1, 5), n=st.integers(1, 4), samples=st.sampled_from([1, 3, 40]))
def test_the_limit_is_least_squares_nearest_to_the_start(seed, k, n, samples):
    w, x, y, gates = gated_data(seed, k, n, samples)
    gated = np.einsum("ks,si->ski", gates, x).reshape(samples, -1) / k
    start = w.ravel()
    expected = start + np.linalg.lstsq(gated, y - gated @ start, rcond=1e-6)[0]
    a, b = theory.gdln_moments(x, y, gates)
    limit = theory.gdln_limit(w, a, b)
    strengths = np.linalg.svd(gated, compute_uv=False)
    strengths = strengths[strengths > 1e-6 * max(strengths.max(), 1e-300)]
    if strengths.size and strengths.min() > 1e-2 * strengths.max():
        np.testing.assert_allclose(limit.ravel(), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            theory.gdln_trajectory(w, a, b, [0, 1e9])[-1], limit, rtol=1e-6, atol=1e-6
        )
        residual = np.mean((gated @ expected - y) ** 2)
        np.testing.assert_allclose(theory.gdln_best_loss(a, b, np.mean(y**2)), residual, atol=1e-8)
        np.testing.assert_allclose(theory.gdln_best_loss(a, b), 2 * loss(limit, a, b), atol=1e-8)


def test_the_limit_is_k_times_the_printed_one():
    w, x, y, gates = gated_data(0, 3, 2)
    a, b = theory.gdln_moments(x, y, gates)
    limit = theory.gdln_limit(w, a, b).ravel()
    np.testing.assert_allclose(limit, 3 * np.linalg.solve(a, b), rtol=1e-8)
    ours, printed = loss([limit.reshape(3, 2), limit.reshape(3, 2) / 3], a, b)
    assert ours == pytest.approx(loss(limit.reshape(3, 2), a, b)) and ours < printed - 1e-3


def test_eqs_88_to_90_lose_what_starts_below_the_limit():
    """A constant e^C is positive: it cannot be Λu₀ − c where this is
    negative. Here u = 1 − e^−t from 0, and Λu₀ − c = −1.
    """
    np.testing.assert_allclose(
        theory.gdln_trajectory([[0.0]], [[1.0]], [1.0], [0, 1, 9])[:, 0, 0], 1 - np.exp([0, -1, -9])
    )


@given(seed=seeds, k=st.integers(2, 5), n=st.integers(1, 4))
def test_exclusive_gates_learn_alone(seed, k, n):
    """Eqs. 100–107: block-diagonal A; each neuron ends at K times least squares on its own data."""
    rng = np.random.default_rng(seed)
    owner = np.append(np.tile(np.arange(k), n + 3), rng.integers(k, size=5))
    w, x, y, gates = gated_data(seed, k, n, len(owner), lambda x: owner == np.arange(k)[:, None])
    a, b = theory.gdln_moments(x, y, gates)
    path, limit = theory.gdln_trajectory(w, a, b, [0, 2.0]), theory.gdln_limit(w, a, b)
    for i in range(k):
        block = a.reshape(k, n, k, n)[i, :, i]
        np.testing.assert_allclose(np.delete(a.reshape(k, n, k, n)[i], i, axis=1), 0)
        if np.linalg.cond(block) < 1e5:
            own = np.linalg.lstsq(x[owner == i], y[owner == i], rcond=None)[0]
            np.testing.assert_allclose(limit[i], k * own, rtol=1e-5, atol=1e-7)
        b_i = b.reshape(k, n)[i]
        strengths, modes = np.linalg.eigh(block / k)
        start, pull = modes.T @ w[i], modes.T @ b_i
        alone = pull / strengths + np.exp(-strengths * 2.0 / k) * (start - pull / strengths)
        if strengths.min() > 1e-8:
            np.testing.assert_allclose(path[1, i], modes @ alone, rtol=1e-6, atol=1e-7)


def test_early_weights_are_their_gates_smoothed_normals():
    """On Gaussian inputs, w ≈ tb/(Kτ) and b_k is along Σ₁v_k."""
    sigma = [gaussian_classes.nlgp_covariance(8, xi, 3.0) for xi in (2.0, 1.0)]
    v = np.random.default_rng(0).normal(size=(3, 8))
    a, b = theory.gdln_gaussian_moments(v, *sigma)
    (w,) = theory.gdln_trajectory(np.zeros((3, 8)), a, b, [1e-6])
    wanted = v @ sigma[0]
    cosines = np.sum(w * wanted, axis=1) / np.linalg.norm(w, axis=1)
    np.testing.assert_allclose(cosines, np.linalg.norm(wanted, axis=1), rtol=1e-5)


@given(seed=seeds, n=st.integers(1, 4))
def test_redundant_gates_keep_their_difference(seed, n):
    """Eqs. 108–113 corrected: w₁ = Δ + ½A₁₁⁻¹(b₁ + P e^(−2tΛ/Kτ) k),
    w₂ the same with −Δ, Δ half the initial difference.
    """
    w, x, y, gates = gated_data(seed, 2, n, 40, lambda x: np.ones((2, len(x))))
    a, b = theory.gdln_moments(x, y, gates)
    times, tau, delta = np.array([0, 0.7, 3.0]), 1.3, (w[0] - w[1]) / 2
    own, b1 = a[:n, :n], b[:n]
    strengths, modes = np.linalg.eigh(own)

    def corrected(scale):  # of the flow Kτẇ₁ = b₁ − scale A₁₁(w₁ + w₂)
        k = modes.T @ (scale * own @ (w[0] + w[1]) - b1)
        decay = np.exp(-2 * scale * np.outer(times, strengths) / (2 * tau)) * k
        common = np.linalg.solve(own, (b1 + decay @ modes.T).T).T / (2 * scale)
        return np.stack([common + delta, common - delta], 1)

    path = theory.gdln_trajectory(w, a, b, times, tau)
    np.testing.assert_allclose(path, corrected(0.5), rtol=1e-6, atol=1e-6)  # of Eq. 80's loss: A/K
    np.testing.assert_allclose(path[:, 0] - path[:, 1], np.tile(2 * delta, (3, 1)), atol=1e-9)

    def as_printed(_, v):  # Eqs. 108–109
        common = b1 - own @ (v[:n] + v[n:])
        return np.concatenate([common, common]) / (2 * tau)

    ode = solve_ivp(
        as_printed, (0, 3), w.ravel(), "LSODA", times, rtol=1e-9, atol=1e-10
    ).y.T.reshape(3, 2, n)
    np.testing.assert_allclose(corrected(1.0), ode, atol=1e-5 * (1 + np.abs(ode).max()))
    k = modes.T @ (2 * own @ w[0] - b1)  # Eq. 112 as printed, started at w₁(0)
    decay = np.exp(-np.outer(times, strengths) / (2 * tau)) * k
    printed = np.linalg.solve(own, (b1 + decay @ modes.T).T).T / 2
    # In one dimension the two may meet at one moment, and for small k they hardly part.
    assume(n > 1 or np.abs(k).max() > 0.1)
    assert np.linalg.norm(printed - ode[:, 0]) > 1e-4 * np.linalg.norm(delta)


@given(seed=seeds, k=st.integers(1, 10), n=st.integers(1, 6))
def test_gaussian_moments_of_frozen_relu_gates_are_the_relu_flow(seed, k, n):
    """With its own gates the gated network is the ReLU
    network: same velocity, same loss, at this moment.
    """
    w, sigma1, sigma0 = network(seed, k, n)
    a, b = theory.gdln_gaussian_moments(w, sigma1, sigma0)
    assert a.shape == (k * n, k * n) and b.shape == (k * n,)
    flow = (b - a @ w.ravel() / k).reshape(k, n)
    np.testing.assert_allclose(
        flow, gaussian_classes.relu_flow(w, sigma1, sigma0), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(
        loss(w, a, b), gaussian_classes.relu_loss(w, sigma1, sigma0), rtol=1e-7
    )
    assert (
        loss(theory.gdln_limit(w, a, b), a, b)
        <= gaussian_classes.relu_loss(w, sigma1, sigma0) + 1e-9
    )


def test_gaussian_moments_against_samples():
    rng = np.random.default_rng(4)
    v, sigma1, sigma0 = network(4, 3, 2)
    a, b = theory.gdln_gaussian_moments(v, sigma1, sigma0)
    y = rng.integers(2, size=200_000)
    x = np.where(
        y[:, None] == 1,
        *(rng.multivariate_normal(np.zeros(2), s, len(y)) for s in (sigma1, sigma0)),
    )
    gated = ((x @ v.T > 0)[:, :, None] * x[:, None, :]).reshape(len(y), -1)
    for values, expected in ((gated[:, :, None] * gated[:, None, :], a), (gated * y[:, None], b)):
        assert np.all(
            np.abs(values.mean(axis=0) - expected) <= 5 * values.std(axis=0) / np.sqrt(len(y))
        )


@given(seed=seeds, k=st.integers(1, 5), n=st.integers(1, 4))
def test_modes_are_the_eigenmodes(seed, k, n):
    _, x, y, gates = gated_data(seed, k, n, 8)
    a, b = theory.gdln_moments(x, y, gates)
    modes = theory.gdln_modes(a, b)
    np.testing.assert_allclose(
        modes.vectors * modes.eigenvalues @ modes.vectors.T, a, atol=1e-9 * (1 + np.abs(a).max())
    )
    np.testing.assert_allclose(modes.vectors @ modes.drive, b, atol=1e-6 * (1 + np.abs(b).max()))
    assert (
        np.all(np.diff(modes.eigenvalues) <= 0)
        and modes.eigenvalues.min() >= 0
        and np.all(modes.gain >= 0)
    )
    assert theory.gdln_best_loss(a, b) == 0.5 - modes.gain.sum()


GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: theory.gdln_trajectory(np.ones((1, 3)), GOOD, [1, 1], [0]), "weights0"),
        (
            lambda: theory.gdln_trajectory(np.ones((1, 2)), np.diag([1.0, 0]), [1, 1], [0]),
            "no data have such moments",
        ),
    ],
)
def test_bad_input_gets_a_clear_error(call, says):
    with pytest.raises(ValueError, match=says):
        call()


seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, times=st.integers(2, 4), k=st.integers(1, 3))
def test_gate_agreement_is_eqs_78_and_79(seed, times, k):
    rng = np.random.default_rng(seed)
    path, inputs = rng.normal(size=(times, k, 3)), rng.normal(size=(20, 3))
    p, unif = theory.gate_agreement(path, inputs)
    assert p.shape == (times - 1, k) and unif.shape == (k,)
    for i in range(k):
        gates = [[bool(w @ x >= 0) for x in inputs] for w in path[:, i]]
        for t in range(times - 1):
            assert np.isclose(
                p[t, i], np.mean([a == b for a, b in zip(gates[t], gates[t + 1], strict=True)])
            )
        assert np.isclose(
            unif[i], np.mean([len(set(gate)) == 1 for gate in zip(*gates, strict=True)])
        )
    alone = theory.gate_agreement(path, inputs[:1])
    np.testing.assert_array_equal(
        alone[0].min(axis=0), alone[1]
    )  # of one input: kept throughout if kept at each step


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: theory.gate_agreement(np.ones((1, 2, 3)), np.ones((4, 3))), "do not fit"),
        (lambda: theory.gate_agreement(np.ones((2, 2, 3)), np.ones((4, 2))), "do not fit"),
    ],
)
def test_weights_that_do_not_fit_have_no_agreement(call, says):
    with pytest.raises(ValueError, match=says):
        call()
