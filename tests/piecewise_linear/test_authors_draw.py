"""The authors' draws against what their code printed, and
against real layers made in their order.
"""

import numpy as np
import pytest
import torch
from torch import nn

from book.piecewise_linear import authors_draw, experiments
from book.piecewise_linear import runs as listed
from lib import runs
from lib.experiments.teachers import relu_network, scale_initialization


def test_the_means_of_figure_1a_are_those_printed():
    drawn = authors_draw.problem(100, 2, 50, 3, 20, teacher_seed=15)
    np.testing.assert_allclose(drawn.x.mean(), 0.08544959127902985, rtol=1e-6)
    np.testing.assert_allclose(drawn.y.mean(), -0.4403972625732422, rtol=1e-6)
    assert drawn.teacher_a.tolist() == [-1, -1, 1]


def on_sphere(count, dimension):
    points = torch.randn(count, dimension)
    return points / points.norm(dim=1, keepdim=True)


@pytest.mark.parametrize(
    ("seed", "dimension", "units", "points"), [(100, 100, 50, 1000), (115, 7, 4, 30), (3, 2, 2, 1)]
)
def test_layers_that_are_made_and_overwritten_count(seed, dimension, units, points):
    torch.manual_seed(seed)
    layers = []
    for wide, drawn in ((3, 3), (units, units // 2)):
        made = nn.Linear(dimension, wide, bias=False), nn.Linear(wide, 1, bias=False)
        half = on_sphere(drawn, dimension), torch.sign(torch.randn(drawn))
        with torch.no_grad():
            made[0].weight.copy_(half[0].repeat(wide // drawn, 1))
            made[1].weight.copy_(half[1] if drawn == wide else torch.cat([half[1], -half[1]]))
        layers.append(made)
    x = on_sphere(points, dimension)
    (inner, outer), (w, a) = layers
    with torch.no_grad():
        y = outer(torch.relu(inner(x)))[:, 0]
    found = authors_draw.problem(seed, dimension, units, 3, points)
    wanted = (x, y, w.weight, a.weight[0], inner.weight, outer.weight[0])
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-6)
    torch.manual_seed(201)
    np.testing.assert_array_equal(
        authors_draw.fresh(40, dimension), on_sphere(40, dimension).double().numpy()
    )


def test_distances_start_from_their_draws_and_are_tested_on_theirs():
    found = experiments.distances([0.3], [0.5], [101], steps=3, record=[0, 3], authors=True)
    drawn = authors_draw.problem(101)
    w, a = scale_initialization(drawn.w, drawn.a, 0.3, 0.5)
    for _ in range(3):
        hidden = np.maximum(drawn.x @ w.T, 0)
        residual = 2 / 1000 * (hidden @ a - drawn.y)
        steps = ((residual[:, None] * (hidden > 0)).T @ drawn.x) * a[:, None], residual @ hidden
        w, a = w - 0.005 / 0.09 * steps[0], a - 0.005 / 0.09 * steps[1]
    fresh = authors_draw.fresh()
    wanted = relu_network(drawn.teacher_w, drawn.teacher_a, fresh)
    error = np.mean((relu_network(w, a, fresh) - wanted) ** 2)
    np.testing.assert_allclose(found.test[0, -1], error, rtol=1e-4)


def test_the_stored_teachers_are_those_of_the_draws():
    stored = runs.load("piecewise_linear/authors_teachers").a
    for seed in (100, 115):
        assert (
            stored.sel(seed=seed).values.tolist() == authors_draw.problem(seed).teacher_a.tolist()
        )


def test_the_stored_networks_of_the_paper_are_trained_again():
    run = listed.RUNS[1]
    stored = runs.load(run)
    assert runs.count(stored) == "4,624 of 4,624" and stored.seed.values.tolist() == list(
        range(100, 116)
    )
    one = stored.isel(tau=10, delta=4).sel(seed=107)
    again = run.function([float(one.tau)], [float(one.delta)], [107], **run.fixed).isel(member=0)
    for name in ("train", "test", "kernel", "hamming", "moved"):
        np.testing.assert_allclose(again[name], one[name], rtol=1e-3, atol=1e-6, err_msg=name)
