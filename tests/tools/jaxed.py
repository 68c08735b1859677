"""The same steps as a reader would write them in JAX: `grad`, `jit`, and a loop that stays on the device."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one thread, as the others have

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from torch import Tensor

Parameters = Mapping[str, Tensor]  # by our names, with a member axis


class Descent:
    """Gradient descent of members, one after the other.

    Parameters
    ----------
    loss : of parameters and a batch
    batch : of the number of a step; the same data at each step where it ignores the number
    """

    def __init__(self, loss: Callable, parameters: Parameters, rate: float, batch: Callable) -> None:
        members = len(next(iter(parameters.values())))
        self.each = [{name: jnp.asarray(value[m].cpu().numpy()) for name, value in parameters.items()} for m in range(members)]
        self.steps = 0

        def step(number: int, now: dict) -> dict:
            slopes = jax.grad(loss)(now, *batch(number))
            return jax.tree.map(lambda value, slope: value - rate * slope, now, slopes)

        self.run = compiled(step)

    def advance(self, steps: int) -> None:
        """Take some steps with all."""
        self.each = [self.run(one, self.steps, steps) for one in self.each]
        jax.block_until_ready(self.each)
        self.steps += steps

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters of the first member by name."""
        return {name: np.asarray(value) for name, value in self.each[0].items()}


class Momentum:
    """Descent with momentum of all members at once, on batches from epochs in given orders.

    Parameters
    ----------
    loss : of parameters and a batch
    rates : by name
    data : inputs and targets, (members, points, ...) each
    orders : (epochs, points), the same for all members, used again after the last
    """

    def __init__(
        self, loss: Callable, parameters: Parameters, rates: Mapping[str, float], data: tuple, orders: np.ndarray, size: int
    ) -> None:
        now = {name: jnp.asarray(value.cpu().numpy()) for name, value in parameters.items()}
        self.both, self.steps = (now, jax.tree.map(jnp.zeros_like, now)), 0
        x, y = (jnp.asarray(part.cpu().numpy()) for part in data)
        chosen = jnp.asarray(orders.reshape(-1, size))

        def step(number: int, both: tuple[dict, dict]) -> tuple[dict, dict]:
            own = chosen[number % len(chosen)]
            slopes = jax.vmap(jax.grad(loss))(both[0], x[:, own], y[:, own])
            speed = jax.tree.map(lambda speed, slope: 0.9 * speed + slope, both[1], slopes)
            return {name: value - rates[name] * speed[name] for name, value in both[0].items()}, speed

        self.run = compiled(step)

    def advance(self, steps: int) -> None:
        """Take some steps with all."""
        self.both = jax.block_until_ready(self.run(self.both, self.steps, steps))
        self.steps += steps

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters of the first member by name."""
        return {name: np.asarray(value[0]) for name, value in self.both[0].items()}


def compiled(step: Callable) -> Callable:
    """Return the loop over steps, which stays on the device."""
    return jax.jit(lambda now, first, steps: jax.lax.fori_loop(first, first + steps, step, now), donate_argnums=0)


class Kernel:
    """The tangent kernel of the first member, traced over outputs, from the Jacobian."""

    def __init__(self, network: Callable, parameters: Parameters, x: Tensor) -> None:
        first = {name: jnp.asarray(value[0].cpu().numpy()) for name, value in parameters.items()}
        points = jnp.asarray(x.cpu().numpy())

        @jax.jit
        def compute(parameters: dict) -> jax.Array:
            slopes = jax.vmap(jax.jacrev(lambda now, point: network(now, point[None])[0]), (None, 0))(parameters, points)
            flat = jnp.concatenate([part.reshape(*part.shape[:2], -1) for part in slopes.values()], axis=2)
            return jnp.einsum("iop,jop->ij", flat, flat)

        self.compute, self.first, self.result = compute, first, None

    def advance(self, steps: int) -> None:
        """Compute some times."""
        for _ in range(steps):
            self.result = jax.block_until_ready(self.compute(self.first))

    def state(self) -> dict[str, np.ndarray]:
        """Return the kernel."""
        return {"kernel": np.asarray(self.result)}


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
    dense_part = {f"{kind}{i - 2}": parameters[f"{kind}{i}"] for i in (3, 4, 5) for kind in ("weight", "bias")}
    return dense("relu")(dense_part, x.reshape(len(x), -1))


def committee(parameters: dict, x: jax.Array) -> jax.Array:
    """Return the mean of rectifiers."""
    return jax.nn.relu(x @ parameters["weight1"].T + parameters["bias1"]).mean(1, keepdims=True)


def squares(network: Callable, share: float = 0.5) -> Callable:
    """Return the loss: a share of the mean squared error."""
    return lambda parameters, x, y: share * jnp.mean((network(parameters, x) - y) ** 2)


def fixed(x: Tensor, y: Tensor) -> Callable:
    """Return the same data for every step."""
    both = jnp.asarray(x.cpu().numpy()), jnp.asarray(y.cpu().numpy())
    return lambda number: both


def cross_entropy(network: Callable) -> Callable:
    """Return the loss of labels."""

    def loss(parameters: dict, x: jax.Array, labels: jax.Array) -> jax.Array:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(network(parameters, x)), labels[:, None], 1))

    return loss


def signals(roots: Sequence[np.ndarray], gain: float, scale: float, samples: int) -> Callable:
    """Return batches of the nonlinear Gaussian process from roots of the covariances of y = 0 and y = 1."""
    zero, one = (jnp.asarray(root, jnp.float32) for root in roots)

    def draw(number: int) -> tuple[jax.Array, jax.Array]:
        which, noise = jax.random.split(jax.random.key(number))
        y = jax.random.bernoulli(which, shape=(samples, 1)).astype(jnp.float32)
        white = jax.random.normal(noise, (samples, len(zero)))
        return jax.lax.erf(gain * jnp.where(y == 1, white @ one, white @ zero)) / scale, y

    return draw
