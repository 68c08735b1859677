"""The participation ratio against its definition."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib import measures

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, n=st.integers(1, 9))
def test_inverse_participation_ratio(seed, n):
    w = np.random.default_rng(seed).normal(size=(3, n)) ** 3
    found = measures.inverse_participation_ratio(w)
    expected = [sum(v**4) / sum(v**2) ** 2 for v in w]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    tensor = measures.inverse_participation_ratio(torch.from_numpy(w))
    assert torch.is_tensor(tensor)
    np.testing.assert_allclose(tensor, expected, rtol=1e-12)
    assert np.all(found >= 1 / n - 1e-12) and np.all(found <= 1 + 1e-12)


def test_inverse_participation_ratio_of_known_weights():
    assert measures.inverse_participation_ratio([0, 0, -7, 0]) == 1  # one site
    assert measures.inverse_participation_ratio([1, -1, 1, 1]) == 0.25  # all sites alike
    wave = np.cos(2 * np.pi * 3 * np.arange(40) / 40)
    np.testing.assert_allclose(
        measures.inverse_participation_ratio(wave), 1.5 / 40
    )  # a Fourier mode
    np.testing.assert_allclose(
        measures.inverse_participation_ratio(np.array([3e-200, 4e-200])), 337 / 625
    )  # no underflow
    random = np.random.default_rng(0).normal(size=(2000, 40))
    np.testing.assert_allclose(
        measures.inverse_participation_ratio(random).mean(), 3 / 42, rtol=0.01
    )


def test_a_ratio_has_the_gradient_of_its_weights():
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    measures.inverse_participation_ratio(w).backward()
    np.testing.assert_allclose(w.grad, [-6 / 49, -6 / 49, 6 / 49], rtol=1e-6)
    assert measures.inverse_participation_ratio(torch.tensor([-128, 0], dtype=torch.int8)) == 1


@pytest.mark.parametrize(
    "w", [torch.ones(2) * 1j, torch.ones(2, device="meta"), torch.eye(2).to_sparse()]
)
def test_tensors_that_hold_no_real_numbers_are_refused(w):
    with pytest.raises(TypeError, match=r"w is a tensor of .*: want real numbers"):
        measures.inverse_participation_ratio(w)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: measures.inverse_participation_ratio([[1, 2], [0, 0]]), "zero weight vector"),
        (
            lambda: measures.inverse_participation_ratio(torch.tensor([1.0, np.nan])),
            "zero weight vector",
        ),
    ],
)
def test_weights_without_a_ratio_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
