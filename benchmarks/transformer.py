"""Time a step of the transformers of "Get rich quick", Figure 5(d): ours, the plain loop, the limit of matrix products.

One layer, width 128, four heads, 99 tokens, batches of 512, Adam. On the CPU four networks on one core; on a GPU, where there is
one, 125 at once, the paper's grid; against torch's modules one network at a time, as the public code has them. Run it with `make
bench`; all is measured in turn, in one run.
"""

import numpy as np
import torch
from timing import against_products, in_turn, products
from torch import nn

from lib.descent import Data, Method, Stack, cross_entropy
from lib.modular import modular
from lib.transformer import Transformer

PRIME, WIDTH, HEADS, BATCH, ROUNDS = 97, 128, 4, 512, 5


class Plain(nn.Module):
    """The network as a reader would write it: all places pass through all layers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(PRIME + 2, WIDTH), nn.Embedding(4, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.readout = nn.Linear(WIDTH, PRIME + 2, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens (n, 4) to outputs (n, tokens) at the last place."""
        u = self.norms[0](self.tokens(x) + self.positions(torch.arange(4, device=x.device)))
        later = torch.triu(torch.full((4, 4), -torch.inf, device=x.device), diagonal=1)
        v = u + self.attention(u, u, u, attn_mask=later, need_weights=False)[0]
        return self.readout(self.norms[2](v + self.mlp(self.norms[1](v))))[:, -1]


def plain(x: torch.Tensor, y: torch.Tensor):
    """Return the loop that a reader would write, for one network."""
    model = Plain().to(x.device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98))

    def loop(steps: int) -> None:
        for _ in range(steps):
            chosen = torch.randint(len(x), (BATCH,), device=x.device)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[chosen]), y[chosen]).backward()
            optimizer.step()

    return loop


def least_operations() -> float:
    """Count the operations of the matrix products of one step that no way of computing avoids, forward and backward."""
    table = 4 * (PRIME + 2) * WIDTH * 2 * WIDTH  # keys and values of each token in each place
    strings = BATCH * WIDTH * (WIDTH + 8 * WIDTH + PRIME + 2)  # mixing, both layers of the MLP, readout
    return 3 * 2 * (table + strings)


def measure(device: str, members: int, size: int, steps: int) -> None:
    """Print networks·steps per second, medians of interleaved rounds, and the two ratios."""
    network, (tokens, labels) = Transformer(PRIME + 2), modular(PRIME)
    half = np.random.default_rng(0).permutation(len(tokens))[: len(tokens) // 2]
    tokens, labels = (torch.from_numpy(part[half]).to(device) for part in (tokens, labels))
    parameters = network.initialize(0, members, device=device)
    method = Method("adam", 0.0, False, (0.9, 0.98), None, BATCH, None, cross_entropy, 0)
    rates = dict.fromkeys(parameters, np.full(members, 1e-3))
    stack = Stack(network, parameters, Data(tokens, labels, False), rates, method)
    loops = {
        "plain": (plain(tokens, labels), steps),
        "ours": (stack.advance, -(-steps // members)),
        "products": (products(device, size), 10),
    }
    share = least_operations() / (2 * size**3)
    against_products(device, members, in_turn(loops, ROUNDS, device), share, ("", ""))


def main() -> None:
    """Measure on one core, and on a GPU where there is one."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    measure("cpu", 4, 1024, 20)
    if torch.cuda.is_available():
        measure("cuda", 125, 8192, 500)


if __name__ == "__main__":
    main()
