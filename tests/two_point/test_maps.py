"""What is read off the two maps of a network, against plain
differences of a descent in double precision, point by point.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from book.two_point import maps, measures, toys
from book.two_point.settings import TABLE_1, Setting
from lib.networks import Dense

SMALL = Setting(units=6, hidden_layers=4, epochs=40, learning_rate=0.02)


def seen(network, parameters, inputs, targets, layers):
    outputs, hidden = network(parameters, torch.as_tensor(inputs), layers)
    observed = maps.maps(network, targets, layers)(parameters, outputs, hidden)
    return {name: value.numpy() for name, (_, value) in observed.items()}


def plain_maps(network, parameters, inputs, layer):
    """Return dh and D_y (c, k) of one member by loops: the encoder cut off, the decoder
    differentiated output by output.
    """
    _, (h,) = network(parameters, torch.as_tensor(inputs), (layer,))
    middle = h.mean(0).clone().requires_grad_()
    z = middle
    for i in range(layer + 2, network.depth + 2):
        z = parameters[f"weight{i}"] @ z + parameters[f"bias{i}"]
        z = network._sigma()(z) if i <= network.depth else z
    rows = [torch.autograd.grad(one, middle, retain_graph=True)[0] for one in z]
    return (h[1] - h[0]).detach().numpy(), torch.stack(rows).numpy()


def check_motion(here, plain, steps):
    """Compare what `motion` returns with plain formulas for (dh, D_y, dy, Δy) at each record."""
    for t, (dh, d_y, dy, wanted) in enumerate(plain):
        expected = {
            "dh2": dh @ dh,
            "dy2": dy @ dy,
            "w": dy @ dy - dy @ wanted,
            "alignment": np.linalg.norm(d_y @ dh) / np.linalg.norm(d_y) / np.linalg.norm(dh),
            "bent": np.linalg.norm(dy - d_y @ dh) / np.linalg.norm(dy),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(here[name][t], value, rtol=1e-5, atol=1e-6, err_msg=name)
    for t, apart in enumerate(steps):
        forces = [
            (d_y.T @ (wanted - dy), np.outer(wanted - dy, dh))
            for dh, d_y, dy, wanted in plain[t : t + 2]
        ]
        for which, name in enumerate("hy"):
            force = (forces[0][which] + forces[1][which]).ravel() / 2
            velocity = (plain[t + 1][which] - plain[t][which]).ravel() / apart
            size = np.linalg.norm(force)
            expected = {
                "speed": np.linalg.norm(velocity),
                "along": velocity @ force / size,
                "force": size,
            }
            for part, value in expected.items():
                np.testing.assert_allclose(
                    here[f"{part}_{name}"][t], value, rtol=1e-5, err_msg=part
                )


@pytest.mark.parametrize("activation", ["tanh", "linear", "leaky_relu"])
def test_maps_and_motion_are_those_of_plain_loops(activation):
    rng = np.random.default_rng(0)
    network, layers = Dense((3, 5, 5, 5, 2), activation), (0, 2)
    inputs, targets = rng.normal(size=(2, 3)), rng.normal(size=(2, 2))
    path = []
    for _ in range(3):
        parameters = network.initialize(len(path), 2, 1.3, torch.float64)
        path.append(
            {
                name: value + 0.1 * torch.as_tensor(rng.normal(size=value.shape))
                for name, value in parameters.items()
            }
        )
    frames = [seen(network, parameters, inputs, targets, layers) for parameters in path]
    dims = {
        "dh": ("layer", "unit"),
        "d_y": ("layer", "output", "unit"),
        "dy": ("output",),
        "wanted": ("output",),
    }
    found = xr.Dataset(
        {
            name: (("step", "trial", *those), np.stack([frame[name] for frame in frames]))
            for name, those in dims.items()
        },
        {"step": [0, 10, 30]},
    )
    moved = maps.motion(found)
    for member in range(2):
        for k, layer in enumerate(layers):
            plain = []
            for parameters in path:
                own = {name: value[member] for name, value in parameters.items()}
                outputs, _ = network(own, torch.as_tensor(inputs), ())
                dy = (outputs[1] - outputs[0]).numpy()
                plain.append(
                    (*plain_maps(network, own, inputs, layer), dy, targets[1] - targets[0])
                )
            check_motion(moved.isel(trial=member, layer=k), plain, (10, 20))
    assert moved.between.values.tolist() == [5, 20]


def test_a_network_that_obeys_eq_6_is_explained_in_full():
    """Two linear layers and two points balanced about 0:
    this network is Eq. 6, with τ_h = τ_y = 2/η.
    """
    inputs, targets = np.array([[-0.4], [0.4]]), np.array([[-0.3], [0.3]])
    setting = Setting(
        activation="linear", units=5, hidden_layers=1, gain=0.8, epochs=1500, learning_rate=0.02
    )
    options = {
        "record": np.arange(0, 1501, 10),
        "observe": maps.maps(setting.network(), targets, (0,)),
        "layers": (0,),
    }
    found = maps.motion(setting.train(inputs, targets, 2, 0, "cpu", **options)).isel(layer=0)
    assessed = maps.assessed(found.isel(between=slice(10, 100)), input_distance=0.8)
    for name in ("share_h", "share_y"):
        np.testing.assert_allclose(assessed[name], 1, rtol=1e-3)
    for name in ("tau_h", "tau_y"):
        np.testing.assert_allclose(
            assessed[name].median("between"), 100, rtol=0.02
        )  # ¼ of Eq. 17 in the flow, ½ in the clock of Eq. 7


def test_assumption_watches_what_dynamics_watches():
    found = maps.assumption(SMALL, trials=2, records=4)
    assert found.sizes == {"trial": 2, "step": 5, "between": 4} and found.step.values.tolist() == [
        0,
        10,
        20,
        30,
        40,
    ]
    inputs, targets = toys.two_points(1.0, 0.5**0.5)
    bare = SMALL.train(
        inputs, targets, 2, 0, "cpu", record=found.step.values, observe=measures.two_points(targets)
    )
    np.testing.assert_allclose(found.dh2, bare.dh2.isel(layer=0), rtol=1e-5)
    np.testing.assert_allclose(found.loss, bare.loss, rtol=1e-6)
    deep = maps.assumption(SMALL, trials=1, records=4, all_layers=True)
    np.testing.assert_allclose(deep.speed_h.sel(layer=2)[0], found.speed_h[0], rtol=1e-3, atol=1e-7)
    centred = maps.assumption(SMALL, trials=1, records=4, centred=True)
    assert float(centred.loss[0, 0]) < float(found.loss[0, 0])


def test_exponents_of_the_factors_of_dy_sum_to_one(monkeypatch):
    """‖dy‖ = ‖dh‖ ‖D_y‖ cos, in a linear network, whose D_y is a product of its last weights."""
    setting = replace(SMALL, activation="linear", gain=0.7, hidden_layers=2, epochs=1500)
    monkeypatch.setitem(TABLE_1, "small", setting)
    found = maps.path("small", records=60, seed=1)
    assert found.layer.values.tolist() == [1, 2] and found.squared.shape == (3,)
    inputs, targets = toys.two_points(1.0, 0.5**0.5)
    options = {
        "record": np.arange(0, 1501),
        "observe": maps.maps(setting.network(), targets, range(2)),
        "layers": None,
    }
    seen = setting.train(inputs, targets, 1, 1, "cpu", **options).isel(trial=0)
    dy2 = (seen.dy**2).sum("output").values
    rising = (dy2 > 0.05) & (dy2 < 0.45)
    assert rising.any() and dy2[-1] > 0.45
    norms = np.sqrt((seen.d_y**2).sum(("output", "unit"))).values[rising]
    decoder = [np.polyfit(np.log(dy2[rising]) / 2, np.log(norm), 1)[0] for norm in norms.T]
    np.testing.assert_allclose(found.dh + found.cosine + decoder, 1, atol=0.01)
    first = setting.network().initialize(1, 1, 0.7)
    np.testing.assert_allclose(
        found.squared[[0, 1]],
        [(first[f"weight{i}"] ** 2).sum() / (1, 6)[i - 1] for i in (1, 2)],
        rtol=1e-5,
    )
    assert np.all((found.theory > 0) & (found.theory < 0.75))


def test_skip_connections_are_refused():
    network = TABLE_1["skip"].network()
    with pytest.raises(ValueError, match="no single layer determines its output"):
        maps.maps(network, np.ones((2, 1)), (3,))


def test_the_own_share_is_signed_and_one_along_dh():
    steps, size = np.arange(0, 50, 10), np.linspace(1, 2, 5)
    run = {"dh2": ("step", size**2), "speed_h": ("between", np.full(4, 0.025))}
    found = xr.Dataset(run, {"step": steps, "between": steps[:-1] + 5.0})
    assert np.isclose(maps.own_share(found), 1)
    assert np.isclose(maps.own_share(found.assign(dh2=("step", size[::-1] ** 2))), -1)
    assert np.isclose(maps.own_share(found.assign(speed_h=2 * found.speed_h)), 0.25)
    assert np.isclose(maps.own_share(found.isel(between=[1, 2])), 1)


def test_premise_is_what_a_watched_run_says_of_its_rise():
    setting = Setting(
        activation="linear", gain=0.4, units=8, hidden_layers=2, learning_rate=0.05, epochs=3000
    )
    found = maps.premise(setting, spacings=(5, 20), trials=2)
    np.testing.assert_allclose(found.spacing, [0.25, 1.0])
    for trial in range(2):
        for spacing, records in ((0.25, 600), (1.0, 150)):
            watched = maps.assumption(setting, trials=2, records=records).isel(trial=trial)
            expected = maps.assessed(maps.rising(watched))
            here = found.isel(trial=trial).sel(spacing=spacing)
            np.testing.assert_allclose(here.share_h, expected.share_h, rtol=1e-4)
            np.testing.assert_allclose(here.share_y, expected.share_y, rtol=1e-4)
            if spacing == 0.25:
                half = watched.step[int(np.argmax(watched.dy2.values > 0.25))]
                np.testing.assert_allclose(found.half[trial], 0.05 * half)
    assert float(abs(found.share_h.diff("spacing")).max()) > 1e-4  # the two spacings differ


def test_premise_has_no_half_time_where_nothing_is_learned():
    assert bool(maps.premise(replace(SMALL, gain=0.1), trials=1).half.isnull().all())


def test_growth_is_counted_until_half_is_learned():
    found = xr.Dataset({"dh2": ("step", [2.0, 3.0, 8.0, 9.0]), "dy2": ("step", [0, 0.2, 0.3, 0.5])})
    assert maps.growth(found) == 4
