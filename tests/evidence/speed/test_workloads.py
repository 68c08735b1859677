"""The workloads are fair: ours and the plain loop come to the same, and the least work is no more than what is done."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from torch.utils.flop_counter import FlopCounterMode

from evidence.speed import plain, timing
from evidence.speed.case import Repeated
from evidence.speed.workloads import WORKLOADS
from lib.data import signals
from lib.training import two_layer

ROOT = Path(__file__).parents[3]
SMALL = {"members": 2, "width": 8, "depth": 3, "points": 4}
TRAINED = ["receptive_fields", "hierarchy", "grokking", "teacher_student"]


def small(name, **changes):
    axes = WORKLOADS[name].sizes
    return WORKLOADS[name].build("cpu", **{axis: {**SMALL, **changes}[axis] for axis in axes})


def counted(run):
    """Count the operations of the matrix products of one step, after a first one."""
    run.advance(1)
    with FlopCounterMode(display=False) as counter:
        run.advance(1)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", WORKLOADS)
def test_ours_and_the_plain_loop_come_to_the_same(name, monkeypatch):
    # A reader draws normal numbers in double precision; here they must be ours.
    monkeypatch.setattr(plain, "normals", signals.normals)
    case = small(name)
    ours, reader = case.ours(), case.plain()
    ours.advance(1)
    before = {key: value.copy() for key, value in ours.state().items()}
    ours.advance(6)
    reader.advance(7)
    found, expected = ours.state(), reader.state()
    assert list(found) == list(expected)
    if name == "grokking":  # no softmax feels the keys' bias, so Adam makes steps out of rounding there
        for state in (found, expected):
            state["attention_bias"] = np.delete(state["attention_bias"], range(8, 16))
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=2e-4, atol=2e-4 * np.abs(value).max(), err_msg=key)
    if not isinstance(ours, Repeated):
        assert any(np.abs(found[key] - before[key]).max() > 1e-3 * np.abs(before[key]).max() for key in found)


@pytest.fixture
def by_torch(monkeypatch):
    """Let torch do what is compiled, so that it is counted."""
    monkeypatch.setattr(two_layer.Stack, "_advance_compiled", two_layer.Stack._advance_batched)


@pytest.mark.usefixtures("by_torch")
@pytest.mark.parametrize("name", TRAINED)
def test_own_products_are_those_of_a_step(name):
    case = small(name)
    assert timing.operations(case.products()) == counted(case.ours())


@pytest.mark.usefixtures("by_torch")
@pytest.mark.parametrize("name", ["receptive_fields", "hierarchy", "teacher_student"])
def test_ours_does_no_more_than_the_least(name):
    case = small(name)
    assert case.operations == counted(case.ours())


@pytest.mark.parametrize("name", ["two_point", "xor", "grokking", "lenet_kernel", "dense_kernel"])
def test_the_least_is_no_more_than_the_plain_loop_does(name):
    case = small(name, members=1, points=2)
    assert 0 < case.operations <= counted(case.plain())


def test_the_least_of_dense_networks_is_what_the_plain_loop_does():
    for name in ("two_point", "xor", "hierarchy"):
        case = small(name, members=1)
        assert case.operations == counted(case.plain())


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_axis_has_three_sizes_and_the_limit_grows_along_it(name):
    workload = WORKLOADS[name]
    assert set(workload.axes) == set(workload.sizes)
    for axis, sizes in workload.axes.items():
        assert len(sizes) >= 3 and sorted(set(sizes)) == list(sizes)
        fewer, more = (small(name, **{axis: factor * SMALL[axis]}) for factor in (1, 2))
        assert more.operations + more.updated > fewer.operations + fewer.updated


def test_every_explanation_is_of_a_workload():
    assert set(yaml.safe_load((ROOT / "book" / "speed.yml").read_text(encoding="utf-8"))) <= set(WORKLOADS)
