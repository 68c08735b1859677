"""The roughness of filters by Parseval's theorem, and learning rates by torch's optimizers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from book.practice import theory
from book.practice.measures import filter_laplacian

KERNELS = {"printed": theory.PRINTED_LAPLACIAN, "laplacian": theory.LAPLACIAN}


def power_response(kernel, horizontal, vertical):
    """Return what a convolution does to the power of a plane wave, by its definition."""
    rows, columns = np.arange(kernel.shape[0]), np.arange(kernel.shape[1])
    phase = vertical[..., None, None] * rows[:, None] + horizontal[..., None, None] * columns
    return np.abs(np.sum(kernel * np.exp(-1j * phase), axis=(-2, -1))) ** 2


def test_only_the_laplacian_is_blind_to_constants_and_slopes():
    row, column = np.mgrid[-1:2, -1:2]
    plane = 2 + 0.3 * row - 0.7 * column
    assert abs(np.sum(theory.LAPLACIAN * plane)) < 1e-12
    np.testing.assert_allclose(np.sum(theory.PRINTED_LAPLACIAN * plane), -2)
    bowl = (row**2 + column**2) / 4  # whose Laplacian is 1; the kernel is minus the Laplacian
    np.testing.assert_allclose(np.sum(theory.LAPLACIAN * bowl), -1)
    stripes = power_response(theory.PRINTED_LAPLACIAN, np.array(np.pi / 3), np.array(0.0))
    np.testing.assert_allclose(stripes, 0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1, 4, 9])
def test_the_roughness_is_a_mean_over_the_power_spectrum(kernel, size):
    w = np.random.default_rng(size).normal(size=(3, size, size))
    fine = 32  # at least as many points as the convolution has
    omega = 2 * np.pi * np.arange(fine) / fine
    power = np.abs(np.fft.fft2(w, (fine, fine))) ** 2
    response = power_response(KERNELS[kernel], omega[None], omega[:, None])
    expected = np.sum(power * response, axis=(1, 2)) / np.sum(power, axis=(1, 2))
    np.testing.assert_allclose(filter_laplacian(w, KERNELS[kernel]), expected, rtol=1e-10)


# --- learning rates by layer


@given(
    alpha=st.floats(0.2, 5),
    seed=st.integers(0, 99),
    momentum=st.sampled_from([0.0, 0.9]),
    optimizer=st.sampled_from(["sgd", "adam"]),
)
@settings(max_examples=20)
def test_a_divided_start_is_one_with_other_rates(alpha, seed, momentum, optimizer):
    """A dense network with hidden biases, by PyTorch's own optimizers."""
    rng = np.random.default_rng(seed)
    x, y = (torch.tensor(rng.normal(size=shape)) for shape in ((8, 3), (8, 2)))
    shapes = {
        "first": (5, 3),
        "bias1": (5,),
        "middle": (4, 5),
        "bias2": (4,),
        "last": (2, 4),
        "bias3": (2,),
    }
    drawn = {name: rng.normal(size=shape) * (len(shape) > 1) for name, shape in shapes.items()}
    kinds = {"first": 0, "bias1": 0, "bias2": 0, "middle": 1, "bias3": 1, "last": 2}

    def end(scales, rates):
        parts = {
            name: torch.tensor(value * scales.get(name, 1), requires_grad=True)
            for name, value in drawn.items()
        }
        groups = [
            {"params": [part], "lr": 1e-3 * rates[kinds[name]]} for name, part in parts.items()
        ]
        own = (
            torch.optim.SGD(groups, momentum=momentum)
            if optimizer == "sgd"
            else torch.optim.Adam(groups, eps=1e-14)
        )

        def network():
            h = torch.relu(x @ parts["first"].T + parts["bias1"])
            return (
                torch.relu(h @ parts["middle"].T + parts["bias2"]) @ parts["last"].T
                + parts["bias3"]
            )

        for _ in range(15):
            own.zero_grad()
            ((network() - y) ** 2).sum().backward()
            own.step()
        return network().detach()

    divided = end({"first": 1 / alpha, "last": alpha}, [1, 1, 1])
    factor = alpha**2 if optimizer == "sgd" else alpha
    torch.testing.assert_close(divided, end({}, [factor, 1, 1 / factor]), rtol=1e-6, atol=1e-6)
