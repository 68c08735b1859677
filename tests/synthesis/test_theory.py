"""The symmetry, the maps and the closed forms against autograd,
integrated flows and kernels that are written out.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import seeds
from scipy.integrate import quad

from book.synthesis import theory
from lib.kernels import kernel_distance
from lib.theory import monomial, two_points
from lib.theory import neuron as single_neuron

torch.set_num_threads(1)

rates = st.floats(0.2, 5)
balances = st.one_of(st.just(0.0), st.floats(-1.5, 1.5))


def symmetric(rng, n):
    s = rng.normal(size=(n, n))
    return s + s.T


# --- models by autograd: a loss of all parameters, on random data


def linear_loss(shapes, rng):
    """Not a square error, so that nothing depends on it."""
    x, y = (
        torch.tensor(rng.normal(size=(5, shapes[0][1]))),
        torch.tensor(rng.normal(size=(5, shapes[-1][0]))),
    )

    def loss(*weights):
        out = x.T
        for w in weights:
            out = w @ out
        return torch.log(torch.cosh(out.T - y)).sum()

    return loss


def relu_loss(h, d, rng, power=1):
    x, y = torch.tensor(rng.normal(size=(6, d))), torch.tensor(rng.normal(size=6))
    return lambda w, a: ((torch.relu(w @ x.T) ** power * a[:, None]).sum(0) - y).square().sum()


def gradients(loss, parameters):
    tensors = [torch.tensor(theta, requires_grad=True) for theta in parameters]
    return [g.numpy() for g in torch.autograd.grad(loss(*tensors), tensors)]


def around(loss, parameters, etas):
    """Return the parameters a step ahead along the flow and one behind: of a quadratic, their
    difference is its rate, exactly.
    """
    velocities = [-eta * g for eta, g in zip(etas, gradients(loss, parameters), strict=True)]
    step = 0.1 / max(np.max(np.abs(v)) for v in velocities)
    return [
        [theta + sign * step * v for theta, v in zip(parameters, velocities, strict=True)]
        for sign in (1, -1)
    ]


def charge(parameters, generators, etas):
    """Return Q = Σ ⟨θ, Gθ⟩/η."""
    terms = zip(parameters, generators, etas, strict=True)
    return sum(np.sum(theta * (s @ theta)) / eta for theta, s, eta in terms)


def size_of(parameters, generators, etas):
    """Return the scale that a charge may be compared with."""
    terms = zip(parameters, generators, etas, strict=True)
    return sum(np.sum(np.abs(theta) * (np.abs(s) @ np.abs(theta))) / eta for theta, s, eta in terms)


# --- the charge


@settings(deadline=None)
@given(seed=seeds, etas=st.tuples(rates, rates, rates))
def test_hidden_mixtures_are_conserved_in_deep_linear_networks(seed, etas):
    rng = np.random.default_rng(seed)
    weights, mix = [rng.normal(size=shape) for shape in ((3, 2), (2, 3), (2, 2))], symmetric(rng, 3)
    ahead, behind = around(linear_loss([w.shape for w in weights], rng), weights, etas)

    def value(
        weights, generators=(mix, -mix)
    ):  # W₁ → e^{εS} W₁, W₂ → W₂ e^{-εS}, which acts from the right
        return charge([weights[0], weights[1].T], generators, etas[:2])

    scale = size_of([weights[0], weights[1].T], [mix, -mix], etas[:2])
    assert abs(value(ahead) - value(behind)) < 1e-12 * scale
    assert abs(value(ahead, (mix, mix)) - value(behind, (mix, mix))) > 1e-8 * scale


@settings(deadline=None)
@given(seed=seeds, etas=st.tuples(rates, rates), power=st.sampled_from([1, 2, 3]))
def test_neurons_of_any_degree_conserve_their_own_charge(seed, etas, power):
    """σ(cz) = c^k σ(z): w → e^ε w, a → e^{-kε} a."""
    rng = np.random.default_rng(seed)
    w, a = rng.normal(size=(3, 2)), rng.normal(size=3)
    ahead, behind = around(relu_loss(3, 2, rng, power), [w, a], etas)
    for only in (np.diag(row) for row in np.eye(3)):
        generators = [only, -power * only]
        change = charge(ahead, generators, etas) - charge(behind, generators, etas)
        assert abs(change) < 1e-12 * size_of([w, a], generators, etas)


# --- one step


@settings(deadline=None, max_examples=30)
@given(seed=seeds, etas=st.tuples(rates, rates), h=st.integers(1, 4), d=st.integers(1, 4))
def test_a_step_adds_the_charge_of_the_gradients(seed, etas, h, d):
    rng = np.random.default_rng(seed)
    weights, mix = [rng.normal(size=(h, d)) / 2, rng.normal(size=(2, h)) / 2], symmetric(rng, h)
    etas = 0.02 * np.array(etas)
    slopes = gradients(linear_loss([w.shape for w in weights], rng), weights)
    after = [w - eta * g for w, eta, g in zip(weights, etas, slopes, strict=True)]
    before, later, added = (
        charge([first, second.T], [mix, -mix], by)
        for (first, second), by in ((weights, etas), (after, etas), (slopes, 1 / etas))
    )
    assert np.isclose(later, before + added, rtol=0, atol=1e-10 * (1 + abs(before)))


@given(seed=seeds, eta_a=rates, eta_w=rates)
def test_a_step_moves_a_balanced_neuron_downstream(seed, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a, w, target = rng.normal(), rng.normal(size=3), rng.normal(size=3)
    eta_a, eta_w = eta_a / 10, eta_w / 10
    error, delta = a * w - target, single_neuron.conserved(a, w, eta_a, eta_w)
    after = single_neuron.conserved(a - eta_a * (w @ error), w - eta_w * a * error, eta_a, eta_w)
    assert after <= (1 - eta_a * eta_w * (error @ error)) * delta + 1e-10


# --- the maps


TIMES = np.linspace(0, 3, 7)


@given(balance=balances, size=st.floats(1e-3, 2), target=st.floats(0.2, 2))
def test_a_product_of_two_weights_follows_the_course(balance, size, target):
    weights = np.sqrt(target * np.array(theory.strengths(balance, size)))
    product = monomial.flow(weights, target, TIMES / target).prod(axis=1)
    course = theory.course(balance, size, 1.0, TIMES)[:, 0]
    np.testing.assert_allclose(product / target, course, atol=1e-7)


def draw_two_points(rng):
    return two_points.Pair(*rng.uniform(0.4, 2, 4))


@settings(max_examples=40, deadline=None)
@given(seed=seeds, cosine=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-0.95, 0.95)))
def test_two_points_follow_the_course(seed, cosine):
    """Against the whole flow of both maps, with a decoder of rank one, for which dh
    does not turn.
    """
    rng = np.random.default_rng(seed)
    constants = draw_two_points(rng)
    h, size = rng.uniform(0.3, 1.5), rng.uniform(0.1, 1)
    dy = size * np.array([cosine, np.sqrt(1 - cosine**2)])
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    dx = constants.x * np.eye(2)[0]
    full = two_points.linear_flow(
        np.outer(h * direction, dx) / (dx @ dx),
        np.outer(dy / h, direction),
        TIMES,
        input_difference=dx,
        target_difference=constants.y * np.eye(2)[0],
        tau_h=constants.tau_h / 2,  # Eq. 7 counts the mean once
        tau_y=constants.tau_y / 2,
    )
    high, low = two_points.high_low(h**2, size**2, constants)
    clock = constants.x * constants.y / 2 / np.sqrt(constants.tau_h * constants.tau_y)
    course = theory.course(high / (2 * low), size / constants.y, cosine, clock * TIMES)
    np.testing.assert_allclose(constants.y**2 * np.sum(course**2, axis=1), full.dy2, atol=1e-6)
    strength, _ = theory.strengths(high / (2 * low), np.linalg.norm(course, axis=1))
    np.testing.assert_allclose(low * strength, full.dh2, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, d=st.integers(2, 5), eta_a=rates, eta_w=rates)
def test_balance_size_and_cosine_decide_the_course(seed, d, eta_a, eta_w):
    rng = np.random.default_rng(seed)
    a, w, target = rng.uniform(0.3, 1.5), rng.normal(size=d), rng.normal(size=d)
    s, length = np.linalg.norm(target), np.linalg.norm(w)
    clock = np.sqrt(eta_a * eta_w) * s
    balance = (eta_w * a**2 - eta_a * length**2) / (2 * clock)
    beta = single_neuron.flow(a, w, np.eye(d), target, TIMES / clock, eta_a, eta_w).beta / s
    along = beta @ target / s
    across = np.linalg.norm(beta - np.outer(along, target / s), axis=1)
    course = theory.course(balance, a * length / s, w @ target / length / s, TIMES)
    np.testing.assert_allclose(course[:, 0], along, atol=1e-6)
    np.testing.assert_allclose(np.abs(course[:, 1]), across, atol=1e-6)


# --- what balance and size decide


@given(a=st.floats(0.1, 3), w=st.floats(0.1, 3))
def test_strengths_are_those_of_the_layers(a, w):
    plus, minus = theory.strengths((a**2 - w**2) / 2, a * w)
    assert np.isclose(plus, a**2) and np.isclose(minus, w**2)


def test_strengths_at_the_edges():
    plus, minus = theory.strengths([0.0, 2.0, -2.0, 1e80, 1e-90], [0.0, 0.0, 0.0, 1e-80, 1e90])
    np.testing.assert_allclose(plus, [0, 4, 0, 2e80, 1e90], rtol=1e-12)
    np.testing.assert_allclose(minus, [0, 0, 4, 5e-241, 1e90], rtol=1e-12)


@settings(deadline=None)
@given(
    balance=st.one_of(st.sampled_from([0.0, 1e-8, -1e-8, 30.0, -30.0]), st.floats(-5, 5)),
    size=st.one_of(st.sampled_from([1e-6, 0.5 - 1e-9]), st.floats(1e-4, 0.49)),
)
def test_half_time_is_the_integral_and_the_course(balance, size):
    found = theory.half_time(balance, size)
    whole = quad(
        lambda u: np.exp(u) / ((1 - np.exp(u)) * 2 * np.hypot(balance, np.exp(u))),
        np.log(size),
        np.log(0.5),
        epsabs=1e-13,
    )
    assert np.isclose(found, whole[0], rtol=1e-9, atol=1e-12)
    assert np.isclose(theory.course(balance, size, 1.0, [found])[0, 0], 0.5, atol=1e-9)


def test_half_time_at_the_edges():
    found = theory.half_time([1e90, -1e90, 0.0, 0.7, 2.0], [0.0, 1e-90, 1e-90, 0.5, 3.0])
    np.testing.assert_allclose(
        found, [np.log(2) / 2e90, np.log(2) / 2e90, np.log(1e90) / 2, 0, 0], rtol=1e-12
    )
    with pytest.raises(ValueError, match="never starts"):
        theory.half_time([2.0, 0.0], [0.0, 0.0])
    a, w = np.sqrt(1.4), np.zeros(3)  # from w = 0, in three dimensions
    beta = single_neuron.flow(
        a, w, np.eye(3), np.eye(3)[1], [0.0, float(theory.half_time(0.7, 0.0))]
    ).beta
    np.testing.assert_allclose(beta[-1], [0, 0.5, 0], atol=1e-8)


# --- the plane


@settings(max_examples=30, deadline=None)
@given(
    balance=balances,
    size=st.floats(0.1, 4),
    cosine=st.floats(-0.8, 1),
    d=st.integers(2, 6),
    seed=seeds,
)
def test_how_far_the_kernel_of_a_neuron_turns(balance, size, cosine, d, seed):
    s = np.random.default_rng(seed).uniform(0.5, 2)
    target = s * np.eye(d)[0]
    a, w = single_neuron.initialize(
        size * s * (cosine * np.eye(d)[0] + np.sqrt(1 - cosine**2) * np.eye(d)[1]), 2 * s * balance
    )
    path = single_neuron.trajectory(a, w, target, [0.0, 400 / s])
    assert np.allclose(path.beta[-1], target, atol=1e-9)
    kernels = path.a[:, None, None] ** 2 * np.eye(d) + path.w[:, :, None] * path.w[:, None, :]
    found = theory.neuron_kernel_distance(balance, size, cosine, d)
    assert np.isclose(found, kernel_distance(*kernels), rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("delta, distance", [(0, 0.2), (1, 0.0501), (4, 0.0015)])
def test_the_authors_kernel_distances(delta, distance):
    assert np.isclose(theory.neuron_kernel_distance(delta / 2, 1.0), distance, atol=6e-5)


def test_distances_broadcast():
    balance, size = np.array([-1e4, 0, 1e4])[:, None], np.array([0.1, 1.0])
    one_by_one = [[theory.neuron_kernel_distance(b, r) for r in size] for b in balance[:, 0]]
    np.testing.assert_array_equal(theory.neuron_kernel_distance(balance, size), one_by_one)
