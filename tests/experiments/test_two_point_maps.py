"""What is read off the two maps of a network, against plain differences of a descent in double precision, point by point."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from lib import data, measures
from lib.experiments import two_point_maps as experiments
from lib.experiments.two_point import TABLE_1, Setting
from lib.networks import Dense
from lib.theory import two_point

SMALL = Setting(units=6, hidden_layers=4, epochs=40, learning_rate=0.02)


def seen(network, parameters, inputs, targets, layers, pairs):
    tensors = torch.as_tensor(inputs)
    outputs, hidden = network(parameters, tensors, layers)
    observed = experiments.maps(network, inputs, targets, layers, pairs)(parameters, outputs, hidden)
    return {name: value.numpy() for name, (_, value) in observed.items()}


def plain_maps(network, parameters, inputs, layer, pair):
    """Return dh and D_y (c, k) of one member by loops: the encoder cut off, the decoder differentiated output by output."""
    _, (h,) = network(parameters, torch.as_tensor(inputs[list(pair)]), (layer,))
    middle = h.mean(0).clone().requires_grad_()
    z = middle
    for i in range(layer + 2, network.depth + 2):
        z = parameters[f"weight{i}"] @ z + parameters[f"bias{i}"]
        z = network._sigma()(z) if i <= network.depth else z
    rows = [torch.autograd.grad(one, middle, retain_graph=True)[0] for one in z]
    return (h[1] - h[0]).detach().numpy(), torch.stack(rows).numpy()


@pytest.mark.parametrize("activation", ["tanh", "linear", "leaky_relu"])
def test_velocities_are_those_of_small_steps_of_descent(activation):
    rng = np.random.default_rng(0)
    network = Dense((3, 5, 4, 5, 2), activation)
    inputs, targets, pairs, layers = rng.normal(size=(4, 3)), rng.normal(size=(4, 2)), ((0, 1), (3, 1)), (0, 2)
    parameters = network.initialize(0, 2, 1.3, torch.float64)
    for name in parameters:
        parameters[name] += 0.1 * torch.as_tensor(rng.normal(size=parameters[name].shape))
    found, step = seen(network, parameters, inputs, targets, layers, pairs), 1e-6
    for member in range(2):
        own = {name: value[member].clone().requires_grad_() for name, value in parameters.items()}
        outputs, _ = network(own, torch.as_tensor(inputs), ())
        loss = ((outputs - torch.as_tensor(targets)) ** 2).sum(1).mean() / 2
        slopes = torch.autograd.grad(loss, list(own.values()))
        ahead, behind = (
            {name: (own[name] - sign * step * slope).detach() for name, slope in zip(own, slopes, strict=True)}
            for sign in (1, -1)
        )
        own = {name: value.detach() for name, value in own.items()}
        for p, pair in enumerate(pairs):
            i, j = pair
            dy, wanted = (outputs[j] - outputs[i]).detach().numpy(), targets[j] - targets[i]
            for k, layer in enumerate(layers):
                dh, d_y = plain_maps(network, own, inputs, layer, pair)
                far, near = (plain_maps(network, those, inputs, layer, pair) for those in (ahead, behind))
                dh_rate, d_y_rate = ((one - other) / (2 * step) for one, other in zip(far, near, strict=True))
                force_h, force_y = d_y.T @ (wanted - dy), np.outer(wanted - dy, dh)
                expected = {
                    "dh2": dh @ dh,
                    "dy2": dy @ dy,
                    "w": dy @ dy - dy @ wanted,
                    "dh2_rate": 2 * dh @ dh_rate,
                    "speed_h": np.linalg.norm(dh_rate),
                    "speed_y": np.linalg.norm(d_y_rate),
                    "along_h": dh_rate @ force_h / np.linalg.norm(force_h),
                    "along_y": np.sum(d_y_rate * force_y) / np.linalg.norm(force_y),
                    "force_h": np.linalg.norm(force_h),
                    "force_y": np.linalg.norm(force_y),
                    "alignment": np.linalg.norm(d_y @ dh) / np.linalg.norm(d_y) / np.linalg.norm(dh),
                    "bent": np.linalg.norm(dy - d_y @ dh) / np.linalg.norm(dy),
                    "dh": dh,
                }
                assert set(expected) == set(found)
                for name, value in expected.items():
                    np.testing.assert_allclose(found[name][member, p, k], value, rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_flow_that_obeys_eq_6_is_explained_in_full_with_its_constants():
    """Two linear layers and two points balanced about 0: this network is Eq. 6, with τ_h = τ_y = 2/η."""
    inputs, targets = np.array([[-0.4], [0.4]]), np.array([[-0.3], [0.3]])
    network = Dense((1, 3, 1), "linear", bias=False)
    with pytest.raises(KeyError):  # the networks of the source have biases
        seen(network, network.initialize(0, 1, 0.5, torch.float64), inputs, targets, (0,), ((0, 1),))
    network = Dense((1, 3, 1), "linear")
    found = seen(network, network.initialize(0, 1, 0.5, torch.float64), inputs, targets, (0,), ((0, 1),))
    dataset = xr.Dataset({name: ("step", value[0, 0]) for name, value in found.items() if name != "dh"})
    assessed = experiments.assessed(dataset, learning_rate=0.1, input_distance=0.8)
    np.testing.assert_allclose(assessed.share_h, 1, rtol=1e-9)
    np.testing.assert_allclose(assessed.share_y, 1, rtol=1e-9)
    np.testing.assert_allclose(assessed.tau_h, 2 / 0.1, rtol=1e-9)  # ¼ of Eq. 17 in the flow, ½ in the clock of Eq. 7
    np.testing.assert_allclose(assessed.tau_y, 2 / 0.1, rtol=1e-9)
    rate = two_point.velocity(
        float(dataset.dh2[0]), float(dataset.dy2[0]), float(dataset.w[0]),
        input_distance=0.8, target_distance=0.6, tau_h=2.0, tau_y=2.0,
    )[0]  # fmt: skip
    np.testing.assert_allclose(dataset.dh2_rate[0], rate, rtol=1e-9)


def test_shares_are_signed():
    against = xr.Dataset({f"speed_{one}": ("step", [2.0, 1.0]) for one in "hy"})
    against = against.assign({f"along_{one}": ("step", [-1.0, 1.0]) for one in "hy"} | {"force_h": ("step", [1.0, 1.0])})
    found = experiments.assessed(against.assign(force_y=against.force_h), learning_rate=1.0)
    assert float(found.share_h) == 0.0 and found.tau_h.values.tolist() == [-0.5, 0.5]


def test_assumption_watches_what_dynamics_watches():
    found = experiments.assumption(SMALL, trials=2, records=4)
    assert found.sizes == {"trial": 2, "step": 5} and found.step.values.tolist() == [0, 10, 20, 30, 40]
    inputs, targets = data.two_points(1.0, 0.5**0.5)
    bare = SMALL.train(inputs, targets, 2, 0, "cpu", record=found.step.values, observe=measures.two_points(targets))
    np.testing.assert_allclose(found.dh2, bare.dh2.isel(layer=0), rtol=1e-5)
    np.testing.assert_allclose(found.loss, bare.loss, rtol=1e-6)
    np.testing.assert_allclose(found.turned.isel(step=0), 1, rtol=1e-5)
    np.testing.assert_allclose(found.to_go.isel(step=-1), 1, rtol=1e-5)
    deep = experiments.assumption(SMALL, trials=1, records=4, all_layers=True)
    np.testing.assert_allclose(deep.speed_h.sel(layer=2)[0], found.speed_h[0], rtol=1e-4, atol=1e-7)
    centred = experiments.assumption(SMALL, trials=1, records=4, centred=True)
    assert float(centred.loss[0, 0]) < float(found.loss[0, 0])


@pytest.mark.parametrize("task, pairs", [("xor", 6), ("blobs", 4), ("digits", 4)])
def test_among_watches_pairs(task, pairs, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(data, "mnist", lambda: (rng.random((150, 784), dtype=np.float32), np.arange(150) % 10))
    setting = replace(SMALL, epochs=2)
    found = experiments.among(setting, task, trials=1, records=1, pairs=4, images=100)
    assert found.sizes["pair"] == pairs and np.isfinite(found.speed_h).all()
    if task == "xor":
        assert found.target_distance.values.tolist() == [1, 1, 0, 0, 1, 1]
    else:
        assert found.target_distance[:2].max() < 1e-6 < found.target_distance[2:].min()


def test_skip_connections_are_refused():
    network = TABLE_1["skip"].network()
    with pytest.raises(ValueError, match="no single layer determines its output"):
        experiments.maps(network, np.ones((2, 1)), np.ones((2, 1)), (3,))


def test_stored_runs_have_settings_in_json():
    for run in experiments.RUNS:
        assert run.name.startswith("two_point/") and json.loads(run.settings())["pieces"].keys() == run.pieces.keys()
