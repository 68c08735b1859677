"""The symmetry, the maps and the closed forms against autograd,
integrated flows and kernels that are written out.
"""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import seeds, signs
from scipy.integrate import quad

from book.synthesis import theory
from book.synthesis.theory import Neuron
from lib.kernels import kernel_distance
from lib.theory import linear, monomial, two_points
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
        return theory.charge([weights[0], weights[1].T], generators, etas[:2])

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
        change = theory.charge(ahead, generators, etas) - theory.charge(behind, generators, etas)
        assert abs(change) < 1e-12 * size_of([w, a], generators, etas)


def test_the_charge_written_out():
    w, a = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([3.0, -2.0])
    s = np.array([[1.0, 0.5], [0.5, -1.0]])
    expected = sum(s[i, j] * w[i] @ w[j] for i in range(2) for j in range(2)) / 2
    expected -= sum(s[i, j] * a[i] * a[j] for i in range(2) for j in range(2)) / 5
    assert np.isclose(theory.charge([w, a], [s, -s], [2.0, 5.0]), expected)


# --- one step


@settings(deadline=None, max_examples=30)
@given(
    seed=seeds,
    etas=st.tuples(rates, rates),
    momentum=st.one_of(st.just(0.0), st.floats(0, 0.95)),
    decay=st.one_of(st.just(0.0), st.floats(0, 0.2)),
    h=st.integers(1, 4),
    d=st.integers(1, 4),
)
def test_drift_is_the_charge_along_descent(seed, etas, momentum, decay, h, d):
    rng = np.random.default_rng(seed)
    weights, mix = [rng.normal(size=(h, d)) / 2, rng.normal(size=(2, h)) / 2], symmetric(rng, h)
    turn = np.triu(rng.normal(size=(h, h)), 1)
    turn -= turn.T
    etas = 0.02 * np.array(etas)
    loss = linear_loss([w.shape for w in weights], rng)

    def charge(pair, by):
        return theory.charge([pair[0], pair[1].T], [mix, -mix], by)

    moves, charges, kinetic, momenta = [0 * w for w in weights], [charge(weights, etas)], [], []
    for _ in range(12):
        moves = [momentum * u - g for u, g in zip(moves, gradients(loss, weights), strict=True)]
        momenta.append(
            np.sum(moves[0] * (turn @ weights[0])) + np.sum(moves[1] * (weights[1] @ turn.T))
        )
        kinetic.append(charge(moves, 1 / etas))
        weights = [
            (1 - decay) * w + eta * u for w, eta, u in zip(weights, etas, moves, strict=True)
        ]
        charges.append(charge(weights, etas))
    found = theory.drift(charges[0], kinetic, momentum, decay)
    np.testing.assert_allclose(found, charges, rtol=0, atol=1e-9 * (1 + np.max(np.abs(charges))))
    assert np.max(np.abs(momenta)) < 1e-9 * (
        1 + np.max(np.abs(charges))
    )  # a rotation has no motion from rest


@given(momentum=st.floats(0, 0.9), kinetic=st.lists(st.floats(-1, 1), min_size=1, max_size=5))
def test_momentum_multiplies_the_drift_in_the_end(momentum, kinetic):
    charges = theory.drift(0.0, [*kinetic, *[0.0] * 400], momentum)
    factor = (1 + momentum) / (1 - momentum)
    assert np.isclose(charges[-1], factor * sum(kinetic), rtol=1e-9, atol=1e-9)


def test_neighbouring_layers_keep_their_imbalance():
    rng = np.random.default_rng(0)
    a, ws, target = rng.normal(size=3) / 2, rng.normal(size=(2, 3, 3)) / 2, rng.normal(size=3)
    path = linear.deep_flow(a, ws, np.eye(3), target, np.linspace(0, 6, 7))
    inner = [linear.conserved(w[1].T, w[0]) for w in path.ws]
    outer = [linear.conserved(a[:, None], w[1]) for a, w in zip(path.a, path.ws, strict=True)]
    for kept in (inner, outer):
        np.testing.assert_allclose(kept, np.broadcast_to(kept[0], np.shape(kept)), atol=1e-8)


# --- the maps


TIMES = np.linspace(0, 3, 7)


@given(balance=balances, size=st.floats(1e-3, 2), target=st.floats(0.2, 2))
def test_a_product_of_two_weights_follows_the_course(balance, size, target):
    weights = np.sqrt(target * np.array(theory.strengths(balance, size)))
    product = monomial.flow(weights, target, TIMES / target).prod(axis=1)
    course = theory.course(balance, size, 1.0, TIMES)[:, 0]
    np.testing.assert_allclose(product / target, course, atol=1e-7)


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("balance", [200.0, 800.0])
def test_upstream_twins_turn_by_the_arctangent_of_one_over_r(balance, size):
    """Of three pairs of linear neurons with w ⊥ β*, however large their readouts are."""
    a, w = single_neuron.initialize([size / 6], balance / 3)
    outputs = np.repeat([[a], [-a]], 3, axis=0)
    inputs = np.tile(w * np.eye(5)[1:4], (2, 1))
    path = linear.flow(outputs, inputs, np.eye(5), np.eye(5)[:, :1], [0.0, 40 / balance])
    first, last = path.w
    cosines = np.sum(first * last, axis=1) / np.linalg.norm(last, axis=1) / w[0]
    np.testing.assert_allclose(np.arccos(cosines), np.arctan(1 / size), rtol=0.01)


def draw_two_points(rng):
    return two_points.Pair(*rng.uniform(0.4, 2, 4))


@settings(max_examples=40, deadline=None)
@given(
    seed=seeds,
    cosine=st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-0.95, 0.95)),
    still=st.booleans(),
)
def test_two_points_are_a_neuron(seed, cosine, still):
    """Against the whole flow of both maps, with a decoder of rank one, for which dh
    does not turn.
    """
    rng = np.random.default_rng(seed)
    constants = draw_two_points(rng)
    h, size = rng.uniform(0.3, 1.5), 0.0 if still else rng.uniform(0.1, 1)
    dy = size * np.array([cosine, np.sqrt(1 - cosine**2)])
    target = constants.y * np.eye(2)[0]
    neuron = theory.two_points_as_neuron(h**2, size**2, size**2 - dy @ target, constants)
    assert len(neuron.w) == (1 if still or abs(cosine) == 1 else 2)
    if len(neuron.w) == 1:
        signed = neuron.a * np.sqrt(neuron.eta_w) + neuron.w[0] * np.sqrt(neuron.eta_a)
        assume(abs(signed) > 1e-2)  # the saddle
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    dx = constants.x * np.eye(2)[0]
    full = two_points.linear_flow(
        np.outer(h * direction, dx) / (dx @ dx),
        np.outer(dy / h, direction),
        TIMES,
        input_difference=dx,
        target_difference=target,
        tau_h=constants.tau_h / 2,  # Eq. 7 counts the mean once
        tau_y=constants.tau_y / 2,
    )
    path = single_neuron.trajectory(*neuron[:3], TIMES, *neuron[3:])
    np.testing.assert_allclose(path.a**2, full.dh2, atol=1e-7)
    np.testing.assert_allclose(np.sum(path.beta**2, axis=1), full.dy2, atol=1e-7)
    high, low = two_points.high_low(h**2, size**2, constants)
    delta = single_neuron.conserved(neuron.a, neuron.w, neuron.eta_a, neuron.eta_w)
    assert np.isclose(2 * constants.tau_y * delta, high, atol=1e-12)
    assert np.isclose(theory.coordinates(neuron).balance, high / (2 * low), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, d=st.integers(1, 5), eta_a=rates, eta_w=rates, sign=signs)
def test_balance_size_and_cosine_decide_the_course(seed, d, eta_a, eta_w, sign):
    rng = np.random.default_rng(seed)
    a, w, target = sign * rng.uniform(0.3, 1.5), rng.normal(size=d), rng.normal(size=d)
    assume(np.linalg.norm(target) > 0.2 and np.linalg.norm(w) > 0.1)
    neuron = Neuron(a, w, target, eta_a, eta_w)
    found = theory.coordinates(neuron)
    assume(d > 1 or abs(found.cosine + 1) > 1e-6 or abs(found.balance) > 1e-2)
    s = np.linalg.norm(target)
    times = TIMES / found.clock
    beta = single_neuron.flow(a, w, np.eye(d), target, times, eta_a, eta_w).beta / s
    along = beta @ target / s
    across = np.linalg.norm(beta - np.outer(along, target / s), axis=1)
    course = theory.course(found.balance, found.size, found.cosine, TIMES)
    np.testing.assert_allclose(course[:, 0], along, atol=1e-6)
    np.testing.assert_allclose(np.abs(course[:, 1]), across, atol=1e-6)


def test_coordinates_written_out():
    found = theory.coordinates(Neuron(2.0, np.array([0.0, 3.0]), np.array([3.0, 4.0]), 4.0, 9.0))
    assert found == pytest.approx(((9 * 4 - 4 * 9) / 60, 6 / 5, 4 / 5, 30))
    found = theory.coordinates(Neuron(2.0, np.zeros(2), np.array([3.0, 4.0]), 1.0, 1.0))
    assert found == pytest.approx((0.4, 0, 0, 5))
    found = theory.coordinates(Neuron(0.0, np.array([0.0, 3.0]), np.array([3.0, 4.0]), 1.0, 1.0))
    assert found == pytest.approx((-0.9, 0, 4 / 5, 5))  # β₀ = 0, yet w has its angle


# --- what balance and size decide


@given(seed=seeds, eta_a=rates, eta_w=rates, d=st.integers(1, 6))
def test_strengths_are_those_of_the_layers(seed, eta_a, eta_w, d):
    rng = np.random.default_rng(seed)
    neuron = Neuron(rng.normal(), rng.normal(size=d), rng.normal(size=d), eta_a, eta_w)
    found = theory.coordinates(neuron)
    plus, minus = theory.strengths(found.balance, found.size)
    assert np.isclose(plus, eta_w * neuron.a**2 / found.clock, rtol=1e-9, atol=1e-12)
    assert np.isclose(minus, eta_a * neuron.w @ neuron.w / found.clock, rtol=1e-9, atol=1e-12)


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
        theory.half_time([1.0, 0.0], [0.0, 0.0])
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


@settings(max_examples=20, deadline=None)
@given(
    balance=balances,
    size=st.floats(0.1, 4),
    pairs=st.integers(1, 3),
    more=st.integers(1, 3),
    seed=seeds,
)
def test_how_far_the_kernel_of_twins_turns(balance, size, pairs, more, seed):
    d, s = pairs + more, np.random.default_rng(seed).uniform(0.5, 2)
    a, w = single_neuron.initialize(
        [size * s / 2 / pairs], s * balance / pairs
    )  # each has its part of both
    outputs, inputs = (
        np.repeat([[a], [-a]], pairs, axis=0),
        np.tile(w * np.eye(d)[1 : pairs + 1], (2, 1)),
    )
    path = linear.flow(outputs, inputs, np.eye(d), s * np.eye(d)[:, :1], [0.0, 40 / s])
    assert np.allclose(path.beta[-1], s * np.eye(d)[:, :1], atol=1e-9)
    kernels = linear.preconditioner(path.a, path.w)
    found = theory.twin_kernel_distance(balance, size, d, pairs)
    assert np.isclose(found, kernel_distance(*kernels), rtol=1e-5, atol=1e-13)


@pytest.mark.parametrize("distance", [theory.neuron_kernel_distance, theory.twin_kernel_distance])
def test_distances_broadcast(distance):
    balance, size = np.array([-1e4, 0, 1e4])[:, None], np.array([0.1, 1.0])
    one_by_one = [[distance(b, r) for r in size] for b in balance[:, 0]]
    np.testing.assert_array_equal(distance(balance, size), one_by_one)


# --- errors

GOOD = two_points.Pair(x=1.0, y=1.0, tau_h=1.0, tau_y=1.0)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: theory.two_points_as_neuron(1.0, 1.0, 1 - 1.2, GOOD), "no dy has"),
        (
            lambda: theory.coordinates(Neuron(1.0, np.ones(2), np.zeros(2), 1.0, 1.0)),
            "other than zero",
        ),
        (
            lambda: theory.coordinates(Neuron(1.0, np.ones(2), np.ones(2), 1.0, -1.0)),
            r"neuron\.eta_w must be positive",
        ),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
