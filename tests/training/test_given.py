"""Data as people have it: the same numbers in another form train the same networks, bit for bit."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.checks import for_torch
from lib.kernels import ntk
from lib.networks import Dense
from lib.training import cross_entropy, train

RNG = np.random.default_rng(0)
LABELS = ["u1", "i2", "u2", "i4", ">i4", "u4", "u8", "?", "O"]


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def negated(tensor):
    """Return the same numbers as a view that turns their signs."""
    return torch.complex(torch.zeros_like(tensor), -tensor).conj().imag


FORMS = {
    "a list": np.ndarray.tolist,
    "a list of tensors": lambda array: [torch.tensor(row) for row in array],
    "a reversed view": lambda array: array[::-1].copy()[::-1],
    "every other column": lambda array: np.repeat(array, 2, 1)[:, ::2],
    "columns first": np.asfortranarray,
    "another byte order": lambda array: array.astype(">f8"),
    "longer floats": lambda array: array.astype(np.longdouble),
    "read-only": read_only,
    "with labels": xr.DataArray,
    "a table": pd.DataFrame,
    "a table with a type for each column": lambda array: pd.DataFrame(array).astype("Float64"),
    "fractions": lambda array: [[Fraction(one) for one in row] for row in array.tolist()],
    "a masked array without masks": np.ma.array,
    "decimals": lambda array: [[Decimal(one) for one in row] for row in array.tolist()],
    "a tensor with a gradient": lambda array: torch.tensor(array, requires_grad=True),
    "a tensor that is negated when read": lambda array: negated(torch.tensor(array)),
}


def losses(inputs, targets, outputs=1, **settings):
    network = Dense((5, 8, outputs))
    parameters = network.initialize(0, 2, dtype=torch.float64)
    run = train(network, parameters, inputs, targets, learning_rate=0.1, steps=3, **settings)
    return run.loss.values


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("points", [7, 40])  # by two paths
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_training_and_kernels_take_data_in_any_form(form, points):
    x, y = RNG.normal(size=(points, 5)), RNG.normal(size=(points, 1))
    given, test = form(x), (form(x), form(y))
    assert np.array_equal(losses(given, form(y), test=test), losses(x, y, test=(x, y)))
    network = Dense((5, 8, 1))
    parameters = network.initialize(0, dtype=torch.float64)
    assert torch.equal(ntk(network, parameters, given), ntk(network, parameters, x))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("points", [7, 40])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("as_tensors", [False, True], ids=["arrays", "tensors"])
def test_whole_numbers_of_any_type_are_labels_targets_and_inputs(kind, as_tensors, points):
    labels = RNG.integers(0, 2, points)
    x, y = RNG.normal(size=(points, 5)), np.repeat(labels[:, None], 5, 1)
    own, table = labels.astype(kind), y.astype(kind)
    if as_tensors and kind != "O":
        native = np.dtype(kind).newbyteorder("=")
        own, table = torch.tensor(own.astype(native)), torch.tensor(table.astype(native))
    wanted = losses(x, labels, 2, loss=cross_entropy)
    assert np.array_equal(losses(x, own, 2, loss=cross_entropy), wanted)
    wanted = losses(y.astype(float), y.astype(float), 5)
    assert np.array_equal(losses(table, table, 5), wanted)
    network = Dense((5, 8, 1))
    parameters = network.initialize(0, dtype=torch.float64)
    assert torch.equal(ntk(network, parameters, table), ntk(network, parameters, y.astype(float)))


REFUSED = {
    "text": ([["a"] * 5] * 4, TypeError, "inputs is of type list and dtype <U1: want real numbers"),
    "rows of other lengths": ([[1, 2], [1]], TypeError, "want real numbers"),
    "objects": (np.full((4, 5), None), TypeError, "ndarray and dtype object: want real numbers"),
    "digits in text": (np.full((4, 5), "1", object), TypeError, "want real numbers"),
    "complex": (np.ones((4, 5)) * 1j, TypeError, "dtype complex128: want real numbers"),
    "a complex tensor": (
        torch.ones(4, 5) * 1j,
        TypeError,
        "of torch.complex64, .* want real numbers",
    ),
    "a sparse tensor": (
        torch.eye(5).to_sparse(),
        TypeError,
        "sparse_coo, on cpu: want real numbers",
    ),
    "a tensor without numbers": (torch.ones(4, 5, device="meta"), TypeError, "on meta: want real"),
    "a data set": (xr.Dataset({"a": ("x", [1.0])}), TypeError, "Dataset and dtype object"),
    "a tensor of lists": (
        torch.nested.nested_tensor([torch.ones(5)] * 4, layout=torch.jagged),
        TypeError,
        "want real numbers",
    ),
    "masks in a list": (
        [np.ma.masked_greater(np.ones(5), 0)] * 4,
        ValueError,
        "masked entries",
    ),
    "numbers beyond floats": ([[10**400] * 5] * 4, TypeError, "want real numbers"),
    "masks": (np.ma.masked_greater(np.ones((4, 5)), 0), ValueError, "masked entries"),
    "gaps": (pd.DataFrame(np.ones((4, 5))).where(lambda x: x < 1), ValueError, "must be finite"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given, error, message", REFUSED.values(), ids=REFUSED)
def test_what_are_no_numbers_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        losses(given, np.ones((4, 1)))


def test_large_whole_numbers_of_a_tensor_keep_their_sign():
    found = for_torch("x", torch.tensor([2**63], dtype=torch.uint64))
    assert found.tolist() == [2.0**63]


@pytest.mark.parametrize("test", [(np.ones((4, 5)),), np.ones((4, 5))])
def test_a_test_set_has_inputs_and_targets(test):
    with pytest.raises(ValueError, match="want two parts, inputs and targets"):
        losses(np.ones((4, 5)), np.ones((4, 1)), test=test)


numbers = st.sampled_from(["f2", "f4", ">f4", "f8", ">f8", "?", "i1", "u2", ">i4", "u8"]).flatmap(
    lambda kind: arrays(
        kind,
        (2, 3),
        elements={"allow_nan": False, "allow_infinity": False} if "f" in kind else None,
    )
)


@given(numbers)
def test_numbers_stay_what_they_are(array):
    found = torch.as_tensor(for_torch("x", array))
    assert np.array_equal(found.numpy().astype(float), array.astype(float))
    assert found.is_floating_point() == (array.dtype.kind == "f" or int(array.max()) >= 2**63)
