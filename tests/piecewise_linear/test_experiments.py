"""Teachers, students and the plane of τ and δ against a plain NumPy loop."""

import numpy as np
import pytest
import xarray as xr

from book.piecewise_linear import experiments, tangent_kernels
from book.piecewise_linear import runs as listed
from lib import kernels, runs
from lib.experiments.teachers import relu_network, sphere, teacher

SMALL = dict(dimension=4, units=6, points=12, learning_rate=0.2, steps=30, record=[0, 10, 30])


MEMBERS = [0.1, 1.0], [0.5, -0.2], [0, 2]  # τ, δ and seeds


COURSE = dict(steps=20, record=[0, 3, 20])


def plain_loop(w, a, x, y, learning_rate, steps):
    """Gradient descent on the mean squared error, without ½, in double precision."""
    for _ in range(steps):
        hidden = np.maximum(x @ w.T, 0)
        residual = hidden @ a - y
        at_a = 2 / len(y) * residual @ hidden
        at_w = 2 / len(y) * ((residual[:, None] * (hidden > 0)).T @ x) * a[:, None]
        w, a = w - learning_rate * at_w, a - learning_rate * at_a
    return w, a


@pytest.mark.parametrize("precise", [False, True])
def test_students_descend_as_a_plain_loop_does(precise):
    found = experiments.students(
        [0.5, 1.0, 0.3], [0.4, -0.7, 0.0], [0, 1, 0], **SMALL, precise=precise
    )
    rtol = 1e-9 if precise else 1e-4
    for m in range(3):
        student = found.isel(member=m)
        x, y = student.x.values, student.y.values
        first = student.w.values[0].astype(float), student.a.values[0].astype(float)
        w, a = plain_loop(*first, x, y, 0.2, 30)
        np.testing.assert_allclose(student.w[-1], w, rtol=rtol, atol=rtol / 100)
        np.testing.assert_allclose(student.a[-1], a, rtol=rtol, atol=rtol / 100)
        error = np.mean((relu_network(w, a, x) - y) ** 2)
        np.testing.assert_allclose(student.train[-1], error, rtol=rtol)


def test_students_start_at_zero_with_their_delta():
    found = experiments.students([0.5, 1.0], [0.4, -0.7], [3, 4], **SMALL)
    np.testing.assert_allclose(found.train[:, 0], np.mean(found.y**2, axis=1), rtol=1e-6)
    delta = found.a[:, 0] ** 2 - (found.w[:, 0] ** 2).sum("input")
    np.testing.assert_allclose(delta, [[0.4] * 6, [-0.7] * 6], rtol=1e-5)
    np.testing.assert_array_equal(found.w[:, 0, :3], found.w[:, 0, 3:])
    np.testing.assert_array_equal(found.a[:, 0, :3], -found.a[:, 0, 3:])
    np.testing.assert_allclose(np.linalg.norm(found.x, axis=-1), 1)
    w, a = teacher(3, 4)
    np.testing.assert_allclose(found.y[0], np.maximum(found.x[0].values @ w.T, 0) @ a, rtol=1e-12)
    assert set(np.abs(a)) == {1}


@pytest.fixture(scope="module")
def states():
    """Two students of the plane whose weights are kept."""
    return experiments.students(*MEMBERS, learning_rate=[0.5, 0.005], **COURSE)


def test_turns_are_those_of_the_states(states):
    found = experiments.turns(*MEMBERS, **COURSE)
    for m, seed in enumerate(MEMBERS[2]):
        w, a, x = (states[name].values[m] for name in "wax")
        kernel = [tangent_kernels.two_layer_ntk(w[k], a[k], x) for k in range(3)]
        np.testing.assert_allclose(
            found.kernel[m],
            kernels.kernel_distance(kernel[0], np.stack(kernel)),
            rtol=1e-3,
            atol=1e-9,
        )
        turn = tangent_kernels.kernel_turn(w[0], a[0], w[-1], a[-1], x)
        np.testing.assert_allclose(
            [found.gates[m, -1], found.weights[m, -1]], turn[:2], rtol=1e-6, atol=1e-12
        )
        flips = [np.sum((w[k] @ x.T > 0) != (w[0] @ x.T > 0)) / len(x) for k in range(3)]
        np.testing.assert_allclose(found.hamming[m], flips, atol=0.02)
        moved = [np.sqrt(np.sum((w[k] - w[0]) ** 2) + np.sum((a[k] - a[0]) ** 2)) for k in range(3)]
        np.testing.assert_allclose(found.moved[m], moved, rtol=1e-4, atol=1e-6)
        fresh = sphere(np.random.default_rng(123), 20_000, 100)
        wanted = relu_network(*teacher(seed, 100), fresh)
        error = np.mean((relu_network(w[-1], a[-1], fresh) - wanted) ** 2)
        np.testing.assert_allclose(found.test[m, -1], error, rtol=0.1)  # two samples of points


def test_distances_are_those_of_the_turns():
    found, turns = (run(*MEMBERS, **COURSE) for run in (experiments.distances, experiments.turns))
    assert found.kernel.dims == ("member", "step")
    for name in ("kernel", "test", "train", "hamming", "moved"):
        xr.testing.assert_identical(found[name].drop_vars("step"), turns[name].drop_vars("step"))


def test_the_weights_part_layer_by_layer(states):
    found = experiments.turns(*MEMBERS, **COURSE, layers=True).isel(member=1, step=-1)
    (w0, *_, w), (a0, *_, a), x = (states[name].values[1] for name in "wax")
    gates = (x @ w0.T > 0).astype(float)

    def kernel(w, a):
        return (gates * a) @ (gates * a).T * (x @ x.T) + (gates * (x @ w.T)) @ (gates * (x @ w.T)).T

    for name, other in (
        ("readouts", kernel(w0, a)),
        ("inputs", kernel(w, a0)),
        ("weights", kernel(w, a)),
    ):
        np.testing.assert_allclose(
            found[name], kernels.kernel_distance(kernel(w0, a0), other), rtol=1e-4
        )


def test_exchanged_kernels_are_compared_with_the_true_one(states):
    found = experiments.exchanges(*MEMBERS, **COURSE).isel(member=1, step=-1)
    (w0, *_, w), (a0, *_, a), x = (states[name].values[1] for name in "wax")

    def kernel(gating, w, a):
        gates = gating @ x.T > 0
        by_a, by_w = gates * a[:, None], gates * (w @ x.T)
        return by_a.T @ by_a * (x @ x.T) + by_w.T @ by_w

    level = np.full_like(a, np.sqrt(np.mean(a**2)))
    others = {
        "gates_left": kernel(w, w0, a0),
        "weights_left": kernel(w0, w, a),
        "level_left": kernel(w0, w0, level),
    }
    for name, other in others.items():
        expected = kernels.kernel_distance(kernel(w, w, a), other)
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-12, err_msg=name)


def test_stored_progress_agrees_with_the_longer_run():
    early = runs.load("piecewise_linear/progress").isel(step=-1)
    column = runs.load("piecewise_linear/authors_column").sel(step=1000, delta=early.delta)
    # rounding decides single gates of upstream networks, whose first steps are large
    np.testing.assert_allclose(early.kernel, column.kernel, rtol=0.05)


def test_stored_parts_agree_with_the_longer_run():
    exchanged = runs.load("piecewise_linear/exchanged").isel(step=-1)
    column = runs.load("piecewise_linear/authors_column")
    column = column.sel(step=10_000, delta=exchanged.delta)
    np.testing.assert_allclose(exchanged.kernel, column.kernel, rtol=0.01)


def test_the_stored_plane_is_part_of_the_papers():
    found = runs.load("piecewise_linear/plane")
    assert found.kernel.dims == ("tau", "delta", "seed", "step")
    assert set(np.logspace(-1, 0.3, 17)[::2]) <= set(found.tau.values) and set(
        np.linspace(-1, 1, 9)
    ) <= set(found.delta.values)
    assert (
        found.done.sum() >= 162
        and found.attrs["cases"] == 4624 == listed.RUNS[0].source["networks"]
    )
    assert np.isfinite(found.kernel.where(found.done, 0)).all()
