"""The same steps as a reader would write them in JAX: `grad`,
`jit`, and a loop that stays on the device.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"  # on a GPU it is not measured
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false"
)  # one thread, as the others have

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from torch import Tensor

from tests.tools import plain

Parameters = Mapping[str, Tensor]  # by our names, with a member axis


class Descent:
    """Gradient descent of members, one after the other, or of all at
    once, where inputs and targets have a member axis.
    """

    def __init__(
        self,
        loss: Callable,
        parameters: Parameters,
        rates: Mapping[str, float],
        batch: Callable,
        momentum: float = 0.0,
        at_once: bool = False,
    ) -> None:
        gradient = jax.vmap(jax.grad(loss)) if at_once else jax.grad(loss)
        members = [slice(None)] if at_once else range(len(next(iter(parameters.values()))))
        starts = [
            {name: jnp.asarray(value[own].numpy()) for name, value in parameters.items()}
            for own in members
        ]
        self.each = [(one, jax.tree.map(jnp.zeros_like, one) if momentum else {}) for one in starts]
        self.steps, self.at_once = 0, at_once

        def step(number: int, both: tuple[dict, dict]) -> tuple[dict, dict]:
            now, speed = both
            move = gradient(now, *batch(number))
            if momentum:
                move = speed = jax.tree.map(
                    lambda speed, slope: momentum * speed + slope, speed, move
                )
            return {name: value - rates[name] * move[name] for name, value in now.items()}, speed

        def run(both: tuple[dict, dict], first: int, steps: int) -> tuple[dict, dict]:
            return jax.lax.fori_loop(first, first + steps, step, both)

        self.run = jax.jit(run, donate_argnums=0)

    def advance(self, steps: int) -> None:
        """Take some steps with all."""
        self.each = jax.block_until_ready([self.run(one, self.steps, steps) for one in self.each])
        self.steps += steps

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters of the first member by name."""
        return {
            name: np.asarray(value[0] if self.at_once else value)
            for name, value in self.each[0][0].items()
        }


def kernel(network: Callable, parameters: Parameters, x: Tensor) -> Callable:
    """Return what computes the tangent kernel of the first
    member, traced over outputs, from the Jacobian.
    """
    first = {name: jnp.asarray(value[0].numpy()) for name, value in parameters.items()}
    points = jnp.asarray(x.numpy())

    @jax.jit
    def compute(parameters: dict) -> jax.Array:
        slopes = jax.vmap(jax.jacrev(lambda now, point: network(now, point[None])[0]), (None, 0))(
            parameters, points
        )
        flat = jnp.concatenate(
            [part.reshape(*part.shape[:2], -1) for part in slopes.values()], axis=2
        )
        return jnp.einsum("iop,jop->ij", flat, flat)

    return lambda: jax.block_until_ready(compute(first))


def dense(activation: str) -> Callable:
    """Return a dense network, with biases where the parameters have some."""
    sigma = {"relu": jax.nn.relu, "leaky_relu": jax.nn.leaky_relu}[activation]

    def network(parameters: dict, x: jax.Array) -> jax.Array:
        layers = sum(name.startswith("weight") for name in parameters)
        for i in range(1, layers + 1):
            x = x @ parameters[f"weight{i}"].T + parameters.get(f"bias{i}", 0.0)
            x = sigma(x) if i < layers else x
        return x

    return network


def lenet(parameters: dict, x: jax.Array) -> jax.Array:
    """Map images (n, 1, 28, 28) to outputs (n, 10) by LeNet-5."""
    for i, padding in ((1, "SAME"), (2, "VALID")):
        x = jax.lax.conv_general_dilated(x, parameters[f"weight{i}"], (1, 1), padding)
        x = jax.nn.relu(x + parameters[f"bias{i}"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    dense_part = {
        f"{kind}{i - 2}": parameters[f"{kind}{i}"] for i in (3, 4, 5) for kind in ("weight", "bias")
    }
    return dense("relu")(dense_part, x.reshape(len(x), -1))


def committee(parameters: dict, x: jax.Array) -> jax.Array:
    """Return the mean of rectifiers."""
    return jax.nn.relu(x @ parameters["weight1"].T + parameters["bias1"]).mean(1, keepdims=True)


def squares(network: Callable, share: float = 0.5) -> Callable:
    """Return the loss: a share of the mean squared error."""
    return lambda parameters, x, y: share * jnp.mean((network(parameters, x) - y) ** 2)


def cross_entropy(network: Callable) -> Callable:
    """Return the loss of labels."""

    def loss(parameters: dict, x: jax.Array, labels: jax.Array) -> jax.Array:
        return -jnp.mean(
            jnp.take_along_axis(jax.nn.log_softmax(network(parameters, x)), labels[:, None], 1)
        )

    return loss


def batches(x: Tensor, y: Tensor, order: np.ndarray | None = None, size: int = 0) -> Callable:
    """Return the same data for every step; or with an order of points,
    batches of the data of all members, over and over.
    """
    x, y = jnp.asarray(x.numpy()), jnp.asarray(y.numpy())
    if order is None:
        return lambda number: (x, y)
    chosen = jnp.asarray(order.reshape(-1, size))
    return lambda number: tuple(part[:, chosen[number % len(chosen)]] for part in (x, y))


def signals(n: int, xi: tuple[float, float], gain: float, samples: int) -> Callable:
    """Return batches of the nonlinear Gaussian process."""
    one, zero, scale = (jnp.asarray(part, jnp.float32) for part in plain.process(n, xi, gain))

    def draw(number: int) -> tuple[jax.Array, jax.Array]:
        which, noise = jax.random.split(jax.random.key(number))
        y = jax.random.bernoulli(which, shape=(samples, 1)).astype(jnp.float32)
        white = jax.random.normal(noise, (samples, n))
        return jax.lax.erf(gain * jnp.where(y == 1, white @ one, white @ zero)) / scale, y

    return draw
