"""The loops that a reader would write: PyTorch's modules and optimizers, one network at a time."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from scipy.linalg import sqrtm
from scipy.special import erf
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from lib.networks import Committee, Dense, Transformer

MODULES = {"relu": nn.ReLU, "leaky_relu": nn.LeakyReLU}
Batch = Callable[[int], tuple[Tensor, Tensor]]  # the number of a step -> inputs and targets


class Descent:
    """The training loop of one network.

    Parameters
    ----------
    model : with `named`, its parameters by our names
    optimizer, loss, batch : what a step is
    schedule : as of `lib.training.train`
    """

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, loss: Callable, batch: Batch, schedule: Callable | None = None
    ) -> None:
        self.model, self.optimizer, self.loss, self.batch, self.step = model, optimizer, loss, batch, 0
        self.scheduler = schedule and LambdaLR(optimizer, schedule)

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
        return {name: value.detach().cpu().numpy() for name, value in self.model.named().items()}


def half_mean_squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return half of torch's."""
    return nn.functional.mse_loss(outputs, targets) / 2


def normals(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draw standard normal numbers."""
    return rng.standard_normal(shape)


class Signals:
    """The nonlinear Gaussian process in two classes, on n sites of a ring."""

    def __init__(self, n: int, xi: tuple[float, float], gain: float) -> None:
        steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        distance = np.minimum(steps, n - steps)
        self.roots = [sqrtm(np.exp(-(distance**2) / length**2)).real for length in xi]
        self.gain, self.scale = gain, np.sqrt(2 / np.pi * np.arcsin(2 * gain**2 / (1 + 2 * gain**2)))

    def draw(self, seed: tuple[int, ...], samples: int) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs (samples, n) and labels (samples, 1)."""
        rng = np.random.default_rng(seed)
        labels = rng.integers(2, size=(samples, 1))
        white = normals(rng, (samples, len(self.roots[0])))
        z = np.where(labels == 1, white @ self.roots[0], white @ self.roots[1])
        return erf(self.gain * z) / self.scale, labels


class Layers(nn.Sequential):
    """A dense network with the parameters of a stack's first member."""

    def __init__(self, network: Dense, parameters: Mapping[str, Tensor]) -> None:
        layers = []
        for into, out in zip(network.widths[:-1], network.widths[1:], strict=True):
            layers += [nn.Linear(into, out, network.bias), MODULES[network.activation]()]
        super().__init__(*layers[:-1])
        self.names = list(network.shapes())
        _copy(self, parameters)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by our names."""
        return dict(zip(self.names, self.parameters(), strict=True))


class Average(nn.Module):
    """A committee with the parameters of a stack's first member."""

    def __init__(self, network: Committee, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(network.inputs, network.units)
        _copy(self, parameters)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by our names."""
        return {"weight1": self.layer.weight, "bias1": self.layer.bias}

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (n, d) to outputs (n, 1)."""
        return self.layer(x).relu().mean(1, keepdim=True)


class Decoder(nn.Module):
    """The transformer with the parameters of a stack's first member: all places pass through all layers."""

    def __init__(self, network: Transformer, parameters: Mapping[str, Tensor]) -> None:
        super().__init__()
        tokens, width = network.tokens, network.width
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(network.length, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention = nn.MultiheadAttention(width, network.heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.readout = nn.Linear(width, tokens, bias=False)
        _copy(self, parameters)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by our names."""
        attention, up, down = self.attention, self.mlp[0], self.mlp[2]
        norms = {f"{kind}{i}": norm for i, norm in enumerate(self.norms, 1) for kind in ("scale", "shift")}
        return {
            "embedding": self.tokens.weight,
            "positions": self.positions.weight,
            "attention": attention.in_proj_weight,
            "attention_bias": attention.in_proj_bias,
            "mixing": attention.out_proj.weight,
            "mixing_bias": attention.out_proj.bias,
            "up": up.weight,
            "up_bias": up.bias,
            "down": down.weight,
            "down_bias": down.bias,
            "readout": self.readout.weight,
        } | {name: norm.weight if name.startswith("scale") else norm.bias for name, norm in norms.items()}

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (n, length) to outputs (n, tokens) at the last place."""
        length = x.shape[1]
        u = self.norms[0](self.tokens(x) + self.positions(torch.arange(length, device=x.device)))
        later = torch.triu(torch.full((length, length), -torch.inf, device=x.device), diagonal=1)
        v = u + self.attention(u, u, u, attn_mask=later, need_weights=False)[0]
        return self.readout(self.norms[2](v + self.mlp(self.norms[1](v))))[:, -1]


def _copy(model: nn.Module, parameters: Mapping[str, Tensor]) -> None:
    model.to(parameters["weight1" if "weight1" in parameters else "up"].device)
    for name, value in model.named().items():
        value.data.copy_(parameters[name][0])


def lenet(parameters: Mapping[str, Tensor]) -> nn.Module:
    """Return LeNet-5 with the parameters of a stack's first member."""
    convolutions = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    dense = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    model = nn.Sequential(*convolutions, nn.Flatten(), *dense).to(parameters["weight1"].device)
    for value, ours in zip(model.parameters(), parameters.values(), strict=True):
        value.data.copy_(ours[0])
    return model


def tangent_kernel(model: nn.Module, x: Tensor) -> Tensor:
    """Return the kernel (n, n), traced over outputs, from one gradient for each point and output."""
    rows = []
    for point in x:
        outputs = model(point[None])[0]
        gradients = [torch.autograd.grad(output, list(model.parameters()), retain_graph=True) for output in outputs]
        rows.append(torch.cat([part.flatten() for gradient in gradients for part in gradient]))
    rows = torch.stack(rows)
    return rows @ rows.T
