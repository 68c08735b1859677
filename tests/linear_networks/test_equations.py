"""Equations of the source that no claim repeats, against autograd and integrated flows."""

from itertools import product

import numpy as np
import pytest
import torch

from book.linear_networks import theory
from lib.theory import linear

ETA_A, ETA_W = 0.4, 1.7
SHAPES = [(3, 2, 4), (2, 4, 3), (4, 3, 1), (1, 2, 5), (5, 5, 2)]

each_shape = pytest.mark.parametrize("shape", SHAPES)
each_depth = pytest.mark.parametrize("depth", [1, 2, 4])


def network(shape, seed=0):
    d, c, h = shape
    rng = np.random.default_rng(seed)
    return rng.normal(size=(h, c)), rng.normal(size=(h, d)), rng


@each_shape
def test_the_tangent_kernel_on_data_is_that_of_autograd(shape):
    a, w, rng = network(shape)
    c = shape[1]
    x = rng.normal(size=(5, shape[0]))

    def outputs(a, w):
        return (torch.tensor(x) @ w.mT @ a).mT.reshape(-1)  # stacks columns

    slopes = torch.autograd.functional.jacobian(outputs, (torch.tensor(a), torch.tensor(w)))
    by_a, by_w = (slope.reshape(5 * c, -1).numpy() for slope in slopes)
    wide = np.kron(np.eye(c), x)
    kernel = wide @ linear.preconditioner(a, w, ETA_A, ETA_W) @ wide.T
    np.testing.assert_allclose(
        kernel, ETA_A * by_a @ by_a.T + ETA_W * by_w @ by_w.T, rtol=1e-10, atol=1e-10
    )


@each_shape
def test_theorem_2_sums_the_kernel_over_neurons(shape):
    a, w, _ = network(shape)
    d, c, _ = shape
    total = 0
    deltas = np.diag(linear.conserved(a, w, ETA_A, ETA_W))
    for a_k, w_k, delta in zip(a, w, deltas, strict=True):
        beta = np.outer(w_k, a_k)
        size = np.linalg.norm(beta)
        kappa = np.sqrt(delta**2 + 4 * ETA_A * ETA_W * size**2)
        of_a = (kappa + delta) / 2 * beta.T @ beta / size**2
        of_w = (kappa - delta) / 2 * beta @ beta.T / size**2
        total = total + np.kron(of_a, np.eye(d)) + np.kron(np.eye(c), of_w)
    np.testing.assert_allclose(
        total, linear.preconditioner(a, w, ETA_A, ETA_W), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(("d", "c"), [(3, 1), (1, 3), (1, 1)])
@pytest.mark.parametrize("delta", [1e6, -1e6])
def test_the_kernel_of_one_neuron_has_the_printed_limits(d, c, delta):
    a, w = theory.unbalanced_initialization(d, c, 1, delta, 1.0, seed=0)
    direction = a if delta > 0 else w
    projector = direction.T @ direction / np.sum(direction**2)
    # On one side the identity, on the other a projector of rank one.
    limit = np.kron(projector, np.eye(d)) if delta > 0 else np.kron(np.eye(c), projector)
    np.testing.assert_allclose(linear.preconditioner(a, w) / abs(delta), limit, atol=1e-9)
    side = c if delta > 0 else d
    assert np.allclose(limit, np.eye(c * d)) == (side == 1)


def test_only_with_its_rates_is_the_matrix_conserved():
    a, w, rng = network((3, 2, 4))
    x, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    path = linear.flow(a, w, x.T @ x, x.T @ y, [0, 1.0], ETA_A, ETA_W)

    def shift(*rates):
        return np.abs(np.diff(linear.conserved(path.a, path.w, *rates), axis=0)).max()

    assert shift(ETA_A, ETA_W) < 1e-8 < 0.01 < min(shift(1, 1), shift(ETA_W, ETA_A))


@pytest.mark.parametrize("delta", [0.7, -0.7])
@pytest.mark.parametrize("d", [3, 4])
def test_the_riccati_and_the_bernoulli_equation_hold(d, delta):
    rng = np.random.default_rng(d)
    target = rng.normal(size=(d, 3))
    a, w = linear.isotropic_initialization(rng.normal(size=(d, 3)), delta, 3, d)
    path = linear.flow(a, w, np.eye(d), target, [0.4])
    a, w = path.a[0], path.w[0]
    error = w.T @ a - target
    by_a, by_w = -w @ error, -a @ error.T
    nu, gram = np.linalg.solve(a, w @ target), a.T @ a
    moved = np.linalg.solve(a, by_w @ target - by_a @ nu)
    np.testing.assert_allclose(moved, target.T @ target - delta * nu - nu @ nu, atol=1e-9)
    grown = nu + delta * np.eye(3)
    np.testing.assert_allclose(
        by_a.T @ a + a.T @ by_a, gram @ grown + grown.T @ gram - 2 * gram @ gram, atol=1e-9
    )


@pytest.mark.parametrize("seed", range(4))
def test_one_output_obeys_the_equations_for_mu_and_phi(seed):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=3) * rng.uniform(0.5, 2)
    a, w = rng.normal(size=4), rng.normal(size=(4, 3))
    s, length = np.linalg.norm(target), np.linalg.norm(w, axis=1)
    error = w.T @ a - target
    by_a, by_w = -w @ error, -np.outer(a, error)
    units = w / length[:, None]
    mu, phi, overlaps = a * length, units @ target / s, units @ units.T
    stretched = np.sum(units * by_w, axis=1)
    delta = a**2 - length**2
    kappa, pull = np.hypot(delta, 2 * mu), overlaps @ mu
    np.testing.assert_allclose(by_a * length + a * stretched, kappa * (s * phi - pull))
    turned = (by_w @ target) / (s * length) - phi * stretched / length
    bracket = s * (1 - phi**2) - phi @ mu + phi * pull
    np.testing.assert_allclose(turned, 2 * mu / (kappa - delta) * bracket)
    # As printed they hold for φ times s.
    printed = s * phi
    np.testing.assert_allclose(by_a * length + a * stretched, kappa * (printed - pull))
    bracket = s**2 - printed @ mu + printed * pull - printed**2
    np.testing.assert_allclose(s * turned, 2 * mu / (kappa - delta) * bracket)


@each_shape
def test_the_overlaps_follow_from_mu_and_the_matrix(shape):
    d, _, h = shape
    a, w, _ = network((d, 1, h))
    length = np.linalg.norm(w, axis=1)
    mu, delta = a[:, 0] * length, a[:, 0] ** 2 - length**2
    m = np.diag(2 / (np.hypot(delta, 2 * mu) - delta))
    found = m @ np.outer(mu, mu) @ m - np.sqrt(m) @ linear.conserved(a, w) @ np.sqrt(m)
    units = w / length[:, None]
    np.testing.assert_allclose(found, units @ units.T, atol=1e-11)


@pytest.mark.parametrize("shape, delta", [((3, 3, 3), 1.5), ((2, 5, 2), -1.5), ((3, 3, 1), -1.5)])
def test_singular_values_move_as_lemma_10_says(shape, delta):
    d, c, h = shape
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(6, d)), rng.normal(size=(6, c))
    initial = rng.normal(size=(d, min(shape))) @ rng.normal(size=(min(shape), c))
    a, w = linear.isotropic_initialization(initial, delta, h, 1)
    path = linear.flow(a, w, x.T @ x, x.T @ y, [0.3])
    a, w, beta = path.a[0], path.w[0], path.beta[0]
    slope = x.T @ x @ beta - x.T @ y
    u, lam, vt = np.linalg.svd(beta, full_matrices=False)
    moved = np.diag(u.T @ -(slope @ a.T @ a + w.T @ w @ slope) @ vt.T)
    speed = np.where(np.arange(len(lam)) < h, np.hypot(delta, 2 * lam), 0)  # zero beyond h
    np.testing.assert_allclose(moved, -speed * np.diag(u.T @ slope @ vt.T), atol=1e-8)


@pytest.mark.parametrize("delta", [1e4, -1e4])
def test_far_from_balance_the_kernel_is_the_unit_matrix(delta):
    a, w = linear.isotropic_initialization(
        np.random.default_rng(0).normal(size=(3, 3)), delta, 3, 0
    )
    np.testing.assert_allclose(linear.preconditioner(a, w) / 1e4, np.eye(9), atol=1e-6)


def theorem_3(beta, delta):
    """Return M as a function of β and δ, with the two rates."""
    d, c = beta.shape

    def root(gram):
        values, vectors = np.linalg.eigh(ETA_A * ETA_W * gram + delta**2 / 4 * np.eye(len(gram)))
        return vectors * np.sqrt(values) @ vectors.T

    of_a = root(beta.T @ beta) + delta / 2 * np.eye(c)
    of_w = root(beta @ beta.T) - delta / 2 * np.eye(d)
    return np.kron(of_a, np.eye(d)) + np.kron(np.eye(c), of_w)


@pytest.mark.parametrize("d, c, delta", [*product((1, 3, 5), (1, 2, 5), (-1.3, 1.3))])
def test_theorem_3_gives_the_kernel_from_the_map(d, c, delta):
    rng = np.random.default_rng(0)
    initial = rng.normal(size=(d, min(d, c))) @ rng.normal(size=(min(d, c), c))
    a, w = linear.isotropic_initialization(initial, delta, c if delta > 0 else d, 0)
    a, w = a / np.sqrt(ETA_W), w / np.sqrt(ETA_A)
    np.testing.assert_allclose(
        theorem_3(w.T @ a, delta), linear.preconditioner(a, w, ETA_A, ETA_W), atol=1e-8
    )


def deep_state(depth, delta=-0.4):
    """Return a, the layers, β and the gradient along a flow in three dimensions."""
    rng = np.random.default_rng(depth)
    x, y = rng.normal(size=(5, 3)) / 2, rng.normal(size=5)
    a, ws = theory.deep_isotropic_initialization(3, depth, 0.9, delta, depth)
    path = linear.deep_flow(a, ws, x.T @ x, x.T @ y, [0.5])
    return path.a[0], path.ws[0], path.beta[0], x.T @ (x @ path.beta[0] - y)


@each_depth
def test_lemma_13_has_the_exponent_of_the_depth(depth):
    a, ws, beta, _ = deep_state(depth)
    gram = ws[0].T @ ws[0]
    np.testing.assert_allclose(beta @ beta, a @ a * (a @ a + 0.4) ** depth, rtol=1e-7)
    power = np.linalg.matrix_power(gram, depth)
    np.testing.assert_allclose(power @ (gram - 0.4 * np.eye(3)), np.outer(beta, beta), atol=1e-7)


@each_depth
def test_lemma_14_moves_the_map_of_a_deep_network(depth):
    a, ws, _, slope = deep_state(depth)
    gram = ws[0].T @ ws[0]
    m = np.linalg.matrix_power(gram, depth)
    for layer in range(depth):
        m = m + a @ a * (a @ a + 0.4) ** layer * np.linalg.matrix_power(gram, depth - 1 - layer)

    def multiply(a, *ws):
        return torch.linalg.multi_dot([*(w.T for w in ws), a[:, None]])[:, 0]

    parts = tuple(torch.tensor(part) for part in (a, *ws))
    moved = np.zeros(3)
    for jacobian in torch.autograd.functional.jacobian(multiply, parts):
        flat = jacobian.reshape(3, -1).numpy()
        moved -= flat @ flat.T @ slope
    np.testing.assert_allclose(-m @ slope, moved, rtol=1e-6, atol=1e-8)


@each_depth
def test_the_inverse_in_the_rich_limit_has_a_minus(depth):
    beta = np.random.default_rng(depth).normal(size=4)
    size, unit = np.linalg.norm(beta), beta / np.linalg.norm(beta)
    m = size ** (2 * depth / (depth + 1)) * (np.eye(4) + depth * np.outer(unit, unit))
    part = size ** (-(4 * depth + 2) / (depth + 1)) * np.outer(beta, beta)
    inverse = size ** (-2 * depth / (depth + 1)) * np.eye(4) - depth / (depth + 1) * part
    np.testing.assert_allclose(inverse @ m, np.eye(4), atol=1e-12)


@pytest.mark.parametrize("delta", [-1.5, 0.5, 2.0])
def test_aligned_modes_decouple_and_end_at_the_target(delta):
    target = np.diag([2.0, 1.4, 1.0])
    layers = linear.isotropic_initialization(np.diag([0.1, 0.3, 0.2]), delta, 3, 0)
    path = linear.solve(*layers, target, [0.5, 2.0, 1e3])
    assert np.allclose(path, path * np.eye(3), atol=1e-9)
    assert np.allclose(path[-1], target, atol=1e-9)


def test_square_gaussian_networks_become_isotropic_entry_by_entry():
    def largest(n, seed):
        a, w = np.random.default_rng([n, seed]).normal(size=(2, n, n)) / np.sqrt(n)
        return np.abs(a @ a.T - w @ w.T / 2 - np.eye(n) / 2).max()

    assert all(largest(800, seed) < 0.5 * largest(50, seed) for seed in range(4))


def test_gaussian_layers_are_not_isotropic_in_norm():
    rng = np.random.default_rng(0)
    a, w, other = rng.normal(size=(3, 400, 400)) / np.sqrt(400)
    gap = a @ a.T - w @ w.T / 2 - np.eye(400) / 2
    assert np.isclose(np.linalg.norm(gap) / 20, np.sqrt(1.25), atol=0.02)
    layers = w.T @ w - other @ other.T
    assert np.isclose(np.linalg.norm(layers) / 20, np.sqrt(2), atol=0.02)
