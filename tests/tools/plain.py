"""The loops that a reader would write: PyTorch's modules and optimizers, one network at a time."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from scipy.linalg import sqrtm
from scipy.special import erf
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from book.practice.transformer import Transformer
from lib.networks import Dense
from lib.theory.gaussian_classes import ring_correlation

MODULES = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU}
SLOPES = {"relu": 0.0, "leaky_relu": 0.01}  # below zero
Batch = Callable[[int], tuple[Tensor, Tensor]]  # the number of a step -> inputs and targets


class Descent:
    """The training loop of one network, from the parameters of
    a stack's first member, in the model's order.
    """

    def __init__(
        self,
        model: nn.Module,
        parameters: Mapping[str, Tensor],
        rates: Mapping[str, float],
        loss: Callable,
        batch: Batch,
        optimizer: type[torch.optim.Optimizer] = torch.optim.SGD,
        schedule: Callable | None = None,
        **settings,
    ) -> None:
        self.model, self.loss, self.batch, self.step = start(model, parameters), loss, batch, 0
        self.named = dict(zip(parameters, model.parameters(), strict=True))
        groups = [{"params": [value], "lr": rates[name]} for name, value in self.named.items()]
        self.optimizer = optimizer(groups, **settings)
        self.scheduler = schedule and LambdaLR(self.optimizer, schedule)

    def advance(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            x, y = self.batch(self.step)
            self.optimizer.zero_grad()
            self.loss(self.model(x), y).backward()
            self.optimizer.step()
            if self.scheduler:
                self.scheduler.step()
            self.step += 1

    def state(self) -> dict[str, np.ndarray]:
        """Return the parameters by our names."""
        return {name: value.detach().cpu().numpy() for name, value in self.named.items()}


def half_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return half of torch's mean squared error."""
    return nn.functional.mse_loss(outputs, targets) / 2


def start(model: nn.Module, parameters: Mapping[str, Tensor]) -> nn.Module:
    """Give a model the parameters of a stack's first member, on their device."""
    model.to(next(iter(parameters.values())).device)
    for value, ours in zip(model.parameters(), parameters.values(), strict=True):
        value.data.copy_(ours[0])
    return model


def batches(x: Tensor, y: Tensor, size: int) -> Batch:
    """Return batches in the order of the first member's first epoch,
    as `lib.training.descent` draws it, over and over.
    """
    order = (
        torch.from_numpy(np.random.default_rng((0, 0, 1)).permutation(len(x)))
        .to(x.device)
        .split(size)
    )
    return lambda step: (x[order[step % len(order)]], y[order[step % len(order)]])


def process(n: int, xi: tuple[float, float], gain: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return what draws the nonlinear Gaussian process: roots of
    the covariances of y = 1 and y = 0, (n, n), and Z.
    """
    one, zero = (sqrtm(ring_correlation(n, length)).real for length in xi)
    return one, zero, np.sqrt(2 / np.pi * np.arcsin(2 * gain**2 / (1 + 2 * gain**2)))


def signals(n: int, xi: tuple[float, float], gain: float, samples: int, device: str) -> Batch:
    """Return fresh batches of the nonlinear Gaussian
    process, drawn by NumPy in its double precision.
    """
    one, zero, scale = process(n, xi, gain)

    def draw(step: int) -> tuple[Tensor, Tensor]:
        rng = np.random.default_rng((0, 0, step))
        y, white = rng.integers(2, size=(samples, 1)), rng.standard_normal((samples, n))
        x = erf(gain * np.where(y == 1, white @ one, white @ zero)) / scale
        return tuple(torch.tensor(values, dtype=torch.float32, device=device) for values in (x, y))

    return draw


def dense(network: Dense) -> nn.Module:
    """Return a dense network."""
    layers = []
    for into, out in zip(network.widths[:-1], network.widths[1:], strict=True):
        layers += [nn.Linear(into, out, network.bias), MODULES[network.activation]()]
    return nn.Sequential(*layers[:-1])


def lenet() -> nn.Module:
    """Return LeNet-5."""
    convolutions = [
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    ]
    layers = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    return nn.Sequential(*convolutions, nn.Flatten(), *layers)


class Committee(nn.Linear):
    """The mean of rectifiers."""

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (n, d) to outputs (n, 1)."""
        return super().forward(x).relu().mean(1, keepdim=True)


class Decoder(nn.Module):
    """The transformer: all places pass through all layers."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        tokens, width = network.tokens, network.width
        self.tokens, self.positions = (
            nn.Embedding(tokens, width),
            nn.Embedding(network.length, width),
        )
        self.attention = nn.MultiheadAttention(width, network.heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.readout = nn.Linear(width, tokens, bias=False)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (n, length) to outputs (n, tokens) at the last place."""
        length = x.shape[1]
        u = self.norms[0](self.tokens(x) + self.positions(torch.arange(length, device=x.device)))
        later = torch.triu(torch.full((length, length), -torch.inf, device=x.device), diagonal=1)
        v = u + self.attention(u, u, u, attn_mask=later, need_weights=False)[0]
        return self.readout(self.norms[2](v + self.mlp(self.norms[1](v))))[:, -1]


def tangent_kernel(model: nn.Module, x: Tensor) -> Tensor:
    """Return the kernel (n, n), traced over outputs, from
    one gradient for each point and output.
    """
    rows = []
    for point in x:
        outputs = model(point[None])[0]
        gradients = [
            torch.autograd.grad(output, list(model.parameters()), retain_graph=True)
            for output in outputs
        ]
        rows.append(torch.cat([part.flatten() for gradient in gradients for part in gradient]))
    rows = torch.stack(rows)
    return rows @ rows.T
