"""The same steps in JAX, as fast as we could write them: gradients written out where that pays,
one network after the other, and a compiled loop that stays on the device.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"  # on a GPU it is not measured
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false"
)  # one thread, as the others have

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from torch import Tensor

from tests.tools import plain

Parameters = Mapping[str, Tensor]  # by our names, with a member axis
Update = Callable[[int, dict, tuple, dict], tuple[dict, tuple]]
NORM = 1e-5  # added to a variance by layer normalization


class Descent:
    """Descent of members, one after the other.

    `slopes` maps a member's parameters and its batch to gradients, `batch` its data and the number
    of a step to the batch, and `update` the number, parameters, moments and gradients to new ones.
    """

    def __init__(
        self,
        slopes: Callable,
        parameters: Parameters,
        update: Update,
        batch: Callable,
        data: Sequence,
        moments: int = 0,
    ) -> None:
        members = range(len(next(iter(parameters.values()))))
        self.data = [jax.tree.map(jnp.asarray, data[m % len(data)]) for m in members]
        self.each = []
        for m in members:
            one = {name: jnp.asarray(value[m].numpy()) for name, value in parameters.items()}
            zeros = tuple(jax.tree.map(jnp.zeros_like, one) for _ in range(moments))
            self.each.append((one, zeros))
        self.steps = 0

        def run(state: tuple, own: tuple, first: int, steps: int) -> tuple:
            def step(number: int, state: tuple) -> tuple:
                now, kept = state
                return update(number, now, kept, slopes(now, *batch(own, number)))

            return jax.lax.fori_loop(first, first + steps, step, state)

        self.run = jax.jit(run, donate_argnums=0)

    def advance(self, steps: int) -> None:
        """Take some steps with all."""
        self.each = [
            self.run(state, own, self.steps, steps)
            for state, own in zip(self.each, self.data, strict=True)
        ]
        jax.block_until_ready(self.each)
        self.steps += steps

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters of the first member by name."""
        return {name: np.asarray(value) for name, value in self.each[0][0].items()}


# --- updates --------------------------------------------------------------------------------------


def plainly(rates: Mapping[str, float]) -> Update:
    """Return the update of gradient descent."""
    return lambda number, now, kept, slopes: (
        {name: value - rates[name] * slopes[name] for name, value in now.items()},
        kept,
    )


def with_momentum(rates: Mapping[str, float], momentum: float, schedule: Callable) -> Update:
    """Return the update with momentum, at rates that a schedule changes."""
    factors = jnp.asarray([schedule(number) for number in range(10_000)], jnp.float32)

    def update(number: int, now: dict, kept: tuple, slopes: dict) -> tuple:
        speed = {name: momentum * kept[0][name] + slopes[name] for name in now}
        rate = factors[number]
        return {name: now[name] - rate * rates[name] * speed[name] for name in now}, (speed,)

    return update


def adam(
    rates: Mapping[str, float], betas: tuple[float, float], schedule: Callable, eps: float = 1e-8
) -> Update:
    """Return the update of Adam."""
    factors = jnp.asarray([schedule(number) for number in range(10_000)], jnp.float32)

    def update(number: int, now: dict, kept: tuple, slopes: dict) -> tuple:
        first = {name: betas[0] * kept[0][name] + (1 - betas[0]) * slopes[name] for name in now}
        second = {
            name: betas[1] * kept[1][name] + (1 - betas[1]) * slopes[name] ** 2 for name in now
        }
        age = number + 1.0
        one, two = 1 - betas[0] ** age, 1 - betas[1] ** age
        moved = {
            name: now[name]
            - factors[number]
            * rates[name]
            * (first[name] / one)
            / (jnp.sqrt(second[name] / two) + eps)
            for name in now
        }
        return moved, (first, second)

    return update


# --- gradients ------------------------------------------------------------------------------------


def few_points(slope: float) -> Callable:
    """Return gradients of half the mean squared error of a dense network on few points.

    Each point passes alone, by products of matrix and vector, so that gradients are outer products,
    which the compiler adds to the weights in one pass. Written out, they were no faster.
    """

    def error(parameters: dict, x: jax.Array, y: jax.Array) -> jax.Array:
        layers = len(parameters) // 2
        for i in range(1, layers + 1):
            z = parameters[f"weight{i}"] @ x + parameters[f"bias{i}"]
            x = jnp.where(z > 0, z, slope * z) if i < layers else z
        return ((x - y) ** 2).sum() / 2

    def loss(parameters: dict, x: jax.Array, y: jax.Array) -> jax.Array:
        return sum(error(parameters, x[i], y[i]) for i in range(len(x))) / len(x)

    return jax.grad(loss)


def two_layers(parameters: dict, x: jax.Array, turned: jax.Array, y: jax.Array) -> dict:
    """Return gradients of the mean squared error of two layers of rectifiers without biases.

    The inputs lie in memory in both orders; the slope of the output's weights follows from that of
    the others.
    """
    w, a = parameters["weight1"], parameters["weight2"][0]
    z = w @ turned
    errors = 2 * (a @ jnp.maximum(z, 0) - y[:, 0]) / len(y)
    along = jnp.where(z > 0, errors, 0) @ x
    return {"weight1": a[:, None] * along, "weight2": (w * along).sum(1)[None]}


def committee(parameters: dict, x: jax.Array, y: jax.Array) -> dict:
    """Return gradients of the mean squared error of a mean of rectifiers."""
    z = x @ parameters["weight1"].T + parameters["bias1"]
    errors = 2 * (jnp.maximum(z, 0).mean(1, keepdims=True) - y) / y.size / z.shape[1]
    own = jnp.where(z > 0, errors, 0)
    return {"weight1": own.T @ x, "bias1": own.sum(0)}


def dense(parameters: dict, x: jax.Array) -> jax.Array:
    """Map inputs (n, d) to outputs (n, c) by a dense network of rectifiers without biases."""
    for i in range(1, len(parameters) + 1):
        x = x @ parameters[f"weight{i}"].T
        x = jnp.maximum(x, 0) if i < len(parameters) else x
    return x


def decoder(heads: int, tokens: int, length: int) -> Callable:
    """Return the transformer of `book.practice.transformer`: what the attention
    sees is worked out once for each token in each place.
    """

    def norm(h: jax.Array, p: dict, i: int) -> jax.Array:
        centred = h - h.mean(-1, keepdims=True)
        spread = jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + NORM)
        return centred * spread * p[f"scale{i}"] + p[f"shift{i}"]

    def network(p: dict, strings: jax.Array) -> jax.Array:
        n, w = len(strings), p["embedding"].shape[1]
        table = norm((p["embedding"] + p["positions"][:, None]).reshape(-1, w), p, 1)
        asking, told = p["attention"], p["attention_bias"]
        last = table[-tokens:]
        queries = last @ asking[:w].T + told[:w]
        known = table @ asking[w:].T + told[w:]
        rows = strings + tokens * jnp.arange(length)
        seen = known[rows]  # (n, length, 2 w)
        keys, values = (
            part.reshape(n, length, heads, w // heads) for part in (seen[..., :w], seen[..., w:])
        )
        query = queries[strings[:, -1]].reshape(n, 1, heads, w // heads)
        weights = jax.nn.softmax((query * keys).sum(-1) * (w // heads) ** -0.5, axis=1)
        mixed = (weights[..., None] * values).sum(1).reshape(n, w)
        h = last[strings[:, -1]] + mixed @ p["mixing"].T + p["mixing_bias"]
        hidden = jax.nn.gelu(norm(h, p, 2) @ p["up"].T + p["up_bias"], approximate=False)
        h = h + hidden @ p["down"].T + p["down_bias"]
        return norm(h, p, 3) @ p["readout"].T

    return network


def cross_entropy(network: Callable) -> Callable:
    """Return the gradients of the loss of labels, by automatic differentiation."""

    def loss(parameters: dict, x: jax.Array, labels: jax.Array) -> jax.Array:
        log = jax.nn.log_softmax(network(parameters, x))
        return -jnp.mean(jnp.take_along_axis(log, labels[:, None], 1))

    return jax.grad(loss)


def lenet_kernel(parameters: Parameters, x: Tensor) -> Callable:
    """Return what computes the tangent kernel of the first member of LeNet-5, traced over outputs.

    One backward pass for all outputs gives the slopes in what leaves each layer. With the patches
    or numbers that enter it they make the layer's part of the kernel.
    """
    first = {name: jnp.asarray(value[0].numpy()) for name, value in parameters.items()}
    points = jnp.asarray(x.numpy())

    def forward(shifts: list, p: dict, h: jax.Array) -> tuple[jax.Array, list]:
        entering = []
        for i, padding in ((1, "SAME"), (2, "VALID")):
            entering.append(jax.lax.conv_general_dilated_patches(h, (5, 5), (1, 1), padding))
            h = jax.lax.conv_general_dilated(h, p[f"weight{i}"], (1, 1), padding)
            h = jnp.maximum(h + p[f"bias{i}"][:, None, None] + shifts[i - 1], 0)
            h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        h = h.reshape(len(h), -1)
        for i in (3, 4, 5):
            entering.append(h)
            h = h @ p[f"weight{i}"].T + p[f"bias{i}"] + shifts[i - 1]
            h = jnp.maximum(h, 0) if i < 5 else h
        return h, entering

    @jax.jit
    def compute(p: dict, points: jax.Array) -> jax.Array:
        n = len(points)
        shapes = (n, 6, 28, 28), (n, 16, 10, 10), (n, 120), (n, 84), (n, 10)
        shifts = [jnp.zeros(shape) for shape in shapes]
        _, back, entering = jax.vjp(lambda now: forward(now, p, points), shifts, has_aux=True)
        each = jnp.broadcast_to(jnp.eye(10)[:, None], (10, n, 10))
        slopes = jax.vmap(back)(each)[0]
        total = jnp.zeros((n, n))
        for patches, own in zip(entering[:2], slopes[:2], strict=True):
            flat = own.transpose(1, 0, 2, 3, 4).reshape(n, -1, own.shape[3] * own.shape[4])
            met = patches.reshape(n, patches.shape[1], -1)
            met = jnp.concatenate([met, jnp.ones((n, 1, met.shape[2]))], 1)  # a bias
            written = (flat @ met.transpose(0, 2, 1)).reshape(n, -1)
            total += written @ written.T
        for h, own in zip(entering[2:], slopes[2:], strict=True):
            flat = own.transpose(1, 0, 2).reshape(n, -1)
            total += (h @ h.T + 1) * (flat @ flat.T)
        return total

    return lambda: jax.block_until_ready(compute(first, points))


# --- batches --------------------------------------------------------------------------------------


def all_points(own: tuple, number: int) -> tuple:
    """Return the data as they are."""
    return own


def in_order(own: tuple, number: int) -> tuple:
    """Return the data's batches (batches, b, ...) in turn."""
    return tuple(part[number % len(part)] for part in own)


def batched(x: Tensor, y: Tensor, order: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a member's data as whole batches in an order of points."""
    kept = order[: len(order) // size * size].reshape(-1, size)
    return x.numpy()[kept], y.numpy()[kept]


def signals(n: int, xi: tuple[float, float], gain: float, samples: int) -> Callable:
    """Return batches of the nonlinear Gaussian process."""
    one, zero, scale = (jnp.asarray(part, jnp.float32) for part in plain.process(n, xi, gain))

    def draw(own: tuple, number: int) -> tuple[jax.Array, jax.Array]:
        which, noise = jax.random.split(jax.random.key(number))
        y = jax.random.bernoulli(which, shape=(samples, 1)).astype(jnp.float32)
        white = jax.random.normal(noise, (samples, n))
        return jax.lax.erf(gain * jnp.where(y == 1, white @ one, white @ zero)) / scale, y

    return draw


def large_products(side: int) -> Callable[[int], None]:
    """Return a loop of products of large square matrices."""
    left, right = jax.random.normal(jax.random.key(0), (2, side, side))
    product = jax.jit(jnp.matmul)

    def loop(steps: int) -> None:
        for _ in range(steps):
            product(left, right).block_until_ready()

    return loop
