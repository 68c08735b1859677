"""The scores of the theory of two points, against curves of a known
kind, plain loops and the formulas of the paper.
"""

from functools import partial

import numpy as np
import pytest
import xarray as xr

from book.two_point import experiments, scores
from lib import data
from lib.theory import two_points
from lib.theory.two_points import CURVES, Pair

TIMES = np.linspace(0, 12, 60)


def course(tau_y=1.0):
    h = 0.02
    found = two_points.solve(
        h,
        h**2 / 2,
        h**2 / 2 - h / 2**0.5 * 0.7,
        TIMES,
        Pair(1.0, 0.7, tau_h=0.8, tau_y=0.8 * tau_y),
    )
    return found.rename(time="step").expand_dims("trial")


def logistic(power=1.0):
    rise = 1 / (1 + np.exp(-(TIMES - 5)))
    dy2 = 1e-3 + 0.49 * rise
    curves = {"dh2": 0.01 + 0.3 * rise**power, "dy2": dy2, "w": dy2 - 0.7 * np.sqrt(dy2)}
    return xr.Dataset(
        {name: (("trial", "step"), curve[None]) for name, curve in curves.items()}, {"step": TIMES}
    )


@pytest.mark.parametrize(
    "found, name, right",
    [
        (course(), "one clock", True),
        (course(4.0), "one clock", False),
        (course(4.0), "Eq. 7", True),
        (logistic(), "step", True),
        (logistic(0.5), "step with path", True),
        (logistic(0.5), "step", False),
        (logistic(), "one clock", False),
    ],
)
def test_quality_is_one_for_curves_of_its_kind(found, name, right):
    quality = scores.quality(found, name, input_distance=1.0, target_distance=0.7)
    assert quality.dims == ("trial", "curve") and quality.curve.values.tolist() == list(CURVES)
    assert (float(quality.min()) > 0.99) == right


def test_the_ratio_is_that_of_mean_rates(monkeypatch):
    found = xr.concat(
        [course(tau_y).assign_coords(trial=[n]) for n, tau_y in enumerate((1.0, 3.0))], "trial"
    )
    found = found.assign(loss=found.dy2)
    monkeypatch.setattr(
        scores, "fit", partial(experiments.fit, input_distance=1.0, target_distance=0.7)
    )
    assert scores.ratio(found) == pytest.approx((1 + 1) / (1 + 1 / 3), rel=1e-3)


def test_agreement_and_exponents_of_networks_that_obey_a_power_law():
    rng = np.random.default_rng(0)
    dx, dy = np.array([0.5, 1.0, 1.5]), np.array([0.0, 0.5, 1.0])
    dh2 = np.stack(
        [
            rng.uniform(0.01, 0.1, (3, 3)),
            (0.8 * dx[:, None] ** 0.3 * np.maximum(dy, 0.1) ** 0.7) ** 2,
        ]
    )
    loss = np.array([np.ones((3, 3)), [[0, 0, 0], [0, 0, 1], [0, 0, 0]]])
    dims, places = (
        ("moment", "input_distance", "target_distance"),
        {"input_distance": dx, "target_distance": dy},
    )
    seen = {"dh2": dh2, "dy2": np.full((2, 3, 3), 1e-3), "loss": loss}
    found = xr.Dataset(
        {name: (dims, value) for name, value in seen.items()},
        {"moment": ["start", "end"], **places},
    )
    compared = scores.agreement(found, 2.0)
    assert compared.shape == (4, 5)  # of six with Δy > 0 one has not learned
    column = compared[:, 0]
    np.testing.assert_allclose(column[:3], [0.5, 0.5, np.sqrt(dh2[1, 0, 1])])
    np.testing.assert_allclose(
        column[3] ** 2, two_points.final_distance2(dh2[0, 0, 1], 1e-3, Pair(0.5, 0.5, 1.0, 2.0))
    )
    assert not np.allclose(scores.agreement(found, 2.0, x=1.0)[3, 0], column[3])
    compared[3] = compared[2] * np.exp([0.1, -0.1, 0.1, -0.1, 0.1])
    assert scores.log_error(compared) == pytest.approx(0.1)
    np.testing.assert_allclose(scores.exponents(compared), [0.3, 0.7], atol=1e-10)
    seeds = xr.concat([found, found], xr.DataArray([0, 1], dims="seed", name="seed"))
    np.testing.assert_allclose(scores.powers(seeds), [[0.3, 0.7]] * 2, atol=1e-10)


def test_collapse_is_the_irrelevant_over_the_relevant_variance():
    spread = xr.Dataset({"spread": (("context", "feature"), [[4.0, 1.0], [3.0, 6.0]])})
    assert float(scores.collapse(spread)) == pytest.approx((1 / 4 + 3 / 6) / 2)


def test_digit_matrices_are_those_of_the_authors_code(monkeypatch):
    """Eq. 50 entry by entry, with pixels from 0 to 255; the
    matrix itself is written in units of 255.
    """
    rng = np.random.default_rng(0)
    pixels, labels = rng.random((30, 784), np.float32), np.arange(30) % 10
    monkeypatch.setattr(data, "mnist", lambda: (pixels, labels))
    scores._class_sums.cache_clear()
    i, j = np.triu_indices(30, 1)
    distance2 = rng.random((4, 2, len(i)))
    found = xr.Dataset(
        {"distance2": (("seed", "moment", "pair"), distance2)},
        {
            "label": ("digit", labels),
            "input2": ("pair", ((pixels[i] - pixels[j]) ** 2).sum(1)),
            "target2": ("pair", 2.0 * (labels[i] != labels[j])),
        },
    )
    matrices = scores.digit_matrices(found)
    scores._class_sums.cache_clear()
    apart = np.sqrt(((pixels[:, None] - pixels) ** 2).sum(-1, dtype=float))
    predicted = 255 * apart * np.sqrt(2.0) * (labels[:, None] != labels)
    weighted = np.exp(-predicted) @ predicted @ np.exp(-predicted) / 255
    np.testing.assert_allclose(matrices["Eq. 50"], weighted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(matrices["Eq. 10"], predicted / 255, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(matrices["trained"][i, j], distance2[:, 1].mean(0))
    np.testing.assert_allclose(matrices["untrained"][j, i] ** 2, distance2[:, 0].mean(0))
    assert np.array_equal(matrices["labels"], labels[:, None] != labels)
